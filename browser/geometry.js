// Boxes: [left, top, right, bottom] in the coordinates of an element's own window, what clips them,
// and how a frame's coordinates lie in the top window's.

let styles = new Map();
let clips = new Map();

// Styles and clips hold for one request: the page may change between two.
function forgetLayout() {
  styles = new Map();
  clips = new Map();
}

function styleOf(element) {
  let style = styles.get(element);
  if (!style) styles.set(element, (style = windowOf(documentOf(element)).getComputedStyle(element)));
  return style;
}

const boxOf = (element) => {
  const r = rectOf(element);
  return [r.left, r.top, r.right, r.bottom];
};

const widthOf = (box) => box[2] - box[0];
const heightOf = (box) => box[3] - box[1];
const hasBox = (box) => widthOf(box) > 0 && heightOf(box) > 0;

function overlap(a, b) {
  const left = Math.max(a[0], b[0]);
  const top = Math.max(a[1], b[1]);
  const right = Math.min(a[2], b[2]);
  const bottom = Math.min(a[3], b[3]);
  return right - left > 0.5 && bottom - top > 0.5 ? [left, top, right, bottom] : null;
}

const union = (a, b) =>
  a ? [Math.min(a[0], b[0]), Math.min(a[1], b[1]), Math.max(a[2], b[2]), Math.max(a[3], b[3])] : b;

const NOWHERE = [0, 0, 0, 0];

const catchesFixed = (style) =>
  style.transform !== "none" ||
  style.filter !== "none" ||
  style.perspective !== "none" ||
  style.willChange.includes("transform") ||
  style.contain.includes("paint") ||
  style.contain === "strict" ||
  style.contain === "content";

const clipsContent = (element, style) =>
  style.display !== "contents" &&
  element !== topElementOf(documentOf(element)) &&
  element !== bodyOf(documentOf(element)) &&
  (style.overflowX !== "visible" ||
    style.overflowY !== "visible" ||
    style.contain.includes("paint") ||
    style.contain === "strict" ||
    style.contain === "content");

