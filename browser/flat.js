// The flat tree: what is rendered, through shadow roots and slots.

const closedRoots = new WeakMap(); // hosts whose closed root the driver handed in
const closedSlots = new WeakMap(); // what is slotted into a closed root is told by its slot alone
let anyClosed = false;

const shadowOf = (element) => openRootOf(element) || (anyClosed && closedRoots.get(element)) || null;

const hostOf = (root) => (root && nodeTypeOf(root) === 11 && root.host) || null;

const parentOf = (node) =>
  slotOf(node) || (anyClosed && closedSlots.get(node)) || parentElementOf(node) || hostOf(parentNodeOf(node));

function* ancestorsOf(node) {
  for (let up = parentOf(node); up; up = parentOf(up)) yield up;
}

const contains = (outer, inner) => {
  for (let node = inner; node; node = parentOf(node)) if (node === outer) return true;
  return false;
};

function pushChildren(stack, node, withText) {
  if (nodeTypeOf(node) === 1) {
    if (tagOf(node) === "slot") {
      const assigned = withText ? node.assignedNodes() : node.assignedElements();
      if (assigned.length) {
        for (let i = assigned.length - 1; i >= 0; i--) {
          if (anyClosed) closedSlots.set(assigned[i], node);
          stack.push(assigned[i]);
        }
        return;
      }
    }
    node = shadowOf(node) || node;
  }
  if (!withText) {
    for (let child = lastElementIn(node); child; child = elementBefore(child)) stack.push(child);
    return;
  }
  for (let child = lastChildOf(node); child; child = nodeBefore(child)) {
    if (nodeTypeOf(child) === 1 || nodeTypeOf(child) === 3) stack.push(child);
  }
}

const SKIP = 0;
const ELEMENTS = 1;
const ALL = 2;

// Visits what lies below `root` in document order; `visit` tells which children of an element come next.
// A stack instead of recursion: pages nest tens of thousands deep.
function walk(root, first, visit) {
  const stack = [];
  pushChildren(stack, root, first === ALL);
  while (stack.length) {
    const node = stack.pop();
    const next = visit(node);
    if (next !== SKIP) pushChildren(stack, node, next === ALL);
  }
}

function childrenOf(node) {
  if (tagOf(node) === "slot") {
    const assigned = node.assignedNodes();
    if (assigned.length) return assigned;
  }
  return childNodesOf(shadowOf(node) || node);
}

// Every match in the document and the open shadow roots and enterable frames below it, in order.
function queryAll(root, selector) {
  const found = [];
  const search = (scope) =>
    walk(scope, ELEMENTS, (element) => {
      if (matches(element, selector)) found.push(element);
      const inner = documentIn(element);
      if (inner) search(inner);
      return ELEMENTS;
    });
  search(root);
  return found;
}

// The document of a same-origin frame element, null for others.
function documentIn(element) {
  if (tagOf(element) !== "iframe" && tagOf(element) !== "frame") return null;
  try {
    const inner = element.contentDocument;
    return inner && topElementOf(inner) ? inner : null;
  } catch {
    return null; // cross-origin
  }
}
