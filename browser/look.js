// The page as a tree of units (rows, list items, cards, bars) whose leaves are words, marks, pictures and frames,
// in reading order. What a mark says already is left out of the words.

const BAR_HEIGHT = 90; // px: a flex row taller than this is a layout, not a bar of controls
const RUN = 4; // alike units from which their container gets a selector
const ROW_ROLES = new Set(["row"]);
const CELL_ROLES = new Set(["cell", "gridcell", "columnheader", "rowheader"]);

function unitKind(element, shown, style) {
  const tag = tagOf(element);
  const role = attr(element, "role");
  if (tag === "tr" || ROW_ROLES.has(role)) return "row";
  if (tag === "td" || tag === "th" || CELL_ROLES.has(role)) return "cell";
  if (shown.has(element) && holdsMore(element, style)) return "card";
  if (tag === "li" || role === "listitem") return "item";
  if (isBar(element, style)) return "bar";
  return repeats(element) ? "card" : null;
}

// A mark with things of its own inside, rather than a word and an icon in a line of text.
const holdsMore = (element, { display }) =>
  !!firstElementIn(element) && display !== "inline" && (!display.startsWith("inline") || roleOf(element) === "clickable");

const isBar = (element, style) =>
  ((/flex$/.test(style.display) && style.flexDirection.startsWith("row")) || tagOf(element) === "nav" || attr(element, "role") === "toolbar") &&
  rectOf(element).height <= BAR_HEIGHT;

const shapeOf = (element) => tagOf(element) + "." + classOf(element).trim().split(/\s+/)[0];
let shapes = new Map(); // parent -> how many children of each shape

// One of several siblings of one shape, holding more than bare text.
function repeats(element) {
  const parent = parentElementOf(element);
  if (!parent || !firstElementIn(element)) return false;
  let counts = shapes.get(parent);
  if (!counts) {
    counts = new Map();
    for (const child of elementsIn(parent)) counts.set(shapeOf(child), (counts.get(shapeOf(child)) || 0) + 1);
    shapes.set(parent, counts);
  }
  return counts.get(shapeOf(element)) > 1;
}

const headingLevel = (element) => {
  const level = /^h([1-6])$/.exec(tagOf(element));
  if (level) return Number(level[1]);
  return attr(element, "role") === "heading" ? Number(attr(element, "aria-level")) || 2 : 0;
};

// Where a leaf goes: its unit, the block whose line it is on, and whether that is a heading.
class Places {
  constructor(shown) {
    this.shown = shown;
    this.root = { kind: "page", items: [], parent: null };
    this.known = new Map();
    this.blocks = 0;
    this.containers = new Map(); // element -> its number and how many units lie right in it
  }

  // Iterative, because pages nest deeper than a stack.
  of(element) {
    const path = [];
    let up = element;
    while (up && !this.known.has(up)) {
      path.push(up);
      up = parentOf(up) || this.holder(up);
    }
    let place = up ? this.known.get(up) : { unit: this.root, block: ++this.blocks, heading: 0 };
    for (const next of path.reverse()) {
      place = this.below(place, next);
      this.known.set(next, place);
    }
    return place;
  }

  // The frame element around a document that was read with this one.
  holder(element) {
    const view = windowOf(documentOf(element));
    return view && view !== window ? view.frameElement : null;
  }

  below(place, element) {
    const style = styleOf(element);
    const kind = style.display === "contents" ? null : unitKind(element, this.shown, style);
    const inline = style.display.startsWith("inline") || style.display === "contents";
    if (inline && !kind) return place;
    const unit = kind ? { kind, items: [], parent: place.unit, container: this.container(element), attached: false } : place.unit;
    return { unit, block: ++this.blocks, heading: headingLevel(element) || (kind ? 0 : place.heading) };
  }

  container(element) {
    const parent = parentElementOf(element) || element;
    let entry = this.containers.get(parent);
    if (!entry) this.containers.set(parent, (entry = { number: this.containers.size, units: 0 }));
    return entry;
  }

  put(element, leaf) {
    const { unit, block, heading } = this.of(element);
    leaf.b = block;
    if (heading) leaf.h = heading;
    this.attach(unit);
    unit.items.push(leaf);
    return leaf;
  }

  attach(unit) {
    const waiting = [];
    for (let next = unit; next.parent && !next.attached; next = next.parent) waiting.push(next);
    for (const next of waiting.reverse()) {
      next.attached = true;
      next.container.units++;
      next.parent.items.push(next);
    }
  }

  selectors() {
    const told = {};
    for (const [element, { number, units }] of this.containers) if (units >= RUN) told[number] = selectorFor(element);
    return told;
  }
}

const plainUnit = (unit) =>
  unit.items ? { u: unit.kind, p: unit.container ? unit.container.number : -1, n: unit.items.map(plainUnit) } : unit;

