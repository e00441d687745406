"""What acts did, in lines that a model may imitate: the left side is always a call it could write itself."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlsplit

from agentloop.browser.base import Act, Download, Effects, Mark, Receipt
from agentloop.browser.look import quote
from agentloop.browser.targets import Found, Wanted
from agentloop.records import Json

__all__ = [
    "LINE_LIMIT",
    "MASK",
    "TURN_LIMIT",
    "SecretName",
    "View",
    "appeared",
    "changed_line",
    "event_args",
    "event_line",
    "receipt_line",
    "short_address",
    "turn_lines",
    "written",
]

LINE_LIMIT = 120
"""Characters of one receipt line."""

TURN_LIMIT = 12
"""Receipt lines shown of one turn; what is more is counted."""

_CHANGED_LIMIT = 300
_ADDED_LIMIT = 4
_REMOVED_LIMIT = 3
_NAME_LIMIT = 60
_VALUE_LIMIT = 40

MASK = "***"
"""What stands for a password, and for any typed text in an event."""


@dataclass(frozen=True)
class SecretName:
    """Stands for a secret among a call's values, and is written as a script would call for it."""

    name: str


@dataclass(frozen=True, kw_only=True)
class View:
    """What one observation showed, as far as the next one is compared with it. `marks` are by number."""

    document: str
    address: str
    headings: tuple[str, ...] = ()
    marks: Mapping[int, Mark] = field(default_factory=dict)


# Calls ---------------------------------------------------------------------------------------------


def written(
    verb: str,
    *targets: Wanted | Found,
    before: Sequence[Any] = (),
    values: Sequence[Any] = (),
    options: Mapping[str, Json] | None = None,
) -> str:
    """The call as a script would write it: `type("Name", 6, "Ann")`."""
    parts = [_literal(value) for value in before]
    parts += [part for target in targets for part in _target_parts(target)]
    parts += [_literal(value) for value in values]
    if options:
        parts.append("{" + ", ".join(f"{name}: {json.dumps(value)}" for name, value in options.items()) + "}")
    return f"{verb}({', '.join(parts)})"


def _target_parts(target: Wanted | Found) -> list[str]:
    if target.point is not None:
        return [f"{{x: {target.point[0]:g}, y: {target.point[1]:g}}}"]
    if isinstance(target, Found):
        return _mark_parts(target.mark) if target.mark else [_literal(target.selector, _NAME_LIMIT)]
    if target.text is not None:
        return [_literal(target.text, _NAME_LIMIT)]
    name = [_literal(target.name, _NAME_LIMIT)] if target.name else []
    return [*name, str(target.number)]


def _mark_parts(mark: Mark) -> list[str]:
    return [_literal(mark.name, _NAME_LIMIT), str(mark.id)] if mark.name else [str(mark.id)]


def _literal(value: Any, limit: int = _VALUE_LIMIT) -> str:
    if isinstance(value, SecretName):
        return f'secret("{value.name}")'
    if isinstance(value, str):
        return quote(value, limit)
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_literal(item, limit) for item in value) + "]"
    return f"{value:.15g}" if isinstance(value, float) else json.dumps(value)


# Lines ---------------------------------------------------------------------------------------------


def receipt_line(receipt: Receipt, base: str = "") -> str:
    """`click("Place order", 11) -> opened /shop/order "Order"`, at most `LINE_LIMIT` characters.

    `base` is the address the act began on: an address of the same origin is shown as its path.
    """
    return _cut(f"{receipt.call} -> {'; '.join(_outcome(receipt, base))}", LINE_LIMIT)


def turn_lines(lines: Sequence[str]) -> tuple[str, ...]:
    """At most `TURN_LIMIT` lines: the first ones and the last, with a count of those between."""
    if len(lines) <= TURN_LIMIT:
        return tuple(lines)
    kept = TURN_LIMIT - 2
    return (*lines[:kept], f"({len(lines) - kept - 1} more acts were done)", lines[-1])


def event_line(act: Act, receipt: Receipt) -> str:
    """The line without what was typed: `type("Name", 6, "***") -> ok`."""
    return receipt_line(_masked(act, receipt))


def event_args(act: Act, receipt: Receipt) -> dict[str, Json]:
    """The receipt's wire form with its verb and without what was typed."""
    return {"verb": act.verb} | _masked(act, receipt).to_dict()


def _masked(act: Act, receipt: Receipt) -> Receipt:
    if act.verb != "type":
        return receipt
    secrets = sorted((value for value in act.values if value.strip()), key=len, reverse=True)
    call, near = receipt.call, receipt.appeared
    for value in secrets:
        call = call.replace(_literal(value), f'"{MASK}"')
        near = near.replace(value, MASK)
    note = "the page altered the value" if receipt.value is not None and secrets else ""
    return replace(
        receipt,
        call=call,
        appeared=near,
        value=None if secrets else receipt.value,
        note="; ".join(part for part in (receipt.note, note) if part),
    )


