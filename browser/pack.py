"""The browser for scripts: the verbs as primitives, the page as an observation, and the capability that opens both."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, nullcontext
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias, TypeVar

from agentloop.browser.addresses import absolute_address
from agentloop.browser.base import Act, ActObserver, Driver, Mark, Receipt, Target, Vision
from agentloop.browser.browser import LOOK_CHARS, Browser
from agentloop.browser.confirm import Confirm, origin_of
from agentloop.browser.declarations import abilities_of, declared, help_texts, taught, taught_verbs, verbs
from agentloop.browser.forms import Arguments
from agentloop.browser.keeping import Kept, keep
from agentloop.browser.observation import Watcher
from agentloop.browser.page import address
from agentloop.browser.receipts import event_args, event_line
from agentloop.browser.secret_typing import refuse_placeholders
from agentloop.browser.verbs import VERBS, Prepared, as_json
from agentloop.browser.vision import LLMVision
from agentloop.capabilities import BuildContext, Capability
from agentloop.errors import (
    AgentLoopError,
    BrowserLost,
    DriverBusy,
    DriverError,
    EndRun,
    PolicyDenied,
    Refused,
    RequestRefused,
)
from agentloop.guard.grants import Grant, confirmable
from agentloop.guard.network.url import parse_url
from agentloop.packs.base import Call, Observation, Pack, Primitive
from agentloop.packs.permission import Permission, host_scopes
from agentloop.records import Json, Status

__all__ = ["Source", "browser_capability", "browser_pack"]

Source: TypeAlias = Driver | Callable[[BuildContext], AbstractAsyncContextManager[Driver]]
"""A driver that is open already and serves one session at a time, or what opens one for each run."""

T = TypeVar("T")

_ERROR_LIMIT = 200


def browser_pack(
    browser: Browser,
    context: BuildContext,
    *,
    globals: bool,
    observe: bool = True,
    look_chars: int = LOOK_CHARS,
    confirm: Confirm | None = None,
) -> Pack:
    """The verbs of `browser` as scripts call them; only what its driver can do is there and is declared.

    With `globals` the taught verbs are bare names too, and the declarations are their few lines. `confirm` asks
    before acts; without one a person is asked only about files from outside of the workspace. The pack closes nothing:
    who opened the driver does.
    """
    able = abilities_of(browser.driver, vision=browser.vision is not None)
    watcher = Watcher(browser, artifacts=context.artifacts, chars=look_chars)
    approver = confirm or Confirm((), Permission(context), browser.driver, workspace=context.workspace)
    browser.set_approver(approver)
    calls = _VerbCalls(browser, context, watcher, approver)
    primitives = {f"browser.{name}": calls.primitive(name) for name in verbs(able)}
    texts = help_texts(able)
    if globals:
        for name in taught_verbs(able):
            primitives[name] = primitives[f"browser.{name}"]
            texts[name] = texts[f"browser.{name}"].removeprefix("browser.")
    return Pack(
        name="browser",
        description="Drives a web page.",
        declarations=taught(able) if globals else declared(able),
        help=texts,
        primitives=primitives,
        observe=calls.observe if observe else None,
        receipts=browser.take_receipts,
        renew=calls.renew,
    )


def browser_capability(
    source: Source,
    *,
    vision: Vision | None = None,
    observers: Sequence[ActObserver] = (),
    observe: bool = True,
    globals: bool = False,
    look_chars: int = LOOK_CHARS,
    confirm: Sequence[str] = (),
) -> Capability:
    """A browser for a run. It opens the run's start URL; one that cannot be opened ends the run as `page_down`.

    `source` is a `Driver`, which a second run at the same time gets `DriverBusy` for and which stays open, or a
    factory from `BuildContext`, whose driver is closed with the run. `observe` shows the page before each model
    call; `globals` makes the taught verbs bare names, as the browsing prompt has them; `look_chars` bounds the
    page's text. A person is asked before each act of `confirm` (`guard.grants.CONFIRMABLE`) happens.
    Raises `InvalidInput` for an action that is none.
    """
    lease, actions = _Lease(source), confirmable(confirm)

    async def build(context: BuildContext) -> Sequence[Pack]:
        kept = Kept.from_bytes(context.state).opened(context.secrets)
        async with AsyncExitStack() as stack:
            driver = await _opened(stack, lease.driver(replace(context, state=kept.storage)))
            browser = Browser(
                driver,
                vision=_metered(vision, context),
                observers=(*observers, _Teller(context)),
                artifacts=context.artifacts,
                prefix="" if globals else "browser.",
                hints=not observe,
                folder=context.workspace,
                secrets=context.secrets,
                clock=context.clock,
            )
            approver = Confirm(actions, Permission(context), driver, workspace=context.workspace)
            await approver.begin(browser.marks)
            approver.visited(context.start_url, kept.url)
            await _open_first(browser, context, kept, approver)
            pack = browser_pack(
                browser, context, globals=globals, observe=observe, look_chars=look_chars, confirm=approver
            )
            return [replace(pack, save=partial(keep, browser, driver, context.secrets), aclose=stack.pop_all().aclose)]
        raise AssertionError("an exit stack swallows nothing")

    return Capability(name="browser", description="Drives a web page.", build=build, required=True)


async def _opened(stack: AsyncExitStack, opening: AbstractAsyncContextManager[Driver]) -> Driver:
    # A run that asked for a browser must not go on without one, as it would after an ordinary error here.
    try:
        return await stack.enter_async_context(opening)
    except DriverError as error:
        raise EndRun(Status.BROWSER_LOST, "open", str(error)) from None


def _metered(vision: Vision | None, context: BuildContext) -> Vision | None:
    # What a script spends on pictures counts for its run.
    if isinstance(vision, LLMVision) and context.llm is not None:
        return vision.using(context.llm)
    return vision


async def _open_first(browser: Browser, context: BuildContext, kept: Kept, confirm: Confirm) -> None:
    if not context.resumed or not kept.url:
        await _open_start(browser, context, confirm)
        return
    try:
        async with confirm.during("goto"):
            await browser.goto(kept.url)
    except BrowserLost as error:
        raise EndRun(Status.BROWSER_LOST, "", str(error)) from None
    except (DriverError, Refused) as error:
        # Where the page was may not be there any more; the model sees what is, and finds its way.
        await context.emit("warning", content=f"the page of before could not be opened again: {error}")
    browser.take_receipts()


async def _open_start(browser: Browser, context: BuildContext, confirm: Confirm) -> None:
    try:
        await _open_page(browser, context.start_url, confirm)
    except PolicyDenied as error:
        raise EndRun(Status.REFUSED, "declined", str(error)) from None
    except RequestRefused as error:
        raise EndRun(Status.REFUSED, "boundary", str(error)) from None
    except BrowserLost as error:
        raise EndRun(Status.BROWSER_LOST, "", str(error)) from None


async def _open_page(browser: Browser, url: str | None, confirm: Confirm) -> None:
    """Opens a run's page. Raises `Refused`, `BrowserLost`, and `EndRun` for a page that is down."""
    if url is None:
        return
    receipt: Receipt | None = None
    try:
        async with confirm.during("goto"):
            receipt = await browser.goto(url)
    except BrowserLost:
        raise
    except PolicyDenied:
        # What the page began by itself once it was there keeps nobody from using it.
        if receipt is None:
            raise
    except DriverError as error:
        raise EndRun(Status.ERROR, "page_down", str(error)) from None
    status = receipt.effects.status
    if status is not None and status >= 500:
        raise EndRun(Status.ERROR, "page_down", f"{url} answered {status}")
    browser.take_receipts()


