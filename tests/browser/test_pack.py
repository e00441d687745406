"""The browser as scripts have it: real sandbox, real pages."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from agentloop.artifacts.folder import FolderArtifacts
from agentloop.browser import Browser, browser_capability, browser_pack
from agentloop.browser.base import Driver
from agentloop.capabilities import BuildContext
from agentloop.drivers import BrowserHost, PlaywrightDriver
from agentloop.errors import BrowserLost, DriverBusy, EndRun, InvalidInput, NavigationError, PolicyDenied
from agentloop.guard.grants import Grant
from agentloop.guard.policy import Decision, ToolCall
from agentloop.packs.base import Pack
from agentloop.records import Json, Status
from agentloop.sandbox import CapabilityBuilder, Outcome, SandboxPool, open_sandbox
from tests.browser.page_server import PageServer
from tests.browser.ten_methods import TenMethods

FORM = """<!doctype html><title>Form</title><h1>Order</h1>
<label>Name <input></label><label>Count <input type="number"></label>
<label>Shipping <select><option>Standard<option>Express</select></label>
<label><input type="checkbox"> I agree</label>
<button onclick="document.querySelector('h1').textContent='Thanks ' + document.querySelector('input').value"
>Send</button>
<a href="/next">Next</a> <input type="file" aria-label="File">"""


@dataclass
class Told:
    """What a run's events and questions were; `answer` is given to every question."""

    answer: bool = False
    events: list[tuple[str, dict[str, Json]]] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    async def emit(self, type: str, **fields: Json) -> None:
        self.events.append((type, fields))

    async def ask(self, message: str, *, kind: str = "confirm", grant: Grant | None = None) -> bool:
        self.asked.append(message)
        return self.answer


@dataclass
class Denying:
    """A policy that declines some actions and keeps every call."""

    actions: tuple[str, ...] = ()
    calls: list[ToolCall] = field(default_factory=list)

    async def check(self, call: ToolCall) -> Decision:
        self.calls.append(call)
        allowed = call.args["action"] not in self.actions
        return Decision(allowed=allowed, reason="" if allowed else "not today")


@pytest.fixture
def form(pages: PageServer) -> str:
    pages.put("<!doctype html><title>Next</title><h1>Next</h1><a href='/'>Back home</a>", "/next")
    return pages.put(FORM)


@asynccontextmanager
async def pack_of(driver: PlaywrightDriver, context: BuildContext | None = None, **options: Any) -> AsyncIterator[Pack]:
    [pack] = await browser_capability(driver, **options).build(context or BuildContext())
    try:
        yield pack
    finally:
        assert pack.aclose is not None
        await pack.aclose()


async def run(pack: Pack, script: str) -> Outcome:
    async with open_sandbox(packs=[pack]) as sandbox:
        return await sandbox.run(f"function run(args) {{ {script} }}")


def receipts(pack: Pack) -> tuple[str, ...]:
    assert pack.receipts is not None
    return pack.receipts()


async def page_of(pack: Pack) -> str:
    assert pack.observe is not None
    seen = await pack.observe()
    assert seen is not None and not seen.untrusted
    return seen.text


async def test_a_script_fills_in_a_form_with_bare_verbs(driver: PlaywrightDriver, form: str) -> None:
    async with pack_of(driver, BuildContext(start_url=form), globals=True) as pack:
        before = await page_of(pack)
        assert before.startswith('PAGE NOW: "Form" /') and '[1] textbox "Name" empty' in before
        outcome = await run(
            pack,
            """type("Name", 1, "Ann"); type("Count", 2, 3); select("Shipping", 3, "Express");
            click("I agree", 4); return click("Send", 5);""",
        )
        assert outcome.error is None and outcome.untrusted
        assert json.loads(outcome.value_json or "")["changed"] is True
        lines = receipts(pack)
        assert [line.split(" -> ")[0] for line in lines] == [
            'type("Name", 1, "Ann")',
            'type("Count", 2, "3")',
            'select("Shipping", 3, "Express")',
            'click("I agree", 4)',
            'click("Send", 5)',
        ]
        assert receipts(pack) == ()
        after = await page_of(pack)
        changed = after.splitlines()[-1]
        assert changed.startswith("CHANGED since your last script: ") and '+ "# Thanks Ann"' in changed
        assert '[4] "I agree" not checked -> checked' in changed
        assert (await page_of(pack)).splitlines()[-1] == changed


