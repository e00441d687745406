// What of the text and pictures a person can see: rendered, in the viewport, unclipped, in a colour that shows, uncovered.

const SMALLEST_FONT = 2; // px
const COVERING = 0.25; // alpha from which a box hides what lies under it
const LONG_TEXT = 1500; // characters from which only the lines in sight are read

// The nearest ancestor with a box of its own.
function boxedParent(node) {
  let up = parentOf(node);
  while (up && styleOf(up).display === "contents") up = parentOf(up);
  return up;
}

const alphaOf = (color) => {
  if (color === "transparent") return 0;
  const parts = /^rgba?\(([^)]*)\)$/.exec(color);
  if (!parts) return 1;
  const numbers = parts[1].split(/[\s,/]+/).filter(Boolean).map(parseFloat);
  return numbers.length > 3 ? numbers[3] : 1;
};

const SAME_COLOR = 8; // of 255: what no eye tells apart
const channels = (color) => (/^rgba?\(([^)]*)\)$/.exec(color)?.[1] || "").split(/[\s,/]+/).slice(0, 3).map(parseFloat);

function looksLike(color, other) {
  if (!other) return false;
  const [a, b] = [channels(color), channels(other)];
  return a.length === 3 && b.length === 3 && a.every((value, i) => Math.abs(value - b[i]) <= SAME_COLOR);
}

const isPainted = (element) => {
  const style = styleOf(element);
  return (
    alphaOf(style.backgroundColor) >= COVERING ||
    style.backgroundImage !== "none" ||
    /^(img|video|canvas|iframe|embed|object)$/.test(tagOf(element))
  );
};

let backgrounds = new Map();

// The colour behind an element, null where a picture or nothing certain is behind it.
function backgroundOf(element) {
  const passed = [];
  let color = "rgb(255, 255, 255)";
  for (let up = element; up; up = parentOf(up)) {
    if (backgrounds.has(up)) {
      color = backgrounds.get(up);
      break;
    }
    passed.push(up);
    const style = styleOf(up);
    if (style.backgroundImage !== "none" || /absolute|fixed/.test(style.position)) {
      color = alphaOf(style.backgroundColor) === 1 && style.backgroundImage === "none" ? style.backgroundColor : null;
      break;
    }
    if (alphaOf(style.backgroundColor) === 1) {
      color = style.backgroundColor;
      break;
    }
  }
  for (const up of passed) backgrounds.set(up, color);
  return color;
}

function hasVisibleInk(element) {
  const style = styleOf(element);
  if (parseFloat(style.fontSize) < SMALLEST_FONT) return false;
  if (style.backgroundClip === "text") return true;
  return alphaOf(style.color) > 0.05 && !looksLike(style.color, backgroundOf(element));
}

const FAINT = 0.1;

// Opacities multiply on the way down.
function isFaint(element) {
  let opacity = 1;
  for (let up = element; up && opacity >= FAINT; up = parentOf(up)) opacity *= Number(styleOf(up).opacity);
  return opacity < FAINT;
}

let inkOf = new Map(); // element -> whether text right in it shows

function forgetSight() {
  inkOf = new Map();
  backgrounds = new Map();
  clippers = new Map();
  pagePlace = null;
}

function isInkShown(element) {
  let shown = inkOf.get(element);
  if (shown === undefined) {
    shown = isShown(element) && hasVisibleInk(element) && !isFaint(element);
    inkOf.set(element, shown);
  }
  return shown;
}

// Whether anything that could lie over `element` shares a place with it, in its window or those around.
function isContested(element, view, box) {
  for (let inner = view, part = element, place = box; inner; inner = inner.up) {
    if (inner.floating.some((over) => overlap(over.box, place) && !contains(over.element, part))) return true;
    part = inner.element;
    place = part && boxOf(part);
  }
  return false;
}

// Whether something painted lies over a point of `element` and is neither part of it nor holds it.
function isCovered(element, view, box) {
  if (!isContested(element, view, box)) return false;
  const x = (box[0] + box[2]) / 2;
  const y = (box[1] + box[3]) / 2;
  const hit = hitAt(view, x, y);
  if (!hit) return !!view.up;
  for (let over = hit; over; over = parentOf(over)) {
    if (contains(over, element)) return false;
    if (isPainted(over)) return !contains(element, over);
  }
  return false;
}

// The boxes of a text node's lines that are in sight, null when there are none.
function linesInSight(node, parent, view) {
  const range = createRange(documentOf(node));
  range.selectNodeContents(node);
  const clip = clipInside(parent);
  const lines = [...range.getClientRects()].map((r) => {
    let seen = overlap([r.left, r.top, r.right, r.bottom], view.view);
    if (seen && clip) seen = overlap(seen, clip);
    return seen && widthOf(seen) > 1 && heightOf(seen) > 1 ? seen : null;
  });
  return lines.some(Boolean) ? lines : null;
}

// The words of a text node that can be seen and the boxes of their lines; null when none can.
function seenText(node, view) {
  const parent = boxedParent(node);
  if (!parent || !isInkShown(parent)) return null;
  const lines = linesInSight(node, parent, view);
  if (!lines) return null;
  const seen = lines.filter(Boolean);
  if (isCovered(parent, view, seen[0]) && isCovered(parent, view, seen[seen.length - 1])) return null;
  const text = clean(node.data.length > LONG_TEXT ? linesOfText(node.data, lines) : node.data);
  return text ? { text, first: seen[0], last: seen[seen.length - 1] } : null;
}

