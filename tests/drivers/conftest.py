"""One browser for the room's tests, and small pages on loopback."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agentloop.drivers import BrowserHost, PlaywrightDriver, find_browser
from tests.drivers.pages import Pages


@pytest.fixture(scope="session")
async def host() -> AsyncIterator[BrowserHost]:
    async with BrowserHost.launch() as host:
        yield host


@pytest.fixture
async def driver(host: BrowserHost) -> AsyncIterator[PlaywrightDriver]:
    async with host.driver(allow_private=True) as driver:
        yield driver


@pytest.fixture(scope="session")
async def pages() -> AsyncIterator[Pages]:
    async with Pages() as pages:
        yield pages


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[str]:
    """The debugging address of a browser that somebody else has started."""
    browser = await asyncio.create_subprocess_exec(
        *(find_browser().path, "--headless", "--no-sandbox", "--remote-debugging-port=0"),
        f"--user-data-dir={tmp_path / 'profile'}",
        stderr=asyncio.subprocess.PIPE,
    )
    assert browser.stderr is not None
    async with asyncio.timeout(30):
        while b"DevTools listening on" not in (line := await browser.stderr.readline()):
            assert line, "the browser ended"
    yield line.decode().split()[-1]
    browser.kill()
    await browser.communicate()


@pytest.fixture
async def untrusted(tmp_path: Path) -> AsyncIterator[str]:
    """The address of a server whose certificate nobody trusts."""
    made = await asyncio.create_subprocess_exec(
        *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"),
        *("-keyout", "key.pem", "-out", "cert.pem"),
        cwd=tmp_path,
        stderr=asyncio.subprocess.DEVNULL,
    )
    assert await made.wait() == 0
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")
    server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0, ssl=context)
    yield f"https://localhost:{server.sockets[0].getsockname()[1]}/"
    server.close()
    await server.wait_closed()
