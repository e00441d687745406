// The listing: one pass over all that is rendered. An element is a mark exactly when some point exists
// whose nearest candidate, up the flat tree, is that element.

const MARK_LIMIT = 2000;
const SMALLEST = 3; // px: a control below this is hidden, whatever its style says
// Native controls that pages make transparent and lay over something pretty.
const OVERLAID = /^(file|checkbox|radio|range|select-one|color)$/;
// Inside these a weak candidate is a thing of its own; inside any other control it is decoration.
const COMPOSITE = /^(row|gridcell|treeitem|listbox|textbox)$/;

// The label that stands in for a native control that cannot be seen.
const standInFor = (element, view) =>
  [...(element.labels || [])].find((label) => isShown(label) && isOpaque(label) && overlap(boxOf(label), view)) || null;

function considerArea(element, view) {
  const box = boxOfArea(element);
  const visible = box && overlap(box, view.view);
  return visible ? { element, kind: STRONG, visible, via: null, view } : null;
}

function considerHiddenInput(element, view, visible) {
  const label = standInFor(element, view.view);
  if (label) return { element, kind: STRONG, visible: overlap(boxOf(label), view.view), via: label, view };
  return visible && OVERLAID.test(element.type) && isShown(element) ? { element, kind: STRONG, visible, via: null, view } : null;
}

// A candidate is an element that may be acted on and has a box in sight; the hit test decides later.
function consider(element, view, box, inSight) {
  const kind = kindOf(element);
  if (kind === NOT) return null;
  if (tagOf(element) === "area") return considerArea(element, view);
  let visible = inSight;
  if (kind === PERHAPS && !(visible && startsPointer(element))) return null;
  if (isControlLabel(element)) return null;
  const small = widthOf(box) < SMALLEST || heightOf(box) < SMALLEST;
  const isInput = tagOf(element) === "input" || tagOf(element) === "select";
  if (isInput && (small || !visible || !isOpaque(element) || !isShown(element))) {
    return considerHiddenInput(element, view, small ? null : visible);
  }
  if ((widthOf(box) < 1 || heightOf(box) < 1) && firstElementIn(element) && !isInput) {
    box = boxOfChildren(element);
    visible = box && overlap(box, view.view);
  }
  if (!visible) return null;
  const painted = styleOf(element).display === "contents" ? firstElementIn(element) : element;
  if (!painted || !isShown(painted) || !isOpaque(painted)) return null;
  return { element, kind: kind === PERHAPS ? WEAK : kind, visible, via: null, view };
}

// Candidates, frames to be entered by the host and, when asked for, text, in document order.
// `enter` is false for a driver that could not act inside a frame.
function scan(view, withText, enter) {
  const found = { order: [], candidates: new Map(), suspects: [], enter };
  scanWindow(document, view, withText, found);
  for (const candidate of found.candidates.values()) {
    if (candidate.kind === WEAK && isDecoration(candidate.element, found.candidates)) found.candidates.delete(candidate.element);
  }
  for (const element of listeningForOthers(found.candidates)) found.candidates.delete(element);
  return found;
}

function scanWindow(root, view, withText, found) {
  walk(root, withText ? ALL : ELEMENTS, (node) => {
    if (nodeTypeOf(node) === 3) {
      if (hasWords(node.data)) found.order.push({ text: node, view });
      return SKIP;
    }
    if (SILENT.has(tagOf(node))) return SKIP;
    if (tagOf(node) === "iframe" || tagOf(node) === "frame") return scanFrame(node, view, withText, found);
    const box = boxOf(node);
    const inSight = overlap(box, view.view);
    const candidate = consider(node, view, box, inSight);
    if (inSight && mayHoldClosedRoot(node, box)) found.suspects.push(node);
    if (candidate) {
      found.candidates.set(node, candidate);
      found.order.push(candidate);
    } else if (withText && inSight) noteInSight(node, view, box, found);
    if (tagOf(node) === "select" || tagOf(node) === "textarea") return SKIP;
    // Text hardly ever lies outside the box of its parent, where that has one.
    return withText && (inSight || !hasBox(box)) ? ALL : ELEMENTS;
  });
}

