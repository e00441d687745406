// The flat tree: what is rendered, through shadow roots and slots.

const closedRoots = new WeakMap(); // hosts whose closed root the driver handed in
let anyClosed = false;

const shadowOf = (element) => element.shadowRoot || (anyClosed && closedRoots.get(element)) || null;

const parentOf = (node) =>
  node.assignedSlot || node.parentElement || (node.parentNode && node.parentNode.host) || null;

function* ancestorsOf(node) {
  for (let up = parentOf(node); up; up = parentOf(up)) yield up;
}

const contains = (outer, inner) => {
  for (let node = inner; node; node = parentOf(node)) if (node === outer) return true;
  return false;
};

function pushChildren(stack, node, withText) {
  if (node.nodeType === 1) {
    if (node.localName === "slot") {
      const assigned = withText ? node.assignedNodes() : node.assignedElements();
      if (assigned.length) {
        for (let i = assigned.length - 1; i >= 0; i--) stack.push(assigned[i]);
        return;
      }
    }
    node = shadowOf(node) || node;
  }
  if (!withText) {
    for (let child = node.lastElementChild; child; child = child.previousElementSibling) stack.push(child);
    return;
  }
  for (let child = node.lastChild; child; child = child.previousSibling) {
    if (child.nodeType === 1 || child.nodeType === 3) stack.push(child);
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
  if (node.localName === "slot") {
    const assigned = node.assignedNodes();
    if (assigned.length) return assigned;
  }
  return (shadowOf(node) || node).childNodes;
}

// Every match in the document and the open shadow roots and enterable frames below it, in order.
function queryAll(root, selector) {
  const found = [];
  const search = (scope) =>
    walk(scope, ELEMENTS, (element) => {
      if (element.matches(selector)) found.push(element);
      const inner = documentIn(element);
      if (inner) search(inner);
      return ELEMENTS;
    });
  search(root);
  return found;
}

// The document of a same-origin frame element, null for others.
function documentIn(element) {
  if (element.localName !== "iframe" && element.localName !== "frame") return null;
  try {
    const inner = element.contentDocument;
    return inner && inner.documentElement ? inner : null;
  } catch {
    return null; // cross-origin
  }
}
