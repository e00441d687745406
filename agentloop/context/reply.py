"""What a model's reply means: a script, an answer, a cut text, or nothing.

A script is the first fenced block marked `js` or `javascript`. Anything the model wrote around it is
not read. Without a script the whole reply is the answer, or, where a line says only DONE ahead of any
fence, what follows that line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from agentloop.context.words import sections
from agentloop.llm.base import FinishReason

__all__ = ["Answer", "Empty", "Reply", "Script", "StreamFilter", "Truncated", "parse_reply"]

_MARKERS = " \t>-*+.)0123456789"
_WORD = re.compile(r"[\w.+#-]+")
_STATEMENT = re.compile(r"[;(]|=>")
_UNFENCED = re.compile(r"(?:export\s+(?:default\s+)?)?(?:async\s+)?function\s*(?:\*\s*)?run\s*\(")
_DEFINES_RUN = re.compile(r"\bfunction\s*(?:\*\s*)?run\s*\(|\brun\s*=(?!=)")


@dataclass(frozen=True, kw_only=True)
class Script:
    """Code to run. `notes` are sentences for the model about the form of its reply; `bare`: no `run` in it."""

    code: str
    notes: tuple[str, ...] = ()
    bare: bool = False


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The final answer; may be empty after a DONE line."""

    text: str


@dataclass(frozen=True, kw_only=True)
class Truncated:
    """A reply that was cut. `reason` completes the sentence "The reply was cut: …"."""

    reason: str


@dataclass(frozen=True)
class Empty:
    """Nothing but blanks, or an empty block."""


Reply: TypeAlias = Script | Answer | Truncated | Empty


def parse_reply(content: str, finish_reason: FinishReason = "stop") -> Reply:
    """Reads a whole reply.

    A complete script is a script even if the text after it was cut: nothing that matters is
    missing, and throwing it away would cost a turn. Everything else that was cut is `Truncated`.
    """
    blocks = list(_blocks(content))
    cut = finish_reason in ("length", "content_filter")
    scripts = [block for block in blocks if block.is_script and block.closed and block.body.strip()]
    if not scripts and _UNFENCED.match(content.lstrip()):
        return _unfenced(content, blocks, finish_reason)
    answer = _after_done(content, blocks)
    if scripts and answer is None:
        return _script(scripts, cut)
    if cut:
        return Truncated(reason=_words()[finish_reason])
    if any(not block.closed for block in blocks):
        return Truncated(reason=_words()["unclosed"])
    if answer is None and _is_blank(content, blocks):
        return Empty()
    return Answer(text=content if answer is None else answer)


class StreamFilter:
    """Lets through, while a reply arrives, only what is certain to be answer text.

    After a DONE line text flows at once. Any other reply may still turn out to hold a script, so it
    is held back and `finish` gives it out in one piece if it was an answer. What comes out, put
    together, is the text of the `Answer` that `parse_reply` finds.
    """

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._rest: list[str] = []
        self._state = "open"
        self._blanks: list[str] = []
        self._emitted = False

    def feed(self, chunk: str) -> list[str]:
        """Takes the next piece; returns the answer text that is certain now (0 or 1 pieces)."""
        if self._state == "answer":
            return self._flow(chunk)
        self._rest.append(chunk)
        if self._state == "open" and "\n" in chunk:
            self._judge_lines("".join(self._rest))
        return self._flow("".join(self._rest)) if self._state == "answer" else []

    def finish(self, finish_reason: FinishReason = "stop") -> list[str]:
        """The answer text that was held back; nothing for a script or a cut reply."""
        if self._state == "answer":
            return []
        reply = parse_reply(self._text(), finish_reason)
        return [reply.text] if isinstance(reply, Answer) and reply.text else []

    def _text(self) -> str:
        return "\n".join([*self._lines, "".join(self._rest)])

    def _judge_lines(self, text: str) -> None:
        start, self._rest = 0, []
        while self._state == "open" and (end := text.find("\n", start)) >= 0:
            self._lines.append(text[start:end])
            self._judge(text[start:end])
            start = end + 1
        self._rest = [text[start:]]

    def _judge(self, line: str) -> None:
        if _opening(line) is not None:
            self._state = "held"
        elif line.strip() == "DONE":
            self._state = "held" if _UNFENCED.match(self._text().lstrip()) else "answer"

    def _flow(self, chunk: str) -> list[str]:
        if not chunk or chunk.isspace():
            self._blanks.append(chunk)
            return []
        text = "".join([*self._blanks, chunk])
        if not self._emitted:
            text = text.lstrip()
        whole = text.rstrip()
        self._blanks = [text[len(whole) :]]
        self._emitted = self._emitted or bool(whole)
        return [whole] if whole else []


