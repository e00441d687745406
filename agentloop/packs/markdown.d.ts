type MarkdownLink = { text: string, url: string };
/** require("markdown"): reads Markdown. items: outermost ones, sub-items as lines; sections: by heading. */
declare module "markdown" {
  function links(markdown: string): MarkdownLink[];
  function headings(markdown: string): { text: string, level: number }[];
  function items(markdown: string): { text: string, links: MarkdownLink[] }[];
  function sections(markdown: string): { heading: string, level: number, content: string, links: MarkdownLink[] }[];
  function tables(markdown: string): { header: string[], rows: string[][] }[];
  function plain(markdown: string): string;
}
