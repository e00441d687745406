// A secret goes into a field only while this very check holds: whose page it is, whose frames, and where its form goes.

const SECRET_FIELDS = /^(text|password|email|tel|url|search|number)$/;

// The origins of the element's own window and of every window around it; "" for one that cannot be told.
function originsAround(element) {
  const origins = [];
  for (let view = windowOf(documentOf(element)); view; view = view.parent) {
    origins.push(view.origin === view.location.origin ? view.origin : "null");
    if (view === window) break;
  }
  if (window === window.parent) return origins;
  const around = location.ancestorOrigins;
  return around ? [...origins, ...around] : [...origins, ""];
}

function submittersOf(form) {
  const images = queryAll(rootOf(form), "input[type=image]").filter((image) => image.form === form);
  return [...formFieldsOf(form), ...images].filter(isSubmitter);
}

const originOf = (address) => {
  try {
    return new URL(address).origin;
  } catch {
    return "";
  }
};

// What of the form is against it, null for nothing.
function againstForm(form, origins) {
  const submitters = submittersOf(form);
  const methods = [formMethodOf(form), ...submitters.filter((one) => hasAttr(one, "formmethod")).map((one) => one.formMethod)];
  if (methods.includes("get")) return { state: "get" };
  const actions = [formActionOf(form), ...submitters.filter((one) => hasAttr(one, "formaction")).map((one) => one.formAction)];
  const elsewhere = actions.map(originOf).find((origin) => !origins.includes(origin));
  return elsewhere === undefined ? null : { state: "action", where: elsewhere };
}

function against(element, origins) {
  const isField = tagOf(element) === "textarea" || (tagOf(element) === "input" && SECRET_FIELDS.test(element.type));
  if (!isField || element.disabled || element.readOnly) return { state: "unfit" };
  const strange = originsAround(element).findIndex((origin) => !origins.includes(origin));
  if (strange >= 0) return { state: strange ? "around" : "frame", where: originsAround(element)[strange] };
  return element.form ? againstForm(element.form, origins) : null;
}

// Without a value only the check is done. What a page does on focus is over before it; then nothing comes between.
function type_secret({ key, origins, value = null }) {
  const element = elementOf(key);
  if (!element) return { state: "gone" };
  if (value !== null) element.focus({ preventScroll: true });
  const wrong = isConnected(element) ? against(element, origins) : { state: "gone" };
  if (wrong) return wrong;
  secrets.add(element);
  if (value === null) return { state: "ok" };
  setNative(element, "value", value);
  announce(element);
  return { state: "ok", kept: element.value === value };
}