@pytest.mark.parametrize(
    ("call", "line"),
    [
        ("click(5)", 'click("Send", 5)'),
        ('click("Send")', 'click("Send", 5)'),
        ('click("5")', 'click("Send", 5)'),
        ('click({id: 5, name: "Send"})', 'click("Send", 5)'),
        ('click(["Send", 5])', 'click("Send", 5)'),
        ('click("button")', 'click("button")'),
        ("click({x: 5, y: 5})", "click({x: 5, y: 5})"),
        ('type(1, "Ann")', 'type("Name", 1, "Ann")'),
        ('type("input", "Ann", {submit: true})', 'type("input", "Ann", {submit: true})'),
        ('type("input", 7)', 'type("input", "7")'),
        ('select(3, "Express")', 'select("Shipping", 3, "Express")'),
        ('select("I agree", 4)', 'click("I agree", 4)'),
        ('select(4, "I agree")', 'click("I agree", 4)'),
        ('press("Send", 5)', 'click("Send", 5)'),
        ("press(5)", 'click("Send", 5)'),
        ('press("Tab")', 'press("Tab")'),
        ('press("Enter", "Name", 1)', 'press("Enter", "Name", 1)'),
        ("scroll(600)", "scroll(600)"),
        ("scroll(0, 600)", "scroll(600)"),
        ("scroll(10, 0)", "scroll(10, 0)"),
        ('scroll("down")', "scroll(600)"),
        ("browser.clickMark(5)", 'click("Send", 5)'),
        ('browser.typeMark(1, "Ann")', 'type("Name", 1, "Ann")'),
        ("browser.check(4)", 'check("I agree", 4)'),
        ('goto("/next")', 'goto("/next")'),
    ],
)
async def test_calls_are_read_in_every_form(driver: PlaywrightDriver, form: str, call: str, line: str) -> None:
    async with pack_of(driver, BuildContext(start_url=form), globals=True) as pack:
        await page_of(pack)
        outcome = await run(pack, f"{call};")
        assert outcome.error is None
        assert receipts(pack)[0].split(" -> ")[0] == line


async def test_without_globals_the_verbs_are_members_only(driver: PlaywrightDriver, form: str) -> None:
    async with pack_of(driver) as pack:
        assert all(name.startswith("browser.") for name in pack.primitives)
        outcome = await run(pack, f'browser.goto("{form}"); return browser.mark().map((mark) => mark.name);')
        assert json.loads(outcome.value_json or "") == ["Name", "Count", "Shipping", "I agree", "Send", "Next", "File"]
        assert receipts(pack) == ('browser.goto("' + form + '") -> opened / "Form"',)


async def test_errors_are_catchable_and_say_what_is_there(driver: PlaywrightDriver, form: str) -> None:
    script = """const said = [];
    for (const act of [() => click("Pay", 5), () => click(99), () => click(), () => type("Send", 5, "x")]) {
      try { act() } catch (error) { said.push(error.name + ": " + error.message) }
    }
    return said;"""
    async with pack_of(driver, BuildContext(start_url=form), globals=True) as pack:
        await page_of(pack)
        outcome = await run(pack, script)
        said = json.loads(outcome.value_json or "")
        assert said[0].startswith('TargetError: 5 is button "Send", not "Pay"')
        assert "marks now, numbered 1 to 7" in said[1]
        assert said[2].startswith("InvalidInput: click: a target is required")
        assert "no text field" in said[3]
        # The page follows below in the same message, so the errors need not repeat it.
        assert not any("PAGE NOW" in words for words in said)
        assert receipts(pack) == ()
    async with pack_of(driver, BuildContext(start_url=form), observe=False) as pack:
        assert pack.observe is None
        outcome = await run(pack, 'browser.mark(); browser.click("Pay", 5);')
        assert outcome.error is not None and '[5] button "Send"' in outcome.error.message


