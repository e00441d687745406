// How many elements match the selector, in this document and in its open shadow roots.
({ selector }) => {
  const count = (root) => {
    let found = root.querySelectorAll(selector).length;
    for (const element of root.querySelectorAll("*")) if (element.shadowRoot) found += count(element.shadowRoot);
    return found;
  };
  return count(document);
}
