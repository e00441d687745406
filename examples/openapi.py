"""An API from its OpenAPI document: scripts call its operations as functions, and never see its key."""

from __future__ import annotations

import asyncio

from aiohttp import web

from agentloop import Loop, MemoryStore, RunRequest, Scripted
from agentloop.packs.openapi import openapi_capability

DOCUMENT = """
openapi: 3.1.0
info: {title: Lamp Shop, version: '1'}
paths:
  /lamps:
    get:
      operationId: listLamps
      parameters:
        - {name: max-price, in: query, required: true, schema: {type: integer}}
        - {name: colour, in: query, schema: {type: array, items: {enum: [red, green]}}}
      responses:
        '200': {description: lamps, content: {application/json: {schema: {type: array, items: {type: string}}}}}
"""

# A real run takes OpenAI.from_env() here; the script is what a model would write after help("lamp-shop").
MODEL = Scripted(
    [
        """```javascript
function run() {
  const shop = require("lamp-shop");
  const reply = shop.listLamps({ "max-price": 50, colour: ["red", "green"] });
  answer(`${reply.status}: ${reply.json.join(", ")}`);
}
```"""
    ]
)


async def lamps(request: web.Request) -> web.Response:
    assert request.headers["X-Api-Key"] == "only the shop knows"
    query = request.query
    return web.json_response([f"{colour} lamp under {query['max-price']}" for colour in query.getall("colour")])


async def main() -> None:
    app = web.Application()
    app.router.add_get("/lamps", lamps)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    base_url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    shop = openapi_capability(DOCUMENT, base_url=base_url, headers={"X-Api-Key": "only the shop knows"})
    async with Loop(llm=MODEL, store=MemoryStore(), capabilities=[shop]) as loop:
        result = await loop.run(RunRequest("Which lamps are there?"))
    print(f"{result.status}: {result.final_text}")
    await runner.cleanup()


asyncio.run(main())
