"""A debugging address in front of another that leaves out the proxies of new contexts: to whoever connects, the browser
of a machine whose policy forbids them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
from aiohttp import WSMsgType, web

__all__ = ["without_proxies"]

_MESSAGE_BYTES = 64 << 20


@asynccontextmanager
async def without_proxies(address: str) -> AsyncIterator[str]:
    """The address to connect to."""

    async def relay(request: web.Request) -> web.WebSocketResponse:
        client = web.WebSocketResponse(max_msg_size=_MESSAGE_BYTES)
        await client.prepare(request)
        async with (
            aiohttp.ClientSession() as session,
            session.ws_connect(address, max_msg_size=_MESSAGE_BYTES) as browser,
            asyncio.TaskGroup() as group,
        ):
            group.create_task(_back(browser, client))
            async for message in client:
                if message.type is WSMsgType.TEXT:
                    await browser.send_str(_bare(message.data))
            await browser.close()
        return client

    runner = web.ServerRunner(web.Server(relay), shutdown_timeout=0.1)  # type: ignore[arg-type]
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"ws://127.0.0.1:{runner.addresses[0][1]}/"
    finally:
        await runner.cleanup()


def _bare(text: str) -> str:
    message = json.loads(text)
    if message.get("method") == "Target.createBrowserContext":
        message["params"] = {name: value for name, value in message["params"].items() if "proxy" not in name.lower()}
    return json.dumps(message)


async def _back(browser: aiohttp.ClientWebSocketResponse, client: web.WebSocketResponse) -> None:
    async for message in browser:
        if message.type is WSMsgType.TEXT and not client.closed:
            await client.send_str(message.data)
