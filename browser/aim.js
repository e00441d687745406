// The re-check just before an act: is it still there, still the same, and where does a click reach it now?

const SCROLL_BLOCKS = [null, "center", "end", "start"]; // as it lies first, then clear of sticky headers and footers

// The label in place of a control that cannot itself be seen.
function targetOf(element) {
  if (tagOf(element) !== "input" && tagOf(element) !== "select") return element;
  const box = boxOf(element);
  const hidden = widthOf(box) < SMALLEST || heightOf(box) < SMALLEST || !isShown(element) || !isOpaque(element);
  if (!hidden) return element;
  return [...(element.labels || [])].find((label) => isShown(label) && isOpaque(label)) || element;
}

function linesOf(target) {
  if (tagOf(target) === "area") return [boxOfArea(target)].filter(Boolean);
  const rects = [...rectsOf(target)];
  const usable = (r) => r.width >= 1 && r.height >= 1;
  if (rects.some(usable)) return rects.filter(usable).map((r) => [r.left, r.top, r.right, r.bottom]);
  const inner = boxOfChildren(target);
  return inner ? [inner] : [];
}

// A hit belongs to the element unless another control, or another mark, lies between them.
function reaches(element, hit) {
  for (let node = hit; node; node = parentOf(node)) {
    if (node === element || (isControlLabel(node) && node.control === element)) return true;
    if (kindOf(node) === STRONG || wasListed(node)) return false;
  }
  return false;
}

// `at`, a place of this window, is kept where it reaches the element.
function pointOn(element, target, at) {
  const view = viewOf(target);
  if (!view) return null;
  if (at && reaches(element, hitAt(view, (at[0] - view.ox) / view.k, (at[1] - view.oy) / view.k))) return at;
  const clip = tagOf(target) === "area" ? null : clipOf(target);
  const boxes = [];
  for (const line of linesOf(target)) {
    const visible = overlap(line, view.view);
    const left = visible && clip ? overlap(visible, clip) : visible;
    if (left) boxes.push(left);
  }
  const point = findPoint(view, boxes, (hit) => reaches(element, hit));
  return point && toTop(view, point[0], point[1]);
}

// Words may come to a name, or go, without making it another thing's: hover effects do that, and hidden counts.
function goesOn(name, now) {
  const [before, after] = [name, now].map((text) => foldDigits(foldCase(text)).replace(/…$/, ""));
  return after.startsWith(before) || before.startsWith(after);
}

function standing(element, check, context) {
  if (check) {
    const { signature, name: listed } = entries.get(keyOf(element));
    const name = nameOf(element, roleOf(element));
    if (signature !== null && (signatureOf(element) !== signature || !goesOn(listed, name))) return { state: "changed", name };
    if (context !== null && contextOf(element, name) !== context) return { state: "moved", name };
  }
  if (isDisabled(element)) return { state: "disabled" };
  return null;
}

function standingUnderPointer(element) {
  const now = nameOf(element, roleOf(element));
  const { signature, aimed: name } = entries.get(keyOf(element));
  const same = name ? goesOn(name, now) : signature === null || signatureOf(element) === signature;
  if (!same) return { state: "changed", name: now };
  return isDisabled(element) ? { state: "disabled" } : null;
}

// `context`: what must still stand beside it, null for no matter; `check`: compare with what was listed.
// `at`: the pointer has come there since it was aimed at, and is about to press.
function aim({ key, check = true, context = null, scroll = true, at = null }) {
  const element = elementOf(key);
  if (!element) return { state: "gone", token };
  const wrong = at ? standingUnderPointer(element) : standing(element, check, context);
  if (wrong) return { ...wrong, token };
  const target = targetOf(element);
  if (!linesOf(target).length || (tagOf(target) !== "area" && !isRendered(target))) return { state: "hidden", token };
  nearby.forget(element);
  for (const block of scroll ? SCROLL_BLOCKS : [null]) {
    if (block) bringIntoView(target, block);
    const point = pointOn(element, target, at);
    if (!point) continue;
    const name = nameOf(element, roleOf(element));
    if (!at) entries.get(key).aimed = name;
    return { state: "ok", name, x: point[0], y: point[1], scrolled: block !== null, token };
  }
  return { state: "covered", by: describe(coverOf(target)), token };
}

const isRendered = (target) => {
  const painted = styleOf(target).display === "contents" ? firstElementIn(target) : target;
  return !!painted && isShown(painted);
};

function bringIntoView(target, block) {
  const anchor = tagOf(target) === "area" ? first(documentOf(target), `img[usemap="#${CSS.escape(closest(target, "map").name)}"]`) : target;
  scrollIntoView(anchor, { block, inline: "nearest", behavior: "instant" });
  forgetLayout();
}

// What lies over the middle of a target, in its own window or over the frame it is in.
function coverOf(target) {
  const view = viewOf(target);
  const box = linesOf(target)[0];
  if (!view || !box) return null;
  const x = (box[0] + box[2]) / 2;
  const y = (box[1] + box[3]) / 2;
  return hitAt(view, x, y) || deepest(document, ...toTop(view, x, y));
}

// Two frames painted: only then does the browser send clicks to where a frame of another process has moved.
const painted = () =>
  new Promise((done) => {
    setTimeout(done, 150); // a page in the background paints nothing
    requestAnimationFrame(() => requestAnimationFrame(done));
  });

// Carries a point of a frame's window to this one, if nothing here lies over the frame at that point.
// `moved`: the frame has just scrolled, which may scroll this window too, a little later.
async function through({ key, x, y, moved = false, scroll = true }) {
  const element = elementOf(key);
  if (!element) return { state: "gone", token };
  if (moved) await painted();
  for (const block of scroll ? SCROLL_BLOCKS : [null]) {
    if (block) {
      bringIntoView(element, block);
      await painted();
    }
    const point = carried(element, x, y);
    if (point) return { state: "ok", x: point[0], y: point[1], scrolled: block !== null, token };
  }
  return { state: "covered", by: describe(coverOf(element)), token };
}

function carried(element, x, y) {
  forgetLayout();
  const outer = viewOf(element);
  if (!outer || !isRendered(element)) return null;
  const origin = frameOrigin(element);
  const px = origin.x + x * origin.k;
  const py = origin.y + y * origin.k;
  return hitAt(outer, px, py) === element ? toTop(outer, px, py) : null;
}

// For each point of a frame's window, in its own coordinates: does this window let a click through to it?
function open({ key, points }) {
  const element = elementOf(key);
  const outer = element && viewOf(element);
  if (!outer) return points.map(() => false);
  const origin = frameOrigin(element);
  return points.map(([x, y]) => hitAt(outer, origin.x + x * origin.k, origin.y + y * origin.k) === element);
}

// The first match that is rendered, wherever on the page it lies.
function find({ selector }) {
  let matches;
  try {
    matches = queryAll(document, selector);
  } catch {
    return { state: "invalid", token };
  }
  const match = matches.find((element) => linesOf(targetOf(element)).length && isRendered(targetOf(element)));
  if (match) return { state: "ok", key: keyOf(match), token };
  return { state: matches.length ? "hidden" : "missing", token };
}

// Which of the keyed elements lie inside what `selector` or `within` names; null when that is not here.
function inside({ selector = null, within = null, among }) {
  const outer = selector === null ? [elementOf(within)].filter(Boolean) : queryAll(document, selector);
  if (!outer.length) return null;
  return among.filter((key) => {
    const element = elementOf(key);
    return element && outer.some((box) => box !== element && contains(box, element));
  });
}