async def test_acts_past_the_page_are_refused(driver: PlaywrightDriver, form: str) -> None:
    async with pack_of(driver, BuildContext(start_url=form), globals=True) as pack:
        await page_of(pack)
        outcome = await run(pack, 'click("Next", 6); click(1);')
        assert outcome.error is not None and 'the page changed after click("Next", 6)' in outcome.error.message
        assert receipts(pack) == ('click("Next", 6) -> opened /next "Next"',)


async def test_typed_text_is_in_no_event(driver: PlaywrightDriver, form: str) -> None:
    told = Told()
    async with pack_of(driver, BuildContext(start_url=form, emit=told.emit), globals=True) as pack:
        await page_of(pack)
        await run(pack, 'type("Name", 1, "s3cret"); type("Count", 2, "12s3cret"); type("Send", 5, "s3cret");')
        await run(pack, 'click("Next", 6)')
    acts = [fields for type, fields in told.events if type == "act"]
    assert [fields["args"].get("verb") for fields in acts] == ["goto", "type", "type", "type", "click"]
    assert acts[-1]["content"] == 'click("Next", 6) -> opened /next "Next"'
    assert acts[3]["args"]["failed"] == "TargetError"
    assert "s3cret" not in json.dumps(told.events)


async def test_a_policy_decides_every_verb_but_sleep(driver: PlaywrightDriver, form: str) -> None:
    policy, told = Denying(actions=("click",)), Told()
    context = BuildContext(policy=policy, ask=told.ask, run_id="r1", session_id="s1")
    async with pack_of(driver, context, globals=True) as pack:
        outcome = await run(pack, f'goto("{form}"); browser.sleep(1); browser.mark(); click("Send");')
        assert outcome.error is not None and "not today" in outcome.error.message
        assert outcome.error.name == PolicyDenied.__name__
        assert [call.args["action"] for call in policy.calls] == ["goto", "mark", "click"]
        assert (policy.calls[0].args["url"], policy.calls[0].tool, policy.calls[0].run_id) == (form, "browser", "r1")
        assert len(told.asked) == 1
        told.answer = True
        assert (await run(pack, 'click("Send");')).error is None


class Broken:
    """A policy that fails."""

    async def check(self, call: ToolCall) -> Decision:
        raise RuntimeError("no rules")


async def test_a_policy_that_fails_allows_nothing(driver: PlaywrightDriver) -> None:
    async with pack_of(driver, BuildContext(policy=Broken())) as pack:
        with pytest.raises(PolicyDenied, match="the policy failed: RuntimeError: no rules"):
            await pack.primitives["browser.url"].call()


async def test_files_leave_only_from_the_workspace_or_with_leave(
    driver: PlaywrightDriver, form: str, tmp_path: Path
) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "mine.txt").write_text("mine")
    (tmp_path / "other.txt").write_text("not mine")
    (tmp_path / "work" / "link.txt").symlink_to(tmp_path / "other.txt")
    told = Told()
    context = BuildContext(start_url=form, workspace=str(tmp_path / "work"), ask=told.ask)
    async with pack_of(driver, context) as pack:
        await page_of(pack)
        assert (await run(pack, 'browser.upload("File", 7, "mine.txt");')).error is None
        assert await driver.eval("document.querySelector('[type=file]').files[0].name") == "mine.txt"
        for path in (str(tmp_path / "other.txt"), "../other.txt", "link.txt"):
            outcome = await run(pack, f'browser.upload("File", 7, "{path}");')
            assert outcome.error is not None and outcome.error.name == "PolicyDenied", path
        assert len(told.asked) == 3 and "other.txt" in told.asked[2]


async def test_one_driver_serves_one_run_at_a_time(driver: PlaywrightDriver) -> None:
    capability = browser_capability(driver)
    [first] = await capability.build(BuildContext())
    with pytest.raises(DriverBusy):
        await capability.build(BuildContext())
    assert first.aclose is not None
    await first.aclose()
    [again] = await capability.build(BuildContext())
    assert again.aclose is not None
    await again.aclose()
    assert await driver.eval("1") == 1


