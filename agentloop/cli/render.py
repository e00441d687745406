"""The person's view of a run: a line a turn on standard error, the answer on standard output."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

from agentloop.events import RunEvent
from agentloop.records import RunResult
from agentloop.report.verdict import describe

__all__ = ["HumanView", "QuietView", "Screen", "TurnLines", "View", "summary_line", "visible"]

_ACT_CHARS = 120
_TROUBLE_CHARS = 500
_ACTS = 8
_BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u2028\u2029")


def visible(text: str, *, keep: str = "") -> str:
    """`text` with control and direction characters written out, so that it can move no cursor and hide nothing.

    `keep` names characters that stay as they are.
    """
    return "".join(character if character in keep else _shown(character) for character in text)


class Screen(Protocol):
    """Where a person's lines go."""

    def line(self, text: str, style: str = "") -> None:
        """A line that stays. `style` is a colour for screens that have them."""

    def progress(self, text: str) -> None:
        """What is going on now; replaced by the next, gone at the end."""

    def hold(self) -> AbstractContextManager[None]:
        """Shows no progress in the block: somebody is typing."""

    def close(self) -> None:
        """Removes what does not stay."""


class View(Protocol):
    """What a run is shown to."""

    def event(self, event: RunEvent) -> None:
        """One event, as it happens; must not block."""

    def result(self, result: RunResult) -> None:
        """How the run ended; the last call but `close`."""

    def hold(self) -> AbstractContextManager[None]:
        """Leaves the terminal to a question for the block."""

    def close(self) -> None:
        """Removes what does not stay; may be called twice and at any time."""


class TurnLines:
    """Turns events into lines: one a turn, and one for each thing worth knowing besides.

    `denied`: what a question that got a no is told to have got; names the remedy where nobody was asked.
    """

    def __init__(self, *, denied: str = "denied") -> None:
        self._denied = denied
        self._acts: list[str] = []
        self._tokens = ""
        self._code_lines = 0
        self.prompt_tokens = 0
        self.completion_tokens = 0

    def feed(self, event: RunEvent) -> tuple[str, str] | None:
        """The line that `event` completes and its style, or None."""
        match event.type:
            case "execute_js":
                self._begin(event)
            case "act":
                self._acts.append(_clipped(event.content))
            case "execute_js_result":
                return self._turn(event), "red" if event.args.get("error") else ""
            case "warning":
                return f"[warning] {_clipped(event.content, _TROUBLE_CHARS)}", "yellow"
            case "error":
                return f"[error] {_clipped(event.content, _TROUBLE_CHARS)}", "red"
            case "compacted":
                return f"· the history was summed up{_shrunk(event)}", "dim"
            case "check":
                return _check(event)
            case "budget_trimmed" | "resumed":
                return f"· {event.type.replace('_', ' ')}: {_clipped(event.content)}", "dim"
            case "ask_result":
                return f"? {_clipped(event.content)} {self._answered(event)}", "bold"
        return None

    def _begin(self, event: RunEvent) -> None:
        self._acts = []
        self._code_lines = event.content.count("\n") + 1
        tokens = event.tokens or {}
        prompt, completion = tokens.get("prompt", 0), tokens.get("completion", 0)
        self.prompt_tokens += prompt
        self.completion_tokens += completion
        self._tokens = f"{prompt:,}+{completion:,} tokens"

    def _answered(self, event: RunEvent) -> str:
        answer = event.args.get("answer")
        if isinstance(answer, bool):
            return "approved" if answer else self._denied
        return _clipped(str(answer))

    def _turn(self, event: RunEvent) -> str:
        if event.args.get("interrupted"):
            return "· a script was cut short: what it did may have half happened"
        acts, more = self._acts[:_ACTS], len(self._acts) - _ACTS
        if more > 0:
            acts = [*acts, f"{more} more"]
        done = " · ".join(acts) or f"script of {self._code_lines} {'line' if self._code_lines == 1 else 'lines'}"
        return f"{event.turn:>3}  {done}{_thrown(event)}  ({self._tokens})"


class HumanView:
    """Lines on `screen` as things happen; the answer, whole, through `write_answer` at the end.

    `denied`: see `TurnLines`.
    """

    def __init__(self, screen: Screen, write_answer: Callable[[str], None], *, denied: str = "denied") -> None:
        self._screen = screen
        self._write_answer = write_answer
        self._lines = TurnLines(denied=denied)

    def event(self, event: RunEvent) -> None:
        """Shows what `event` has to say to a person."""
        line = self._lines.feed(event)
        if line is not None:
            self._screen.line(*line)
        spent = self._lines.prompt_tokens + self._lines.completion_tokens
        self._screen.progress(f"turn {max(1, event.turn)} · {spent:,} tokens")

    def result(self, result: RunResult) -> None:
        """The answer, and a last line on how the run went."""
        self._screen.close()
        if result.final_text:
            self._write_answer(result.final_text)
        self._screen.line(summary_line(result))
        if result.artifacts:
            self._screen.line(f"files: {visible(result.artifacts)}")

    def hold(self) -> AbstractContextManager[None]:
        """See `View.hold`."""
        return self._screen.hold()

    def close(self) -> None:
        """Removes the progress line."""
        self._screen.close()


class QuietView:
    """Nothing but the answer."""

    def __init__(self, write_answer: Callable[[str], None]) -> None:
        self._write_answer = write_answer

    def event(self, event: RunEvent) -> None:
        """Says nothing."""

    def result(self, result: RunResult) -> None:
        """The answer."""
        if result.final_text:
            self._write_answer(result.final_text)

    def hold(self) -> AbstractContextManager[None]:
        """See `View.hold`."""
        return nullcontext()

    def close(self) -> None:
        """Nothing is held back."""


def summary_line(result: RunResult) -> str:
    """`completed · 3 turns · 12,345+678 tokens · 14.2 s`, with the cost where prices were given."""
    parts = [
        visible(describe(result.status, result.reason)),
        f"{result.turns} {'turn' if result.turns == 1 else 'turns'}",
        f"{result.tokens.prompt:,}+{result.tokens.completion:,} tokens",
        f"{result.duration_ms / 1000:.1f} s",
    ]
    if result.cost:
        parts.append(f"cost {result.cost:.4f}")
    return " · ".join(parts)


def _thrown(event: RunEvent) -> str:
    error, message = event.args.get("error"), event.args.get("message")
    if not error:
        return ""
    return f" ! {visible(str(error))}" + (f": {_clipped(str(message))}" if message else "")


def _check(event: RunEvent) -> tuple[str, str]:
    check = _clipped(event.content)
    if event.args.get("passed"):
        return f"· check passed: {check}", "dim"
    return f"· check failed: {check}: {_clipped(str(event.args.get('seen', '')))}", "red"


def _shrunk(event: RunEvent) -> str:
    before, after = event.args.get("messages_before"), event.args.get("messages_after")
    return f": {before} messages are now {after}" if before is not None and after is not None else ""


def _clipped(text: str, limit: int = _ACT_CHARS) -> str:
    line = visible(" ".join(text.split()))
    return line if len(line) <= limit else line[: limit - 1] + "…"


def _shown(character: str) -> str:
    if character not in _BIDI and unicodedata.category(character) not in ("Cc", "Cs"):
        return character
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
