// Nodes read by the prototypes' own getters and methods. On a form, and on a document, an element of the page that is
// named like a property stands in that property's place: `form.parentElement` may be an <input name=parentElement>.

const getterOf = (kind, name) => Object.getOwnPropertyDescriptor(kind.prototype, name).get;

const called = Function.prototype.call;
const getter = (kind, name) => called.bind(getterOf(kind, name));
const method = (kind, name) => called.bind(kind.prototype[name]);

const nodeTypeOf = getter(Node, "nodeType");
const parentNodeOf = getter(Node, "parentNode");
const parentElementOf = getter(Node, "parentElement");
const documentOf = getter(Node, "ownerDocument");
const isConnected = getter(Node, "isConnected");
const textOf = getter(Node, "textContent");
const childNodesOf = getter(Node, "childNodes");
const lastChildOf = getter(Node, "lastChild");
const nodeBefore = getter(Node, "previousSibling");
const rootOf = method(Node, "getRootNode");

const slotOfElement = getter(Element, "assignedSlot");
const slotOf = (node) => (nodeTypeOf(node) === 1 ? slotOfElement(node) : node.assignedSlot || null);

const HTML = "http://www.w3.org/1999/xhtml";
// Elements of these names are read as what they are in HTML, which one of another namespace is not.
const HTML_ONLY = new Set(["input", "select", "textarea", "option", "slot", "iframe", "frame", "form", "label", "area", "map", "details", "table"]);
const localNameOf = getter(Element, "localName");
const namespaceOf = getter(Element, "namespaceURI");

function tagOf(element) {
  const name = localNameOf(element);
  return HTML_ONLY.has(name) && namespaceOf(element) !== HTML ? `other-${name}` : name;
}

const idOf = getter(Element, "id");
const openRootOf = getter(Element, "shadowRoot");
const elementsIn = getter(Element, "children");
const firstElementIn = getter(Element, "firstElementChild");
const elementBefore = getter(Element, "previousElementSibling");
const clientLeftOf = getter(Element, "clientLeft");
const clientTopOf = getter(Element, "clientTop");
const clientWidthOf = getter(Element, "clientWidth");
const clientHeightOf = getter(Element, "clientHeight");
const scrollWidthOf = getter(Element, "scrollWidth");
const scrollHeightOf = getter(Element, "scrollHeight");
const scrollLeftOf = getter(Element, "scrollLeft");
const scrollTopOf = getter(Element, "scrollTop");
const attributeReader = Element.prototype.getAttribute;
const attr = (element, name) => attributeReader.call(element, name);
const attributeTest = Element.prototype.hasAttribute;
const hasAttr = (element, name) => attributeTest.call(element, name);
const attributesTest = Element.prototype.hasAttributes;
const hasAttrs = (element) => attributesTest.call(element);
const setAttr = method(Element, "setAttribute");
const removeAttr = method(Element, "removeAttribute");
const matches = method(Element, "matches");
const closest = method(Element, "closest");
const rectReader = Element.prototype.getBoundingClientRect;
const rectOf = (element) => rectReader.call(element);
const rectsOf = method(Element, "getClientRects");
const checkVisibility = method(Element, "checkVisibility");
const scrollIntoView = method(Element, "scrollIntoView");
const scrollBy = method(Element, "scrollBy");

// A field may bear the name of any of these.
const formActionOf = getter(HTMLFormElement, "action");
const formMethodOf = getter(HTMLFormElement, "method");
const formFieldsOf = getter(HTMLFormElement, "elements");

const bodyOf = getter(Document, "body");
const topElementOf = getter(Document, "documentElement");
const windowOf = getter(Document, "defaultView");
const titleOf = getter(Document, "title");
const scrollerOf = getter(Document, "scrollingElement");
const createRange = method(Document, "createRange");

// Of a document, an element or a shadow root, which have the same by different prototypes.
function shared(name) {
  const ofDocument = Document.prototype[name];
  const ofElement = Element.prototype[name];
  return (root, ...given) => {
    const type = nodeTypeOf(root);
    return (type === 9 ? ofDocument : type === 1 ? ofElement : root[name]).apply(root, given);
  };
}

const first = shared("querySelector");
const all = shared("querySelectorAll");
const lastElementReader = { 9: getterOf(Document, "lastElementChild"), 1: getterOf(Element, "lastElementChild"), 11: getterOf(DocumentFragment, "lastElementChild") };
const lastElementIn = (root) => lastElementReader[nodeTypeOf(root)].call(root);
const elementAt = shared("elementFromPoint");
const elementById = (root, id) => (nodeTypeOf(root) === 1 ? null : shared("getElementById")(root, id));
const activeOfDocument = getter(Document, "activeElement");
const activeIn = (root) => (nodeTypeOf(root) === 9 ? activeOfDocument(root) : root.activeElement);

// What HTML elements have and others may lack; only a form can hide it.
const isForm = (element) => tagOf(element) === "form";

function property(name) {
  const get = getterOf(HTMLElement, name);
  return (element) => (isForm(element) ? get.call(element) : element[name]);
}

const offsetWidthOf = property("offsetWidth");
const isEditable = property("isContentEditable");
const innerTextOf = property("innerText");
const tooltipOf = property("title");
const tabIndexOf = property("tabIndex");
const onClickOf = property("onclick");
const onMouseDownOf = property("onmousedown");
