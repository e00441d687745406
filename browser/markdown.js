// The rendered text of this document as Markdown: headings, paragraphs, lists, links, tables, code, quotes.
() => {
  const SKIP = new Set(["SCRIPT", "STYLE", "NOSCRIPT", "TEMPLATE", "SVG", "IFRAME", "OBJECT", "SELECT", "HEAD", "TEXTAREA"]);
  const BLOCK = /^(block|flex|grid|list-item|table|flow-root|table-row|table-row-group)/;
  const hidden = (element) => element.checkVisibility && !element.checkVisibility({ visibilityProperty: true, opacityProperty: true });
  const children = (node) => (node.shadowRoot ? [...node.shadowRoot.childNodes] : node.tagName === "SLOT" && node.assignedNodes().length ? node.assignedNodes() : [...node.childNodes]);
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
    const items = [...element.children].filter((item) => !hidden(item));
    const lines = items.map((item) => {
      const mark = element.tagName === "OL" ? `${number++}. ` : "- ";
      return mark + tight(walk(item)).replaceAll("\n", `\n${" ".repeat(mark.length)}`);
    });
    return `\n\n${lines.join("\n")}\n\n`;
  };
  const link = (element, text) => {
    const label = inline(text).trim();
    return label && element.protocol.startsWith("http") ? `[${label}](${element.href})` : text;
  };
  const block = (element) => {
    const tag = element.tagName;
    if (tag === "TABLE") return table(element);
    if (tag === "UL" || tag === "OL") return list(element);
    if (tag === "BR") return "\n";
    if (tag === "HR") return "\n\n---\n\n";
    if (tag === "IMG") return element.alt ? `![${inline(element.alt)}](${element.currentSrc || element.src})` : "";
    if (tag === "PRE") return `\n\n\`\`\`\n${element.innerText.trimEnd()}\n\`\`\`\n\n`;
    const text = [...children(element)].map(visit).join("");
    if (/^H[1-6]$/.test(tag)) return `\n\n${"#".repeat(Number(tag[1]))} ${inline(text).trim()}\n\n`;
    if (tag === "A" && element.href) return link(element, text);
    if (tag === "BLOCKQUOTE") return `\n\n${tight(text).replace(/^/gm, "> ")}\n\n`;
    if (/^(B|STRONG)$/.test(tag)) return text.trim() ? `**${text.trim()}**` : text;
    if (/^(I|EM)$/.test(tag)) return text.trim() ? `*${text.trim()}*` : text;
    if (tag === "CODE") return text.trim() ? `\`${text.trim()}\`` : text;
    if (tag === "P") return `\n\n${text}\n\n`;
    return BLOCK.test(getComputedStyle(element).display) ? `\n${text}\n` : text;
  };
  const visit = (node) => {
    if (node.nodeType === Node.TEXT_NODE) return inline(node.data);
    if (node.nodeType !== Node.ELEMENT_NODE || SKIP.has(node.tagName.toUpperCase()) || hidden(node)) return "";
    return block(node);
  };
  const walk = (element) => children(element).map(visit).join("");
  return document.body ? tight(walk(document.body)) : "";
}
