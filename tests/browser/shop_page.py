"""A page with something of everything, for tests of verbs."""

from __future__ import annotations

from agentloop.browser import Browser
from tests.browser.page_server import PageServer

__all__ = ["CART", "SHOP", "number_of", "show"]

SHOP = """<!doctype html><title>Shop</title><h1>Products</h1>
<ul>
<li>Glass lamp 96 EUR <button onclick="said.textContent='glass'">Add to cart</button></li>
<li>Oak lamp 269 EUR <button onclick="said.textContent='oak'">Add to cart</button></li>
</ul>
<button onclick="said.textContent='trusted ' + event.isTrusted" ondblclick="said.textContent='twice'"
  oncontextmenu="said.textContent='right'; return false">Try</button>
<a href="/cart">Cart</a> <a href="/cart" target="_blank">Cart in a tab</a>
<button onclick="said.textContent=confirm('Sure?')">Ask</button>
<a download="a.csv" href="data:text/csv,1">Get file</a>
<button style="width:20px;height:20px" class="trash" onclick="said.textContent='trash'"></button>
<button disabled id="off">Off</button>
<p id="said" role="status"></p>"""

CART = "<!doctype html><title>Cart</title><h1>Your cart</h1><button>Pay</button><a href='/'>Shop</a>"


async def show(browser: Browser, pages: PageServer, html: str) -> str:
    pages.put(CART, "/cart")
    address = pages.put(html)
    await browser.goto(address)
    await browser.mark()
    browser.take_receipts()
    return address


async def number_of(browser: Browser, name: str) -> int:
    return next(mark.id for mark in await browser.mark() if name in (mark.name, mark.hint))
