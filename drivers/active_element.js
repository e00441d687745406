// The element that has the focus, through open shadow roots.
() => {
  let element = activeIn(document);
  for (let root = element && openRootOf(element); root?.activeElement; root = openRootOf(element)) element = root.activeElement;
  return element;
};
