"""Files that pages give: names that lead nowhere else, sizes that are bounded, nothing left."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from aiohttp import web

from agentloop.browser.base import Download
from agentloop.drivers import BrowserHost, PlaywrightDriver
from agentloop.drivers.download_manager import bare_name
from agentloop.errors import InvalidInput
from tests.drivers.pages import Pages


def names(folder: Path) -> list[str]:
    """What lies in a folder."""
    return sorted(path.name for path in folder.iterdir())


def size(path: str) -> int | None:
    """The size of a file, None when there is none."""
    return Path(path).stat().st_size if Path(path).exists() else None


async def got(driver: PlaywrightDriver, address: str) -> Download:
    """Navigates to a file and waits until it is there."""
    await driver.navigate(address)
    return await driver.wait_download((await driver.downloads())[-1].id)


async def test_a_download_is_kept_until_the_session_ends(host: BrowserHost, pages: Pages) -> None:
    async with host.driver(allow_private=True) as driver:
        download = await got(driver, f"{pages.origin}/file?size=1234")
        assert (download.name, download.state, download.size) == ("a.bin", "done", 1234)
        assert download.url.startswith(pages.origin)
        assert size(download.path) == 1234
    assert size(download.path) is None


@pytest.mark.parametrize(
    ("suggested", "name"),
    [
        ("report.csv", "report.csv"),
        ("../../etc/passwd", "passwd"),
        ("..\\..\\win.ini", "win.ini"),
        ("/", "download"),
        ("..", "download"),
        ("", "download"),
        (".bashrc", "bashrc"),
        ("a\0b\n<c>.txt", "a_b__c_.txt"),
        ("x" * 500 + ".txt", "x" * 116 + ".txt"),
    ],
)
def test_bare_names(suggested: str, name: str) -> None:
    assert bare_name(suggested) == name


@pytest.mark.parametrize(
    "name", ["../../up.txt", "/etc/absolute.txt", "..\\..\\back.txt", ".hidden", "..", "new\tline.txt", "x" * 300]
)
async def test_no_name_leads_out_of_the_folder(host: BrowserHost, pages: Pages, tmp_path: Path, name: str) -> None:
    folder = tmp_path / "here"
    async with host.driver(allow_private=True, downloads=str(folder)) as driver:
        download = await got(driver, f"{pages.origin}/file?name={name}")
    assert download.state == "done"
    assert "/" not in download.name and "\\" not in download.name and download.name not in ("", ".", "..")
    assert names(folder) == [download.name]
    assert names(tmp_path) == ["here"]


async def test_files_of_one_name_do_not_replace_each_other(host: BrowserHost, pages: Pages, tmp_path: Path) -> None:
    (tmp_path / "a.bin").symlink_to("/dev/null")
    async with host.driver(allow_private=True, downloads=str(tmp_path)) as driver:
        paths = [Path((await got(driver, pages.origin + "/file")).path).name for _ in range(2)]
    assert paths == ["a (2).bin", "a (3).bin"]
    assert (tmp_path / "a.bin").is_symlink()


async def test_what_is_too_large_is_thrown_away(host: BrowserHost, pages: Pages, tmp_path: Path) -> None:
    async with host.driver(allow_private=True, downloads=str(tmp_path), download_bytes=1000) as driver:
        download = await got(driver, f"{pages.origin}/file?size=1001")
        assert (download.state, download.path) == ("too_large", "")
        assert (await got(driver, f"{pages.origin}/file?size=1000")).state == "done"
    assert len(names(tmp_path)) == 1


@pytest.mark.parametrize("announced", [True, False])
async def test_what_grows_too_large_is_ended_while_it_arrives(
    host: BrowserHost, pages: Pages, tmp_path: Path, announced: bool
) -> None:
    """The server sends without end: to look at the size once the file is complete would be too late."""
    left = asyncio.Event()

    async def endless(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Disposition": "attachment; filename=big.bin"})
        if announced:
            response.content_length = 1 << 40
        await response.prepare(request)
        try:
            while True:
                await response.write(b"x" * 65_536)
                await asyncio.sleep(0.01)
        except ConnectionError:
            left.set()
        return response

    async with host.driver(allow_private=True, downloads=str(tmp_path), download_bytes=200_000) as driver:
        download = await got(driver, pages.url(endless))
        assert (download.state, download.path) == ("too_large", "")
        assert download.size > 200_000
        async with asyncio.timeout(10):
            await left.wait()
    assert names(tmp_path) == []


async def test_an_unknown_download(driver: PlaywrightDriver) -> None:
    with pytest.raises(InvalidInput):
        await driver.wait_download("d7")
