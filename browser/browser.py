"""The browser without a model: every verb that a script has, as an async Python object."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from agentloop.artifacts.base import Artifacts
from agentloop.browser.abilities import Files, Pointer
from agentloop.browser.acting import Acting, Approver, Call, Done
from agentloop.browser.addresses import absolute_address
from agentloop.browser.base import ActObserver, Driver, Mark, Receipt, Target, Vision
from agentloop.browser.filling import Filling, Typed
from agentloop.browser.input import Input, ability
from agentloop.browser.keys import chord
from agentloop.browser.listing import Aim, select_marks
from agentloop.browser.look import Look
from agentloop.browser.marks import Marks
from agentloop.browser.page import address, evaluate
from agentloop.browser.receipts import SecretName
from agentloop.browser.redacting_driver import redacting_driver
from agentloop.browser.secret_typing import SecretTyping
from agentloop.browser.surroundings import Surroundings
from agentloop.browser.targets import bearers
from agentloop.clock import Clock
from agentloop.errors import InvalidInput
from agentloop.guard.logs import logger
from agentloop.guard.secrets import Secrets
from agentloop.records import Json

__all__ = ["LOOK_CHARS", "AnyTarget", "Browser"]

_LOG = logger(__name__)

AnyTarget: TypeAlias = Target | Mark
"""A `Target`, or a mark as `mark()` gave it."""

LOOK_CHARS = 6_000
"""Characters of a look at a page of prose; `look` itself shows fewer where there are many marks."""
_UPLOAD_S = 8.0
"""Longer than any act, so that the driver's own word on a chooser that did not open is heard."""


