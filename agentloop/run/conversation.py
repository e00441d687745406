"""What was said in a session so far, and what of it the model reads next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from agentloop.context import feedback
from agentloop.context.draft import Draft, draft
from agentloop.context.history import Entry, EntryKind, rehydrate
from agentloop.context.progress import Progress, ProgressGuard
from agentloop.context.prompt import Prompt
from agentloop.records import Step
from agentloop.sandbox.base import Outcome

__all__ = ["Conversation"]


class Conversation:
    """The entries of earlier runs and of this one. It only grows: what is left out is left out of the copy sent.

    Where `steps` are partly this run's own, `request` stands before them even when its step is not among them.
    """

    def __init__(self, steps: Sequence[Step], *, run_id: str, window: int, request: str = "") -> None:
        self._run_id = run_id
        entries = rehydrate(steps, window=window)
        own = self._first_own(entries)
        asked = own == len(entries) or any(entry.kind == "user" for entry in entries[own:])
        self._entries = [*entries[:own], *([] if asked else [Entry("user", request, run_id)]), *entries[own:]]
        self._progress = ProgressGuard()

    def add(self, kind: EntryKind, content: str) -> None:
        """Adds what this run said."""
        self._entries.append(Entry(kind, content, self._run_id))

    @property
    def earlier(self) -> tuple[Entry, ...]:
        """What was said before this run, oldest first."""
        return tuple(self._entries[: self._first_own(self._entries)])

    def replace_earlier(self, entries: Sequence[Entry]) -> None:
        """Other entries for those of earlier runs. Only before the run's first script is judged."""
        self._entries[: self._first_own(self._entries)] = entries

    def _first_own(self, entries: Sequence[Entry]) -> int:
        # A summary bears the id of the run that made it, and stands for what came before that run.
        own = (at for at, entry in enumerate(entries) if entry.run_id == self._run_id and entry.kind != "summary")
        return next(own, len(entries))

    def draft(self, prompt: Prompt, *, system: str, tail: str) -> Draft:
        """The next call; `tail` is what holds for this call only."""
        return draft(
            self._entries,
            run_id=self._run_id,
            keep_scripts=prompt.keep_scripts,
            system=system,
            examples=prompt.examples,
            tail=tail,
            drop=self._progress.dropped,
        )

    def judge_progress(self, code: str, outcome: Outcome, effects: Sequence[str]) -> tuple[Progress, str]:
        """Whether the script just added gets anywhere, and the hint added to its result ("" when it does)."""
        verdict = self._progress.feed(
            code,
            position=len(self._entries) - 2,
            value_json=outcome.value_json,
            logs=outcome.logs,
            error=f"{outcome.error.name}: {outcome.error.message}" if outcome.error else "",
            effects=effects,
        )
        if verdict not in ("hint", "drop"):
            return verdict, ""
        hint = feedback.say("no_progress" if verdict == "hint" else "no_progress_again")
        last = self._entries[-1]
        self._entries[-1] = replace(last, content=f"{last.content}\n{hint}")
        return verdict, hint