function noteInSight(element, view, box, found) {
  if (tagOf(element) === "img") {
    if (attr(element, "alt")) found.order.push({ image: element, view });
  } else if (styleOf(element).position !== "static") view.floating.push({ element, box });
}

function scanFrame(element, view, withText, found) {
  const inner = documentIn(element);
  if (!found.enter) return SKIP;
  if (inner) {
    const innerWindow = innerView(element, view, inner);
    if (innerWindow) scanWindow(inner, innerWindow, withText, found);
  } else {
    const outside = frameView(element, view);
    if (outside) found.order.push({ frame: element, view: outside });
  }
  return SKIP;
}

function isDecoration(element, candidates) {
  for (const up of ancestorsOf(element)) {
    const candidate = candidates.get(up);
    if (candidate && candidate.kind === STRONG && !COMPOSITE.test(roleAttribute(up))) return true;
  }
  return false;
}

// The candidate that a click on `hit` would go to.
function ownerOf(hit, candidates) {
  for (let node = hit; node; node = parentOf(node)) {
    if (candidates.has(node)) return node;
    if (isControlLabel(node) && candidates.has(node.control)) return node.control;
  }
  return null;
}

function visiblePart(candidate) {
  if (tagOf(candidate.element) === "area") return candidate.visible;
  const clip = clipOf(candidate.via || candidate.element);
  return clip ? overlap(candidate.visible, clip) : candidate.visible;
}

// The mark of a candidate, null when no point of it can be hit.
function confirm(candidate, candidates, active) {
  const { element, via, view } = candidate;
  if (isDisabled(element)) return null;
  const visible = visiblePart(candidate);
  if (!visible) return null;
  const point = findPoint(view, hitBoxes(via || element, visible), (hit) => ownerOf(hit, candidates) === element);
  return point && markOf(element, view, visible, point, active);
}

function markOf(element, view, visible, point, active) {
  const role = roleOf(element);
  const name = nameOf(element, role);
  const context = contextOf(element, name);
  const key = keyOf(element);
  Object.assign(entries.get(key), { signature: signatureOf(element), name });
  const [left, top] = toTop(view, visible[0], visible[1]);
  const [px, py] = toTop(view, point[0], point[1]);
  const w = widthOf(visible) * view.k;
  const h = heightOf(visible) * view.k;
  const mark = { key, tag: tagOf(element), role, name, context, ...stateOf(element, active) };
  if (!name) mark.hint = hintOf(element, context);
  if (tagOf(element) === "input") mark.type = element.type;
  return Object.assign(mark, { x: tenth(left + w / 2), y: tenth(top + h / 2), w: tenth(w), h: tenth(h), px: tenth(px), py: tenth(py) });
}

function scrollState() {
  const page = scrollerOf(document) || topElementOf(document);
  const [width, height] = page ? [scrollWidthOf(page), scrollHeightOf(page)] : [innerWidth, innerHeight];
  return { x: scrollX, y: scrollY, width, height, view_width: innerWidth, view_height: innerHeight };
}

// `view` is the visible part of this window when it is a frame's, in its own coordinates.
function list({ view, text, enter = true, limit = MARK_LIMIT }) {
  forgetDetached();
  const found = scan(topView(view), !!text, enter);
  const active = activeElement();
  const marks = [];
  const frames = [];
  const shown = new Map(); // element -> its mark, for the text pass
  let left_out = 0;
  for (const item of found.order) {
    if (item.frame) frames.push(frameEntry(item, marks.length));
    else if (item.element && found.candidates.has(item.element)) {
      if (marks.length >= limit) left_out++;
      else {
        const mark = confirm(item, found.candidates, active);
        if (mark) {
          shown.set(item.element, mark);
          marks.push(mark);
        }
      }
    }
  }
  const listing = { token, url: location.href, title: clean(titleOf(document)), scroll: scrollState(), marks, frames, left_out, suspects: found.suspects.length };
  suspected = found.suspects.slice(0, SUSPECT_LIMIT);
  if (text) listing.page = readPage(found.order, shown);
  return listing;
}

// A frame that this script may not enter: its place among the marks and how its coordinates lie in ours.
const frameEntry = ({ frame, view }, at) => ({ key: keyOf(frame), at, url: frame.src, ox: view.ox, oy: view.oy, k: view.k, view: view.view });
