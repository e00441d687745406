"""Patterns that users and files give, matched in linear time: RE2 lines, and globs turned into RE2."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import re2  # type: ignore[import-untyped]

from agentloop.errors import InvalidInput

__all__ = ["Glob", "compile_glob", "compile_line_pattern", "matchable"]

_MOST_INSTRUCTIONS: Final = 2_000
_LONGEST: Final = 4_096
_LINES: Final = "(?m)"
_TEXT_ANCHOR: Final = re.compile(r"(?<!\\)(?:\\\\)*\\[AzZ]")
_MAGIC: Final = re.compile(r"[*?\[{\\]")


def compile_line_pattern(pattern: str, *, ignore_case: bool) -> Any:
    """A compiled pattern for `search` in bytes of many lines: no match of it goes beyond a line.

    Raises `InvalidInput` for what RE2 does not know and for patterns too large to be fast.
    """
    if _TEXT_ANCHOR.search(pattern):
        raise InvalidInput(f"bad pattern {pattern[:80]!r}: it is matched line by line; use ^ and $")
    options = re2.Options()
    options.never_nl = True
    options.case_sensitive = not ignore_case
    return _compiled(_LINES + pattern, options, pattern)


def _compiled(expression: str, options: Any, shown: str) -> Any:
    options.log_errors = False
    options.never_capture = True
    if len(expression) > _LONGEST:
        raise InvalidInput(f"bad pattern {shown[:80]!r}: it is longer than {_LONGEST} characters")
    try:
        compiled = re2.compile(expression, options)
    except (re2.error, UnicodeEncodeError) as error:
        raise InvalidInput(f"bad pattern {shown[:80]!r}: {_reason(error, shown)}") from None
    if compiled.programsize > _MOST_INSTRUCTIONS:
        raise InvalidInput(f"bad pattern {shown[:80]!r}: it is too large; use smaller repetitions")
    return compiled


def _reason(error: Exception, pattern: str) -> str:
    first = error.args[0] if error.args else ""
    reason = first.decode(errors="replace") if isinstance(first, bytes) else "it is not Unicode text"
    reason = reason.removesuffix(f": {_LINES}{pattern}")
    unknown = "perl operator" in reason or "escape" in reason
    return f"{reason} (RE2 has no look-around and no back references)" if unknown else reason


def matchable(path: str) -> str:
    """A path as patterns see it: names that are no UTF-8 hold a replacement character."""
    return path.encode("utf-8", "replace").decode()


@dataclass(frozen=True, kw_only=True)
class Glob:
    """`folder` is where to look, `rest` what must match from there, at most `depth` folders below (None: any)."""

    folder: str
    rest: Any
    depth: int | None

    def matches(self, path: str) -> bool:
        """Whether the path, relative to `folder`, is meant."""
        return self.rest.fullmatch(matchable(path)) is not None


def compile_glob(pattern: str) -> Glob:
    """Shell patterns: * ? [a-z] [!a] {a,b} and a whole segment ** for any number of folders; a backslash quotes.

    Raises `InvalidInput` for one that is absolute, empty, not closed, or goes up behind a wildcard.
    """
    if pattern.startswith("/"):
        raise InvalidInput(f"{pattern!r} is absolute: give a pattern inside the workspace, without the leading /")
    folders, rest = _split(pattern)
    if not rest or ".." in rest.split("/"):
        raise InvalidInput(f"{pattern!r} names no files: a pattern ends in a name, and .. can only lead it")
    expression = "".join(_Translation(rest).parts())
    depth = None if "**" in rest else rest.count("/")
    return Glob(folder="/".join(folders), rest=_compiled(expression, re2.Options(), pattern), depth=depth)


def _split(pattern: str) -> tuple[list[str], str]:
    segments = [segment for segment in pattern.split("/") if segment not in ("", ".")]
    plain = 0
    while plain < len(segments) - 1 and not _MAGIC.search(segments[plain]):
        plain += 1
    return segments[:plain], "/".join(segments[plain:])


class _Translation:
    """One pass over a pattern; braces nest, and only those with a comma in them mean anything."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0
        self._braces: list[bool] = []
        self._starts = [True]

    def parts(self) -> Iterator[str]:
        while self._at < len(self._pattern):
            starting = self._starts[-1]
            self._starts[-1] = False
            yield self._next(starting)

    def _next(self, starting: bool) -> str:
        rest = self._pattern[self._at :]
        if starting and (stars := re.match(r"\*\*(/|(?=[,}]|\Z))", rest)) and (self._braces or rest[2:3] in ("", "/")):
            self._at += stars.end()
            self._starts[-1] = bool(stars[1])
            return "(?:[^/]+/)*" if stars[1] else "(?s:.*)"
        if rest[0] == "[":
            return self._class(rest)
        if rest[0] == "\\":
            self._at += 2
            return re2.escape(rest[1:2] or "\\")  # type: ignore[no-any-return]
        self._at += 1
        return self._symbol(rest, starting)

    def _symbol(self, rest: str, starting: bool) -> str:
        symbol = rest[0]
        if symbol == "{":
            return self._open(_has_comma(rest, self._pattern), starting)
        if symbol == "}" and self._braces:
            self._starts.pop()
            self._starts[-1] = False
            return ")" if self._braces.pop() else "\\}"
        if symbol == "," and self._braces and self._braces[-1]:
            self._starts[-1] = self._starts[-2]
            return "|"
        if symbol == "/":
            self._starts[-1] = True
        return {"*": "[^/]*", "?": "[^/]"}.get(symbol) or re2.escape(symbol)

    def _open(self, choice: bool, starting: bool) -> str:
        self._braces.append(choice)
        # Kept below: an alternative begins where the brace stood.
        self._starts[-1] = starting
        self._starts.append(starting)
        return "(?:" if choice else "\\{"

    def _class(self, rest: str) -> str:
        match = re.match(r"\[([!^]?)((?:\\.|[^\\\]])(?:\\.|[^\\\]])*|\](?:\\.|[^\\\]])*)\]", rest, re.DOTALL)
        if match is None:
            raise InvalidInput(f"bad pattern {self._pattern!r}: [ is not closed; write \\[ for the character itself")
        self._at += match.end()
        members = "".join(_members(match[2]))
        if match[1]:
            return f"[^/{members}]"
        return f"[{members}]" if members else "[^\\x00-\\x{10FFFF}]"


def _has_comma(rest: str, pattern: str) -> bool:
    depth, comma, quoted = 0, False, False
    for symbol in rest:
        if quoted or symbol == "\\":
            quoted = not quoted
        elif symbol == "{":
            depth += 1
        elif symbol == "}":
            depth -= 1
            if depth == 0:
                return comma
        elif symbol == "," and depth == 1:
            comma = True
    raise InvalidInput(f"bad pattern {pattern!r}: {{ is not closed; write \\{{ for the character itself")


def _members(text: str) -> Iterator[str]:
    """The ranges of a class, the slash left out of them: no name has one."""
    symbols = re.findall(r"\\?(.)", text, re.DOTALL)
    at = 0
    while at < len(symbols):
        first = last = symbols[at]
        if symbols[at + 1 : at + 2] == ["-"] and at + 2 < len(symbols):
            last = symbols[at + 2]
            at += 2
        at += 1
        yield from _range(first, last)


def _range(first: str, last: str) -> Iterator[str]:
    if first <= "/" <= last:
        if first < "/":
            yield from _range(first, ".")
        if last > "/":
            yield from _range("0", last)
    elif first <= last:
        yield f"\\x{{{ord(first):x}}}-\\x{{{ord(last):x}}}"
