"""A model that scores what another did."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

from agentloop.context.words import fill
from agentloop.errors import ModelError
from agentloop.eval.base import Criterion, Score
from agentloop.guard.fence import fence
from agentloop.guard.redact import Redactor
from agentloop.llm.base import LLM, Message, ModelReply, ModelRequest
from agentloop.records import Usage

__all__ = ["Judge", "read_score"]

_SCORE = re.compile(r"^[\s*_#>-]*score[\s*_]*:(.*)$", re.IGNORECASE | re.MULTILINE)
_RATIONALE = re.compile(r"^[\s*_#>-]*rationale[\s*_]*:[\s*_]*", re.IGNORECASE)
_NUMBER = re.compile(r"([0-9]{1,9})(?:\s*/\s*10)?")
_QUOTED_CHARS = 200


class Judge:
    """Asks `llm` for a score from 0 to 10, one criterion a call. `used` counts the tokens of its calls.

    Answer and record are redacted and fenced: what an agent wrote or a page said cannot give itself a score.
    """

    def __init__(self, llm: LLM, *, model: str = "", redactor: Redactor | None = None) -> None:
        self._llm = llm
        self._model = model
        self._redactor = redactor or Redactor()
        self.used = Usage()

    async def score(self, criterion: Criterion, *, task: str, answer: str, record: str) -> Score:
        """The score, or the error that there is none: a reply without a whole number from 0 to 10 never counts as 0."""
        try:
            reply = await self._ask(criterion.text or _words("judge-default.md"), task, answer, record)
            number, rationale = read_score(reply.content)
        except ModelError as error:
            told = self._redactor.text(str(error))
            return Score(criterion=criterion.text, min=criterion.min, error=f"the judge gave no score: {told}")
        said = self._redactor.text(rationale)
        return Score(criterion=criterion.text, min=criterion.min, score=number, rationale=said)

    async def _ask(self, criterion: str, task: str, answer: str, record: str) -> ModelReply:
        shown = self._redactor.text
        question = fill(
            _words("judge-user.md"),
            task=shown(task),
            criterion=shown(criterion),
            answer=fence(shown(answer)),
            record=fence(shown(record)),
        )
        messages = [Message("system", _words("judge-system.md")), Message("user", question)]
        reply = await self._llm.complete(ModelRequest(messages=messages, model=self._model, temperature=0.0))
        self.used = self.used + reply.usage
        return reply


def read_score(reply: str) -> tuple[int, str]:
    """The score and the rationale in a judge's reply.

    Raises `ModelError` when there is no `Score:` line, several that differ, or one that is no whole number from
    0 to 10 ("7" and "7/10" are).
    """
    given = {value.strip(" \t\r*_.") for value in _SCORE.findall(reply)}
    if len(given) != 1:
        raise ModelError(f"{'several scores' if given else 'no score'} in {_quoted(reply)}")
    match = _NUMBER.fullmatch(value := given.pop())
    if match is None or not 0 <= int(match[1]) <= 10:
        raise ModelError(f"{value!r} is no whole number from 0 to 10")
    others = (line.strip() for line in reply.splitlines() if line.strip() and not _SCORE.match(line))
    return int(match[1]), _RATIONALE.sub("", next(others, ""))


def _quoted(reply: str) -> str:
    text = " ".join(reply.split())
    return repr(text if len(text) <= _QUOTED_CHARS else f"{text[:_QUOTED_CHARS]}…")


@cache
def _words(file: str) -> str:
    return files("agentloop.eval").joinpath("prompts", file).read_text("utf-8").strip()
