// Scrolls by (dx, dy): the element that `selector` names or what scrolls in or around it, else the page or, where
// the page itself does not move, what scrolls in its middle. Gives the pixels moved, [x, y].
({ selector, dx, dy }) => {
  const scrolls = (element) => {
    const style = getComputedStyle(element);
    const room = scrollHeightOf(element) > clientHeightOf(element) + 1 || scrollWidthOf(element) > clientWidthOf(element) + 1;
    return room && /auto|scroll|overlay/.test(style.overflowX + style.overflowY);
  };
  const upwards = (element) => {
    const chain = [];
    for (let node = element; node; node = parentElementOf(node) || (nodeTypeOf(rootOf(node)) === 11 && rootOf(node).host) || null) chain.push(node);
    return chain;
  };
  const move = (target) => {
    const x = scrollLeftOf(target);
    const y = scrollTopOf(target);
    scrollBy(target, { left: dx, top: dy, behavior: "instant" });
    return [Math.round(scrollLeftOf(target) - x), Math.round(scrollTopOf(target) - y)];
  };
  const page = scrollerOf(document) || topElementOf(document);
  const middle = elementAt(document, innerWidth / 2, innerHeight / 2);
  const named = selector ? first(document, selector) : null;
  if (selector && !named) return null;
  const inside = named ? [...all(named, "*")] : [];
  const candidates = named
    ? [...[named, ...inside].filter(scrolls), ...upwards(named).filter(scrolls), page]
    : [page, ...upwards(middle).filter(scrolls)];
  for (const candidate of candidates) {
    const moved = move(candidate);
    if (moved[0] || moved[1]) return moved;
  }
  return [0, 0];
}