class Browser(Surroundings):
    """One session's page, driven by marks.

    Every verb that acts takes a target: a mark's number, its name and number as a pair, a CSS selector, the
    exact name of one mark, `{"x": …, "y": …}` or a `Mark`. It checks the target again just before, acts with
    trusted input, waits for what that caused and returns a `Receipt`. Raises `TargetError` when the target is
    not so (nothing was done then), `InvalidInput` for what the driver lacks, `DriverTimeout`, `RequestRefused`.
    `prefix` is how scripts call the verbs ("" or "browser."); without `hints` errors do not list the page anew;
    paths of files to upload begin at `folder`; pictures asked about are kept in `artifacts`. The
    bounds of acts are measured on `clock`.
    The driver stays its opener's to close.
    """

    def __init__(
        self,
        driver: Driver,
        *,
        vision: Vision | None = None,
        observers: Sequence[ActObserver] = (),
        artifacts: Artifacts | None = None,
        prefix: str = "",
        hints: bool = True,
        folder: str | None = None,
        secrets: Secrets | None = None,
        clock: Clock | None = None,
    ) -> None:
        driver = driver if secrets is None else redacting_driver(driver, secrets)
        self.driver = driver
        self.vision = vision
        self._artifacts = artifacts
        self._asked = 0
        self.folder = os.path.realpath(folder or os.curdir)
        self.marks = Marks(driver, hide=(secrets or Secrets()).hide)
        self._acting = Acting(driver, self.marks, observers, prefix=prefix, hints=hints, clock=clock)
        self._input = Input(driver, self.marks)
        self._secrets = SecretTyping(driver, self.marks, self._input, secrets or Secrets())
        self._filling = Filling(self.marks, self._input, self._acting, self._secrets)

    def set_approver(self, approver: Approver) -> None:
        """From now on `approver` is asked just before each act."""
        self._acting.approver = approver

    def take_receipts(self) -> tuple[str, ...]:
        """What was done since the last call, a line an act, bounded; empties the list."""
        return self._acting.take_lines()

    # Going places

    async def goto(self, url: str) -> Receipt:
        """Opens an address; one that begins with / belongs to the site shown."""
        call = Call(verb="goto", values=(url,))

        async def perform() -> None:
            base = await address(self.driver)
            # Whatever comes of it, the numbers of the page before are not to be used on the next one.
            self._acting.page_changed("goto")
            await self.driver.navigate(absolute_address(url, base))

        return await self._acting.on_page(call, perform)

    async def back(self) -> Receipt:
        """One page back in the history."""
        return await self._history("back", "history.back()")

    async def forward(self) -> Receipt:
        """One page forward in the history."""
        return await self._history("forward", "history.forward()")

    async def reload(self) -> Receipt:
        """The same page again."""
        return await self._history("reload", "location.reload()")

    async def _history(self, verb: str, step: str) -> Receipt:
        async def perform() -> None:
            # Behind a timer, so that the evaluation itself ends before its page does.
            await self.driver.eval(f"void setTimeout(() => {step}, 0)")

        return await self._acting.on_page(Call(verb=verb), perform)

    # Mouse and keyboard

    async def click(self, target: AnyTarget) -> Receipt:
        """Clicks."""
        return await self._acting.on_target(Call(verb="click", target=target), self._input.click)

    async def click_mark(self, number: int) -> Receipt:
        """`click` of a number, as scripts may write it: `clickMark(3)`."""
        return await self.click(number)

    async def double_click(self, target: AnyTarget) -> Receipt:
        """Clicks twice in a row."""
        ability(self.driver, Pointer, "doubleClick")
        call = Call(verb="doubleClick", target=target)
        return await self._acting.on_target(call, lambda aim: self._input.click(aim, count=2))

    async def right_click(self, target: AnyTarget) -> Receipt:
        """Clicks with the right button."""
        ability(self.driver, Pointer, "rightClick")
        call = Call(verb="rightClick", target=target)
        return await self._acting.on_target(call, lambda aim: self._input.click(aim, button="right"))

    async def hover(self, target: AnyTarget) -> Receipt:
        """Moves the mouse there and leaves it."""
        pointer = ability(self.driver, Pointer, "hover")
        call = Call(verb="hover", target=target)
        return await self._acting.on_target(call, lambda aim: pointer.pointer_move(aim.x, aim.y))

    async def drag(self, source: AnyTarget, goal: AnyTarget) -> Receipt:
        """Drags the first target onto the second."""
        pointer = ability(self.driver, Pointer, "drag")

        async def perform(aim: Aim) -> Done:
            found, end = await self._acting.aim(goal)
            if end.scrolled:
                _, aim = await self._acting.aim(source)
            await pointer.pointer_drag((aim.x, aim.y), (end.x, end.y))
            return Done(goal=end.mark, note=found.note)

        return await self._acting.on_target(Call(verb="drag", target=source, goal=goal), perform)

    async def press(self, keys: str | int, target: AnyTarget | None = None) -> Receipt:
        """Presses a key or chord ("Enter", "Control+a") in the target, else where the focus is.

        A mark's number or name in place of a key is a click of it. Raises `InvalidInput` for what is neither.
        """
        if not isinstance(keys, str) or (chord(keys) is None and (target is not None or await self._named(keys))):
            return await self._press_of_mark(keys, target)
        if target is None:
            return await self._acting.on_page(Call(verb="press", values=(keys,)), lambda: self._input.press(keys))

        async def perform(aim: Aim) -> None:
            await self._input.focus(aim)
            await self._input.press(keys)

        return await self._acting.on_target(Call(verb="press", before=(keys,), target=target), perform)

    async def _press_of_mark(self, name: str | int, number: AnyTarget | None) -> Receipt:
        target = (name, number) if isinstance(name, str) and isinstance(number, int) else name
        note = "press is for keys: this was a click"

        async def perform(aim: Aim) -> Done:
            await self._input.click(aim)
            return Done(note=note)

        return await self._acting.on_target(Call(verb="click", target=target), perform)

    async def _named(self, name: str) -> bool:
        return name.strip().isdigit() or len(bearers(name, await self._acting.list())) > 0

    async def scroll(self, dx: float, dy: float, within: AnyTarget | None = None) -> Receipt:
        """Scrolls the page, or what scrolls at `within`, by CSS pixels."""
        if within is not None:
            call = Call(verb="scroll", before=(dx, dy), target=within)
            return await self._acting.on_target(call, lambda aim: self._scroll_at(aim, dx, dy))

        async def perform() -> Done:
            return _scrolled(await evaluate(self.driver, "scroll", {"selector": None, "dx": dx, "dy": dy}))

        return await self._acting.on_page(Call(verb="scroll", values=(dx, dy) if dx else (dy,)), perform)

    async def _scroll_at(self, aim: Aim, dx: float, dy: float) -> Done:
        return _scrolled(await self._input.wheel(aim, dx, dy))

    # Filling in

    async def type(self, target: AnyTarget, text: str, submit: bool = False) -> Receipt:
        """Replaces what a text field holds; "" empties it. A newline is text; `submit` presses Enter afterwards.

        Dates and times as HTML has them: 2026-01-31, 08:30. What the field holds in the end is compared: a page
        that altered it is told of in the receipt's `value`. A secret's placeholder, whole, is typed as its value,
        into its own hosts' pages alone: else `RequestRefused`.
        """
        options: dict[str, Json] = {"submit": True} if submit else {}
        secret = self._secrets.of_placeholder(text)
        shown = text if secret is None else SecretName(secret.name)
        call = Call(verb="type", target=target, values=(shown,), options=options, puts=(text,))

        async def perform(aim: Aim) -> Done:
            return await self._filling.type(aim, text, submit=submit)

        async def verify(aim: Aim, done: Done) -> Done:
            return await self._filling.held(aim, text, done) if isinstance(done, Typed) else done

        return await self._acting.on_target(call, perform, verify=None if submit else verify)

    async def type_mark(self, number: int, text: str) -> Receipt:
        """`type` into a number, as scripts may write it: `typeMark(1, "Ann")`."""
        return await self.type(number, text)

    async def select(self, target: AnyTarget, labels: str | Sequence[str] = ()) -> Receipt:
        """Chooses options by label in a combobox or listbox; what has no options is clicked."""
        chosen = (labels,) if isinstance(labels, str) else tuple(labels)
        values = (chosen[0] if len(chosen) == 1 else chosen,) if chosen else ()
        call = Call(verb="select", target=target, values=values, puts=chosen)
        return await self._acting.on_target(call, lambda aim: self._filling.select(aim, chosen))

    async def check(self, target: AnyTarget, on: bool = True) -> Receipt:
        """Sets a checkbox, switch or radio."""
        call = Call(verb="check", target=target, values=() if on else (False,))
        return await self._acting.on_target(
            call,
            lambda aim: self._filling.check(aim, on=on),
            verify=lambda aim, done: self._filling.checked(aim, done, on=on),
        )

    async def upload(self, target: AnyTarget, paths: str | Sequence[str]) -> Receipt:
        """Puts files into a file input, or into the chooser that a click on the target opens."""
        files = ability(self.driver, Files, "upload")
        chosen = (paths,) if isinstance(paths, str) else tuple(paths)
        # Once, so that what was asked about is what is taken.
        real = self.file_paths(chosen)

        async def perform(aim: Aim) -> Done:
            async with files.choose_files(real):
                await self._input.click(aim)
            return Done(changed=True)

        call = Call(
            verb="upload", target=target, values=(chosen[0] if len(chosen) == 1 else chosen,), puts=chosen, files=real
        )
        return await self._acting.on_target(call, perform, seconds=_UPLOAD_S)

    def file_paths(self, paths: Sequence[str]) -> tuple[str, ...]:
        """Where files to upload really lie: links followed, relative paths beginning at `folder`."""
        return tuple(os.path.realpath(os.path.join(self.folder, path)) for path in paths)

    # Seeing

    async def mark(
        self,
        *,
        role: str | None = None,
        name: str | None = None,
        within: int | str | None = None,
        limit: int | None = None,
    ) -> tuple[Mark, ...]:
        """What a person could click or type into now; filters choose among them and never renumber."""
        marks = await self._acting.list()
        inside = None if within is None else await self.marks.inside(within)
        return select_marks(marks, role=role, name=name, inside=inside, limit=limit)

    async def unmark(self) -> None:
        """Forgets the picture's boxes. Nothing is ever drawn into the page, and numbers stay good."""

    async def look(self, *, chars: int = LOOK_CHARS) -> str:
        """The visible page as text in reading order, its marks inline, at most `chars` long."""
        return (await self.see(chars=chars)).text

    async def see(self, *, chars: int = LOOK_CHARS) -> Look:
        """`look` with the listing that its numbers are from."""
        look = await self.marks.look(chars=chars)
        self._acting.page_listed()
        return look

    async def markdown(self) -> str:
        """The page's rendered text as Markdown; without emphasis where that parts a secret."""
        text = self._secrets.hidden(await super().markdown())
        plain = re.sub(r"[*`]", "", text)
        shown = self._secrets.hidden(plain)
        return text if shown == plain else shown

    async def text(self, target: AnyTarget) -> str:
        """The rendered text of an element, however long."""
        if isinstance(target, str) and not await self._named(target):
            return await self.driver.text(target)
        _, aim = await self._acting.aim(target)
        async with self.marks.tag(aim) as selector:
            return await self.driver.text(selector)

    async def value(self, target: AnyTarget) -> str:
        """What a form control holds; never a password."""
        _, aim = await self._acting.aim(target)
        return (await self.marks.state(aim)).value or ""

    async def ask(self, question: str) -> str:
        """An image model's answer about a picture of the page."""
        return await self._answer("ask", self.driver.screenshot, question)

    async def ask_marks(self, question: str) -> str:
        """The same about a picture with the marks' numbers drawn in."""
        return await self._answer("askMarks", self.picture, question)

    async def _answer(self, verb: str, take: Callable[[], Awaitable[bytes]], question: str) -> str:
        if self.vision is None:
            raise InvalidInput(f"{verb}: no model that sees pictures is set: give Browser a vision")
        image = await take()
        self._asked += 1
        await self._keep(f"ask-{self._asked:03d}.png", image)
        return self._secrets.hidden(await self.vision(image, question))

    async def _keep(self, name: str, image: bytes) -> None:
        if self._artifacts is None:
            return
        try:
            await self._artifacts.write(name, image)
        except Exception as error:  # the border: artifacts may be foreign code, and a full disk takes no answer away
            _LOG.warning("pictures are kept no longer: %s", str(error) or type(error).__name__)
            self._artifacts = None

    async def picture(self, marks: Sequence[Mark] | None = None) -> bytes:
        """A PNG of the page with marks drawn in, by default all of them, listed anew."""
        # Pillow is loaded only by who wants pictures.
        from agentloop.browser.overlay import draw

        drawn = await self._acting.list() if marks is None else marks
        image = await self.driver.screenshot()
        return await asyncio.to_thread(draw, image, drawn)


def _scrolled(moved: Sequence[float] | None) -> Done:
    if moved is None:
        return Done()
    if not any(moved):
        return Done(changed=False, note="it does not scroll further that way")
    return Done(changed=True)
