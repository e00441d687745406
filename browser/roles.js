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
  const words = (element.getAttribute("role") || "").trim().toLowerCase().split(/\s+/);
  return words.find((word) => ACTIVE_ROLES.has(word)) || words[0];
}

function roleOf(element) {
  const given = roleAttribute(element);
  if (given && !NO_ROLE.has(given)) return given;
  const tag = element.localName;
  if (tag === "a" || tag === "area") return element.hasAttribute("href") || element.hasAttribute("xlink:href") ? "link" : "clickable";
  if (tag === "select") return element.multiple || element.size > 1 ? "listbox" : "combobox";
  if (tag === "input") return element.list && LISTED_INPUTS.has(element.type) ? "combobox" : INPUT_ROLES[element.type] || "textbox";
  return ELEMENT_ROLES[tag] || (element.isContentEditable ? "textbox" : "clickable");
}

const NOT = 0;
const WEAK = 1; // listens, or is focusable
const STRONG = 2; // is a control
const PERHAPS = -1; // a pointer cursor may tell; asked only of what is in sight

const isFirstSummary = (element) => {
  const details = element.parentElement;
  return !!details && details.localName === "details" && details.querySelector(":scope>summary") === element;
};

const NATIVE = {
  a: (e) => e.hasAttribute("href") || e.hasAttribute("xlink:href"),
  area: (e) => e.hasAttribute("href"),
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

let clickables = new WeakSet(); // elements that the driver knows to listen for clicks

const isScroller = (element) => {
  const { overflowY } = styleOf(element);
  return (overflowY === "auto" || overflowY === "scroll") && element.scrollHeight > element.clientHeight;
};

const isFocusStop = (element) =>
  element.hasAttribute("tabindex") &&
  element.tabIndex >= 0 &&
  !element.hasAttribute("aria-hidden") &&
  !PANES.test(element.getAttribute("role") || element.localName) &&
  !isScroller(element);

function kindOf(element) {
  const tag = element.localName;
  if (NEVER.has(tag)) return NOT;
  const native = NATIVE[tag];
  if (native && native(element)) return STRONG;
  if (element.hasAttributes()) {
    if (element.hasAttribute("role") && ACTIVE_ROLES.has(roleAttribute(element))) return STRONG;
    const editable = element.getAttribute("contenteditable");
    if (editable !== null && editable !== "false") return STRONG;
    if (element.hasAttribute("onclick") || element.hasAttribute("onmousedown") || element.hasAttribute("onpointerdown")) return WEAK;
    if (isFocusStop(element)) return WEAK;
  }
  if (clickables.has(element) || element.onclick || element.onmousedown) return WEAK;
  return PERHAPS;
}

// A pointer cursor that begins here, rather than being inherited.
function startsPointer(element) {
  if (styleOf(element).cursor !== "pointer") return false;
  const up = parentOf(element);
  return !(up && styleOf(up).cursor === "pointer");
}

const isControlLabel = (element) => element.localName === "label" && !!element.control;
const isDisabled = (element) => element.matches(":disabled");
const EDITED_TYPES = /^(text|search|url|tel|email|password|number)$/;
const isTextField = (element) =>
  element.localName === "textarea" || (element.localName === "input" && EDITED_TYPES.test(element.type)) || element.isContentEditable;