// `clip` and `clip-path` that leave nothing: the usual ways to hide text from eyes only.
const clipsItself = (style) =>
  (style.clip !== "auto" && /^rect\(\s*(0|1)px(,?\s*(0|1)px){3}\s*\)$/.test(style.clip)) ||
  /^(inset\((50|100)%|circle\(0|polygon\(0(px|%)? 0(px|%)?(,\s*0(px|%)? 0(px|%)?)*\))/.test(style.clipPath);

// The box that `element` and all above it leave to its in-flow content; null = all of it.
function clipInside(element) {
  if (clips.has(element)) return clips.get(element);
  clips.set(element, null); // for a cycle, which only a broken tree has
  const style = styleOf(element);
  let clip = clipOf(element);
  if (clipsItself(style)) clip = NOWHERE;
  else if (clipsContent(element, style)) {
    const inner = paddingBox(element);
    clip = clip ? overlap(clip, inner) || NOWHERE : inner;
  }
  clips.set(element, clip);
  return clip;
}

function paddingBox(element) {
  const box = boxOf(element);
  const scale = offsetWidthOf(element) ? widthOf(box) / offsetWidthOf(element) : 1;
  const left = box[0] + clientLeftOf(element) * scale;
  const top = box[1] + clientTopOf(element) * scale;
  return [left, top, left + clientWidthOf(element) * scale, top + clientHeightOf(element) * scale];
}

// What may clip an element's own box: its containing block and those around, for fixed and absolute boxes jump some.
function clipperOf(element) {
  const position = styleOf(element).position;
  let up = parentOf(element);
  if (position === "fixed") while (up && !catchesFixed(styleOf(up))) up = parentOf(up);
  else if (position === "absolute") {
    while (up && styleOf(up).position === "static" && !catchesFixed(styleOf(up))) up = parentOf(up);
  }
  return up;
}

function clipOf(element) {
  const up = clipperOf(element);
  return up ? clipInside(up) : null;
}

const isShown = (element) => checkVisibility(element, { visibilityProperty: true, contentVisibilityAuto: true });
const isOpaque = (element) => checkVisibility(element, { opacityProperty: true });

// The box of an element that has none of its own: around its children's.
function boxOfChildren(element) {
  let box = null;
  for (const child of elementsIn(element)) {
    const inner = boxOf(child);
    if (widthOf(inner) > 1 && heightOf(inner) > 1) box = union(box, inner);
  }
  return box;
}

function boxOfArea(area) {
  const map = closest(area, "map");
  const image = map && map.name && first(documentOf(area), `img[usemap="#${CSS.escape(map.name)}"]`);
  if (!image) return null;
  const [left, top, right, bottom] = boxOf(image);
  const at = (area.coords || "").split(/[ ,]+/).map(Number);
  if (area.shape === "circle") return [left + at[0] - at[2], top + at[1] - at[2], left + at[0] + at[2], top + at[1] + at[2]];
  if (area.shape === "default" || at.length < 4) return [left, top, right, bottom];
  const xs = at.filter((_, i) => i % 2 === 0);
  const ys = at.filter((_, i) => i % 2 === 1);
  return [left + Math.min(...xs), top + Math.min(...ys), left + Math.max(...xs), top + Math.max(...ys)];
}

// A window as seen from the one the script runs in: `x = ox + k * inner x`, `view` is its visible part
// in its own coordinates; `up` and `element` lead to the window that holds it. `floating` are elements that may
// lie over others, noted while the page is read.
const topView = (view) => {
  const all = [0, 0, innerWidth, innerHeight];
  return { ox: 0, oy: 0, k: 1, view: view ? overlap(view, all) || NOWHERE : all, document, floating: [] };
};

// Where the content of a frame element begins, and its scale, in the window that holds it.
function frameOrigin(element) {
  const box = boxOf(element);
  const scale = offsetWidthOf(element) ? widthOf(box) / offsetWidthOf(element) : 1;
  const style = styleOf(element);
  return {
    x: box[0] + (clientLeftOf(element) + parseFloat(style.paddingLeft)) * scale,
    y: box[1] + (clientTopOf(element) + parseFloat(style.paddingTop)) * scale,
    k: scale,
  };
}

// The view of a frame's window; null when no part of it can be seen.
function frameView(element, outer) {
  if (!isShown(element)) return null;
  const clip = clipOf(element);
  let seen = overlap(boxOf(element), outer.view);
  if (seen && clip) seen = overlap(seen, clip);
  if (!seen) return null;
  const { x, y, k } = frameOrigin(element);
  const view = [(seen[0] - x) / k, (seen[1] - y) / k, (seen[2] - x) / k, (seen[3] - y) / k];
  return { ox: outer.ox + x * outer.k, oy: outer.oy + y * outer.k, k: outer.k * k, view, up: outer, element, x, y, scale: k, floating: [] };
}

// The view of a same-origin frame that the script may enter.
function innerView(element, outer, inner) {
  const view = frameView(element, outer);
  if (!view) return null;
  view.document = inner;
  view.view = overlap(view.view, [0, 0, windowOf(inner).innerWidth, windowOf(inner).innerHeight]);
  return view.view ? view : null;
}

// The view of the window that holds `element`, from the script's own window down; null when it is out of sight.
function viewOf(element) {
  const frames = [];
  for (let w = windowOf(documentOf(element)); w && w !== window; w = w.parent) {
    if (!w.frameElement) break;
    frames.unshift(w.frameElement);
  }
  let view = topView(null);
  for (const frame of frames) if (view) view = innerView(frame, view, frame.contentDocument);
  return view;
}

const toTop = (view, x, y) => [view.ox + x * view.k, view.oy + y * view.k];
const tenth = (value) => Math.round(value * 10) / 10;
