// The title of the document, also where an element of the page is named "title" and stands in its place.
() => {
  const read = Object.getOwnPropertyDescriptor(Document.prototype, "title").get;
  return read.call(document);
}