class _Lease:
    """Hands out the driver of a source, an open one to one run at a time."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._taken = False

    def driver(self, context: BuildContext) -> AbstractAsyncContextManager[Driver]:
        return self._source(context) if callable(self._source) else _Loan(self, self._source)

    def take(self) -> None:
        if self._taken:
            raise DriverBusy("this driver serves another run: give browser_capability a factory to have one for each")
        self._taken = True

    def give_back(self) -> None:
        self._taken = False


class _Loan(AbstractAsyncContextManager[Driver]):
    def __init__(self, lease: _Lease, driver: Driver) -> None:
        self._lease = lease
        self._driver = driver

    async def __aenter__(self) -> Driver:
        self._lease.take()
        return self._driver

    async def __aexit__(self, *exc: object) -> None:
        self._lease.give_back()


class _Teller:
    """Tells the run's events of every act; what was typed is not in them."""

    def __init__(self, context: BuildContext) -> None:
        self._emit = context.emit

    async def before(self, act: Act, target: Target | None, marks: Sequence[Mark]) -> Target | None:
        return target

    async def after(self, act: Act, receipt: Receipt) -> None:
        await self._emit("act", content=event_line(act, receipt), args=event_args(act, receipt))


class _VerbCalls:
    """What stands between a script's call and the verb: reading, approval, events, and the end of a lost browser."""

    def __init__(self, browser: Browser, context: BuildContext, watcher: Watcher, confirm: Confirm) -> None:
        self._browser = browser
        self._context = context
        self._permission = Permission(context)
        self._watcher = watcher
        self._confirm = confirm

    def primitive(self, name: str) -> Primitive:
        return Primitive(self._call(name), exclusive=name != "sleep", untrusted=name != "sleep")

    def _call(self, name: str) -> Call:
        async def call(*values: Json) -> Json:
            secrets = self._context.secrets
            refuse_placeholders(secrets, name, values)
            prepared = VERBS[name](self._browser, Arguments(name, values))
            if name != "sleep":
                await self._permit(name, prepared)
            result = as_json(await self._ending_if_lost(self._told(name, prepared, values)))
            # What was put together of pieces may be a secret again.
            return secrets.hide(result, numbers=name == "eval")

        return call

    async def renew(self) -> None:
        """Readies a kept browser for another run. Errors are those that a new browser may not have."""
        await self._browser.eval("1")
        self._watcher.renew()
        self._confirm.visited(self._context.start_url)
        await _open_page(self._browser, self._context.start_url, self._confirm)

    async def observe(self) -> Observation:
        seen = await self._ending_if_lost(self._watcher.observe())
        return replace(seen, text=self._context.secrets.hide(seen.text))

    async def _told(self, name: str, prepared: Prepared, values: Sequence[Json]) -> Any:
        self._watcher.acted()
        try:
            async with nullcontext() if name == "sleep" else self._confirm.during(name):
                result = await prepared.do()
        except AgentLoopError as raised:
            error = self._context.secrets.hide_error(raised)
            reason = str(error).partition("\n")[0][:_ERROR_LIMIT]
            await self._context.emit(
                "act", content=f"{name} failed: {reason}", args={"verb": name, "failed": type(error).__name__}
            )
            if error is not raised:
                raise error from None
            raise
        if name in ("ask", "askMarks"):
            await self._context.emit("screenshot", content=str(values[0]), args={"verb": name, "answer": result})
        return result

    async def _ending_if_lost(self, work: Awaitable[T]) -> T:
        try:
            return await work
        except BrowserLost as error:
            raise EndRun(Status.BROWSER_LOST, "", str(error)) from None

    async def _permit(self, name: str, prepared: Prepared) -> None:
        asks = dict(prepared.asks)
        if "url" in asks:
            asks["url"] = absolute_address(str(asks["url"]), await address(self._browser.driver))
        decision = await self._permission.decision("browser", action=name, **asks)
        if decision.allowed:
            return
        reason = decision.reason or "the policy does not allow it"
        what = f"browser.{name}"
        if "url" in asks:
            await self._leave_to_go(what, reason, str(asks["url"]))
            return
        page = origin_of(await address(self._browser.driver))
        grant = Grant(kind="action", subject=f"{what} on {page}")
        question = f"Allow {what} on {page}? Now: {reason}"
        await self._permission.confirm(what, reason, question=question, grant=grant)

    async def _leave_to_go(self, what: str, reason: str, url: str) -> None:
        goal = parse_url(url)
        scopes = host_scopes(f"goto {goal.host}:{goal.port}", goal.path)
        await self._permission.confirm(
            what,
            reason,
            question=f"Allow the browser to open {goal.origin}? Now: {reason}",
            grant=scopes.host,
            need=scopes.page,
            other=scopes.folder,
        )
