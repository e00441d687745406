"""A project's instructions: the AGENTS.md files from the repository's root to where the work is done."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Final

from agentloop.capabilities import BuildContext, Capability
from agentloop.errors import InvalidInput
from agentloop.packs.base import Pack, Primitive
from agentloop.packs.resources import headed, help_texts
from agentloop.packs.workspace.root import Root
from agentloop.project.levels import find_levels
from agentloop.project.reading import beginning, one_line, open_root, read_text
from agentloop.records import Json

__all__ = [
    "FILE_NAME",
    "INLINE_BYTES",
    "MAX_BYTES",
    "Document",
    "Instructions",
    "excerpt_of",
    "instructions_capability",
    "load_instructions",
    "project_words",
]

FILE_NAME: Final = "AGENTS.md"
"""The file that holds instructions."""

MAX_BYTES: Final = 64 * 1024
"""What is read of each file."""

INLINE_BYTES: Final = 3_584
"""What a prompt holds of all files together when it cannot hold them whole: dense Markdown has 3.6 bytes a token, and
with the words around it that must stay below 1,200 tokens."""

_LEAST_SHARE: Final = 256
_HEADING: Final = re.compile(r"#{1,6}(\s|$)")
_FENCE: Final = re.compile(r"^ {0,3}(?P<marks>`{3,}|~{3,})(?P<rest>.*)$", re.MULTILINE)
_DESCRIPTION: Final = "How this project wants things done."


@dataclass(frozen=True, kw_only=True)
class Document:
    """One file. `name` is its path from the root, with /; `size` in bytes is the file's, `complete` whether
    `content` is all of it (else it ends in a line that says so)."""

    path: str
    name: str
    content: str
    size: int
    complete: bool = True


@dataclass(frozen=True, kw_only=True)
class Instructions:
    """The files in the order in which they count, the last one most. `errors` say what could not be read."""

    documents: tuple[Document, ...] = ()
    errors: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """Bytes of all texts together."""
        return sum(_bytes(document.content) for document in self.documents)

    def render(self) -> str:
        """All of it, for `RunRequest.context`; "" without a document."""
        return self._told("whole", [_section(document, document.content) for document in self.documents])

    def catalogue(self, *, inline_bytes: int = INLINE_BYTES) -> str:
        """The beginnings, `inline_bytes` of them together, and how a script gets at the rest; "" without a document."""
        if self.size <= inline_bytes:
            return self.render()
        excerpts = self.excerpts(inline_bytes)
        return self._told("excerpts", [_excerpt(one, excerpts[one.name]) for one in self.documents])

    def excerpts(self, inline_bytes: int) -> Mapping[str, str]:
        """What there is room for, by document: each has an equal share, and what one does not need the others get."""
        left, waiting = inline_bytes, len(self.documents)
        found: dict[str, str] = {}
        for document in sorted(self.documents, key=lambda one: _bytes(one.content)):
            share = max(left // waiting, _LEAST_SHARE)
            found[document.name] = excerpt = excerpt_of(document.content, share)
            left, waiting = left - _bytes(excerpt), waiting - 1
        return found

    def text(self, name: str) -> str:
        """What `projectGet` answers. Raises `InvalidInput` without a name."""
        if not name.strip():
            raise InvalidInput("projectGet(name) needs a name: projectList() lists them")
        exact = [one for one in self.documents if one.name == name]
        found = exact or [one for one in self.documents if one.name.rpartition("/")[2] == name]
        if len(found) == 1:
            return found[0].content
        return project_words()["missing"].replace("{name}", json.dumps(name, ensure_ascii=False))

    def _told(self, how: str, sections: Sequence[str]) -> str:
        return project_words()[how].replace("{documents}", "\n\n".join(sections)) if sections else ""


def load_instructions(
    folder: str | os.PathLike[str] = ".",
    *,
    file_name: str = FILE_NAME,
    global_dir: str | os.PathLike[str] | None = None,
    max_bytes: int = MAX_BYTES,
) -> Instructions:
    """The instructions for work in `folder`: the file of `global_dir`, then those from the repository's root down.

    A file counts only where it lies inside its root, whatever links lead to it. Files without text are passed over.
    `max_bytes` is for each, negative: no bound. What cannot be read is an error in words, and the rest is there.
    Raises `InvalidInput` for a folder that is none.
    """
    levels = find_levels(folder)
    errors = list(levels.errors)
    documents: list[Document] = []
    if global_dir is not None and os.path.isdir(global_dir):
        documents += _read(os.fspath(global_dir), [file_name], "user:", max_bytes, errors)
    paths = [f"{level}/{file_name}".lstrip("/") for level in levels.folders]
    documents += _read(levels.root, paths, "", max_bytes, errors)
    return Instructions(documents=tuple(documents), errors=tuple(errors))


def instructions_capability(instructions: Instructions, *, inline_bytes: int | None = None) -> Capability:
    """The instructions in the prompt of each run, whole, or with `inline_bytes` as `Instructions.catalogue` has them.

    In the latter case scripts have `projectList` and `projectGet`. `help(name)` gives each text, too. What could not
    be read is a warning of the run. A run that is taken up again has them too, unlike `RunRequest.context`.
    """
    pack = _pack(instructions, inline_bytes)

    async def build(context: BuildContext) -> Sequence[Pack]:
        for error in instructions.errors:
            await context.emit("warning", content=error)
        return [pack] if instructions.documents else []

    return Capability(name="project_instructions", description=_DESCRIPTION, build=build, always_on=True)


@cache
def project_words() -> Mapping[str, str]:
    """What this room says to the model, by heading."""
    return headed(_resource("project.md"))


def _pack(instructions: Instructions, inline_bytes: int | None) -> Pack:
    pack = Pack(
        name="project_instructions",
        description=_DESCRIPTION,
        kind="prompt",
        prose=instructions.render(),
        help={document.name: document.content for document in instructions.documents},
        gives_way=True,
    )
    if inline_bytes is None or instructions.size <= inline_bytes:
        return pack
    declarations = _resource("project.d.ts")
    return replace(
        pack,
        declarations=declarations,
        prose=instructions.catalogue(inline_bytes=inline_bytes),
        help={**pack.help, **help_texts(declarations)},
        primitives=_primitives(instructions, inline_bytes),
    )


def _primitives(instructions: Instructions, inline_bytes: int) -> dict[str, Primitive]:
    excerpts = instructions.excerpts(inline_bytes)
    listed: list[Json] = [
        {"name": one.name, "bytes": one.size, "complete": one.complete and excerpts[one.name] == one.content}
        for one in instructions.documents
    ]

    async def project_list() -> list[Json]:
        return listed

    async def project_get(name: Json = "") -> str:
        return instructions.text("" if name is None else str(name))

    return {"projectList": Primitive(project_list), "projectGet": Primitive(project_get)}


def _read(root: str, paths: Sequence[str], prefix: str, most: int, errors: list[str]) -> list[Document]:
    found: list[Document] = []
    with open_root(root, errors) as opened:
        if opened is None:
            return found
        for path in paths:
            try:
                document = _document(opened, path, prefix, most)
            except InvalidInput as error:
                errors.append(f"{prefix}{path} is left out: {error}")
                continue
            found += [document] if document else []
    return found


def _document(root: Root, path: str, prefix: str, most: int) -> Document | None:
    read = read_text(root, path, most=most)
    if read is None or not read.text.strip():
        return None
    content = read.text.strip()
    if not read.complete:
        content = _closed(content) + "\n" + project_words()["truncated"].replace("{size}", f"{read.size:,}")
    name = prefix + one_line(path)
    return Document(path=f"{root.folder}/{path}", name=name, content=content, size=read.size, complete=read.complete)


def _excerpt(document: Document, excerpt: str) -> str:
    if excerpt == document.content:
        return _section(document, excerpt)
    rest = project_words()["rest"].replace("{size}", f"{document.size:,}")
    return _section(
        document, f"{excerpt}\n{rest.replace('{name}', json.dumps(document.name, ensure_ascii=False))}".lstrip()
    )


def _section(document: Document, content: str) -> str:
    return project_words()["document"].format(name=document.name, content=_closed(content))


def excerpt_of(text: str, most: int) -> str:
    """The beginning of a text, up to where a paragraph ends, or a line where that would lose half of it."""
    start = beginning(text, most)
    if start == text:
        return text
    end = start.rfind("\n\n")
    end = start.rfind("\n") if end < len(start) // 2 else end
    return _closed(_without_headings(start[:end] if end > 0 else start).rstrip())


def _without_headings(text: str) -> str:
    """Headings at the end lead to what is no longer there."""
    lines = text.rstrip().split("\n")
    while lines and (not lines[-1].strip() or _HEADING.match(lines[-1])):
        lines.pop()
    return "\n".join(lines) or text


def _closed(text: str) -> str:
    """The text with a code block that is left open closed, or all that follows in a prompt would be in it."""
    inside = ""
    for fence in _FENCE.finditer(text):
        marks, rest = fence["marks"], fence["rest"]
        if not inside:
            # With a backtick behind them they are code within a line.
            inside = "" if "`" in rest and marks[0] == "`" else marks
        elif marks.startswith(inside) and not rest.strip():
            inside = ""
    return f"{text}\n{inside}" if inside else text


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


def _resource(name: str) -> str:
    return files("agentloop.project").joinpath(name).read_text("utf-8")
