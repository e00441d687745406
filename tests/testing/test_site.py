from __future__ import annotations

import asyncio
import json
import re
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import httpx
import pytest
import pytest_asyncio

from agentloop.testing.serving.docs import SECTIONS
from agentloop.testing.serving.hostile import PAGES
from agentloop.testing.serving.template import Html, Templates
from agentloop.testing.serving.visitors import Visitors
from agentloop.testing.site import SITES, Site, serve_site

ELSEWHERE = re.compile(r"(?:https?|wss?):|//[a-z]", re.I)
NAMESPACE = "http://www.w3.org/2000/svg"


@pytest_asyncio.fixture(scope="module")
async def site() -> AsyncIterator[Site]:
    async with serve_site() as site:
        yield site


@pytest_asyncio.fixture
async def visitor(site: Site) -> AsyncIterator[httpx.AsyncClient]:
    """A visitor without cookies who follows redirects."""
    async with httpx.AsyncClient(base_url=site.url, follow_redirects=True, trust_env=False) as client:
        yield client


def sites_folder(repository: Path) -> Path:
    return repository / "fixtures" / "sites"


async def test_the_front_page_lists_every_site(visitor: httpx.AsyncClient) -> None:
    page = await visitor.get("/")
    for name in SITES:
        assert f'href="/{name}/"' in page.text
        assert (await visitor.get(f"/{name}/")).status_code == 200


async def test_each_folder_is_a_site_and_each_site_a_folder(repository: Path) -> None:
    assert {entry.name for entry in sites_folder(repository).iterdir() if entry.is_dir()} == set(SITES)


async def test_nothing_comes_from_elsewhere(repository: Path) -> None:
    files = [path for kind in ("html", "css", "js", "svg") for path in sites_folder(repository).rglob(f"*.{kind}")]
    assert len(files) > 50
    for path in files:
        text = path.read_text("utf-8").replace(NAMESPACE, "").replace("http://127.0.0.2:8000", "")
        assert not ELSEWHERE.search(text), path


async def test_what_pages_ask_for_is_there(visitor: httpx.AsyncClient) -> None:
    for name in ("shop", "docs", "forms", "mail", "hostile/hidden"):
        page = (await visitor.get(f"/{name.rstrip('/')}" if "/" in name else f"/{name}/")).text
        assets = re.findall(r'(?:src|href)="(/[a-z_/]+\.(?:css|js|svg))"', page)
        assert assets
        for asset in assets:
            response = await visitor.get(asset)
            assert response.status_code == 200, asset
            assert response.headers["Content-Type"].startswith(("text/", "image/svg+xml")), asset


@pytest.mark.parametrize(
    "path", ["/shop/../../pyproject.toml", "/shop/page.html", "/shop/%2e%2e/index.html", "/shop/none.css", "/docs/none"]
)
async def test_other_files_are_not_served(visitor: httpx.AsyncClient, path: str) -> None:
    assert (await visitor.get(path)).status_code == 404


async def test_hits_are_noted(site: Site, visitor: httpx.AsyncClient) -> None:
    await visitor.get("/docs/search?q=noted")
    assert "GET /docs/search?q=noted" in site.hits


async def test_every_page_of_the_documentation(visitor: httpx.AsyncClient) -> None:
    pages = [slug for section in SECTIONS.values() for slug in section]
    assert len(pages) >= 15
    for slug in pages:
        page = await visitor.get(f"/docs/{slug}")
        assert page.status_code == 200
        assert page.text.count('aria-current="page"') == 1
        for link in re.findall(r'href="(/docs/[a-z-]*)"', page.text):
            assert link.removeprefix("/docs/") in {"", *pages}


async def test_the_documentation_has_versions(visitor: httpx.AsyncClient) -> None:
    assert "after 30 seconds" in (await visitor.get("/docs/timeouts")).text
    old = (await visitor.get("/docs/timeouts?v=1.8")).text
    assert "after 60 seconds" in old
    assert "no longer maintained" in old
    assert 'href="/docs/queues?v=1.8"' in old


async def test_the_documentation_can_be_searched(visitor: httpx.AsyncClient) -> None:
    found = (await visitor.get("/docs/search", params={"q": "L-409 unique"})).text
    assert "1 pages hold" in found
    assert 'href="/docs/errors"' in found
    nothing = (await visitor.get("/docs/search", params={"q": "<b>nothing"})).text
    assert "0 pages hold “&lt;b&gt;nothing”" in nothing


async def test_the_forms_page_has_every_kind_of_input(visitor: httpx.AsyncClient) -> None:
    page = (await visitor.get("/forms/")).text
    kinds = set(re.findall(r'<input type="([a-z-]+)"', page))
    assert kinds >= {
        *("email", "tel", "url", "number", "range", "date", "time", "month", "week", "datetime-local", "color"),
        *("file", "checkbox", "radio", "password", "search", "hidden"),
    }
    for markup in ("<textarea", "contenteditable", "<datalist", "multiple", "readonly", "disabled", "aria-invalid"):
        assert markup in page
    assert set(re.findall(r'role="([a-z]+)"', page)) >= {"listbox", "option", "combobox", "switch", "slider"}


async def test_the_forms_page_says_what_it_received(visitor: httpx.AsyncClient) -> None:
    fields = {"text": "Ann <b>", "checkbox": ["breakfast", "late"]}
    files = {"file": ("note.txt", b"hello", "text/plain")}
    answer = await visitor.post("/forms/result", data=fields, files=files, headers={"Accept": "application/json"})
    assert answer.json() == {"text": ["Ann <b>"], "checkbox": ["breakfast", "late"], "file": ["note.txt (5 bytes)"]}
    page = await visitor.post("/forms/result", data=fields, files=files)
    assert "Ann &lt;b&gt;" in page.text
    assert "breakfast, late" in page.text


