// What a control is before typing, what it holds after, and values that are set rather than typed.

function state({ key }) {
  const element = elementOf(key);
  if (!element) return { state: "gone", token };
  const secret = isSecret(element);
  const options = tagOf(element) === "select" ? usableOptions(element) : [];
  return {
    state: "ok",
    tag: tagOf(element),
    type: tagOf(element) === "input" ? element.type : "",
    role: roleOf(element),
    name: nameOf(element, roleOf(element)),
    value: secret ? null : fullValue(element),
    filled: !!fullValue(element),
    focused: hasFocus(element),
    editable: isTextField(element) && !isAriaDisabled(element) && !isReadonly(element),
    readonly: isReadonly(element),
    checked: checkedOf(element),
    options: options.slice(0, OPTION_LIMIT).map(optionLabel),
    more_options: Math.max(0, options.length - OPTION_LIMIT),
    contenteditable: isEditable(element),
  };
}

const isReadonly = (element) => element.readOnly === true || attr(element, "aria-readonly") === "true";

// Unlike a mark's value: whole, and with its line breaks.
function fullValue(element) {
  if (isEditable(element)) return innerTextOf(element);
  if (tagOf(element) === "input" && VALUELESS_INPUTS.test(element.type)) return null;
  if (tagOf(element) === "input" || tagOf(element) === "textarea") return element.type === "file" ? valueOf(element) : element.value;
  return valueOf(element);
}

function hasFocus(element) {
  const active = activeElement();
  return !!active && (active === element || contains(element, active));
}

// The focus is in the element, or in the field that a click on it went to.
const focus_inside = ({ key }) => {
  const element = elementOf(key);
  return !!element && hasFocus(element);
};

function select_content({ key }) {
  const element = elementOf(key);
  if (!element) return false;
  if (/^(input|textarea)$/.test(tagOf(element))) element.select();
  else windowOf(documentOf(element)).getSelection().selectAllChildren(element);
  return true;
}

// The page's own setter on the element is passed by: frameworks that watch it must see a change.
function setNative(element, name, value) {
  const view = windowOf(documentOf(element));
  const kind = { input: view.HTMLInputElement, textarea: view.HTMLTextAreaElement, select: view.HTMLSelectElement, option: view.HTMLOptionElement }[tagOf(element)];
  Object.getOwnPropertyDescriptor(kind.prototype, name).set.call(element, value);
}

function announce(element) {
  const view = windowOf(documentOf(element));
  element.dispatchEvent(new view.Event("input", { bubbles: true, composed: true }));
  element.dispatchEvent(new view.Event("change", { bubbles: true }));
}

function fill({ key, value }) {
  const element = elementOf(key);
  if (!element || !/^(input|textarea)$/.test(tagOf(element))) return null;
  element.focus({ preventScroll: true });
  setNative(element, "value", value);
  announce(element);
  return isSecret(element) ? (element.value ? value : "") : element.value;
}

// The option a person means by a word: its label, its value, part of its label if one has it, its place.
function findOption(options, wanted) {
  const label = foldCase(wanted);
  const exact =
    options.find((option) => optionLabel(option) === clean(wanted)) ||
    options.find((option) => option.value === wanted) ||
    options.find((option) => foldCase(option.label || option.text) === label);
  if (exact || !label) return exact;
  const partial = options.filter((option) => foldCase(option.label || option.text).includes(label));
  if (partial.length === 1) return partial[0];
  return /^\d+$/.test(label) ? options[Number(label) - 1] : undefined;
}

function select({ key, labels }) {
  let element = elementOf(key);
  if (!element) return { state: "gone" };
  const own = tagOf(element) === "option" ? element : null;
  if (own) element = closest(own, "select") || element;
  if (tagOf(element) !== "select") return { state: "unfit", role: roleOf(element), options: null };
  const options = usableOptions(element);
  const chosen = own ? [own] : labels.map((label) => findOption(options, label));
  const all = options.map(optionLabel);
  if (chosen.some((option) => !option) || (chosen.length !== 1 && !element.multiple)) {
    return { state: "unfit", options: all.slice(0, OPTION_LIMIT), more: Math.max(0, all.length - OPTION_LIMIT), multiple: element.multiple };
  }
  element.focus({ preventScroll: true });
  for (const option of element.options) setNative(option, "selected", chosen.includes(option));
  announce(element);
  return { state: "ok", chosen: chosen.map(optionLabel) };
}

// The text around a target: the largest ancestor that stays within the bound, the same one before and after an act.

const NEARBY_LIMIT = 400;
const LIVE_LIMIT = 5;
const LIVE_REGIONS = "[role=status], [role=alert], [aria-live=polite], [aria-live=assertive], output";
const surroundings = new WeakMap();

function surroundingOf(element) {
  const known = surroundings.get(element);
  if (known && isConnected(known)) return known;
  let best = element;
  for (const up of ancestorsOf(element)) {
    if (/^(body|html)$/.test(tagOf(up)) || visibleText(up).length > NEARBY_LIMIT) break;
    best = up;
    if (/^(form|dialog)$/.test(tagOf(up))) break;
  }
  surroundings.set(element, best);
  return best;
}

const visibleText = (element) => clean(innerTextOf(element) === undefined ? textOf(element) : innerTextOf(element));

function nearby({ key }) {
  const element = elementOf(key);
  if (!element) return "";
  return [cut(visibleText(surroundingOf(element)), NEARBY_LIMIT), ...announcements(documentOf(element))].join("\n");
}

// What the page says aloud to whoever cannot see where it appears: toasts and error summaries, far from what was acted on.
function announcements(page) {
  return queryAll(page, LIVE_REGIONS).slice(0, LIVE_LIMIT).filter(isShown).map((region) => cut(visibleText(region), NEARBY_LIMIT));
}
nearby.forget = (element) => surroundings.delete(element);

// For drivers that only know selectors: a mark on the element itself, taken off after the act.

const TAG = "data-aim";

// What a click by selector needs: an element that has a box, a label in place of a control that cannot be seen.
function taggable(element) {
  const target = targetOf(element);
  const box = boxOf(target);
  return hasBox(box) ? target : [...elementsIn(target)].find((child) => hasBox(boxOf(child))) || target;
}

function tag({ key, name }) {
  const element = elementOf(key);
  if (!element) return null;
  setAttr(taggable(element), TAG, name);
  return `[${TAG}="${name}"]`;
}

function untag({ name }) {
  for (const element of queryAll(document, `[${TAG}="${name}"]`)) removeAttr(element, TAG);
  return true;
}
