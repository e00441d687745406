// The text of this document that a person gets to see, as Markdown: headings, paragraphs, lists, links, tables, code, quotes.
() => {
  forgetLayout();
  forgetSight();
  const SKIP = new Set(["script", "style", "noscript", "template", "svg", "iframe", "object", "select", "head", "textarea"]);
  const DEEPEST = 300;
  const BLOCK = /^(block|flex|grid|list-item|table|flow-root|table-row|table-row-group)/;
  const hidden = (element) =>
    styleOf(element).display !== "contents" && !checkVisibility(element, { visibilityProperty: true, opacityProperty: true });
  let depth = 0;
  const blocks = []; // of code, whose lines keep their spaces
  const children = (node) => {
    if (tagOf(node) === "slot" && node.assignedNodes().length) return node.assignedNodes();
    return [...childNodesOf(openRootOf(node) || node)];
  };
  const inline = (text) => text.replace(/[ \t\n\r\f]+/g, " ");
  const tight = (text) => text.replace(/[ \t]*\n[ \t]*/g, "\n").replace(/\n{3,}/g, "\n\n").trim();
  const row = (cells) => `| ${cells.map((cell) => inline(within(cell)).trim().replaceAll("|", "\\|")).join(" | ")} |`;

  const table = (element) => {
    const rows = [...element.rows].filter((line) => !hidden(line) && line.cells.length);
    if (!rows.length) return "";
    const rule = `|${" --- |".repeat(rows[0].cells.length)}`;
    return `\n\n${[row([...rows[0].cells]), rule, ...rows.slice(1).map((line) => row([...line.cells]))].join("\n")}\n\n`;
  };
  const list = (element) => {
    let number = element.start || 1;
    const items = [...elementsIn(element)].filter((item) => !hidden(item));
    const lines = items.map((item) => {
      const mark = tagOf(element) === "ol" ? `${number++}. ` : "- ";
      return mark + tight(within(item)).replaceAll("\n", `\n${" ".repeat(mark.length)}`);
    });
    return `\n\n${lines.join("\n")}\n\n`;
  };
  const address = (image) => (/^https?:/.test(image.currentSrc || image.src) ? image.currentSrc || image.src : "");
  const link = (element, text) => {
    const label = inline(text).trim();
    return label && element.protocol.startsWith("http") ? `[${label}](${element.href})` : text;
  };
  const block = (element) => {
    const tag = tagOf(element);
    if (tag === "table") return table(element);
    if (tag === "ul" || tag === "ol") return list(element);
    if (tag === "br") return "\n";
    if (tag === "hr") return "\n\n---\n\n";
    if (tag === "img") return element.alt && isPictureReadable(element) ? `![${inline(element.alt)}](${address(element)})` : "";
    if (tag === "pre") return `\n\n\0${blocks.push(asWritten(element).trimEnd()) - 1}\0\n\n`;
    const text = within(element);
    if (/^h[1-6]$/.test(tag)) return `\n\n${"#".repeat(Number(tag[1]))} ${inline(text).trim()}\n\n`;
    if (tag === "a" && element.href) return link(element, text);
    if (tag === "blockquote") return `\n\n${tight(text).replace(/^/gm, "> ")}\n\n`;
    if (/^(b|strong)$/.test(tag)) return text.trim() ? `**${text.trim()}**` : text;
    if (/^(i|em)$/.test(tag)) return text.trim() ? `*${text.trim()}*` : text;
    if (tag === "code") return text.trim() ? `\`${text.trim()}\`` : text;
    if (tag === "p") return `\n\n${text}\n\n`;
    return BLOCK.test(getComputedStyle(element).display) ? `\n${text}\n` : text;
  };
  const asWritten = (node) => {
    if (nodeTypeOf(node) === 3) return isReadable(node) ? node.data : "";
    if (nodeTypeOf(node) !== 1 || SKIP.has(tagOf(node)) || hidden(node)) return "";
    return tagOf(node) === "br" ? "\n" : children(node).map(asWritten).join("");
  };
  const visit = (node) => {
    if (nodeTypeOf(node) === 3) return !hasWords(node.data) || isReadable(node) ? inline(node.data) : "";
    if (nodeTypeOf(node) !== 1 || SKIP.has(tagOf(node)) || hidden(node)) return "";
    if (depth >= DEEPEST) return flat(node);
    depth++;
    const text = block(node);
    depth--;
    return text;
  };
  const within = (element) => children(element).map(visit).join("");
  // Pages nest deeper than a stack.
  const flat = (element) => {
    const texts = [];
    walk(element, ALL, (node) => {
      if (nodeTypeOf(node) === 3) texts.push(asWritten(node));
      return nodeTypeOf(node) === 3 || SKIP.has(tagOf(node)) || hidden(node) ? 0 : ALL;
    });
    return inline(texts.join(" "));
  };
  if (!bodyOf(document) || !isWindowReadable()) return "";
  return tight(within(bodyOf(document))).replace(/\0(\d+)\0/g, (_, number) => `\`\`\`\n${blocks[number] || ""}\n\`\`\``);
}
