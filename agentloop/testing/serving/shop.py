"""The shop: list, product, cart, checkout, login and account, as pages rendered on the server."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from urllib.parse import urlencode

from aiohttp import web

from agentloop.testing.serving.basket import SHIPPING, Basket, Line, Order, checkout_errors
from agentloop.testing.serving.catalogue import (
    CATEGORIES,
    COLOURS,
    SIZES,
    SORTS,
    Filters,
    Product,
    matching,
    product,
    products,
)
from agentloop.testing.serving.template import Html, Templates, Value
from agentloop.testing.serving.visitors import visitor_state

__all__ = ["shop_routes"]

_PER_PAGE = 32
_USER, _PASSWORD = "demo", "demo"
_NOTHING = Html("")
# A shop's answer takes a moment; without one nobody would notice a script that does not wait for it.
_ANSWER_S = 0.08


class _Shop:
    def __init__(self) -> None:
        self._templates = Templates("shop")

    def _part(self, name: str, /, **values: Value) -> Html:
        return self._templates.render(name, **values)

    def _parts(self, items: Iterable[Html]) -> Html:
        return Html("\n".join(items))

    def _page(self, request: web.Request, title: str, body: Html, *, status: int = 200) -> web.Response:
        basket = visitor_state(request, Basket)
        page = self._part(
            "page",
            title=title,
            query=request.query.get("q", ""),
            count=basket.count,
            person=self._part("signed_in", user=basket.user) if basket.user else self._part("signed_out"),
            shapes=self._part("shapes"),
            body=body,
        )
        return web.Response(text=page, content_type="text/html", status=status)

    def _options(self, names: Iterable[str], chosen: str) -> Html:
        return self._parts(
            self._part("option", name=name, selected=Html(" selected" if name == chosen else "")) for name in names
        )

    async def list(self, request: web.Request) -> web.Response:
        filters = _filters(request.query)
        found = matching(filters)
        page, pages = _paging(request.query.get("page", "1"), len(found))
        shown = found[(page - 1) * _PER_PAGE : page * _PER_PAGE]
        body = self._part(
            "list",
            count=len(found),
            query=filters.query,
            categories=self._options(CATEGORIES, filters.category),
            sorts=self._options(SORTS, filters.sort),
            lowest=request.query.get("min", ""),
            highest=request.query.get("max", ""),
            in_stock=Html(" checked" if filters.in_stock else ""),
            opened=Html(
                " open" if {"min", "max", "stock"} & {name for name in request.query if request.query[name]} else ""
            ),
            cards=self._cards(shown),
            paging=self._pages(request.query, page, pages),
        )
        return self._page(request, "Shop", body)

    def _cards(self, shown: Sequence[Product]) -> Html:
        if not shown:
            return self._part("no_match")
        return self._parts(
            self._part(
                "card" if item.stock else "card_sold_out",
                id=item.id,
                name=item.name,
                kind=item.kind,
                price=item.price,
                tint=COLOURS[item.colour],
                stars=str(item.rating),
            )
            for item in shown
        )

    def _pages(self, query: Mapping[str, str], page: int, pages: int) -> Html:
        if pages == 1:
            return _NOTHING

        def link(name: str, target: int) -> Html:
            if not 1 <= target <= pages:
                return _NOTHING
            return self._part("page_link", name=name, href="?" + urlencode({**query, "page": target}))

        return self._part(
            "paging", page=page, pages=pages, previous=link("Previous page", page - 1), next=link("Next page", page + 1)
        )

    async def product(self, request: web.Request) -> web.Response:
        item = self._wanted(request.match_info["id"])
        return self._page(request, item.name, self._details(item))

    def _details(self, item: Product, error: str = "") -> Html:
        return self._part(
            "product",
            id=item.id,
            name=item.name,
            kind=item.kind,
            category=item.category,
            material=item.material,
            colour=item.colour,
            price=item.price,
            tint=COLOURS[item.colour],
            rating=f"{item.rating:.1f}",
            stock=item.stock,
            disabled=Html("" if item.stock else " disabled"),
            sizes=self._options(SIZES, ""),
            colours=self._options(item.colours, item.colour),
            error=self._part("alert", text=error) if error else _NOTHING,
            others=self._cards([other for other in products() if other.kind == item.kind and other.id != item.id][:4]),
        )

    def _wanted(self, text: str) -> Product:
        item = product(int(text)) if text.isascii() and text.isdigit() and len(text) < 6 else None
        if item is None:
            raise web.HTTPNotFound(text="There is no such product.")
        return item

    async def add(self, request: web.Request) -> web.Response:
        fields = await _fields(request)
        item = self._wanted(fields.get("id", ""))
        size, colour = fields.get("size", SIZES[1]), fields.get("colour", item.colour)
        quantity = _whole(fields.get("quantity", "1"))
        error = _add_error(item, size, colour, quantity)
        basket = visitor_state(request, Basket)
        if not error:
            basket.add(item, size=size, colour=colour, quantity=quantity)
        if "application/json" in request.headers.get("Accept", ""):
            await asyncio.sleep(_ANSWER_S)
            message = error or f"{item.name} is in your cart."
            return web.json_response({"message": message, "count": basket.count, "error": bool(error)})
        if error:
            return self._page(request, item.name, self._details(item, error), status=422)
        raise web.HTTPSeeOther("/shop/cart")

    async def cart(self, request: web.Request) -> web.Response:
        basket = visitor_state(request, Basket)
        if not basket.lines:
            return self._page(request, "Cart", self._part("cart_empty"))
        rows = self._parts(
            self._part("cart_row", at=at, **_line_values(line), stock=line.product.stock)
            for at, line in enumerate(basket.lines)
        )
        return self._page(request, "Cart", self._part("cart", rows=rows, subtotal=basket.subtotal))

    async def change(self, request: web.Request) -> web.Response:
        fields = await _fields(request)
        basket = visitor_state(request, Basket)
        quantity = 0 if "remove" in fields else _whole(fields.get("quantity", ""), otherwise=1)
        basket.change(_whole(fields.get("line", ""), otherwise=-1), quantity)
        raise web.HTTPSeeOther("/shop/cart")

    async def checkout(self, request: web.Request) -> web.Response:
        basket = visitor_state(request, Basket)
        if not basket.lines:
            raise web.HTTPSeeOther("/shop/cart")
        if request.method == "GET":
            return self._page(request, "Checkout", self._checkout_form(basket, {"shipping": "Standard"}, {}))
        fields = await _fields(request)
        errors = checkout_errors(fields)
        if errors:
            return self._page(request, "Checkout", self._checkout_form(basket, fields, errors), status=422)
        raise web.HTTPSeeOther(f"/shop/order/{basket.place(fields).number}")

    def _checkout_form(self, basket: Basket, fields: Mapping[str, str], errors: Mapping[str, str]) -> Html:
        inputs = {
            name: self._part(
                "text_field", name=name, label=label, hint=hint, value=fields.get(name, ""), **self._error(errors, name)
            )
            for name, label, hint in (
                ("name", "Name", "name"),
                ("address", "Address", "street-address"),
                ("city", "City", "address-level2"),
                ("email", "Email", "email"),
            )
        }
        return self._part(
            "checkout",
            **inputs,
            shipping=self._options(SHIPPING, fields.get("shipping", "")),
            standard=SHIPPING["Standard"],
            express=SHIPPING["Express"],
            terms=Html(" checked" if fields.get("terms") else ""),
            terms_error=self._error(errors, "terms")["error"],
            problem=self._part("alert", text="Please correct the fields marked below.") if errors else _NOTHING,
            rows=self._parts(self._part("summary_row", **_line_values(line)) for line in basket.lines),
            subtotal=basket.subtotal,
        )

    def _error(self, errors: Mapping[str, str], name: str) -> dict[str, Html]:
        if name not in errors:
            return {"state": _NOTHING, "error": _NOTHING}
        return {
            "state": Html(f' aria-invalid="true" aria-describedby="{name}-error"'),
            "error": self._part("field_error", name=name, text=errors[name]),
        }

    async def order(self, request: web.Request) -> web.Response:
        number = request.match_info["number"]
        for order in visitor_state(request, Basket).orders:
            if order.number == number:
                return self._page(request, "Order", self._order(order))
        raise web.HTTPNotFound(text="There is no such order.")

    def _order(self, order: Order) -> Html:
        return self._part(
            "order",
            number=order.number,
            name=order.name,
            place=f"{order.address}, {order.city}",
            email=order.email,
            rows=self._parts(self._part("order_row", **_line_values(line)) for line in order.lines),
            shipping=order.shipping,
            cost=SHIPPING[order.shipping],
            total=order.total,
        )

    async def login(self, request: web.Request) -> web.Response:
        if request.method == "GET":
            return self._page(request, "Sign in", self._part("login", user="", error=_NOTHING))
        fields = await _fields(request)
        user = fields.get("user", "")
        if (user, fields.get("password")) != (_USER, _PASSWORD):
            alert = self._part("alert", text="User name or password is wrong.")
            return self._page(request, "Sign in", self._part("login", user=user, error=alert), status=422)
        visitor_state(request, Basket).user = user
        raise web.HTTPSeeOther("/shop/account")

    async def logout(self, request: web.Request) -> web.Response:
        visitor_state(request, Basket).user = ""
        raise web.HTTPSeeOther("/shop/")

    async def account(self, request: web.Request) -> web.Response:
        basket = visitor_state(request, Basket)
        if not basket.user:
            raise web.HTTPSeeOther("/shop/login")
        rows = self._parts(
            self._part(
                "account_row", number=order.number, things=sum(line.quantity for line in order.lines), total=order.total
            )
            for order in reversed(basket.orders)
        )
        orders = self._part("account_orders", rows=rows) if rows else self._part("account_empty")
        return self._page(request, "Account", self._part("account", user=basket.user, orders=orders))


def shop_routes() -> list[web.RouteDef]:
    """The routes under `/shop/`, but for its files."""
    shop = _Shop()
    return [
        web.get("/shop/", shop.list),
        web.get("/shop/product/{id}", shop.product),
        web.post("/shop/cart/add", shop.add),
        web.get("/shop/cart", shop.cart),
        web.post("/shop/cart/change", shop.change),
        web.get("/shop/checkout", shop.checkout),
        web.post("/shop/checkout", shop.checkout),
        web.get("/shop/order/{number}", shop.order),
        web.get("/shop/login", shop.login),
        web.post("/shop/login", shop.login),
        web.post("/shop/logout", shop.logout),
        web.get("/shop/account", shop.account),
    ]


async def _fields(request: web.Request) -> dict[str, str]:
    posted = await request.post()
    return {name: value.strip() for name, value in posted.items() if isinstance(value, str)}


def _whole(text: str, *, otherwise: int = 0) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 6 else otherwise


def _filters(query: Mapping[str, str]) -> Filters:
    sort = query.get("sort", "")
    return Filters(
        query=query.get("q", "").strip()[:100],
        category=query.get("category", "") if query.get("category") in CATEGORIES else "",
        sort=sort if sort in SORTS else SORTS[0],
        lowest=_whole(query.get("min", "")),
        highest=_whole(query.get("max", ""), otherwise=1_000_000),
        in_stock=query.get("stock") == "yes",
    )


def _paging(page: str, found: int) -> tuple[int, int]:
    pages = max(1, -(-found // _PER_PAGE))
    return min(max(1, _whole(page, otherwise=1)), pages), pages


def _add_error(item: Product, size: str, colour: str, quantity: int) -> str:
    if not item.stock:
        return f"{item.name} is sold out."
    if size not in SIZES:
        return "Choose a size."
    if colour not in item.colours:
        return "Choose a colour."
    if not 1 <= quantity <= item.stock:
        return f"Choose a quantity from 1 to {item.stock}."
    return ""


def _line_values(line: Line) -> dict[str, Value]:
    return {
        "id": line.product.id,
        "name": line.product.name,
        "kind": line.product.kind,
        "tint": COLOURS[line.colour],
        "options": f"{line.size}, {line.colour}",
        "quantity": line.quantity,
        "price": line.product.price,
        "total": line.total,
    }
