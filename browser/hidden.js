// What page script cannot see by itself and a driver may find out: elements that only listen, closed shadow roots.

let clickables = new WeakMap(); // elements known to listen for clicks -> whether for themselves, null before it was asked
const heard = new Map(); // the driver's number of a listening element -> the element

// `heard`: numbers of all that listen now; `clickables`: [number, element] of those not told before; `roots`: [host, root].
function learn({ heard: numbers = null, clickables: fresh = [], roots = [] }) {
  for (const [number, element] of fresh) heard.set(number, element);
  if (numbers) {
    const now = new Set(numbers);
    for (const number of heard.keys()) if (!now.has(number)) heard.delete(number);
    clickables = new WeakMap([...heard.values()].map((element) => [element, null]));
  }
  for (const [host, root] of roots) closedRoots.set(host, root);
  anyClosed = anyClosed || roots.length > 0;
  return fresh.length + roots.length;
}

// Delegation: one listener on a container for all that is in it.
const CONTAINERS = new Set(["ul", "ol", "dl", "table", "thead", "tbody", "tfoot", "form", "fieldset", "main", "nav", "header", "footer"]);
const LARGE = 1 / 3; // of the viewport

function listensForItself(element) {
  if (!clickables.has(element)) return false;
  if (clickables.get(element) === null) {
    const box = boxOf(element);
    const large = widthOf(box) * heightOf(box) > innerWidth * innerHeight * LARGE;
    clickables.set(element, !large && !CONTAINERS.has(tagOf(element)));
  }
  return clickables.get(element);
}

const MANY = 4; // controls in one listener's care

// Candidates that listen only for what is in them: around a field, whose focus they look after, or around many controls.
function listeningForOthers(candidates) {
  const inside = new Map();
  if (!heard.size) return inside.keys();
  for (const { element, kind } of candidates.values()) {
    if (kind !== STRONG) continue;
    const weight = isTextField(element) || tagOf(element) === "select" ? MANY : 1;
    for (const up of ancestorsOf(element)) if (clickables.has(up)) inside.set(up, (inside.get(up) || 0) + weight);
  }
  return [...inside.keys()].filter((element) => inside.get(element) >= MANY && (candidates.get(element) || {}).kind === WEAK);
}

// Where to look for listeners on a page that has very many: the parts of it that are in sight.

const SCOPE_LIMIT = 60;
const SMALL = 300; // elements that are looked through as one
let searched = ""; // what was looked through last

// null where that is what was looked through before, with no element more or less in it.
function scopes() {
  const found = partsInSight();
  const looks = found.map((element) => `${keyOf(element)} ${all(element, "*").length}`).join();
  if (looks === searched) return null;
  searched = looks;
  return found;
}

function partsInSight() {
  const { view } = topView(null);
  const isInSight = (element) => !hasBox(boxOf(element)) || !!overlap(boxOf(element), view);
  const found = [];
  const queue = [bodyOf(document)].filter(Boolean);
  while (queue.length && found.length < SCOPE_LIMIT) {
    const element = queue.shift();
    const inner = all(element, "*").length > SMALL ? [...elementsIn(shadowOf(element) || element)].filter(isInSight) : [];
    if (inner.length) queue.push(...inner.slice(0, SCOPE_LIMIT));
    else found.push(element);
  }
  return found;
}

// Closed shadow roots.

const HOSTS = new Set(["article", "aside", "blockquote", "body", "div", "footer", "header", "main", "nav", "p", "section", "span"]);
const SUSPECT_LIMIT = 40;
const lookedAt = new WeakMap(); // element -> its size when the driver was last asked about it
let suspected = [];

const suspects = () => suspected;

// Custom elements without an open root, and elements that take up room with nothing of their own to fill it.
function mayHoldClosedRoot(element, box) {
  const tag = tagOf(element);
  if (!(tag.includes("-") || (HOSTS.has(tag) && isFilledByNothing(element))) || shadowOf(element)) return false;
  const size = `${Math.round(widthOf(box))}x${Math.round(heightOf(box))}`;
  if (lookedAt.get(element) === size) return false;
  lookedAt.set(element, size);
  return true;
}

function isFilledByNothing(element) {
  const child = firstElementIn(element);
  if (child) return styleOf(child).display === ""; // in no box tree: its parent renders a root instead
  if (hasWords(textOf(element))) return false;
  const style = styleOf(element);
  return style.backgroundImage === "none" && alphaOf(style.backgroundColor) === 0 && parseFloat(style.borderTopWidth) === 0;
}
