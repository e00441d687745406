"""Records as rows and back.

JavaScript's strings may hold half of a surrogate pair, which SQLite's text cannot: such a string is kept as
bytes. `bound` and `plain` are the two ways through that gate.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from agentloop.events import RunEvent
from agentloop.guard.grants import Grant, Question
from agentloop.records import Json, RunRecord, Session, Status, Step, Usage

__all__ = [
    "Row",
    "bound",
    "event_of",
    "event_row",
    "plain",
    "question_of",
    "question_row",
    "run_of",
    "run_row",
    "session_of",
    "session_row",
    "step_of",
    "step_row",
]

Row: TypeAlias = tuple[Any, ...]


def bound(*values: object) -> Row:
    """Values as SQLite takes them."""
    return tuple(_packed(value) if isinstance(value, str) else value for value in values)


def plain(row: Sequence[Any]) -> Row:
    """The inverse of `bound`."""
    return tuple(value.decode("utf-8", "surrogatepass") if isinstance(value, bytes) else value for value in row)


def _packed(text: str) -> str | bytes:
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
    return text


def _json(mapping: Mapping[str, Json] | None) -> str | None:
    return None if mapping is None else json.dumps(dict(mapping))


def session_row(session: Session) -> Row:
    """All but the carry, in the table's order."""
    return bound(
        session.session_id,
        session.model,
        session.persona,
        session.message_id,
        None if session.enabled is None else json.dumps(session.enabled),
        session.status,
        session.created_at,
        session.updated_at,
    )


def session_of(row: Sequence[Any]) -> Session:
    """A session from its row and, last, its carry."""
    session_id, model, persona, message_id, enabled, status, created_at, updated_at, carry = plain(row)
    return Session(
        session_id=session_id,
        model=model,
        persona=persona,
        message_id=message_id,
        enabled=None if enabled is None else tuple(json.loads(enabled)),
        carry=carry,
        status=None if status is None else Status(status),
        created_at=created_at,
        updated_at=updated_at,
    )


def step_row(step: Step) -> Row:
    """A step in the table's order."""
    return bound(
        step.session_id,
        step.index,
        step.run_id,
        step.type,
        step.content,
        _json(step.tool_args),
        step.duration_ms,
        step.tokens.prompt,
        step.tokens.completion,
        step.created_at,
    )


def step_of(row: Sequence[Any]) -> Step:
    """The inverse of `step_row`."""
    session_id, index, run_id, kind, content, args, duration_ms, prompt, completion, created_at = plain(row)
    return Step(
        session_id=session_id,
        run_id=run_id,
        type=kind,
        content=content,
        index=index,
        tool_args=json.loads(args),
        duration_ms=duration_ms,
        tokens=Usage(prompt=prompt, completion=completion),
        created_at=created_at,
    )


def event_row(event: RunEvent) -> Row:
    """An event in the table's order: its run and `seq` first."""
    return bound(
        event.run_id,
        event.seq,
        event.session_id,
        event.type,
        event.turn,
        event.time,
        event.content,
        event.tool,
        _json(event.args),
        _json(event.summary),
        _json(event.tokens),
    )


def event_of(row: Sequence[Any]) -> RunEvent:
    """The inverse of `event_row`."""
    run_id, seq, session_id, kind, turn, time, content, tool, args, summary, tokens = plain(row)
    return RunEvent(
        type=kind,
        run_id=run_id,
        session_id=session_id,
        seq=seq,
        turn=turn,
        time=time,
        content=content,
        tool=tool,
        args=json.loads(args),
        summary=None if summary is None else json.loads(summary),
        tokens=None if tokens is None else json.loads(tokens),
    )


def run_row(run: RunRecord) -> Row:
    """A run in the table's order."""
    return bound(
        run.run_id,
        run.session_id,
        run.message,
        run.url,
        run.status,
        run.reason,
        run.final_text,
        run.iterations,
        run.steps,
        run.tokens.prompt,
        run.tokens.completion,
        run.cost,
        run.primitive_calls,
        run.active_ms,
        run.data_bytes_carried,
        run.owner,
        run.epoch,
        run.heartbeat_at,
        run.created_at,
        run.updated_at,
        _json(run.setup),
    )


def run_of(row: Sequence[Any]) -> RunRecord:
    """The inverse of `run_row`."""
    values = plain(row)
    return RunRecord(
        run_id=values[0],
        session_id=values[1],
        message=values[2],
        url=values[3],
        status=Status(values[4]),
        reason=values[5],
        final_text=values[6],
        iterations=values[7],
        steps=values[8],
        tokens=Usage(prompt=values[9], completion=values[10]),
        cost=values[11],
        primitive_calls=values[12],
        active_ms=values[13],
        data_bytes_carried=values[14],
        owner=values[15],
        epoch=values[16],
        heartbeat_at=values[17],
        created_at=values[18],
        updated_at=values[19],
        setup=json.loads(values[20]),
    )


def question_row(question: Question) -> Row:
    """A question in the table's order; its answer as JSON text."""
    grant = question.grant
    return bound(
        question.id,
        question.session_id,
        question.run_id,
        question.kind,
        question.message,
        json.dumps(question.options),
        *((None, None, None) if grant is None else (grant.kind, grant.subject, grant.granted_at)),
        question.asked_at,
        question.expires_at,
        None if question.answer is None else json.dumps(question.answer),
    )


def question_of(row: Sequence[Any]) -> Question:
    """The inverse of `question_row`."""
    id, session_id, run_id, kind, message, options, covers, subject, granted_at, asked_at, expires_at, answer = plain(
        row
    )
    return Question(
        id=id,
        session_id=session_id,
        run_id=run_id,
        kind=kind,
        message=message,
        options=tuple(json.loads(options)),
        grant=Grant(kind=covers, subject=subject, granted_at=granted_at) if covers is not None else None,
        asked_at=asked_at,
        expires_at=expires_at,
        answer=None if answer is None else json.loads(answer),
    )