def _outcome(receipt: Receipt, base: str) -> list[str]:
    effects = receipt.effects
    parts = []
    if effects.document or effects.url:
        parts.append(_opened(receipt, base))
    parts += [f"new tab {short_address(tab.url, base)}" for tab in effects.opened]
    parts += [_dialog_words(d.message, d.accepted) for d in effects.dialogs[:2]]
    parts += [_download_words(download) for download in effects.downloads[:2]]
    parts += _refusals(effects)
    if receipt.appeared:
        parts.append(f"new text {quote(receipt.appeared, _NAME_LIMIT)}")
    if receipt.value is not None:
        parts.append(f"holds {quote(receipt.value, _VALUE_LIMIT)}")
    if effects.timed_out:
        parts.append("still loading")
    if not parts:
        parts.append("ok" if receipt.changed else "no effect seen")
    return [*parts, receipt.note] if receipt.note else parts


def _refusals(effects: Effects) -> list[str]:
    if not effects.refusals:
        return [f"refused {place}" for place in effects.refused[:2]]
    parts = []
    for refusal in effects.refusals[:2]:
        count = f"{refusal.requests} requests refused:" if refusal.requests > 1 else "refused"
        parts.append(f"{count} {refusal.place} ({refusal.rule})")
    rest = sum(refusal.requests for refusal in effects.refusals[2:])
    return [*parts, f"{rest} more refused"] if rest else parts


def _opened(receipt: Receipt, base: str) -> str:
    effects = receipt.effects
    verb = "opened" if effects.document else "address"
    title = f" {quote(receipt.title, _NAME_LIMIT)}" if receipt.title and effects.document else ""
    status = f" ({effects.status})" if effects.status and effects.status >= 400 else ""
    return f"{verb} {short_address(effects.url or base, base)}{title}{status}"


def _dialog_words(message: str, accepted: bool) -> str:
    return f"a dialog {quote(message, _NAME_LIMIT)} was {'accepted' if accepted else 'dismissed'}"


def _download_words(download: Download) -> str:
    words = {"done": "downloaded", "running": "downloading", "failed": "failed to download"}
    return f"{words.get(download.state, 'left out, too large:')} {quote(download.name, _NAME_LIMIT)[1:-1]}"


def short_address(url: str, base: str = "") -> str:
    """The path of an http address, with its host when that is not the one of `base`; at most 80 characters."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https"):
        return quote(url, 80)[1:-1]
    path = (
        (parts.path or "/")
        + (f"?{parts.query}" if parts.query else "")
        + (f"#{parts.fragment}" if parts.fragment else "")
    )
    origin = urlsplit(base)
    foreign = origin.scheme in ("http", "https") and (parts.scheme, parts.netloc) != (origin.scheme, origin.netloc)
    return quote(f"{parts.scheme}://{parts.netloc}{path}" if foreign else path, 80)[1:-1]


def appeared(before: str, after: str, typed: Sequence[str] = ()) -> str:
    """The lines of `after` that `before` did not have and nobody typed, as one line."""
    known = {_folded(line) for line in before.splitlines()}
    own = [_folded(text) for text in typed]
    lines = [_folded(line) for line in after.splitlines()]
    return " ".join(
        dict.fromkeys(line for line in lines if line not in known and not any(line in text for text in own))
    )


def _folded(text: str) -> str:
    return " ".join(text.split())


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


# Between two observations --------------------------------------------------------------------------


def changed_line(before: View, after: View) -> str:
    """What is different on the page, as the words after "CHANGED since your last script: "; "" for nothing."""
    removed = [heading for heading in before.headings if heading not in after.headings]
    added = [heading for heading in after.headings if heading not in before.headings]
    parts = []
    if before.address != after.address:
        parts.append(f"address {short_address(before.address)} -> {short_address(after.address, before.address)}")
    plus, minus = [quote(text, _NAME_LIMIT) for text in added], [quote(text, _NAME_LIMIT) for text in removed]
    if before.document == after.document:
        parts += _altered(before.marks, after.marks)
        plus += [_short(mark) for number, mark in after.marks.items() if number not in before.marks]
        minus += [_short(mark) for number, mark in before.marks.items() if number not in after.marks]
    parts += [f"+ {text}" for text in plus[:_ADDED_LIMIT]]
    parts += [f"- {text}" for text in minus[:_REMOVED_LIMIT]]
    return _whole_parts(parts)


def _whole_parts(parts: Sequence[str]) -> str:
    line = ""
    for part in parts:
        longer = f"{line}; {part}" if line else part
        if len(longer) > _CHANGED_LIMIT:
            break
        line = longer
    return line


def _altered(before: Mapping[int, Mark], after: Mapping[int, Mark]) -> list[str]:
    pairs = [(before[number], mark) for number, mark in after.items() if number in before]
    return [
        f"[{new.id}] {_label(new)} {_state(old)} -> {_state(new)}" for old, new in pairs if _state(old) != _state(new)
    ]


def _state(mark: Mark) -> str:
    if mark.value is not None:
        return quote(mark.value, _VALUE_LIMIT)
    words = {"checked": mark.checked, "expanded": mark.expanded, "selected": mark.selected, "filled": mark.filled}
    told = [name if on else f"not {name}" for name, on in words.items() if on is not None]
    return ", ".join([*told, *(["disabled"] if mark.disabled else [])]) or "enabled"


def _short(mark: Mark) -> str:
    return f"[{mark.id}] {mark.role} {_label(mark)}".rstrip()


def _label(mark: Mark) -> str:
    if mark.name:
        return quote(mark.name, _NAME_LIMIT)
    return f"({quote(mark.hint, _VALUE_LIMIT)[1:-1]})" if mark.hint else ""
