"""The abilities, as tests. Each is skipped, by the ability's name, for a driver that does not have it."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import TypeVar

import pytest

from agentloop.browser.abilities import (
    Activity,
    Capture,
    Dialogs,
    Downloads,
    Files,
    Frames,
    Hidden,
    Keys,
    PageScript,
    Pointer,
    Recorder,
    StorageState,
    Tabs,
)
from agentloop.browser.base import DialogAnswer, Driver
from agentloop.errors import InvalidInput, TargetError
from agentloop.testing.drivers.site import ContractSite

__all__ = ["AbilityContract", "png_size"]

_A = TypeVar("_A")

_ADDRESS = PageScript("contract-address", "(argument) => [location.pathname, argument]")
_COUNTER = PageScript("contract-counter", "() => (globalThis.counter = (globalThis.counter ?? 0) + 1)")
_HIDDEN = PageScript(
    "contract-hidden",
    "(told) => { if (told.op === 'suspects') return [document.querySelector('x-contract')]; if (told.op) return null; "
    "const found = (globalThis.told ??= []); for (const [, element] of told.clickables ?? []) found.push(element.id); "
    "for (const [host, root] of told.roots ?? []) found.push(host.id + ' ' + root.firstChild.id); }",
)
_TOLD = PageScript("contract-told", "() => globalThis.told ?? []")
_FIND = PageScript("contract-find", "(selector) => document.querySelector(selector)")


def png_size(picture: bytes) -> tuple[int, int]:
    """Width and height of a PNG; fails the test when it is none."""
    assert picture.startswith(b"\x89PNG\r\n\x1a\n"), "the picture must be PNG bytes"
    width, height = struct.unpack(">II", picture[16:24])
    return width, height


def _having(driver: Driver, ability: type[_A]) -> _A:
    if not isinstance(driver, ability):
        pytest.skip(f"needs ability {ability.__name__}")
    return driver


async def _centre(driver: Driver, selector: str) -> tuple[float, float]:
    box = f"document.querySelector({selector!r}).getBoundingClientRect()"
    x, y = await driver.eval(f"(r => [r.x + r.width / 2, r.y + r.height / 2])({box})")
    return x, y


def _content(path: str) -> bytes:
    return Path(path).read_bytes()


class AbilityContract:
    """What a driver that says it has an ability must do with it. `javascript`: its pages run scripts."""

    javascript = True

    def _needs_javascript(self) -> None:
        if not self.javascript:
            pytest.skip("needs a driver that runs JavaScript")

    # Frames

    async def test_frames_are_listed_with_the_main_one_first(self, driver: Driver, site: ContractSite) -> None:
        self._needs_javascript()
        framed = _having(driver, Frames)  # type: ignore[type-abstract]
        await driver.navigate(site.url("frames.html"))
        frames = await framed.frames()
        assert frames[0].parent is None and frames[0].url == site.url("frames.html"), "the main frame must come first"
        assert {frame.parent for frame in frames[1:]} == {frames[0].id}, (
            "both children must name the main frame as parent"
        )
        assert len({frame.id for frame in frames}) == 3, "the page has three frames, each with an id of its own"

    async def test_scripts_run_in_a_world_of_their_own(self, driver: Driver, site: ContractSite) -> None:
        self._needs_javascript()
        framed = _having(driver, Frames)  # type: ignore[type-abstract]
        await driver.navigate(site.url("form.html"))
        assert await framed.run_script("", _ADDRESS, {"a": [1, None, "é"]}) == ["/form.html", {"a": [1, None, "é"]}]
        assert await framed.run_script("", _COUNTER, None) == 1
        assert await framed.run_script("", _COUNTER, None) == 2, "a script keeps its state while the document stays"
        assert await driver.eval("typeof counter") == "undefined", "the page must not see what a script leaves behind"

    async def test_scripts_reach_every_frame(self, driver: Driver, site: ContractSite) -> None:
        self._needs_javascript()
        framed = _having(driver, Frames)  # type: ignore[type-abstract]
        await driver.navigate(site.url("frames.html"))
        inner = await framed.child_frame("", _FIND, "#inner")
        assert inner is not None, "child_frame must give the id of the frame inside an <iframe>"
        assert await framed.run_script(inner, _ADDRESS, 1) == ["/next.html", 1]
        boxed = await framed.child_frame("", _FIND, "#sandboxed")
        assert boxed is not None and await framed.run_script(boxed, _ADDRESS, 2) == ["srcdoc", 2]
        assert await framed.child_frame("", _FIND, "#outer") is None, "child_frame of no iframe must be None"

    async def test_a_frame_that_is_gone_is_stale(self, driver: Driver, site: ContractSite) -> None:
        self._needs_javascript()
        framed = _having(driver, Frames)  # type: ignore[type-abstract]
        await driver.navigate(site.url("frames.html"))
        before = (await framed.frames())[0].document
        inner = await framed.child_frame("", _FIND, "#inner")
        await driver.navigate(site.url("form.html"))
        assert (await framed.frames())[0].document != before, "a new document must have a new identity"
        with pytest.raises(TargetError) as caught:
            await framed.run_script(str(inner), _ADDRESS, None)
        assert caught.value.reason == "stale"

    # Hidden

    async def test_listeners_and_closed_roots_are_told_to_the_script(self, driver: Driver, site: ContractSite) -> None:
        self._needs_javascript()
        hidden, framed = _having(driver, Hidden), _having(driver, Frames)  # type: ignore[type-abstract]
        await driver.navigate(site.url("form.html"))
        await driver.eval(
            "(() => { document.body.insertAdjacentHTML('beforeend', '<p id=listens>x</p><x-contract id=host>'); "
            "document.getElementById('listens').addEventListener('click', () => 1); "
            "document.getElementById('host').attachShadow({mode: 'closed'}).innerHTML = '<p id=inside>x</p>' })()"
        )
        assert await hidden.listeners("", _HIDDEN) >= 1, "it must give the number of those not told before"
        assert await hidden.closed_roots("", _HIDDEN) == 1
        told = await framed.run_script("", _TOLD, None)
        assert "listens" in told and "host inside" in told
        assert await hidden.listeners("", _HIDDEN) == 0, "what was told is not told again"

    # Pointer

    async def test_pointer_clicks_are_trusted(self, driver: Driver, site: ContractSite) -> None:
        pointer = _having(driver, Pointer)  # type: ignore[type-abstract]
        await driver.navigate(site.url("form.html"))
        await pointer.pointer_click(*await _centre(driver, "#add"))
        assert await driver.text("#trusted") == "trusted"

    async def test_pointer_buttons_counts_modifiers_and_hover(self, driver: Driver, site: ContractSite) -> None:
        pointer = _having(driver, Pointer)  # type: ignore[type-abstract]
        await driver.navigate(site.url("drag.html"))
        await pointer.pointer_move(*await _centre(driver, "#source"))
        target = await _centre(driver, "#target")
        await pointer.pointer_click(*target, button="right")
        await pointer.pointer_click(*target, modifiers=["Shift"])
        await pointer.pointer_click(*target, count=2)
        assert (await driver.text("#log")).split() == ["hovered", "right", "left+shift", "left", "left", "double"]

    async def test_dragging_sets_off_drag_and_drop(self, driver: Driver, site: ContractSite) -> None:
        pointer = _having(driver, Pointer)  # type: ignore[type-abstract]
        await driver.navigate(site.url("drag.html"))
        await pointer.pointer_drag(await _centre(driver, "#source"), await _centre(driver, "#target"))
        await driver.wait_visible("#log")
        assert "carried" in await driver.text("#log")

    async def test_the_wheel_scrolls_what_is_under_it(self, driver: Driver, site: ContractSite) -> None:
        pointer = _having(driver, Pointer)  # type: ignore[type-abstract]
        await driver.navigate(site.url("form.html"))
        await pointer.wheel(*await _centre(driver, "#pane"), 0, 200)
        scrolled = (
            "new Promise(done => pane.scrollTop ? done(pane.scrollTop) : (pane.onscroll = () => done(pane.scrollTop)))"
        )
        assert await driver.eval(scrolled) > 0

    # Keys

    async def test_keys_reach_the_focused_element(self, driver: Driver, site: ContractSite) -> None:
        keys = _having(driver, Keys)  # type: ignore[type-abstract]
        await driver.navigate(site.url("form.html"))
        await driver.click("#name")
        await keys.press("Control+a")
        await keys.insert_text("naïve İ 🚀")
        assert await driver.value("#name") == "naïve İ 🚀"
        await keys.type_text("!")
        assert await driver.value("#name") == "naïve İ 🚀!"
        assert await driver.text("#typed") == "!", "type_text must send key events"
        await keys.press("Enter")
        assert await driver.text("#sent") == "sent", "Enter in a form must submit it"

    async def test_inserted_newlines_do_not_submit(self, driver: Driver, site: ContractSite) -> None:
        keys = _having(driver, Keys)  # type: ignore[type-abstract]
        await driver.navigate(site.url("form.html"))
        await driver.click("#name")
        await keys.insert_text("a\nb")
        assert await driver.text("#sent") == ""

    async def test_unknown_keys_are_refused(self, driver: Driver, site: ContractSite) -> None:
        keys = _having(driver, Keys)  # type: ignore[type-abstract]
        await driver.navigate(site.url("form.html"))
        with pytest.raises(InvalidInput):
            await keys.press("Hyper+Nonsense")

    # Activity

    async def test_a_watch_tells_what_an_act_caused(self, driver: Driver, site: ContractSite) -> None:
        activity = _having(driver, Activity)  # type: ignore[type-abstract]
        await driver.navigate(site.url("form.html"))
        async with activity.watch() as watched:
            await driver.click("#next")
        effects = watched.effects
        assert (effects.url, effects.document, effects.status) == (site.url("next.html"), True, 200)
        async with activity.watch() as watched:
            pass
        assert (watched.effects.url, watched.effects.document) == (None, False), "nothing was done, nothing may be told"

    async def test_a_watch_left_by_an_error_does_not_hide_it(self, driver: Driver, site: ContractSite) -> None:
        activity = _having(driver, Activity)  # type: ignore[type-abstract]
        await driver.navigate(site.url("form.html"))
        with pytest.raises(ZeroDivisionError):
            async with activity.watch():
                raise ZeroDivisionError

    # Tabs

    async def test_tabs_are_listed_switched_and_closed(self, driver: Driver, site: ContractSite) -> None:
        tabs = _having(driver, Tabs)  # type: ignore[type-abstract]
        activity = _having(driver, Activity)  # type: ignore[type-abstract]
        await driver.navigate(site.url("form.html"))
        async with activity.watch() as watched:
            await driver.click("#tab")
        first, second = await tabs.tabs()
        assert [tab.id for tab in watched.effects.opened] == [second.id]
        assert (second.active, second.title, second.url) == (True, "Next", site.url("next.html"))
        await tabs.switch_tab(first.id)
        assert await driver.text("#count") == "0"
        await tabs.close_tab(second.id)
        assert [tab.id for tab in await tabs.tabs()] == [first.id]
        with pytest.raises(InvalidInput):
            await tabs.switch_tab(second.id)
        await tabs.close_tab(first.id)
        assert len(await tabs.tabs()) == 1, "the last tab must be replaced by an empty one"

    # Dialogs

    async def test_dialogs_never_hold_a_call(self, driver: Driver, site: ContractSite) -> None:
        dialogs = _having(driver, Dialogs)  # type: ignore[type-abstract]
        await driver.navigate(site.url("form.html"))
        await driver.click("#ask")
        assert await driver.text("#typed") == "false", "a confirm is dismissed unless told otherwise"
        await dialogs.on_dialog(DialogAnswer(accept=True))
        await driver.click("#ask")
        assert await driver.text("#typed") == "true"
        seen = [(dialog.kind, dialog.message, dialog.accepted) for dialog in await dialogs.dialogs()]
        assert seen == [("confirm", "Really?", False), ("confirm", "Really?", True)]

    # Downloads, Files

    async def test_downloads_are_kept(self, driver: Driver, site: ContractSite) -> None:
        downloads = _having(driver, Downloads)  # type: ignore[type-abstract]
        await driver.navigate(site.url("form.html"))
        await driver.click("#file")
        (download,) = await downloads.downloads()
        done = await downloads.wait_download(download.id)
        assert (done.name, done.state, done.size) == ("report.csv", "done", 8)
        assert _content(done.path) == b"a,b\n1,2\n"
        with pytest.raises(InvalidInput):
            await downloads.wait_download("no such")

    async def test_files_are_chosen(self, driver: Driver, site: ContractSite, tmp_path: Path) -> None:
        files = _having(driver, Files)  # type: ignore[type-abstract]
        await driver.navigate(site.url("form.html"))
        paths = [tmp_path / "a.txt", tmp_path / "b.txt"]
        for path in paths:
            path.write_text("x")
        async with files.choose_files([str(path) for path in paths]):
            await driver.click("#many")
        assert await driver.text("#chosen") == "a.txt,b.txt"
        with pytest.raises(InvalidInput):
            async with files.choose_files([str(tmp_path / "absent")]):
                await driver.click("#many")

    async def test_an_act_without_a_file_chooser_is_unfit(
        self, driver: Driver, site: ContractSite, tmp_path: Path
    ) -> None:
        files = _having(driver, Files)  # type: ignore[type-abstract]
        await driver.navigate(site.url("form.html"))
        (tmp_path / "a.txt").write_text("x")
        with pytest.raises(TargetError) as caught:
            async with files.choose_files([str(tmp_path / "a.txt")]):
                await driver.click("#add")
        assert caught.value.reason == "unfit"

    # StorageState, Capture, Recorder

    async def test_storage_state_is_bytes(self, driver: Driver, site: ContractSite) -> None:
        storage = _having(driver, StorageState)  # type: ignore[type-abstract]
        await driver.navigate(site.url("form.html"))
        await driver.eval("document.cookie = 'c=remembered'")
        assert b"remembered" in await storage.storage_state()

    async def test_pictures_of_every_kind(self, driver: Driver, site: ContractSite) -> None:
        capture = _having(driver, Capture)  # type: ignore[type-abstract]
        await driver.navigate(site.url("form.html"))
        assert png_size(await capture.capture(clip=(10, 20, 30, 40))) == (30, 40)
        assert png_size(await capture.capture(clip=(10, 20, 30, 40), scale=2)) == (60, 80)
        assert (await capture.capture(format="jpeg")).startswith(b"\xff\xd8"), "a JPEG was asked for"
        await driver.eval("void (document.body.style.height = '3000px')")
        assert png_size(await capture.capture(full_page=True))[1] >= 3000

    async def test_recordings_are_written(self, driver: Driver, site: ContractSite, tmp_path: Path) -> None:
        recorder = _having(driver, Recorder)  # type: ignore[type-abstract]
        await recorder.start_recording(str(tmp_path), trace=True)
        with pytest.raises(InvalidInput):
            await recorder.start_recording(str(tmp_path), trace=True)
        await driver.navigate(site.url("form.html"))
        paths = await recorder.stop_recording()
        assert paths and all(_content(path) for path in paths)
