// Scrolls by (dx, dy): the element that `selector` names or what scrolls in or around it, else the page or, where
// the page itself does not move, what scrolls in its middle. Gives the pixels moved, [x, y].
({ selector, dx, dy }) => {
  const scrolls = (element) => {
    const style = getComputedStyle(element);
    const room = element.scrollHeight > element.clientHeight + 1 || element.scrollWidth > element.clientWidth + 1;
    return room && /auto|scroll|overlay/.test(style.overflowX + style.overflowY);
  };
  const upwards = (element) => {
    const chain = [];
    for (let node = element; node; node = node.parentElement || node.getRootNode().host || null) chain.push(node);
    return chain;
  };
  const move = (target) => {
    const x = target.scrollLeft;
    const y = target.scrollTop;
    target.scrollBy({ left: dx, top: dy, behavior: "instant" });
    return [Math.round(target.scrollLeft - x), Math.round(target.scrollTop - y)];
  };
  const page = document.scrollingElement || document.documentElement;
  const middle = document.elementFromPoint(innerWidth / 2, innerHeight / 2);
  const named = selector ? document.querySelector(selector) : null;
  if (selector && !named) return null;
  const inside = named ? [...named.querySelectorAll("*")] : [];
  const candidates = named
    ? [...[named, ...inside].filter(scrolls), ...upwards(named).filter(scrolls), page]
    : [page, ...upwards(middle).filter(scrolls)];
  for (const candidate of candidates) {
    const moved = move(candidate);
    if (moved[0] || moved[1]) return moved;
  }
  return [0, 0];
}
