// What an element is: its role, and whether a person may act on it.

const ACTIVE_ROLES = new Set([
  "button", "link", "checkbox", "radio", "switch", "tab", "menuitem", "menuitemcheckbox", "menuitemradio", "option",
  "combobox", "listbox", "textbox", "searchbox", "slider", "spinbutton", "treeitem", "gridcell", "scrollbar",
]);
const NO_ROLE = new Set(["none", "presentation", "generic"]);
const INPUT_ROLES = {
  checkbox: "checkbox", radio: "radio", range: "slider", number: "spinbutton", search: "searchbox", button: "button",
  submit: "button", reset: "button", image: "button", file: "button", color: "colorwell", date: "date", time: "time",
  "datetime-local": "datetime", month: "month", week: "week",
};
const ELEMENT_ROLES = {
  button: "button", summary: "disclosuretriangle", textarea: "textbox", option: "option", video: "video",
  audio: "audio", canvas: "canvas",
};
const LISTED_INPUTS = new Set(["text", "search", "url", "tel", "email"]);

// The first role of the attribute that means something to act on, else its first word.
function roleAttribute(element) {
  const words = (attr(element, "role") || "").trim().toLowerCase().split(/\s+/);
  return words.find((word) => ACTIVE_ROLES.has(word)) || words[0];
}

function roleOf(element) {
  const given = roleAttribute(element);
  if (given && !NO_ROLE.has(given)) return given;
  const tag = tagOf(element);
  if (tag === "a" || tag === "area") return hasAttr(element, "href") || hasAttr(element, "xlink:href") ? "link" : "clickable";
  if (tag === "select") return element.multiple || element.size > 1 ? "listbox" : "combobox";
  if (tag === "input") return element.list && LISTED_INPUTS.has(element.type) ? "combobox" : INPUT_ROLES[element.type] || "textbox";
  return ELEMENT_ROLES[tag] || (isEditable(element) ? "textbox" : "clickable");
}

const NOT = 0;
const WEAK = 1; // listens, or is focusable
const STRONG = 2; // is a control
const PERHAPS = -1; // a pointer cursor may tell; asked only of what is in sight

const isFirstSummary = (element) => {
  const details = parentElementOf(element);
  return !!details && tagOf(details) === "details" && first(details, ":scope>summary") === element;
};

const NATIVE = {
  a: (e) => hasAttr(e, "href") || hasAttr(e, "xlink:href"),
  area: (e) => hasAttr(e, "href"),
  button: () => true,
  input: (e) => e.type !== "hidden",
  select: () => true,
  textarea: () => true,
  summary: isFirstSummary,
  video: (e) => e.controls,
  audio: (e) => e.controls,
  canvas: () => true,
  embed: () => true,
};
const NEVER = new Set(["html", "body", "head", "br", "script", "style", "option", "meta", "link", "template", "noscript", "title"]);
const PANES = /^(dialog|region|main|tabpanel|document|group|alertdialog)$/;

const isScroller = (element) => {
  const { overflowY } = styleOf(element);
  return (overflowY === "auto" || overflowY === "scroll") && scrollHeightOf(element) > clientHeightOf(element);
};

const isFocusStop = (element) =>
  hasAttr(element, "tabindex") &&
  tabIndexOf(element) >= 0 &&
  !hasAttr(element, "aria-hidden") &&
  !PANES.test(attr(element, "role") || tagOf(element)) &&
  !isScroller(element);

function kindOf(element) {
  const tag = tagOf(element);
  if (NEVER.has(tag)) return NOT;
  const native = NATIVE[tag];
  if (native && native(element)) return STRONG;
  if (hasAttrs(element)) {
    if (hasAttr(element, "role") && ACTIVE_ROLES.has(roleAttribute(element))) return STRONG;
    const editable = attr(element, "contenteditable");
    if (editable !== null && editable !== "false") return STRONG;
    if (hasAttr(element, "onclick") || hasAttr(element, "onmousedown") || hasAttr(element, "onpointerdown")) return WEAK;
    if (isFocusStop(element)) return WEAK;
  }
  if (onClickOf(element) || onMouseDownOf(element) || listensForItself(element)) return WEAK;
  return PERHAPS;
}

// A pointer cursor that begins here, rather than being inherited.
function startsPointer(element) {
  if (styleOf(element).cursor !== "pointer") return false;
  const up = parentOf(element);
  return !(up && styleOf(up).cursor === "pointer");
}

const isControlLabel = (element) => tagOf(element) === "label" && !!element.control;
const isDisabled = (element) => matches(element, ":disabled");
const EDITED_TYPES = /^(text|search|url|tel|email|password|number)$/;
const isTextField = (element) =>
  tagOf(element) === "textarea" || (tagOf(element) === "input" && EDITED_TYPES.test(element.type)) || isEditable(element);
