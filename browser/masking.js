// What is drawn and where, for a host that knows which of it must not be in a picture: no secret ever enters the page.

const DRAWN_LIMIT = 200000; // nodes; of a page with more no picture is made
const FAR = 5000; // px
const SVG = "http://www.w3.org/2000/svg";
const AROUND_LIMIT = 1000; // characters
const LINE_LIMIT = 40; // lines of one text told one by one
const FRAME_TAGS = /^(iframe|frame|object|embed|fencedframe)$/;
const PIXELS = /-?[\d.]+(?=px)/g;
const observed = new WeakSet();
let changes = 0;
let observer = null;

// How often the page was changed since it was first asked about: what moved between two looks shows in it.
function changesOf(page) {
  if (!observer) observer = new MutationObserver((records) => (changes += records.length));
  if (!observed.has(page)) {
    observed.add(page);
    observer.observe(page, { subtree: true, childList: true, attributes: true, characterData: true });
  }
  changes += observer.takeRecords().length;
  return changes;
}

const lengthsIn = (css) => (css.match(PIXELS) || []).reduce((sum, number) => sum + Math.abs(number), 0);

// How far shadows, outlines and reflections of an element and all above it reach beyond their boxes.
function reachOf(element, reaches) {
  const path = [];
  for (let up = element; up && !reaches.has(up); up = parentOf(up)) path.push(up);
  for (const node of path.reverse()) {
    const style = styleOf(node);
    const own = lengthsIn(`${style.textShadow} ${style.filter} ${style.webkitTextStrokeWidth}`);
    const stroke = namespaceOf(node) === SVG && style.stroke !== "none" ? 4 * parseFloat(style.strokeWidth) : 0;
    const moved = style.filter.includes("url(") ? FAR : 0; // a filter of the page's own puts it anywhere
    const mirror = style.webkitBoxReflect && style.webkitBoxReflect !== "none" ? lengthsIn(style.webkitBoxReflect) + 2 * Math.max(...sizeOf(node)) : 0;
    reaches.set(node, (reaches.get(parentOf(node)) || 0) + own + stroke + moved + mirror);
  }
  return reaches.get(element) || 0;
}

const sizeOf = (element) => [widthOf(boxOf(element)), heightOf(boxOf(element))];

function shownIn(control) {
  const tag = tagOf(control);
  if (tag === "select") return [...all(control, "option, optgroup")].map((option) => option.label || option.text).join("\n");
  if (tag === "input" && control.type === "hidden") return "";
  if (tag === "input" && control.type === "file") return [...control.files].map((file) => file.name).join("\n");
  return tag === "input" || tag === "textarea" ? control.value || control.placeholder : "";
}

const unquoted = (css) => css.replace(/^"|"$/g, "");

// What is generated before and after a short text, as one with it.
function aroundText(element) {
  const [before, after] = ["::before", "::after"].map((part) => unquoted(getComputedStyle(element, part).content).replace(/^(none|normal)$/, ""));
  return `${before}${textOf(element).slice(0, AROUND_LIMIT)}${after}`;
}