// Of a long text the share that its lines in sight make up, from word to word.
function linesOfText(data, lines) {
  const share = data.length / lines.length;
  const first = lines.findIndex(Boolean);
  const last = lines.findLastIndex(Boolean);
  const start = first ? data.lastIndexOf(" ", first * share) + 1 : 0;
  const end = last === lines.length - 1 ? data.length : data.indexOf(" ", (last + 1) * share);
  return data.slice(start, end < 0 ? data.length : end);
}

function isImageShown(image, view) {
  const clip = clipOf(image);
  let seen = overlap(boxOf(image), view.view);
  if (seen && clip) seen = overlap(seen, clip);
  return !!seen && widthOf(seen) > 8 && heightOf(seen) > 8 && isShown(image) && isOpaque(image) && !isCovered(image, view, seen);
}

// What a person gets to see of the whole page, by scrolling it and the panes in it.

const FLAT = 2; // px: a box no larger shows nothing
const rangeBoxes = (node) => {
  const range = createRange(documentOf(node));
  range.selectNodeContents(node);
  return [...range.getClientRects()].map((r) => [r.left, r.top, r.right, r.bottom]).filter(hasBox);
};

// Where the page itself begins and ends, in the coordinates of the viewport.
let pagePlace = null;

function pageBox() {
  if (pagePlace) return pagePlace;
  const page = topElementOf(document);
  const [width, height] = [scrollWidthOf(page), scrollHeightOf(page)];
  const left = styleOf(page).direction === "rtl" ? clientWidthOf(page) - width : 0;
  return (pagePlace = [left - scrollX, -scrollY, left + width - scrollX, height - scrollY]);
}

let clippers = new Map(); // element -> what clips it, from the inside out

function clippersOf(element) {
  let found = clippers.get(element);
  if (found === undefined) {
    const style = styleOf(element);
    const up = clipperOf(element);
    const outer = up ? clippersOf(up) : null;
    found = clipsItself(style) || clipsContent(element, style) ? { element, style, outer } : outer;
    clippers.set(element, found);
  }
  return found;
}

function canBeScrolledTo(element, place) {
  let box = place;
  for (let clipper = clippersOf(element); clipper; clipper = clipper.outer) {
    const { element: up, style } = clipper;
    const inner = paddingBox(up);
    if (clipsItself(style) || widthOf(inner) <= FLAT || heightOf(inner) <= FLAT) return false;
    if (/auto|scroll/.test(style.overflowX + style.overflowY)) {
      const first = [inner[0] - scrollLeftOf(up), inner[1] - scrollTopOf(up)];
      if (style.direction !== "rtl" && (box[2] <= first[0] || box[3] <= first[1])) return false;
      box = inner;
    } else box = overlap(box, inner);
    if (!box) return false;
  }
  return !!overlap(box, pageBox());
}

// Whether something of the page itself, which no scrolling takes away, lies over a place in the viewport.
function isBeneath(element, box) {
  if (!overlap(box, [0, 0, innerWidth, innerHeight])) return false;
  const hit = deepest(document, (box[0] + box[2]) / 2, (box[1] + box[3]) / 2);
  if (!hit || styleOf(element).pointerEvents === "none") return false;
  for (let over = hit; over; over = parentOf(over)) {
    if (contains(over, element)) return false;
    if (isPainted(over)) return !contains(element, over) && ![over, ...ancestorsOf(over)].some((up) => /fixed|sticky/.test(styleOf(up).position));
  }
  return false;
}

function hasInk(element) {
  let ink = inkOf.get(element);
  if (ink === undefined) inkOf.set(element, (ink = hasVisibleInk(element) && !isFaint(element)));
  return ink;
}

function isReadable(node) {
  const parent = boxedParent(node);
  if (!parent || !hasInk(parent)) return false;
  if (!isShown(parent)) return true; // out of sight and therefore not rendered yet: who asks has seen to all else
  // Text lies in the box of its parent, where nothing is done to it.
  const plain = !clippersOf(parent) && styleOf(parent).textIndent === "0px" ? boxOf(parent) : NOWHERE;
  if (hasBox(plain) && !overlap(plain, [0, 0, innerWidth, innerHeight])) return !!overlap(plain, pageBox());
  const boxes = rangeBoxes(node).filter((box) => canBeScrolledTo(parent, box));
  return boxes.length > 0 && !(isBeneath(parent, boxes[0]) && isBeneath(parent, boxes[boxes.length - 1]));
}

function isPictureReadable(element) {
  const box = boxOf(element);
  return widthOf(box) > FLAT && heightOf(box) > FLAT && !isFaint(element) && canBeScrolledTo(element, box) && !isBeneath(element, box);
}

// Of this window as a part of one around it that may be looked into.
function isWindowReadable() {
  if (window === window.parent) return true;
  if (innerWidth <= FLAT || innerHeight <= FLAT) return false;
  const frame = window.frameElement;
  return !frame || (isShown(frame) && !isFaint(frame) && rectOf(frame).right > 0 && rectOf(frame).bottom + windowOf(documentOf(frame)).scrollY > 0);
}