@dataclass(frozen=True, kw_only=True)
class _Block:
    start: int
    end: int
    is_script: bool
    body: str
    closed: bool


@dataclass(frozen=True, kw_only=True)
class _Opening:
    ticks: int
    is_script: bool
    code: str


def _script(scripts: list[_Block], cut: bool) -> Script:
    notes = []
    if len(scripts) > 1:
        notes.append(_words()["more_blocks"])
    if cut:
        notes.append(_words()["cut_after"])
    code = scripts[0].body.strip()
    return Script(code=code, notes=tuple(notes), bare=not _DEFINES_RUN.search(code))


def _unfenced(content: str, blocks: list[_Block], finish_reason: FinishReason) -> Reply:
    if finish_reason in ("length", "content_filter"):
        return Truncated(reason=_words()[finish_reason])
    end = blocks[0].start if blocks else len(content)
    code = content[:end].strip().removesuffix("```").strip()
    return Script(code=code, notes=(_words()["no_fence"],))


def _is_blank(content: str, blocks: list[_Block]) -> bool:
    """True when nothing is left of the reply without its empty script blocks."""
    rest, at = "", 0
    for block in blocks:
        if block.is_script and not block.body.strip():
            rest, at = rest + content[at : block.start], block.end
    return not (rest + content[at:]).strip()


def _after_done(content: str, blocks: list[_Block]) -> str | None:
    limit = blocks[0].start if blocks else len(content)
    for start, end in _lines(content, 0):
        if start >= limit:
            return None
        if content[start:end].strip() == "DONE":
            return content[end:].strip()
    return None


def _blocks(content: str) -> Iterator[_Block]:
    at = 0
    while at < len(content):
        for start, end in _lines(content, at):
            opening = _opening(content[start:end])
            at = min(end + 1, len(content))
            if opening is not None:
                break
        else:
            return
        block = _block(content, start, at, opening)
        if not block.closed and not block.is_script and not block.body.strip():
            return  # a stray fence behind the last word encloses nothing
        yield block
        at = block.end


def _block(content: str, start: int, at: int, opening: _Opening) -> _Block:
    closing = re.compile(rf"^[ \t]*`{{{opening.ticks},}}[ \t\r]*$", re.MULTILINE)
    # A fence at the end of a line of code counts only where no proper one follows.
    found = closing.search(content, at) or re.compile(rf"`{{{opening.ticks}}}[ \t\r]*$", re.MULTILINE).search(
        content, at
    )
    body = content[at : found.start()] if found else content[at:]
    return _Block(
        start=start,
        end=found.end() if found else len(content),
        is_script=opening.is_script,
        body=opening.code + body,
        closed=found is not None,
    )


def _lines(content: str, at: int) -> Iterator[tuple[int, int]]:
    """Start and end of each line from `at` on, the line end left out."""
    while at < len(content):
        end = content.find("\n", at)
        end = len(content) if end < 0 else end
        yield at, end
        at = end + 1


def _opening(line: str) -> _Opening | None:
    before, fence, rest = line.partition("```")
    info = rest.lstrip("`")
    ticks = len(fence) + len(rest) - len(info)
    info = info.strip()
    if not fence or "`" in info:
        return None
    word, _, rest = info.partition(" ")
    is_script = word.lower() in ("js", "javascript")
    if before.strip(_MARKERS) and not is_script and not _WORD.fullmatch(info):
        return None
    code = rest + "\n" if is_script and _STATEMENT.search(rest) else ""
    return _Opening(ticks=ticks, is_script=is_script, code=code)


def _words() -> Mapping[str, str]:
    return sections("reply.md")
