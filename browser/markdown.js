// The rendered text of this document as Markdown: headings, paragraphs, lists, links, tables, code, quotes.
() => {
  const SKIP = new Set(["script", "style", "noscript", "template", "svg", "iframe", "object", "select", "head", "textarea"]);
  const BLOCK = /^(block|flex|grid|list-item|table|flow-root|table-row|table-row-group)/;
  const hidden = (element) => !checkVisibility(element, { visibilityProperty: true, opacityProperty: true });
  const children = (node) => {
    if (tagOf(node) === "slot" && node.assignedNodes().length) return node.assignedNodes();
    return [...childNodesOf(openRootOf(node) || node)];
  };
  const inline = (text) => text.replace(/[ \t\n\r\f]+/g, " ");
  const tight = (text) => text.replace(/[ \t]*\n[ \t]*/g, "\n").replace(/\n{3,}/g, "\n\n").trim();
  const row = (cells) => `| ${cells.map((cell) => inline(walk(cell)).trim().replaceAll("|", "\\|")).join(" | ")} |`;

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
      return mark + tight(walk(item)).replaceAll("\n", `\n${" ".repeat(mark.length)}`);
    });
    return `\n\n${lines.join("\n")}\n\n`;
  };
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
    if (tag === "img") return element.alt ? `![${inline(element.alt)}](${element.currentSrc || element.src})` : "";
    if (tag === "pre") return `\n\n\`\`\`\n${innerTextOf(element).trimEnd()}\n\`\`\`\n\n`;
    const text = [...children(element)].map(visit).join("");
    if (/^h[1-6]$/.test(tag)) return `\n\n${"#".repeat(Number(tag[1]))} ${inline(text).trim()}\n\n`;
    if (tag === "a" && element.href) return link(element, text);
    if (tag === "blockquote") return `\n\n${tight(text).replace(/^/gm, "> ")}\n\n`;
    if (/^(b|strong)$/.test(tag)) return text.trim() ? `**${text.trim()}**` : text;
    if (/^(i|em)$/.test(tag)) return text.trim() ? `*${text.trim()}*` : text;
    if (tag === "code") return text.trim() ? `\`${text.trim()}\`` : text;
    if (tag === "p") return `\n\n${text}\n\n`;
    return BLOCK.test(getComputedStyle(element).display) ? `\n${text}\n` : text;
  };
  const visit = (node) => {
    if (nodeTypeOf(node) === 3) return inline(node.data);
    if (nodeTypeOf(node) !== 1 || SKIP.has(tagOf(node)) || hidden(node)) return "";
    return block(node);
  };
  const walk = (element) => children(element).map(visit).join("");
  return bodyOf(document) ? tight(walk(bodyOf(document))) : "";
}
