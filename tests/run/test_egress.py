"""The egress manifest of real runs: scripts in the sandbox, a real browser, servers that count."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from agentloop import Loop, MemoryStore, RunEvent, RunLimits, RunRequest, Scripted, Status, browse
from agentloop.artifacts.egress import EgressManifest
from agentloop.artifacts.folder import FolderArtifacts
from agentloop.build import default_capabilities, loop_settings, named_capabilities
from agentloop.guard.network.egress import Egress
from agentloop.guard.redact import Redactor
from agentloop.llm.openai import OpenAI
from agentloop.run.egress import EgressKeeper, model_place
from tests.guard.network.origin import Origin, origin


def js(body: str) -> str:
    return f"```javascript\nfunction run(args) {{ {body} }}\n```"


@pytest.fixture
async def site() -> AsyncIterator[Origin]:
    async with origin("127.0.0.1") as served:
        yield served


@pytest.fixture
async def forbidden() -> AsyncIterator[Origin]:
    async with origin("127.0.0.2") as served:
        yield served


def told(path: Path) -> dict[str, Any]:
    """The one run in a manifest."""
    document = json.loads(path.read_text("utf-8"))
    assert document["version"] == 1
    [run] = document["runs"]
    assert isinstance(run, dict)
    return run


def places(run: dict[str, Any], kind: str) -> list[tuple[str, int, str, str, int]]:
    return [(each["host"], each["port"], each["door"], each["rule"], each["requests"]) for each in run[kind]]


async def test_a_run_of_scripts(site: Origin, forbidden: Origin, tmp_path: Path) -> None:
    manifest = await EgressManifest.begin(tmp_path / "egress.json")
    script = js(
        f"fetch('{site.url}/a?token=hunter2'); fetch('{site.url}/b');"
        f"try {{ fetch('{forbidden.url}/path') }} catch (e) {{}} answer('done')"
    )
    loop = Loop(
        llm=Scripted([script]),
        store=MemoryStore(),
        capabilities=default_capabilities(allow=[site.url]),
        settings=loop_settings(egress=manifest),
    )
    async with loop:
        result = await loop.run(RunRequest("go"))

    assert result.status is Status.COMPLETED
    run = told(tmp_path / "egress.json")
    assert run["run_id"] == result.run_id
    assert (run["boundary"], run["model"], run["caps_reached"], run["resumed"]) == ("none", None, [], False)
    assert places(run, "contacted") == [("127.0.0.1", site.port, "fetch", "allow", 2)]
    assert places(run, "refused") == [("127.0.0.2", forbidden.port, "fetch", "not-allowed", 1)]
    text = (tmp_path / "egress.json").read_text("utf-8")
    assert not [word for word in ("token", "hunter2", "/a", "/path") if word in text]
    assert result.egress == {
        "boundary": "none",
        "contacted": 1,
        "refused": 1,
        "bytes": run["sent"] + run["received"],
        "manifest": str(tmp_path / "egress.json"),
    }
    assert forbidden.hits == {}


async def test_both_doors_of_a_browsing_run_feed_one_manifest(site: Origin, forbidden: Origin, tmp_path: Path) -> None:
    site.pages["/"] = f"<img src='{forbidden.url}/pixel'><img src='{forbidden.url}/pixel2'><p>shop"
    result = await browse_with_fetch(site, tmp_path)

    assert result["status"] == "completed"
    run = told(tmp_path / "out" / "egress.json")
    assert run == told(tmp_path / "egress.json")
    assert run["boundary"] == "proxy"
    contacted = {(host, door): rule for host, _, door, rule, _ in places(run, "contacted")}
    assert contacted == {("127.0.0.1", "page"): "start-url", ("127.0.0.1", "fetch"): "start-url"}
    assert places(run, "refused") == [("127.0.0.2", forbidden.port, "page", "not-allowed", 2)]
    assert run["refused"][0]["reason"].startswith(f"127.0.0.2:{forbidden.port} is not reachable (rule not-allowed)")
    assert result["egress"]["boundary"] == "proxy"
    assert forbidden.hits == {}


async def browse_with_fetch(site: Origin, folder: Path) -> dict[str, Any]:
    from agentloop.browsing import BrowseOptions, open_browse

    options = BrowseOptions(
        url=site.url,
        allow=[],
        artifacts=FolderArtifacts(folder / "out"),
        egress=folder / "egress.json",
        capabilities=named_capabilities(["fetch"], allow=[]),
    )
    llm = Scripted([js(f"fetch('{site.url}/data'); answer('done')")])
    async with open_browse("go", options, llm=llm) as handle:
        return (await handle.run()).to_dict()


@pytest.mark.parametrize("end", ["error", "steps", "cancelled", "refused"])
async def test_it_is_written_whatever_the_end(site: Origin, tmp_path: Path, end: str) -> None:
    manifest = await EgressManifest.begin(tmp_path / "egress.json")
    fetching = js(f"fetch('{site.url}/'); return 1")
    replies = {"error": [fetching], "steps": [fetching] * 2, "cancelled": [fetching] * 2, "refused": []}[end]
    loop = Loop(
        llm=Scripted(replies),
        store=MemoryStore(),
        capabilities=named_capabilities(["browser"] if end == "refused" else ["fetch"], allow=[site.url]),
        settings=loop_settings(limits=RunLimits(iterations=2), egress=manifest),
    )
    async with loop:
        url = "file:///etc/passwd" if end == "refused" else None
        async with await loop.open(RunRequest("go", url=url)) as handle:
            if end == "cancelled":
                await handle.turn()
                handle.cancel("signal")
            result = await handle.run()

    assert result.status is not Status.COMPLETED
    run = told(tmp_path / "egress.json")
    assert bool(run["contacted"]) is (end != "refused")


async def test_it_is_written_at_every_turn(site: Origin, tmp_path: Path) -> None:
    manifest = await EgressManifest.begin(tmp_path / "egress.json")
    loop = Loop(
        llm=Scripted([js(f"fetch('{site.url}/'); return 1"), js("answer(1)")]),
        store=MemoryStore(),
        capabilities=named_capabilities(["fetch"], allow=[site.url]),
        settings=loop_settings(egress=manifest),
    )
    async with loop, await loop.open(RunRequest("go")) as handle:
        await handle.turn()
        assert len(told(tmp_path / "egress.json")["contacted"]) == 1


async def test_a_manifest_that_can_no_longer_be_written_is_one_warning(site: Origin, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    manifest = await EgressManifest.begin(folder / "egress.json")
    (folder / "egress.json").unlink()
    folder.rmdir()
    folder.write_text("")
    events: list[RunEvent] = []
    loop = Loop(
        llm=Scripted([js(f"fetch('{site.url}/'); return 1"), js(f"fetch('{site.url}/'); answer(1)")]),
        store=MemoryStore(),
        capabilities=named_capabilities(["fetch"], allow=[site.url]),
        settings=loop_settings(egress=manifest),
    )
    async with loop:
        result = await loop.run(RunRequest("go"), on_event=events.append)

    assert result.status is Status.COMPLETED
    warnings = [event.content for event in events if event.type == "warning"]
    assert [warning.partition(":")[0] for warning in warnings] == ["the egress manifest was not written"]


async def test_artifacts_that_never_answer_hold_nothing_up() -> None:
    class Stuck:
        location = "nowhere"

        async def write(self, name: str, data: bytes) -> str:
            await asyncio.Event().wait()
            return name

    events: list[RunEvent] = []
    async with Loop(llm=Scripted([js("answer(1)")]), store=MemoryStore(), artifacts=Stuck()) as loop:
        result = await loop.run(RunRequest("go"), on_event=events.append)

    assert result.status is Status.COMPLETED
    assert [event.content for event in events if event.type == "warning"]


async def test_the_byte_cap_of_a_run_is_a_typed_refusal(site: Origin, tmp_path: Path) -> None:
    site.pages["/big"] = "x" * 300_000
    script = js(f"try {{ fetch('{site.url}/big') }} catch (e) {{ answer(e.name + ': ' + e.message) }}")
    loop = Loop(
        llm=Scripted([script]),
        store=MemoryStore(),
        capabilities=named_capabilities(["fetch"], allow=[site.url]),
        artifacts=FolderArtifacts(tmp_path),
        limits=RunLimits(egress_bytes=100_000),
    )
    async with loop:
        result = await loop.run(RunRequest("go"))

    assert result.final_text.startswith("RequestRefused: 127.0.0.1 is not reachable any more (rule byte-cap)")
    assert told(tmp_path / "egress.json")["caps_reached"] == ["byte-cap"]


async def test_hosts_are_redacted_like_all_that_is_kept(tmp_path: Path) -> None:
    manifest = await EgressManifest.begin(tmp_path / "egress.json")
    script = js("try { fetch('http://hunter2hunter2.evil.test/') } catch (e) {} answer(1)")
    loop = Loop(
        llm=Scripted([script]),
        store=MemoryStore(),
        capabilities=named_capabilities(["fetch"], allow=[]),
        settings=loop_settings(egress=manifest),
        redactor=Redactor([("hunter2hunter2", "<SECRET>")]),
    )
    async with loop:
        await loop.run(RunRequest("go"))

    assert places(told(tmp_path / "egress.json"), "refused")[0][3] == "not-allowed"
    assert "hunter2" not in (tmp_path / "egress.json").read_text("utf-8")


async def test_where_the_model_is_asked_is_listed() -> None:
    async with OpenAI(base_url="http://user:secret@127.0.0.1:8080/v1?key=1", model="m") as llm:
        assert model_place(llm) == "127.0.0.1:8080"
    async with OpenAI(base_url="https://[::1]/v1", model="m") as llm:
        assert model_place(llm) == "[::1]:443"
    assert model_place(Scripted([])) is None


async def test_browse_takes_a_path(site: Origin, tmp_path: Path) -> None:
    result = await browse("go", url=site.url, llm=Scripted([js("answer(1)")]), egress=tmp_path / "e.json")

    assert result.egress["manifest"] == str(tmp_path / "e.json")
    assert told(tmp_path / "e.json")["boundary"] == "proxy"


def test_a_summary_without_files() -> None:
    keeper = EgressKeeper(log=Egress(), about={}, redactor=Redactor())
    assert keeper.summary() == {"boundary": "none", "contacted": 0, "refused": 0, "bytes": 0, "manifest": None}


async def test_a_request_narrows_what_the_pages_of_a_run_reach(site: Origin, forbidden: Origin) -> None:
    script = js(
        f"browser.goto('{site.url}/');"
        f"try {{ browser.goto('{forbidden.url}/'); answer('reached') }} catch (e) {{ answer(e.name) }}"
    )
    # A text comparison of the lists would have found nothing in common.
    capabilities = named_capabilities(["browser"], allow=[f"http://127.0.0.1:{site.port}", forbidden.url])
    async with Loop(llm=Scripted([script]), store=MemoryStore(), capabilities=capabilities) as loop:
        result = await loop.run(RunRequest("go", allow=[f"127.0.0.1:{site.port}", "http://127.0.0.3:1"]))

    assert result.final_text == "RequestRefused"
    assert site.hits["/"] == 1
    assert forbidden.hits == {}