async def test_a_factory_opens_a_driver_for_each_run_and_closes_it(host: BrowserHost, form: str) -> None:
    opened: list[str] = []

    @asynccontextmanager
    async def factory(context: BuildContext) -> AsyncIterator[PlaywrightDriver]:
        async with host.driver(allow_private=True) as driver:
            opened.append(context.run_id)
            yield driver
        opened.append(f"{context.run_id} closed")

    capability = browser_capability(factory)
    packs = [pack for id in ("a", "b") for pack in await capability.build(BuildContext(run_id=id, start_url=form))]
    assert opened == ["a", "b"]
    for pack in packs:
        assert pack.aclose is not None
        await pack.aclose()
    assert opened == ["a", "b", "a closed", "b closed"]


async def test_a_start_page_that_is_down_ends_the_run(driver: PlaywrightDriver) -> None:
    for _ in range(2):
        with pytest.raises(EndRun) as ended:
            await browser_capability(driver).build(BuildContext(start_url="http://127.0.0.1:9/"))
        assert (ended.value.status, ended.value.reason) == (Status.ERROR, "page_down")


class Lost(TenMethods):
    """A browser that died."""

    async def eval(self, expression: str) -> Json:
        raise BrowserLost("the browser is gone")


async def test_a_lost_browser_ends_the_run_and_cannot_be_caught(driver: PlaywrightDriver) -> None:
    pack = browser_pack(Browser(Lost(driver)), BuildContext(), globals=True)
    with pytest.raises(EndRun) as ended:
        await run(pack, "try { browser.url() } catch (error) { return 1 }")
    assert ended.value.status == Status.BROWSER_LOST
    with pytest.raises(EndRun):
        await page_of(pack)


class Mortal(TenMethods):
    """A driver that can be lost."""

    lost = False

    async def eval(self, expression: str) -> Json:
        if self.lost:
            raise BrowserLost("the browser is gone")
        return await super().eval(expression)


@dataclass
class Opened:
    """A pool over one browser capability, and the drivers it opened."""

    pool: SandboxPool
    drivers: list[Mortal]

    async def look(self, script: str = "", **context: Any) -> tuple[str, Told]:
        """One run: what the page shows once `script` has run."""
        told = Told()
        async with self.pool.build(BuildContext(session_id="s", emit=told.emit, **context)) as built:
            outcome = await built.sandbox.run(script)
            assert outcome.error is None, outcome.error
            return await page_of(built.packs[0]), told


@pytest.fixture
async def kept(host: BrowserHost) -> AsyncIterator[Opened]:
    drivers: list[Mortal] = []

    @asynccontextmanager
    async def factory(context: BuildContext) -> AsyncIterator[Driver]:
        async with host.driver(allow=context.allow, start_url=context.start_url) as driver:
            drivers.append(Mortal(driver))
            yield drivers[-1] if context.user_id == "mortal" else driver

    async with SandboxPool(CapabilityBuilder([browser_capability(factory, globals=True)])) as pool:
        yield Opened(pool, drivers)


async def test_a_kept_browser_goes_on_and_opens_the_page_of_its_next_run(kept: Opened, form: str) -> None:
    typed, first = await kept.look('type("Name", 1, "Ada")', start_url=form, run_id="one")
    assert "Ada" in typed
    told = len(first.events)
    again, second = await kept.look('click("Send", 5)', run_id="two")
    assert "Thanks Ada" in again and "CHANGED" not in again
    assert [type for type, _ in second.events] == ["act"]
    fresh, _ = await kept.look(start_url=form, run_id="three")
    assert "# Order" in fresh and "Ada" not in fresh
    assert (len(kept.drivers), len(first.events)) == (1, told)


async def test_a_kept_browser_that_may_not_go_there_is_replaced(kept: Opened, form: str) -> None:
    await kept.look(allow=["shop.example"])
    shown, told = await kept.look(allow=["shop.example"], start_url=form)
    assert "# Order" in shown
    assert [type for type, _ in told.events] == ["warning", "act"]
    assert len(kept.drivers) == 2


async def test_a_kept_browser_that_is_lost_is_replaced(kept: Opened, form: str) -> None:
    await kept.look(start_url=form, user_id="mortal")
    kept.drivers[0].lost = True
    shown, told = await kept.look(start_url=form, user_id="mortal")
    assert "# Order" in shown
    assert [type for type, _ in told.events] == ["warning", "act"]
    assert len(kept.drivers) == 2


