"""`require("markdown")`: what stands in a Markdown text, as data."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from agentloop.capabilities import BuildContext, Capability
from agentloop.errors import InvalidInput
from agentloop.packs.base import Call, Pack, Primitive
from agentloop.packs.options import text_argument
from agentloop.packs.permission import Permission
from agentloop.packs.resources import help_texts, text
from agentloop.records import Json

if TYPE_CHECKING:
    from markdown_it.token import Token

__all__ = [
    "LONGEST_MARKDOWN",
    "headings",
    "items",
    "links",
    "markdown_capability",
    "markdown_pack",
    "plain",
    "sections",
    "tables",
]

LONGEST_MARKDOWN: Final = 512 * 1024
"""Characters of Markdown that are read; the worst of that length takes about ten seconds of a thread."""

_DESCRIPTION: Final = "Reads Markdown."
_BREAKS: Final = ("softbreak", "hardbreak")


def markdown_capability() -> Capability:
    """The module `markdown`."""

    async def build(context: BuildContext) -> Sequence[Pack]:
        return [await markdown_pack(Permission(context))]

    return Capability(name="markdown", description=_DESCRIPTION, build=build)


async def markdown_pack(permission: Permission | None = None) -> Pack:
    """The module `markdown` and the primitives that it stands on. CommonMark with tables and strikethrough."""
    declarations = text("markdown.d.ts")
    return Pack(
        name="markdown",
        description=_DESCRIPTION,
        kind="module",
        declarations=declarations,
        help=help_texts(declarations),
        primitives={
            f"_md_{reader.__name__}": Primitive(_in_thread(reader), untrusted=True)
            for reader in (links, headings, items, sections, tables, plain)
        },
        modules=await (permission or Permission()).modules({"markdown": text("markdown.js")}),
    )


def links(markdown: str) -> list[dict[str, str]]:
    """`{text, url}` of inline, reference and <auto> links, in order; no images, no bare URLs."""
    return _links(_parse(markdown))


def headings(markdown: str) -> list[dict[str, Json]]:
    """`{text, level}` of all headings, those in quotes and lists too."""
    tokens = _parse(markdown)
    return [
        {"text": _text(tokens[at + 1]), "level": int(token.tag[1])}
        for at, token in enumerate(tokens)
        if token.type == "heading_open"
    ]


def items(markdown: str) -> list[dict[str, Json]]:
    """`{text, links}` of the outermost list items; each block and each sub-item of one is a line of its text."""
    return [{"text": _lines(inside), "links": _links(inside)} for inside in _outermost(_parse(markdown))]


def sections(markdown: str) -> list[dict[str, Json]]:
    """`{heading, level, content, links}` of each part between headings that stand in no list or quote.

    `content` is the Markdown as written. What comes before the first heading has heading "" and level 0.
    """
    tokens = _parse(markdown)
    lines = markdown.splitlines()
    starts = [at for at, token in enumerate(tokens) if token.type == "heading_open" and token.level == 0]
    found = []
    for at, end in zip([None, *starts], [*starts, len(tokens)], strict=True):
        first = 0 if at is None else _span(tokens[at])[1]
        last = len(lines) if end == len(tokens) else _span(tokens[end])[0]
        content = "\n".join(lines[first:last]).strip()
        if at is None and not content:
            continue
        heading = "" if at is None else _text(tokens[at + 1])
        level = 0 if at is None else int(tokens[at].tag[1])
        inside = tokens[0 if at is None else at + 3 : end]
        found.append({"heading": heading, "level": level, "content": content, "links": _links(inside)})
    return found


def tables(markdown: str) -> list[dict[str, Json]]:
    """`{header, rows}` of each table, the cells as plain text."""
    found: list[dict[str, Json]] = []
    for token, cell in _with_next(_parse(markdown)):
        if token.type == "table_open":
            found.append({"header": [], "rows": []})
        elif token.type == "tr_open" and found[-1]["header"]:
            found[-1]["rows"].append([])
        elif token.type == "th_open":
            found[-1]["header"].append(_text(cell))
        elif token.type == "td_open":
            found[-1]["rows"][-1].append(_text(cell))
    return found


def plain(markdown: str) -> str:
    """The words alone: blocks apart by a blank line, items of a tight list and rows of a table by a line break."""
    parts: list[str] = []
    for gap, words in _blocks(_parse(markdown)):
        parts += [gap, words] if parts else [words]
    return "".join(parts).strip()


def _parse(markdown: str) -> list[Token]:
    if len(markdown) > LONGEST_MARKDOWN:
        raise InvalidInput(f"the Markdown has {len(markdown):,} characters, at most {LONGEST_MARKDOWN:,} are read")
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(markdown)


def _in_thread(reader: Callable[[str], Any]) -> Call:
    async def call(markdown: Json = None) -> Json:
        return await asyncio.to_thread(reader, text_argument("markdown", markdown))

    return call


def _with_next(tokens: Sequence[Token]) -> Iterator[tuple[Token, Token]]:
    return zip(tokens, [*tokens[1:], *tokens[-1:]], strict=True)


def _text(inline: Token, *, line_break: str = " ") -> str:
    return _words(inline.children or (), line_break=line_break)


def _words(children: Sequence[Token], *, line_break: str = " ") -> str:
    """What a reader sees of a line, an image as its description."""
    parts = []
    for child in children:
        if child.type in ("text", "code_inline"):
            parts.append(child.content)
        elif child.type in _BREAKS:
            parts.append(line_break)
        elif child.type == "image":
            parts.append(_text(child))
    return "".join(parts).strip()


def _links(tokens: Sequence[Token]) -> list[dict[str, str]]:
    return [link for token in tokens if token.type == "inline" for link in _links_of(token)]


def _links_of(inline: Token) -> Iterator[dict[str, str]]:
    inside: list[Token] = []
    url: str | None = None
    for child in inline.children or ():
        if child.type == "link_open":
            url, inside = str(child.attrGet("href") or ""), []
        elif child.type == "link_close" and url is not None:
            yield {"text": _words(inside), "url": url}
            url = None
        else:
            inside.append(child)


def _outermost(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    depth, inside = 0, []
    for token in tokens:
        depth -= token.type == "list_item_close"
        if depth:
            inside.append(token)
        elif token.type == "list_item_close":
            yield inside
            inside = []
        depth += token.type == "list_item_open"


def _lines(tokens: Sequence[Token]) -> str:
    lines = [_text(token) if token.type == "inline" else token.content.strip() for token in tokens if token.content]
    return "\n".join(line for line in lines if line)


def _blocks(tokens: Sequence[Token]) -> Iterator[tuple[str, str]]:
    """Each block's text and the gap that parts it from the one before."""
    gap, list_begins = "\n\n", False
    for token in tokens:
        if token.type in ("bullet_list_open", "ordered_list_open"):
            list_begins = token.level == 0
        elif token.type in ("paragraph_open", "heading_open", "table_open"):
            gap = "\n" if token.hidden and not list_begins else "\n\n"
            list_begins = False
        elif token.type == "inline":
            yield gap, _text(token, line_break="\n")
            gap = " | "
        elif token.type == "tr_close":
            gap = "\n"
        elif token.type in ("fence", "code_block"):
            yield "\n\n", token.content.rstrip("\n")


def _span(token: Token) -> Sequence[int]:
    assert token.map is not None
    return token.map
