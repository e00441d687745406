// Puts many lines in at the caret of the focused textarea in one step; false where there is none.
(text) => {
  let element = activeIn(document);
  for (let root = element && openRootOf(element); root?.activeElement; root = openRootOf(element)) element = root.activeElement;
  if (!(element instanceof HTMLTextAreaElement) || element.readOnly || element.disabled) return false;
  const kind = { bubbles: true, composed: true, inputType: "insertText", data: text };
  if (!element.dispatchEvent(new InputEvent("beforeinput", { ...kind, cancelable: true }))) return true;
  const room = element.maxLength < 0 ? Infinity : element.maxLength - element.value.length +
    (element.selectionEnd - element.selectionStart);
  element.setRangeText(text.slice(0, Math.max(room, 0)), element.selectionStart, element.selectionEnd, "end");
  element.dispatchEvent(new InputEvent("input", kind));
  return true;
};