async def test_a_page_that_is_down_ends_the_run_and_leaves_the_kept_browser(kept: Opened) -> None:
    allow = ["http://127.0.0.1:9"]
    await kept.look(allow=allow)
    with pytest.raises(EndRun) as ended:
        await kept.look(allow=allow, start_url="http://127.0.0.1:9/")
    assert ended.value.reason == "page_down"
    await kept.look(allow=allow)
    assert len(kept.drivers) == 1


async def test_another_error_of_a_goto_can_be_caught(driver: PlaywrightDriver) -> None:
    async with pack_of(driver, globals=True) as pack:
        outcome = await run(pack, 'try { goto("http://127.0.0.1:9/") } catch (error) { return error.name }')
        assert json.loads(outcome.value_json or "") == NavigationError.__name__


async def test_vision_verbs_are_there_with_vision_only(driver: PlaywrightDriver, form: str) -> None:
    async def vision(image: bytes, question: str, *, mime: str = "image/png") -> str:
        return f"{question} {len(image) > 100}"

    async with pack_of(driver) as pack:
        assert "browser.ask" not in pack.primitives and "ask(" not in pack.declarations
    told = Told()
    context = BuildContext(start_url=form, emit=told.emit)
    async with pack_of(driver, context, vision=vision) as pack:
        outcome = await run(pack, 'return [browser.ask("What?"), browser.askMarks("Which?")];')
        assert json.loads(outcome.value_json or "") == ["What? True", "Which? True"]
        assert [fields["content"] for type, fields in told.events if type == "screenshot"] == ["What?", "Which?"]


@dataclass
class Files:
    """Artefacts in memory."""

    location: str = "memory"
    files: dict[str, bytes] = field(default_factory=dict)

    async def write(self, name: str, data: bytes) -> str:
        self.files[name] = data
        return name


async def test_each_look_leaves_a_marked_picture(driver: PlaywrightDriver, form: str) -> None:
    kept = Files()
    async with pack_of(driver, BuildContext(start_url=form, artifacts=kept)) as pack:
        await page_of(pack)
        await page_of(pack)
    assert list(kept.files) == ["turn-001.png", "turn-001.marks.json", "turn-002.png", "turn-002.marks.json"]
    assert kept.files["turn-001.png"].startswith(b"\x89PNG")
    assert [mark["name"] for mark in json.loads(kept.files["turn-002.marks.json"])["marks"]][:2] == ["Name", "Count"]


async def test_pictures_that_cannot_be_kept_do_not_hide_the_page(
    driver: PlaywrightDriver, form: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "taken").write_text("a file")
    async with pack_of(driver, BuildContext(start_url=form, artifacts=FolderArtifacts(tmp_path / "taken"))) as pack:
        for _ in range(2):
            assert '[1] textbox "Name"' in await page_of(pack)
    assert [record.message for record in caplog.records if "pictures are kept no longer" in record.message][1:] == []
    assert "taken" in caplog.text


async def test_a_question_about_the_page_is_answered_though_its_picture_cannot_be_kept(
    driver: PlaywrightDriver, form: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def vision(image: bytes, question: str, *, mime: str = "image/png") -> str:
        return "seen"

    (tmp_path / "taken").write_text("a file")
    context = BuildContext(start_url=form, artifacts=FolderArtifacts(tmp_path / "taken"))
    async with pack_of(driver, context, vision=vision) as pack:
        outcome = await run(pack, 'return [browser.ask("What?"), browser.askMarks("Which?")];')
    assert outcome.value_json == '["seen","seen"]'
    assert [record.message for record in caplog.records if "pictures are kept no longer" in record.message][1:] == []


async def test_missing_arguments_are_named_before_anything_is_asked(driver: PlaywrightDriver) -> None:
    policy = Denying()
    async with pack_of(driver, BuildContext(policy=policy)) as pack:
        for name, missing in (("goto", "url"), ("type", "target"), ("waitText", "text"), ("eval", "expression")):
            with pytest.raises(InvalidInput, match=f"{name}: .*{missing} is required"):
                await pack.primitives[f"browser.{name}"].call()
    assert policy.calls == []