// How far what is generated may lie beyond its element: where it has a place of its own, or is a list's marker.
function reachOfGenerated(element) {
  const { fontSize, listStyleType } = styleOf(element);
  const marker = getComputedStyle(element, "::marker").content;
  let reach = /["']/.test(marker + listStyleType) ? parseFloat(fontSize) * Math.max(marker.length, listStyleType.length) : 0;
  for (const part of ["::before", "::after"]) {
    const { content, position, transform, left, top, right, bottom, width, height } = getComputedStyle(element, part);
    if (!/["']/.test(content) || (position === "static" && transform === "none")) continue;
    reach += position === "fixed" ? FAR : lengthsIn([left, top, right, bottom, width, height].join(" ")) + numbersIn(transform);
  }
  return reach;
}

const numbersIn = (css) => (css.match(/-?[\d.]+/g) || []).reduce((sum, number) => sum + Math.abs(number), 0);

// What an element draws that is kept elsewhere: the text that a <use> repeats, a list's own marker, a picture's address.
function borrowedText(element) {
  const tag = tagOf(element);
  if (tag === "img") return element.currentSrc.length < AROUND_LIMIT ? element.currentSrc : "";
  if (tag === "use") {
    const used = elementById(rootOf(element), (attr(element, "href") || attr(element, "xlink:href") || "").slice(1));
    return used ? textOf(used) : "";
  }
  const { display, listStyleType } = styleOf(element);
  return display === "list-item" ? unquoted(listStyleType) : "";
}

function attributeText(element) {
  const generated = ["::before", "::after", "::marker"].map((part) => getComputedStyle(element, part).content).filter((text) => /["']/.test(text));
  const alternative = /^(img|area|input)$/.test(tagOf(element)) ? attr(element, "alt") || attr(element, "title") : "";
  const beside = generated.length ? [...generated, generated.map(unquoted).join(""), aroundText(element)] : [];
  return [alternative, borrowedText(element), ...beside].filter(Boolean);
}

// What is not drawn may be in a moment.
function heldIn(element) {
  const controls = [element, ...all(element, "input, textarea, select")];
  return [textOf(element), ...controls.map(shownIn)].filter(Boolean);
}

function lines(rects, view, reach) {
  const boxes = [...rects].filter((r) => r.width > 0 && r.height > 0).map((r) => [r.left, r.top, r.right, r.bottom]);
  const told = boxes.length > LINE_LIMIT ? [boxes.reduce(union)] : boxes;
  return told.map((box) => {
    const margin = reach + 4 + heightOf(box) / 5;
    const [left, top] = toTop(view, box[0] - margin, box[1] - margin);
    const [right, bottom] = toTop(view, box[2] + margin, box[3] + margin);
    return [left, top, right, bottom].map(tenth);
  });
}

function readDrawn(page, view, found) {
  const reaches = new Map();
  found.changes += changesOf(page);
  walk(page, ALL, (node) => {
    if (++found.nodes > DRAWN_LIMIT) throw new Error("too much is drawn to look through");
    if (nodeTypeOf(node) === 3) {
      if (!hasWords(node.data)) return SKIP;
      const range = createRange(page);
      range.selectNodeContents(node);
      const parent = parentOf(node);
      const boxes = lines(range.getClientRects(), view, parent ? reachOf(parent, reaches) : 0);
      if (boxes.length) found.pieces.push([node.data, true, boxes]);
      else found.hidden.push(node.data);
      return SKIP;
    }
    if (styleOf(node).display === "none") {
      if (!/^(script|style|noscript|template)$/.test(tagOf(node))) found.hidden.push(...heldIn(node));
      return SKIP;
    }
    if (found.suspects.length < SUSPECT_LIMIT && mayHoldClosedRoot(node, boxOf(node))) found.suspects.push(node);
    const shown = shownIn(node);
    const texts = attributeText(node);
    if (shown || texts.length) {
      const boxes = lines(rectsOf(node), view, reachOf(node, reaches) + (texts.length ? reachOfGenerated(node) : 0));
      // Fields for one letter or a few each stand side by side as one.
      if (shown && boxes.length) found.pieces.push([shown, true, boxes]);
      for (const text of boxes.length ? texts : []) found.pieces.push([text, false, boxes]);
    }
    if (FRAME_TAGS.test(tagOf(node))) readFrame(node, view, found);
    return /^(textarea|select)$/.test(tagOf(node)) ? SKIP : ALL;
  });
}

function readFrame(element, view, found) {
  const inner = documentIn(element);
  const within = inner && innerView(element, view, inner);
  if (within) readDrawn(inner, within, found);
  if (inner) return;
  const boxes = lines(rectsOf(element), view, 0);
  if (boxes.length) found.frames.push([keyOf(element), boxes[0]]);
}

// Texts as they are drawn, in order, each with its boxes; `joined` ones stand side by side. Frames of others by key.
function drawn() {
  const found = { pieces: [], hidden: [], frames: [], suspects: [], nodes: 0, changes: 0, scroll: [scrollX, scrollY] };
  readDrawn(document, topView(null), found);
  suspected = found.suspects;
  return { ...found, suspects: suspected.length };
}