// A short selector that matches `element` first: its id, tag or tag and class.
function selectorFor(element) {
  const root = rootOf(element);
  const tries = [idOf(element) && `#${CSS.escape(idOf(element))}`, tagOf(element)];
  for (const name of classOf(element).trim().split(/\s+/).filter(Boolean)) tries.push(`${tagOf(element)}.${CSS.escape(name)}`);
  const fits = (selector) => selector && selector.length < 60 && first(root, selector) === element;
  return tries.find(fits) || `${tagOf(element)}:nth-of-type(${nthOfType(element)})`;
}

function nthOfType(element) {
  let place = 1;
  for (let before = elementBefore(element); before; before = elementBefore(before)) if (tagOf(before) === tagOf(element)) place++;
  return place;
}

// What the marks say already ------------------------------------------------------------------------

// Elements whose text names exactly one mark: dropped where that name is shown.
function namingElements(shown) {
  const naming = new Map();
  for (const [element, mark] of shown) {
    const ids = (attr(element, "aria-labelledby") || "").split(/\s+/).filter(Boolean);
    for (const id of ids) {
      const label = elementById(rootOf(element), id);
      if (label && !/^(h[1-6]|th|legend|caption)$/.test(tagOf(label))) naming.set(label, naming.has(label) ? null : mark);
    }
  }
  return naming;
}

// The mark that speaks for a text: the one around it, or the one it labels.
function speaker(node, shown, naming) {
  for (const up of ancestorsOf(node)) {
    if (shown.has(up)) return { mark: shown.get(up), around: up };
    if (naming.get(up)) return { mark: naming.get(up), around: null };
    if (isControlLabel(up) && shown.has(up.control)) return { mark: shown.get(up.control), around: null };
  }
  return null;
}

// What is left of `text` once a mark has said its part; one that was cut has said only the beginning.
function unsaid(text, mark, around) {
  if (around && text.length <= 2) return "";
  for (const said of [mark.name, mark.value]) {
    if (!said) continue;
    if (foldCase(said).includes(foldCase(text))) return "";
    if (said.endsWith("…")) text = withoutBeginning(text, said.slice(0, -1));
  }
  return text;
}

function withoutBeginning(text, said) {
  for (let length = Math.min(text.length, said.length); length > 0; length--) {
    if (said.endsWith(text.slice(0, length))) return text.slice(length).trim();
  }
  return text;
}

// ---------------------------------------------------------------------------------------------------

// Two texts on one line with neither space nor gap between them are one word.
const touches = (before, seen, data) =>
  before && !/^\s/.test(data) && Math.abs(seen.first[0] - before[2]) < 1.5 && Math.abs(seen.first[1] - before[1]) < 4;

function readPage(order, shown) {
  forgetSight();
  shapes = new Map();
  const places = new Places(shown);
  const naming = namingElements(shown);
  let before = null;
  for (const item of order) {
    if (item.text) {
      before = putText(places, item, shown, naming, before);
      continue;
    }
    before = null;
    if (item.frame) places.put(item.frame, { f: keyOf(item.frame) });
    else if (item.image) putImage(places, item, shown, naming);
    else if (shown.has(item.element)) places.put(item.element, { m: shown.get(item.element).key });
    else if (isDisabledInSight(item)) putDisabled(places, item.element, shown);
  }
  return { tree: plainUnit(places.root), containers: places.selectors() };
}

// Gives the box where the text ends, null when a space follows or none was put.
function putText(places, { text: node, view }, shown, naming, before) {
  const spoken = speaker(node, shown, naming);
  const seen = seenText(node, view);
  if (!seen) return null;
  const text = spoken ? unsaid(seen.text, spoken.mark, spoken.around) : seen.text;
  if (!text) return null;
  const leaf = { t: text };
  if (touches(before, seen, node.data)) leaf.g = 1;
  places.put(parentOf(node), leaf);
  return /\s$/.test(node.data) ? null : seen.last;
}

function putImage(places, { image, view }, shown, naming) {
  const alt = clean(image.alt);
  if (!alt || !isImageShown(image, view) || speaker(image, shown, naming)) return;
  places.put(parentOf(image) || image, { i: cut(alt, NAME_LIMIT) });
}

const isDisabledInSight = (candidate) => {
  if (!candidate.element || candidate.kind !== STRONG || !isDisabled(candidate.element)) return false;
  const visible = visiblePart(candidate);
  return !!visible && !isCovered(candidate.via || candidate.element, candidate.view, visible);
};

// A control that cannot be used now has no number, but a person sees that it is there.
function putDisabled(places, element, shown) {
  const role = roleOf(element);
  const mark = { name: nameOf(element, role), value: null };
  shown.set(element, mark);
  places.put(element, { d: role, t: mark.name });
}