async def test_mail_is_each_visitors_own(site: Site, visitor: httpx.AsyncClient) -> None:
    assert "Inbox (7)" in (await visitor.get("/mail/")).text
    page = (await visitor.post("/mail/3/trash")).text
    assert "Inbox (6)" in page
    assert "Train tickets" not in page
    assert 'class="star on"' in (await visitor.post("/mail/1/star")).text
    assert "on its way" in (await visitor.post("/mail/1/answer", data={"text": "Yes"})).text
    assert "1 sent" in (await visitor.get("/mail/")).text
    assert (await visitor.get("/mail/3")).status_code == 404
    async with httpx.AsyncClient(base_url=site.url, trust_env=False) as other:
        assert "Inbox (7)" in (await other.get("/mail/")).text


async def test_icon_buttons_of_the_mail_list_have_no_names(visitor: httpx.AsyncClient) -> None:
    page = (await visitor.get("/mail/")).text
    buttons = re.findall(r'<button class="(?:star|trash)[^>]*>(.*?)</button>', page, re.S)
    assert len(buttons) == 14
    for button in buttons:
        assert not re.sub(r"<[^>]*>", "", button).strip()
        assert "title" not in button


async def test_hostile_pages_name_the_other_host(visitor: httpx.AsyncClient) -> None:
    for name in PAGES:
        page = await visitor.get(f"/hostile/{name}", params={"other": "http://127.0.0.2:9"})
        assert page.status_code == 200, name
        if name in ("leak", "refresh", "popup", "moved"):
            assert "http://127.0.0.2:9" in page.text, name
    assert "ws://127.0.0.2:9" in (await visitor.get("/hostile/leak?other=http://127.0.0.2:9")).text


async def test_a_redirect_to_the_other_host(site: Site) -> None:
    async with httpx.AsyncClient(base_url=site.url, trust_env=False) as client:
        response = await client.get("/hostile/redirect?other=http://127.0.0.2:9")
    assert response.status_code == 302
    assert response.headers["Location"] == "http://127.0.0.2:9/hostile/reach/redirect"


@pytest.mark.parametrize("other", ["javascript:alert(1)", "http://", "//host", "file:///etc/passwd"])
async def test_another_host_must_be_one(visitor: httpx.AsyncClient, other: str) -> None:
    assert (await visitor.get("/hostile/leak", params={"other": other})).status_code == 400


async def test_the_other_host_answers_every_vector(site: Site, visitor: httpx.AsyncClient) -> None:
    kinds = {"img": "image/svg+xml", "script": "text/javascript", "style": "text/css", "form": "text/html"}
    for vector, kind in kinds.items():
        answer = await visitor.post(f"/hostile/reach/{vector}")
        assert answer.headers["Content-Type"].startswith(kind)
    async with aiohttp.ClientSession() as session, session.ws_connect(f"{site.url}/hostile/reach/socket") as socket:
        assert (await socket.receive()).type == aiohttp.WSMsgType.CLOSE
    assert "GET /hostile/reach/socket" in site.hits


async def test_two_servers_keep_apart() -> None:
    async with serve_site() as one, serve_site(host="127.0.0.2") as two:
        assert one.url != two.url
        async with httpx.AsyncClient(trust_env=False) as client:
            await client.get(f"{two.url}/hostile/reach/img")
        assert not one.hits
        assert list(two.hits) == ["GET /hostile/reach/img"]


def test_visitors_are_bounded() -> None:
    visitors = Visitors(limit=2)
    first = visitors.state("a", list)
    first.append(1)
    visitors.state("b", list)
    assert visitors.state("a", list) == [1]
    visitors.state("c", list)
    assert len(visitors) == 2
    assert visitors.state("a", list) == [1]
    assert visitors.state("b", list) == []


def test_a_value_is_escaped_and_markup_is_not() -> None:
    templates = Templates("shop")
    assert templates.render("alert", text="<b>") == '<p class="alert" role="alert">&lt;b&gt;</p>\n'
    assert "<b>" in templates.render("alert", text=Html("<b>"))


async def command(*arguments: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "agentloop.testing.site", *arguments),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_the_command_prints_its_address_and_ends_on_a_signal(number: signal.Signals) -> None:
    process = await command()
    assert process.stdout
    try:
        url = (await asyncio.wait_for(process.stdout.readline(), 30)).decode().strip()
        async with httpx.AsyncClient(trust_env=False) as client:
            assert (await client.get(f"{url}/shop/")).status_code == 200
        process.send_signal(number)
        _, errors = await asyncio.wait_for(process.communicate(), 10)
        assert (process.returncode, errors) == (0, b"")
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def test_a_taken_port_is_said_so(site: Site) -> None:
    process = await command("--port", str(httpx.URL(site.url).port))
    _, errors = await asyncio.wait_for(process.communicate(), 30)
    assert process.returncode == 3
    assert b"Choose another --port" in errors


async def test_the_wheel_holds_the_sites(repository: Path) -> None:
    """What the sites need is matched by the patterns of the package data."""
    kinds = {path.suffix for path in sites_folder(repository).rglob("*") if path.is_file()}
    patterns = (repository / "pyproject.toml").read_text("utf-8")
    for kind in kinds:
        assert json.dumps(f"*{kind}") in patterns
