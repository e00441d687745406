"""What goes into controls: typing, choosing, ticking; each looks afterwards at what the control really holds."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from agentloop.browser.acting import Acting, Done
from agentloop.browser.base import Mark
from agentloop.browser.input import Input
from agentloop.browser.listing import Aim, ElementState
from agentloop.browser.marks import Marks
from agentloop.browser.secret_typing import SecretTyping
from agentloop.browser.targets import bearers, describe, nearest_field
from agentloop.browser.words import say
from agentloop.errors import TargetError
from agentloop.guard.secrets import Secret

__all__ = ["Filling", "Typed"]

_BY_VALUE = frozenset({"date", "time", "month", "week", "datetime-local", "color", "range"})
_CLICKED = frozenset(
    {"checkbox", "radio", "switch", "option", "menuitemcheckbox", "menuitemradio", "button", "link", "tab"}
)
_OPTION_ROLES = frozenset({"option", "menuitem", "menuitemradio", "menuitemcheckbox", "treeitem"})
_OPTION_WAIT_S = 1.5
_OPTIONS_SHOWN = 25


@dataclass(frozen=True, kw_only=True)
class Typed(Done):
    """`old` is what the field held before; `bound`: a secret bound to its host, which is never looked at."""

    old: str = ""
    bound: bool = False


class Filling:
    """The deeds behind `type`, `select` and `check`."""

    def __init__(self, marks: Marks, input: Input, acting: Acting, secrets: SecretTyping) -> None:
        self._secrets = secrets
        self._marks = marks
        self._input = input
        self._acting = acting

    async def type(self, aim: Aim, text: str, *, submit: bool) -> Typed:
        """Replaces what a field holds. Raises `TargetError(reason="unfit")` for what is no field."""
        secret = self._secrets.of_placeholder(text)
        if secret is not None:
            return await self._type_secret(aim, secret, submit=submit)
        state = await self._marks.state(aim)
        if state.tag == "select":
            await self._marks.select(aim, [text])
            return Typed(verb="select", note=say("was_a_select"), changed=True)
        if state.type in _BY_VALUE:
            await self._marks.fill(aim, text)
        else:
            self._require_field(aim, state)
            await self._input.replace(aim, text, editor=state.contenteditable)
        done = Typed(changed=True, secret=state.type == "password", old=state.value or "")
        if submit:
            done = await self.held(aim, text, done)
            await self._input.press("Enter")
        return done

    async def _type_secret(self, aim: Aim, secret: Secret, *, submit: bool) -> Typed:
        kept = await self._secrets.type(aim, secret)
        if submit:
            await self._input.press("Enter")
        return Typed(changed=True, bound=True, note="" if kept else say("value_not_kept"))

    async def held(self, aim: Aim, text: str, done: Typed) -> Typed:
        """`done` with a word on what the field holds now, where that is not `text`."""
        if done.bound:
            return done
        state = await self._marks.state(aim)
        if state.tag == "select":
            return done
        if done.secret:
            altered = bool(state.filled) != bool(text)
            return replace(done, note=say("value_not_kept") if altered else "")
        held = state.value or ""
        # The page's words come without secrets, so what was typed is compared without them too.
        if _same(held, self._secrets.hidden(text)):
            return done
        return replace(done, value=held, note=say("old_value_kept") if held == done.old else "")

    def _require_field(self, aim: Aim, state: ElementState) -> None:
        what = _called(aim, state)
        if state.readonly:
            raise TargetError(say("read_only", what=what), reason="unfit")
        if state.editable or state.contenteditable:
            return
        if state.type == "file":
            raise TargetError(say("takes_files", what=what), reason="unfit")
        near = nearest_field(aim.mark, self._acting.listed) if aim.mark else None
        hint = say("nearest_field", number=near.id, what=describe(near)) if near else ""
        raise TargetError(say("no_text_field", what=what, near=hint), reason="unfit")

    async def select(self, aim: Aim, labels: Sequence[str]) -> Done:
        """Chooses options; what has none is clicked, a list made of other elements is opened and clicked through."""
        state = await self._marks.state(aim)
        if state.tag == "select":
            if not labels:
                raise TargetError(say("which_option_of", options=_listed(state.options)), reason="unfit")
            await self._marks.select(aim, labels)
            return Done(changed=True)
        if state.role in _CLICKED and not (labels and state.role == "button"):
            await self._input.click(aim)
            return Done(verb="click", values=(), note=say("was_a_click"))
        if not labels:
            raise TargetError(say("which_option"), reason="unfit")
        if state.editable and state.role != "combobox":
            raise TargetError(say("use_type"), reason="unfit")
        for label in labels:
            await self._choose(aim, label, editable=state.editable)
        return Done(changed=True)

    async def _choose(self, aim: Aim, label: str, *, editable: bool) -> None:
        option = self._option(await self._acting.list(), label)
        if option is None:
            await self._input.click(aim)
            option = await self._awaited(label, seconds=_OPTION_WAIT_S / 2)
        if option is None and editable:
            await self._input.replace(aim, label)
            option = await self._awaited(label, seconds=_OPTION_WAIT_S)
        await self._click_option(option, label)

    async def _click_option(self, option: Mark | None, label: str, *, tries: int = 3) -> None:
        if option is None:
            names = [mark.name for mark in self._acting.listed if mark.role in _OPTION_ROLES]
            raise TargetError(say("opened_without_option", label=label, options=_listed(names)), reason="unfit")
        try:
            await self._input.click(await self._marks.aim(option))
        except TargetError as error:
            if error.reason != "gone" or tries <= 1:
                raise
            # Lists that are filled as one types are drawn anew for each letter.
            await self._click_option(await self._awaited(label, seconds=_OPTION_WAIT_S), label, tries=tries - 1)

    async def _awaited(self, label: str, *, seconds: float) -> Mark | None:
        """The option once it is there: lists that are filled late take a moment."""
        try:
            async with asyncio.timeout(seconds):
                while True:
                    if option := self._option(await self._acting.list(), label):
                        return option
                    await asyncio.sleep(0.05)
        except TimeoutError:
            return None

    def _option(self, marks: Sequence[Mark], label: str) -> Mark | None:
        options = [mark for mark in marks if mark.role in _OPTION_ROLES]
        named = bearers(self._secrets.hidden(label), options)
        return named[0] if len(named) == 1 else None

    async def check(self, aim: Aim, *, on: bool) -> Done:
        """Makes a checkbox, switch or radio be on or off. Raises `TargetError(reason="unfit")` for what cannot be."""
        state = await self._marks.state(aim)
        if state.checked is None:
            what = _called(aim, state)
            raise TargetError(say("use_click", what=what), reason="unfit")
        word = "checked" if on else "not checked"
        if state.checked == on:
            return Done(changed=False, note=say("was_checked", word=word))
        if state.role == "radio" and not on:
            raise TargetError(say("radio_off"), reason="unfit")
        await self._input.click(aim)
        return Done(changed=True)

    async def checked(self, aim: Aim, done: Done, *, on: bool) -> Done:
        """`done` with a word of warning when the page did not keep the tick."""
        state = await self._marks.state(aim)
        kept = state.checked is None or state.checked == on
        return done if kept else replace(done, changed=False, note=say("not_kept"))


def _called(aim: Aim, state: ElementState) -> str:
    return describe(aim.mark) if aim.mark else say("some_element", role=state.role or state.tag)


def _same(held: str, text: str) -> bool:
    return _plain(held) == _plain(text)


def _plain(text: str) -> str:
    # Editors hold a line break as a paragraph and end in an empty one; their spaces may be non-breaking.
    lines = text.replace("\r\n", "\n").replace("\xa0", " ").split("\n")
    return "\n".join(line for line in lines if line.strip()) if len(lines) > 1 else text.replace("\xa0", " ")


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(f'"{name}"' for name in names[:_OPTIONS_SHOWN])
    more = say("and_more", count=len(names) - _OPTIONS_SHOWN) if len(names) > _OPTIONS_SHOWN else ""
    return (shown or say("no_options")) + more
