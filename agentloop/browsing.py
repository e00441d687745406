"""One task in a browser of its own: a task in, a real browser driven, an answer out."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from agentloop.artifacts.base import Artifacts
from agentloop.artifacts.egress import EgressManifest
from agentloop.build import loop_settings, named_capabilities, secret_capabilities, undeclared
from agentloop.capabilities import BuildContext, Capability
from agentloop.context.settings import LoopSettings
from agentloop.errors import InvalidInput, RequestRefused, refuse_text
from agentloop.guard.grants import OnAsk, confirmable
from agentloop.guard.network.base import OwnPorts
from agentloop.guard.network.pattern import Pattern, for_browser
from agentloop.guard.network.url import parse_url
from agentloop.guard.redact import Redactor
from agentloop.guard.secrets import Secret
from agentloop.journal import OnEvent
from agentloop.llm.base import LLM
from agentloop.loop import Loop, RunHandle, Verify
from agentloop.records import Json, RunLimits, RunRequest, RunResult
from agentloop.report.checks import Check, DriverPage, judge
from agentloop.stores.base import Store

if TYPE_CHECKING:
    from agentloop.browser.base import Driver, Vision

__all__ = ["BrowseOptions", "browse", "open_browse"]

_UNGUARDED = (
    "unguarded: this browser does not go through the network boundary, so its pages reach whatever they like; "
    "you allowed that with --dangerously-unguarded"
)


@dataclass(frozen=True, kw_only=True)
class BrowseOptions:
    """How a browsing run is set up.

    `allow` are patterns ([scheme://]host[:port]) of what pages may reach; None: any public address, and
    always the origin of the start URL. `vision` names an image-capable model; without one, scripts have no
    `ask`. `artifacts` takes a picture and the marks of each turn. `browser_sandbox` "auto" is on, and off
    for root; `cdp_url` names a browser that runs already instead, which is refused when its pages cannot be held to
    `allow`, unless `dangerously_unguarded`. `egress` names a file for the egress manifest, besides that of the
    artifacts; or one that was begun already (`EgressManifest.begin`). `own_ports` are kept from pages and scripts;
    several runs of one process share them. `expect` are checks of the finished run
    (`report.checks.FORMS`); one that is not met makes it `check_failed`. `capabilities` are what scripts
    may call besides the browser.

    A `store` of the caller's is not closed; without one, nothing is kept. `session` goes on with that session:
    its history, carry (unless `fresh`), and browser state. Files for pages are taken from `workspace`.
    `confirm` are acts (`guard.grants.CONFIRMABLE`) that a person is asked about before they happen; who that is, says
    `on_ask`, and without one they are refused. `secrets` are for scripts to use and never to see.
    `enabled` and `setup` are the request's; see `build.loop_settings` for the two windows.
    """

    url: str | None = None
    allow: Sequence[str] | None = None
    allow_private: bool = False
    headless: bool = True
    slow_mo_ms: int = 0
    browser_sandbox: Literal["auto", "on", "off"] = "auto"
    cdp_url: str | None = None
    dangerously_unguarded: bool = False
    own_ports: OwnPorts | None = None
    egress: str | os.PathLike[str] | EgressManifest | None = None
    viewport: tuple[int, int] = (1280, 720)
    model: str | None = None
    vision: str | None = None
    limits: RunLimits = RunLimits()
    artifacts: Artifacts | None = None
    run_id: str | None = None
    expect: Sequence[str] = ()
    redactor: Redactor | None = None
    capabilities: Sequence[Capability] = ()
    store: Store | None = None
    session: str | None = None
    fresh: bool = False
    enabled: Sequence[str] | None = None
    context_window: int | None = None
    history_window: int | None = None
    setup: Mapping[str, Json] = field(default_factory=dict)
    workspace: str | None = None
    secrets: Sequence[Secret] = ()
    confirm: Sequence[str] = ()


@asynccontextmanager
async def open_browse(
    task: str | None,
    options: BrowseOptions,
    *,
    llm: LLM,
    on_event: OnEvent | None = None,
    on_ask: OnAsk | None = None,
) -> AsyncIterator[RunHandle]:
    """A browser and a run in it, not yet begun; both are closed at the end.

    `task` None takes up the last run of the options' session where it was left.
    Raises `BrowserNotFound` when there is no browser, `DriverError` for one whose pages cannot be held,
    `InvalidInput` for a URL that is no web address, a pattern that cannot be held, a check that is none or a
    manifest that cannot be written.
    """
    _check(options)
    from agentloop.browser.pack import browser_capability
    from agentloop.drivers.host import BrowserHost

    manifest = await _manifest(options.egress)
    async with BrowserHost.launch(
        headless=options.headless,
        browser_sandbox=options.browser_sandbox,
        slow_mo_ms=options.slow_mo_ms,
        cdp_url=options.cdp_url,
        dangerously_unguarded=options.dangerously_unguarded,
        own_ports=options.own_ports,
    ) as host:
        checks = [Check.parse(text) for text in options.expect]
        pages: list[DriverPage] = []

        @asynccontextmanager
        async def new_driver(context: BuildContext) -> AsyncIterator[Driver]:
            async with host.driver(
                allow=options.allow,
                narrow=context.allow,
                allow_private=options.allow_private,
                start_url=context.start_url,
                egress=context.egress,
                viewport=options.viewport,
                storage_state=context.state,
            ) as driver:
                if context.egress.boundary == "unguarded":
                    await context.emit("warning", content=_UNGUARDED)
                pages.append(_page(driver, context))
                yield driver

        async def verify(handle: RunHandle) -> Sequence[Mapping[str, Json]]:
            return await judge(checks, answer=handle.final_text, page=pages[-1] if pages else None)

        vision = _vision(llm, options.vision)
        browser = browser_capability(new_driver, vision=vision, globals=True, confirm=options.confirm)
        settings = loop_settings(
            "browse",
            limits=options.limits,
            context_window=options.context_window,
            history_window=options.history_window,
            workspace=options.workspace,
            egress=manifest,
            own_ports=host.own_ports,
        )
        loop = _loop(browser, options, settings, llm=llm, on_ask=on_ask, verify=verify if checks else None)
        async with (
            loop if options.store is None else nullcontext(),
            await loop.open(_request(task, options), on_event=on_event) as handle,
        ):
            yield handle


def _vision(llm: LLM, model: str | None) -> Vision | None:
    from agentloop.browser.vision import LLMVision

    return LLMVision(llm, model=model) if model else None


def _page(driver: Driver, context: BuildContext) -> DriverPage:
    from agentloop.browser.redacting_driver import redacting_driver

    return DriverPage(redacting_driver(driver, context.secrets))


async def _manifest(egress: str | os.PathLike[str] | EgressManifest | None) -> EgressManifest | None:
    if egress is None or isinstance(egress, EgressManifest):
        return egress
    return await EgressManifest.begin(egress)


def _loop(
    browser: Capability,
    options: BrowseOptions,
    settings: LoopSettings,
    *,
    llm: LLM,
    on_ask: OnAsk | None,
    verify: Verify | None,
) -> Loop:
    from agentloop.stores.memory import MemoryStore

    return Loop(
        llm=llm,
        store=options.store or MemoryStore(),
        capabilities=[
            browser,
            undeclared(named_capabilities(["markdown"])[0]),
            *secret_capabilities(options.secrets),
            *options.capabilities,
        ],
        secrets=options.secrets,
        model=options.model,
        settings=settings,
        on_ask=on_ask,
        artifacts=options.artifacts,
        verify=verify,
        redactor=options.redactor,
    )


def _request(task: str | None, options: BrowseOptions) -> RunRequest | str:
    if task is None:
        if options.session is None:
            raise InvalidInput("give a task, or the session whose last run is to be taken up")
        return options.session
    return RunRequest(
        task,
        session=options.session,
        run_id=options.run_id,
        fresh=options.fresh,
        url=options.url,
        enabled=options.enabled,
        setup=options.setup,
    )


def _check(options: BrowseOptions) -> None:
    try:
        parse_url(options.url or "https://any.example")
    except RequestRefused as error:
        raise InvalidInput(f"{options.url} is no address of a web page: {error}") from None
    refuse_text("allow", options.allow, of="patterns")
    refuse_text("expect", options.expect, of="checks")
    refuse_text("enabled", options.enabled, of="names")
    for pattern in options.allow or ():
        for_browser(Pattern.parse(pattern))
    for text in options.expect:
        Check.parse(text)
    confirmable(options.confirm)


async def browse(
    task: str,
    *,
    url: str | None = None,
    allow: Sequence[str] | None = None,
    allow_private: bool = False,
    headless: bool = True,
    llm: LLM | None = None,
    model: str | None = None,
    vision: str | None = None,
    limits: RunLimits | None = None,
    artifacts: Artifacts | None = None,
    egress: str | os.PathLike[str] | None = None,
    expect: Sequence[str] = (),
    secrets: Sequence[Secret] = (),
    confirm: Sequence[str] = (),
    on_event: OnEvent | None = None,
    on_ask: OnAsk | None = None,
) -> RunResult:
    """Does one task in a fresh browser and returns how it went; see `BrowseOptions` for the arguments.

    Without `llm` the model comes from the environment (`OpenAI.from_env`). Every way the run can end is a
    status of the result; only a missing browser or model, or unusable arguments, raise.
    """
    from agentloop.llm.openai import OpenAI

    options = BrowseOptions(
        url=url,
        allow=allow,
        allow_private=allow_private,
        headless=headless,
        model=model,
        vision=vision,
        limits=limits or RunLimits(),
        artifacts=artifacts,
        egress=egress,
        expect=expect,
        secrets=secrets,
        confirm=confirm,
    )
    if llm is not None:
        return await _browse(task, options, llm=llm, on_event=on_event, on_ask=on_ask)
    async with OpenAI.from_env() as client:
        return await _browse(task, options, llm=client, on_event=on_event, on_ask=on_ask)


async def _browse(
    task: str, options: BrowseOptions, *, llm: LLM, on_event: OnEvent | None, on_ask: OnAsk | None
) -> RunResult:
    async with open_browse(task, options, llm=llm, on_event=on_event, on_ask=on_ask) as handle:
        return await handle.run()
