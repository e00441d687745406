// The title of the document.
() => titleOf(document)
