"""The demo behind `make demo`: a real browser buys a lamp in the fixture shop.

Without a key the model's replies come from fixtures/replies/shop.jsonl; with OPENAI_API_KEY or
OPENAI_BASE_URL set, that model does the task instead.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import sys
from pathlib import Path

from agentloop.testing.site import serve_site

ROOT = Path(__file__).resolve().parent.parent
REPLIES = ROOT / "fixtures" / "replies" / "shop.jsonl"
TASK = (
    "Find the cheapest lamp made of glass, put two of it in the cart and check out as Ann Lee, 1 Mill Lane, Leeds, "
    "ann@example.com, with express shipping. Answer with the order number and the total."
)


async def main() -> int:
    """Serves the shop, runs the command a user would type, and says where its pictures are."""
    model = [] if {"OPENAI_API_KEY", "OPENAI_BASE_URL"} & os.environ.keys() else ["--llm", f"scripted:{REPLIES}"]
    artifacts = ROOT / "runs" / "demo"
    for old in artifacts.glob("turn-*"):  # of a demo before this one
        old.unlink()
    async with serve_site() as site:
        arguments = ["browse", TASK, "--url", f"{site.url}/shop/", "--artifacts", str(artifacts), *model]
        print(f"$ agentloop {shlex.join(arguments)}\n", flush=True)
        process = await asyncio.create_subprocess_exec(sys.executable, "-m", "agentloop", *arguments)
        code = await process.wait()
    pictures = sorted(artifacts.glob("turn-*.png"))
    print(f"\n{len(pictures)} marked screenshots, one a turn, in {artifacts}")
    return code


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
