// True when `text` stands in the rendered text of this document or of an open shadow root, spaces folded.
({ text }) => {
  const folded = (value) => value.replace(/\s+/g, " ").trim();
  const wanted = folded(text);
  const roots = (node) => {
    const found = [];
    for (const element of node.querySelectorAll("*")) if (element.shadowRoot) found.push(element.shadowRoot, ...roots(element.shadowRoot));
    return found;
  };
  const texts = [document.body ? document.body.innerText : ""];
  for (const root of roots(document)) for (const child of root.children) texts.push(child.innerText || "");
  return texts.some((value) => folded(value).includes(wanted));
}
