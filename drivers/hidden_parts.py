"""What page script cannot see, asked of the protocol: elements that listen for clicks, closed shadow roots."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from playwright.async_api import Error as PlaywrightError

from agentloop.drivers.faults import is_closed
from agentloop.drivers.installed import Installed

__all__ = ["teach_closed_roots", "teach_listeners"]

_CLICKS = frozenset({"click", "mousedown", "mouseup", "pointerdown", "pointerup", "dblclick"})
_MANY = 200
"""Listening nodes from which only the parts in sight are looked through: each costs about 20 µs to report."""
_TOLD_AT_ONCE = 300
"""Each costs a call of its own to be found by its number; what is more comes with the next listing."""
_GROUP_KEPT = "agentloop-document"


async def teach_listeners(script: Installed) -> int:
    """Tells the page script which elements listen for clicks; gives the number of those not told before."""
    record = script.record
    found = frozenset[int]() if record.crowded else await _listening(script, await _document(script))
    if record.crowded or len(found) > _MANY:
        record.crowded = True
        scopes = await _elements(script, "scopes")
        if scopes is None:
            return 0
        found = await _listening_below(script, scopes)
        await _release(script)
    fresh = sorted(found - record.heard)[:_TOLD_AT_ONCE]
    if not fresh and found == record.heard:
        return 0
    nodes = await _resolved(script, fresh)
    numbers = [number for number, node in zip(fresh, nodes, strict=True) if node]
    await _teach(script, [node for node in nodes if node], heard=[*(found & record.heard), *numbers], numbers=numbers)
    await _release(script)
    # One that is of another document is not asked for again.
    record.heard = (found & record.heard) | frozenset(fresh)
    return len(numbers)


async def teach_closed_roots(script: Installed) -> int:
    """Tells the page script of the closed shadow roots of what it suspects to hold some; gives their number."""
    hosts = await _elements(script, "suspects") or ()
    described = await asyncio.gather(*(_sent(script, "DOM.describeNode", objectId=host) for host in hosts))
    pairs = [
        (host, root["backendNodeId"])
        for host, answer in zip(hosts, described, strict=True)
        for root in answer.get("node", {}).get("shadowRoots", ())
        if root["shadowRootType"] == "closed"
    ]
    roots = await _resolved(script, [number for _, number in pairs])
    objects = [node for (host, _), root in zip(pairs, roots, strict=True) if root for node in (host, root)]
    if objects:
        await _teach(script, objects)
    await _release(script)
    return len(objects) // 2


async def _document(script: Installed) -> list[str]:
    record = script.record
    if record.root is None:
        answer = await script.cdp.send("Runtime.evaluate", {"expression": "document", "contextId": record.context})
        record.root = await _in_page_world(script, answer["result"]["objectId"], group=_GROUP_KEPT)
    return [record.root] if record.root else []


async def _in_page_world(script: Installed, node: str, *, group: str) -> str | None:
    """The same node as the page has it: asked for listeners of a node of our world, Chromium 156 breaks that world."""
    described = await _sent(script, "DOM.describeNode", objectId=node)
    number = described.get("node", {}).get("backendNodeId", 0)
    answer = await _sent(script, "DOM.resolveNode", backendNodeId=number, objectGroup=group)
    found: str | None = answer.get("object", {}).get("objectId")
    return found


async def _listening(script: Installed, roots: Sequence[str]) -> frozenset[int]:
    """The numbers of the nodes below `roots` that listen for clicks, closed roots included."""
    answers = await asyncio.gather(
        *(_sent(script, "DOMDebugger.getEventListeners", objectId=root, depth=-1, pierce=True) for root in roots)
    )
    return frozenset(
        listener["backendNodeId"]
        for answer in answers
        for listener in answer.get("listeners", ())
        if listener["type"] in _CLICKS and "backendNodeId" in listener
    )


async def _listening_below(script: Installed, elements: Sequence[str]) -> frozenset[int]:
    group = _group(script)
    nodes = await asyncio.gather(*(_in_page_world(script, each, group=group) for each in elements))
    return await _listening(script, [node for node in nodes if node])


def _group(script: Installed) -> str:
    # Frames of one process are read side by side over one session.
    return f"agentloop-hidden-{script.record.id}"


async def _release(script: Installed) -> None:
    await _sent(script, "Runtime.releaseObjectGroup", objectGroup=_group(script))


async def _elements(script: Installed, op: str) -> list[str] | None:
    """The elements that the script returns for `op`, None when it returns null."""
    array = await script.ask_for_object({"op": op}, group=_group(script))
    if array is None:
        return None
    properties = await script.cdp.send("Runtime.getProperties", {"objectId": array, "ownProperties": True})
    return [each["value"]["objectId"] for each in properties["result"] if each["name"].isdigit()]


async def _resolved(script: Installed, numbers: Iterable[int]) -> list[str | None]:
    """The nodes in the script's world; None for one of another document."""
    context = script.record.context
    answers = await asyncio.gather(
        *(
            _sent(
                script, "DOM.resolveNode", backendNodeId=number, executionContextId=context, objectGroup=_group(script)
            )
            for number in numbers
        )
    )
    return [answer.get("object", {}).get("objectId") for answer in answers]


async def _teach(
    script: Installed, objects: Sequence[str], *, heard: Sequence[int] | None = None, numbers: Sequence[int] = ()
) -> None:
    told = json.dumps({"heard": heard, "numbers": numbers, "roots": heard is None})
    arguments = [{"value": told}, *({"objectId": node} for node in objects)]
    await script.call(_source(), arguments)


async def _sent(script: Installed, method: str, **params: Any) -> dict[str, Any]:
    """The answer; an empty one where the node has gone meanwhile, or is of another document."""
    try:
        answer: dict[str, Any] = await script.cdp.send(method, params)
    except PlaywrightError as error:
        if is_closed(error):
            raise
        return {}
    return answer


@cache
def _source() -> str:
    return files("agentloop.drivers").joinpath("teach.js").read_text(encoding="utf-8")
