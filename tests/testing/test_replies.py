"""The recorded replies fit the pages they were made for: with them the demo needs no model."""

from __future__ import annotations

from pathlib import Path

from agentloop import RunEvent, Scripted, browse
from agentloop.testing.site import serve_site

TASK = "Buy two of the cheapest lamp made of glass, express. Answer with the order number and the total."


async def test_the_replies_buy_two_lamps(repository: Path) -> None:
    llm = Scripted.from_file(repository / "fixtures" / "replies" / "shop.jsonl")
    events: list[RunEvent] = []
    async with serve_site() as site:
        result = await browse(TASK, url=f"{site.url}/shop/", llm=llm, on_event=events.append)
        posted = [hit for hit in site.hits if hit.startswith("POST")]
    assert (result.status, result.reason) == ("completed", "")
    assert result.final_text == "Order F-83241: two of Glass lamp 88, 214 EUR with express shipping."
    assert posted == ["POST /shop/cart/add", "POST /shop/checkout"]
    assert len(llm.requests) == 6
    acts = [event.content for event in events if event.type == "act" and event.turn > 0]
    assert len(acts) == 15
    # Each number is that of its name: nothing had to be put right.
    assert not [act for act in acts if "by name" in act or "->" not in act]
