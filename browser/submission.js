// What a click or a key would submit: told before it is done, so that a person can say no.

const FORM_FIELDS = 60;
const FIELD_NAME = 80;
const PRESSED = /^(submit|image|button|reset|file|color)$/;

const isSubmitter = (element) =>
  (tagOf(element) === "button" && element.type === "submit" && (!!element.form || hasAttr(element, "type"))) ||
  (tagOf(element) === "input" && /^(submit|image)$/.test(element.type));

// The submit control that a click at an element presses, through labels.
function submitterAt(element) {
  for (let node = element; node; node = parentOf(node)) {
    if (isSubmitter(node)) return node.disabled ? null : node;
    if (tagOf(node) === "label" && node.control && isSubmitter(node.control)) return node.control;
  }
  return null;
}

// What Enter or Space does in a control; null where it submits nothing.
function submittedBy(element, how) {
  if (how === "click") return submitterAt(element);
  if (tagOf(element) === "label" && element.control) element = element.control;
  if (!/^(input|select|textarea|button)$/.test(tagOf(element))) return null;
  if (isSubmitter(element)) return element;
  if (how !== "enter" || tagOf(element) === "button") return null;
  return tagOf(element) === "input" && PRESSED.test(element.type) ? null : element;
}

function fieldNames(form) {
  const names = new Set();
  for (const field of formFieldsOf(form)) {
    const name = attr(field, "name");
    if (name && !field.disabled && names.size < FORM_FIELDS) names.add(cut(clean(name), FIELD_NAME));
  }
  return [...names];
}

function told(element) {
  const form = element.form || null;
  const own = isSubmitter(element);
  const method = own && hasAttr(element, "formmethod") ? element.formMethod : form ? formMethodOf(form) : "get";
  if (form && method === "dialog") return null; // it closes a dialog and goes nowhere
  return {
    name: nameOf(element, roleOf(element)),
    form: !!form,
    method,
    action: own && hasAttr(element, "formaction") ? element.formAction : form ? formActionOf(form) : location.href,
    fields: form ? fieldNames(form) : [],
  };
}

function focusedHere() {
  if (!document.hasFocus()) return null;
  const active = activeElement();
  return active && !/^(iframe|frame)$/.test(tagOf(active)) ? active : null;
}

// At an element, at a point of this window, or, with neither, where the focus is if it is in this window.
function submission({ key = null, point = null, how }) {
  const element = key !== null ? elementOf(key) : point ? deepest(document, point[0], point[1]) : focusedHere();
  if (!element) return null;
  if (point && /^(iframe|frame|embed|object)$/.test(tagOf(element))) return { unseen: true };
  const control = submittedBy(element, how);
  return control && told(control);
}
