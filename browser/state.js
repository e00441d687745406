// What a control holds and how it stands.

const VALUE_LIMIT = 80;
const OPTION_LIMIT = 25;
const VALUELESS_INPUTS = /^(checkbox|radio|button|submit|reset|image)$/;
const secrets = new WeakSet(); // a password shown as text is still one

function isSecret(element) {
  if (element.type === "password" || /password/.test(attr(element, "autocomplete") || "")) secrets.add(element);
  return secrets.has(element);
}

const ariaBoolean = (element, name) => {
  const value = attr(element, name);
  return value === "true" ? true : value === "false" || value === "mixed" ? false : null;
};

function checkedOf(element) {
  if (tagOf(element) === "input" && (element.type === "checkbox" || element.type === "radio")) return element.checked;
  return ariaBoolean(element, "aria-checked");
}

function expandedOf(element) {
  if (tagOf(element) === "summary") return !!parentElementOf(element) && parentElementOf(element).open === true;
  return ariaBoolean(element, "aria-expanded");
}

function selectedOf(element) {
  const current = attr(element, "aria-current");
  if (current && current !== "false") return true;
  const selected = ariaBoolean(element, "aria-selected");
  return selected === null ? ariaBoolean(element, "aria-pressed") : selected;
}

const isInvalid = (element) => {
  const aria = attr(element, "aria-invalid");
  return (!!aria && aria !== "false") || matches(element, ":user-invalid");
};

const isRequired = (element) => element.required === true || attr(element, "aria-required") === "true";
const isAriaDisabled = (element) => isDisabled(element) || attr(element, "aria-disabled") === "true";

const innerActive = (root) => (root ? activeIn(root) : null);

function activeElement() {
  let active = activeIn(document);
  for (;;) {
    const inner = active && (innerActive(shadowOf(active) || documentIn(active)));
    if (!inner || inner === active) return active;
    active = inner;
  }
}

// null where the control holds no value, or one that must not be told.
function valueOf(element) {
  if (isSecret(element)) return null;
  const tag = tagOf(element);
  if (tag === "select") return [...element.selectedOptions].map((option) => option.label || option.text).join(", ");
  if (tag === "textarea") return element.value;
  if (tag === "input") {
    if (VALUELESS_INPUTS.test(element.type)) return null;
    return element.type === "file" ? [...element.files].map((file) => file.name).join(", ") : element.value;
  }
  const role = roleAttribute(element);
  if (role === "slider" || role === "spinbutton") return attr(element, "aria-valuetext") || attr(element, "aria-valuenow");
  if (isEditable(element) || role === "combobox" || role === "textbox" || role === "searchbox") return textOf(element);
  return null;
}

const optionLabel = (option) => cut(clean(option.label || option.text), VALUE_LIMIT);
const usableOptions = (select) => [...select.options].filter((option) => !isDisabled(option) && !option.hidden);

// The state fields of a mark; absent where they do not apply.
function stateOf(element, active) {
  const state = {};
  const put = (name, value) => {
    if (value !== null && value !== undefined) state[name] = value;
  };
  put("checked", checkedOf(element));
  put("expanded", expandedOf(element));
  put("selected", selectedOf(element));
  if (isInvalid(element)) state.invalid = true;
  if (isAriaDisabled(element)) state.disabled = true;
  if (isRequired(element)) state.required = true;
  if (element === active) state.focused = true;
  if (isSecret(element)) state.filled = !!element.value;
  const value = valueOf(element);
  if (value !== null) state.value = cut(clean(value), VALUE_LIMIT);
  if (tagOf(element) === "select") {
    const labels = usableOptions(element).map(optionLabel);
    state.options = labels.slice(0, OPTION_LIMIT);
    if (labels.length > OPTION_LIMIT) state.more_options = labels.length - OPTION_LIMIT;
  }
  return state;
}
