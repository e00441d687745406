// Which element is which: a key for life, and what tells that it is still the one that was listed.

const token = crypto.getRandomValues(new Uint32Array(3)).reduce((text, word) => text + word.toString(36), "");
const keys = new WeakMap(); // element -> key
const entries = new Map(); // key -> { element, signature, name, aimed }
const KEPT_ENTRIES = 5000;
let lastKey = 0;

function keyOf(element) {
  let key = keys.get(element);
  // Not only a count: a key of the document before must not fit an element of this one.
  if (!key) keys.set(element, (key = `${token.slice(0, 6)}.${++lastKey}`));
  if (!entries.has(key)) entries.set(key, { element, signature: null, name: "", aimed: "" });
  return key;
}

const isAttached = (element) => isConnected(element) && !!windowOf(documentOf(element));

// Elements that left the page are let go once there are many.
function forgetDetached() {
  if (entries.size < KEPT_ENTRIES) return;
  for (const [key, { element }] of entries) if (!isAttached(element)) entries.delete(key);
}

const elementOf = (key) => {
  const entry = entries.get(key);
  return entry && isAttached(entry.element) ? entry.element : null;
};

const wasListed = (element) => {
  const entry = entries.get(keys.get(element));
  return !!entry && entry.signature !== null;
};

const LABEL_SOURCE = 300;

// A change of words changes it, a change of figures does not: "Like (3)" is still "Like (4)".
function signatureOf(element) {
  const isField = /^(input|textarea|select)$/.test(tagOf(element));
  const words = [tagOf(element), attr(element, "role"), attr(element, "aria-label")];
  if (isField) {
    words.push(element.type, element.name, element.placeholder, PUSH_INPUTS.test(element.type) ? element.value : "");
    for (const label of element.labels || []) words.push((textOf(label) || "").slice(0, LABEL_SOURCE));
  }
  else if (!isEditable(element)) words.push((textOf(element) || "").slice(0, 300));
  return foldDigits(clean(words.join("|")));
}

const CONTEXT_LIMIT = 100;
const CONTEXT_LEVELS = 6;
const CONTEXT_SOURCE = 2000; // an ancestor with more text says nothing about one control
let contexts = new Map();

function textAround(element) {
  let text = contexts.get(element);
  if (text === undefined) {
    text = (textOf(element) || "").length > CONTEXT_SOURCE ? null : clean(contentText(element, null));
    contexts.set(element, text);
  }
  return text;
}

// The text of the nearest ancestor that says more than the control's own name, without that name.
function contextOf(element, name) {
  let level = 0;
  for (const up of ancestorsOf(element)) {
    if (tagOf(up) === "body" || ++level > CONTEXT_LEVELS) break;
    const text = textAround(up);
    if (text === null) break;
    if (text.length <= name.length + 1) continue;
    // What a whole form says belongs to none of its fields; one around a single button is passed by.
    return tagOf(up) === "form" ? "" : cut(text.replace(name, "").replace(/ {2,}/g, " ").trim(), CONTEXT_LIMIT);
  }
  return "";
}
