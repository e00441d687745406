// Runs in the page's own world: click handlers that pages set as properties are not to be seen from another.
// Gives, per document, the places of such elements among all its elements, and the same for frames inside.
() => {
  const LIMIT = 2000;
  const handles = (element) =>
    (element.onclick && !element.hasAttribute("onclick")) || (element.onmousedown && !element.hasAttribute("onmousedown"));
  const innerDocument = (element) => {
    try {
      return element.localName === "iframe" ? element.contentDocument : null;
    } catch {
      return null;
    }
  };
  const look = (root) => {
    const places = [];
    const frames = [];
    root.querySelectorAll("*").forEach((element, place) => {
      if (places.length < LIMIT && handles(element)) places.push([place, element.localName]);
      const inner = innerDocument(element);
      if (inner) frames.push([place, look(inner)]);
    });
    return { places, frames };
  };
  return look(document);
}
