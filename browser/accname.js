// The name a control is known by, after the accessible-name rules, and a hint where there is none.

const NAME_LIMIT = 120;
const TEXT_LIMIT = 400;
const NAMED_BY_CONTENT = new Set([
  "button", "link", "checkbox", "radio", "switch", "tab", "menuitem", "menuitemcheckbox", "menuitemradio", "option",
  "treeitem", "gridcell", "cell", "row", "heading", "tooltip", "clickable", "disclosuretriangle",
]);
const FORM_TAGS = new Set(["input", "select", "textarea", "button", "meter", "progress"]);
const PUSH_INPUTS = /^(button|submit|reset)$/;
const DEFAULT_LABELS = { submit: "Submit", reset: "Reset" };

const selectedText = (select) => (select.selectedOptions[0] || {}).text || "";
const svgTitle = (svg) => (first(svg, ":scope>title") || {}).textContent || "";

function nameOf(element, role) {
  return cut(clean(nameFrom(element, role, new Set(), false)), NAME_LIMIT);
}

// `referred`: the element is named for another one, so its content counts whatever its role.
function nameFrom(element, role, seen, referred) {
  if (seen.has(element)) return "";
  seen.add(element);
  const labelled = (!referred && nameByReference(element, seen)) || clean(attr(element, "aria-label"));
  if (labelled) return labelled;
  const tag = tagOf(element);
  if (FORM_TAGS.has(tag)) {
    const own = nameOfControl(element, seen, referred);
    if (own !== null) return own;
  }
  if (tag === "img" || tag === "area") return clean(attr(element, "alt")) || tooltipOf(element);
  if (tag === "svg" && svgTitle(element)) return svgTitle(element);
  return (
    ((NAMED_BY_CONTENT.has(role) || referred) && clean(contentText(element, null))) ||
    clean(attr(element, "title")) ||
    placeholderOf(element)
  );
}

const placeholderOf = (element) => attr(element, "placeholder") || attr(element, "aria-placeholder") || "";

function nameByReference(element, seen) {
  const ids = attr(element, "aria-labelledby");
  const root = ids && rootOf(element);
  if (!root) return "";
  const parts = ids.split(/\s+/).map((id) => elementById(root, id)).filter(Boolean);
  return clean(
    parts
      .map((part) => {
        if (part === element) seen.delete(part); // an element may name itself among others
        return nameFrom(part, "", seen, true);
      })
      .join(" "),
  );
}

// The name of a form control; null for a button whose content names it.
function nameOfControl(element, seen, referred) {
  const tag = tagOf(element);
  if (tag === "input" && PUSH_INPUTS.test(element.type)) return element.value || DEFAULT_LABELS[element.type] || tooltipOf(element);
  if (!referred && element.labels && element.labels.length) {
    const text = clean([...element.labels].map((label) => contentText(label, element)).join(" "));
    if (text) return text;
  }
  if (tag === "input" && element.type === "image") return element.alt || tooltipOf(element) || "Submit";
  if (tag === "button") return null;
  if (referred) return tag === "select" ? selectedText(element) : isSecret(element) ? "" : element.value || "";
  if (tag === "input" && element.type === "file" && !tooltipOf(element)) return "Choose File";
  return tooltipOf(element) || placeholderOf(element);
}

const pseudoText = (element, which) => {
  const { content } = windowOf(documentOf(element)).getComputedStyle(element, which);
  return content && content[0] === '"' && content.length > 2 ? content.slice(1, -1) : "";
};

// The text an element shows, blocks apart by spaces; `skip` is the control that a label is read for.
// Generated content counts only where there is no other: beside words it is an icon or an asterisk.
function contentText(element, skip, depth = 0) {
  let out = "";
  for (const child of childrenOf(element)) {
    if (out.length > TEXT_LIMIT) break;
    if (nodeTypeOf(child) === 3) out += child.data;
    else if (nodeTypeOf(child) === 1 && child !== skip && depth < 60) out += childText(child, skip, depth);
  }
  return hasWords(out) ? out : pseudoText(element, "::before") + out + pseudoText(element, "::after");
}

const SILENT = new Set(["style", "script", "noscript", "template"]);

function childText(child, skip, depth) {
  if (SILENT.has(tagOf(child)) || attr(child, "aria-hidden") === "true") return "";
  const { display, visibility } = styleOf(child);
  if (display === "none" || visibility === "hidden") return "";
  const text = attr(child, "aria-label") || embeddedText(child) || contentTextOrTitle(child, skip, depth);
  return display.startsWith("inline") || display === "contents" ? text : ` ${text} `;
}

const contentTextOrTitle = (child, skip, depth) =>
  isEmbedded(child) ? "" : contentText(child, skip, depth + 1) || attr(child, "title") || "";

const isEmbedded = (element) => /^(img|svg|input|textarea|select|br)$/.test(tagOf(element));
const UNSPOKEN_INPUTS = /^(checkbox|radio|hidden|password|file)$/;

function embeddedText(element) {
  switch (tagOf(element)) {
    case "img":
      return element.alt || tooltipOf(element);
    case "svg":
      return svgTitle(element);
    case "input":
      return UNSPOKEN_INPUTS.test(element.type) || isSecret(element) ? "" : element.value;
    case "textarea":
      return element.value;
    case "select":
      return selectedText(element);
    case "br":
      return " ";
  }
  return "";
}

// What stands in for a name: words from attributes, an image's file name, the nearest text.

const HINT_LIMIT = 40;
const NOISE = new Set(["btn", "button", "icon", "icons", "link", "item", "wrapper", "container", "fa", "fas", "far", "fab", "material", "svg", "img", "image", "css", "js", "ui"]);

const wordsIn = (text) =>
  (text || "")
    .replace(/([a-z])([A-Z])/g, "$1 $2")
    .split(/[^\p{L}]+/u)
    .filter((word) => word.length > 1)
    .map((word) => word.toLowerCase());

function hintWords(text) {
  const words = [...new Set(wordsIn(text))];
  return words.filter((word) => !NOISE.has(word)).join(" ");
}

const classOf = (element) => attr(element, "class") || "";
// Build tools write classes such as "css-1x2y3z": no words for anyone.
const readableClass = (element) => hintWords(classOf(element).split(/\s+/).filter((word) => !/\d.*[a-z].*\d|^css-|^sc-|__/.test(word)).join(" "));

function imageFile(element) {
  const image = tagOf(element) === "img" || tagOf(element) === "input" ? element : first(element, "img[src],use");
  if (!image) return "";
  const source = attr(image, "src") || attr(image, "href") || attr(image, "xlink:href") || "";
  if (source.startsWith("data:")) return "";
  return hintWords(source.replace(/^.*[#/]/, "").replace(/\?.*$/, "").replace(/\.\w+$/, ""));
}

function innerClass(element) {
  for (const child of [...all(element, "[class]")].slice(0, 4)) {
    const words = readableClass(child);
    if (words) return words;
  }
  return "";
}

function hintOf(element, context) {
  const hint =
    hintWords(attr(element, "name")) ||
    hintWords(idOf(element)) ||
    imageFile(element) ||
    readableClass(element) ||
    innerClass(element) ||
    context;
  return cut(clean(hint), HINT_LIMIT);
}
