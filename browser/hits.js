// What is really under a point, through the frames above and the shadow roots below.

const SAMPLES = [[0.5, 0.5], [0.25, 0.5], [0.75, 0.5], [0.5, 0.2], [0.5, 0.8], [0.1, 0.1], [0.9, 0.1], [0.1, 0.9], [0.9, 0.9]];
const MULTILINE = 24; // px: an inline box taller than this is several lines, with nothing of it between them

function deepest(root, x, y) {
  let hit = elementAt(root, x, y);
  for (;;) {
    const shadow = hit && shadowOf(hit);
    const inner = shadow && elementAt(shadow, x, y);
    if (!inner || inner === hit) return hit;
    hit = inner;
  }
}

// The element at a point of `view`'s window; null when something above that window's frame is hit instead.
function hitAt(view, x, y) {
  for (let inner = view, px = x, py = y; inner.up; inner = inner.up) {
    px = inner.x + px * inner.scale;
    py = inner.y + py * inner.scale;
    if (deepest(inner.up.document, px, py) !== inner.element) return null;
  }
  return deepest(view.document, x, y);
}

// Where to try: the visible box, or each line of an inline element that wraps.
function hitBoxes(element, visible) {
  if (heightOf(visible) <= MULTILINE || tagOf(element) === "area" || styleOf(element).display !== "inline") return [visible];
  const lines = [...rectsOf(element)].map((r) => overlap([r.left, r.top, r.right, r.bottom], visible)).filter(Boolean);
  return lines.length ? lines : [visible];
}

// The first sample point whose hit `owns` accepts.
function findPoint(view, boxes, owns) {
  for (const box of boxes) {
    for (const [fx, fy] of SAMPLES) {
      const x = box[0] + widthOf(box) * fx;
      const y = box[1] + heightOf(box) * fy;
      const hit = hitAt(view, x, y);
      if (hit && owns(hit)) return [x, y];
    }
  }
  return null;
}

const NAMED_LEVELS = 3; // further up an id names the page rather than what covers

// A few words for a person: what covers the thing they meant.
function describe(element) {
  if (!element) return "nothing that can be clicked";
  const near = [element, ...ancestorsOf(element)].slice(0, NAMED_LEVELS);
  const named = near.find((up) => idOf(up) || attr(up, "aria-label")) || element;
  const which = idOf(named) ? `#${idOf(named)}` : classOf(named) ? `.${classOf(named).trim().split(/\s+/)[0]}` : "";
  const text = clean(attr(named, "aria-label")) || clean(contentText(named, null));
  return cut(clean(`${tagOf(named)}${which}`), 60) + (text ? ` "${cut(text, 40)}"` : "");
}
