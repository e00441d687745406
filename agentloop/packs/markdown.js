// require("markdown"): the host reads the text, because its parser is the better one.
module.exports = {
  links: _md_links,
  headings: _md_headings,
  items: _md_items,
  sections: _md_sections,
  tables: _md_tables,
  plain: _md_plain,
};
