// True when `text` stands in the rendered text of this document or of an open shadow root, spaces folded.
({ text }) => {
  const folded = (value) => value.replace(/\s+/g, " ").trim();
  const wanted = folded(text);
  const roots = (node) => {
    const found = [];
    for (const element of all(node, "*")) {
      const root = openRootOf(element);
      if (root) found.push(root, ...roots(root));
    }
    return found;
  };
  const texts = [bodyOf(document) ? innerTextOf(bodyOf(document)) : ""];
  for (const root of roots(document)) for (const child of root.children) texts.push(innerTextOf(child) || "");
  return texts.some((value) => folded(value).includes(wanted));
}
