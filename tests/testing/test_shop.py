from __future__ import annotations

import re
from collections.abc import AsyncIterator
from urllib.parse import urlsplit

import httpx
import pytest
import pytest_asyncio

from agentloop.testing.serving.basket import SHIPPING, Basket, checkout_errors
from agentloop.testing.serving.catalogue import CATEGORIES, SORTS, Filters, matching, product, products
from agentloop.testing.site import Site, serve_site

ADDRESS = {
    "name": "Ann Lee",
    "address": "1 Mill Lane",
    "city": "Graz",
    "email": "ann@example.com",
    "shipping": "Express",
    "terms": "yes",
}


@pytest_asyncio.fixture(scope="module")
async def site() -> AsyncIterator[Site]:
    async with serve_site() as site:
        yield site


@pytest_asyncio.fixture
async def visitor(site: Site) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=site.url, follow_redirects=True, trust_env=False) as client:
        yield client


def names(page: str) -> list[str]:
    return re.findall(r'<a href="/shop/product/\d+">([^<]+)</a>', page)


def lamp() -> dict[str, str]:
    return {"id": "8", "size": "Large", "colour": "Mist", "quantity": "2"}


def test_two_hundred_products_with_names_of_their_own() -> None:
    assert len(products()) == 200
    assert len({item.name for item in products()}) == 200
    assert {item.category for item in products()} == set(CATEGORIES)
    assert product(8) == products()[7]
    assert product(0) is None
    assert product(201) is None


def test_the_goods_are_the_same_in_every_process() -> None:
    """Recorded replies and prompts lean on these."""
    eight = products()[7]
    assert (eight.name, eight.price, eight.stock, eight.colours) == ("Glass lamp 8", 143, 5, ("Mist", "Teal", "Clay"))
    assert sum(item.price for item in products()) == 16_833


@pytest.mark.parametrize("sort", SORTS)
def test_each_sort_keeps_what_it_orders(sort: str) -> None:
    found = matching(Filters(query="lamp", sort=sort))
    assert {item.id for item in found} == {item.id for item in products() if item.kind == "lamp"}
    prices = [item.price for item in found]
    assert (prices == sorted(prices)) == (sort == "Price: low to high")
    assert (prices == sorted(prices, reverse=True)) == (sort == "Price: high to low")


def test_filters_narrow() -> None:
    found = matching(Filters(query="brass", category="Lighting", lowest=100, highest=230, in_stock=True))
    assert [item.name for item in found] == ["Brass lamp 18", "Brass lamp 98"]
    assert not matching(Filters(query="brass nothing"))


async def test_the_list_has_pages_of_32(visitor: httpx.AsyncClient) -> None:
    first = (await visitor.get("/shop/")).text
    assert "Products (200)" in first
    assert len(names(first)) == 32
    last = (await visitor.get("/shop/?page=7")).text
    assert len(names(last)) == 8
    assert "Page 7 of 7" in last
    assert "Next page" not in last
    assert names((await visitor.get("/shop/?page=99")).text) == names(last)


async def test_search_and_sort_by_address(visitor: httpx.AsyncClient) -> None:
    page = (await visitor.get("/shop/", params={"q": "lamp", "sort": "Price: low to high"})).text
    assert "Products (20)" in page
    assert names(page)[0] == "Birch lamp 138"
    odd = await visitor.get("/shop/", params={"q": '"><script>', "page": "x", "min": "-1", "sort": "none"})
    assert odd.status_code == 200
    assert '"><script>' not in odd.text


async def test_a_purchase(visitor: httpx.AsyncClient) -> None:
    cart = (await visitor.post("/shop/cart/add", data=lamp())).text
    assert "Cart (2)" in cart
    assert "286 EUR" in cart
    order = await visitor.post("/shop/checkout", data=ADDRESS)
    assert re.search(r"/shop/order/F-\d{5}$", str(order.url))
    assert "Thank you, Ann Lee" in order.text
    assert f"{286 + SHIPPING['Express']} EUR" in order.text
    assert "Cart (0)" in order.text


async def test_the_same_purchase_gives_the_same_number(site: Site) -> None:
    numbers = []
    for _ in range(2):
        async with httpx.AsyncClient(base_url=site.url, follow_redirects=True, trust_env=False) as client:
            await client.post("/shop/cart/add", data=lamp())
            numbers.append(urlsplit(str((await client.post("/shop/checkout", data=ADDRESS)).url)).path)
    assert numbers[0] == numbers[1]


async def test_a_script_gets_its_answer_as_json(visitor: httpx.AsyncClient) -> None:
    json = {"Accept": "application/json"}
    added = (await visitor.post("/shop/cart/add", data={"id": "8"}, headers=json)).json()
    assert added == {"message": "Glass lamp 8 is in your cart.", "count": 1, "error": False}
    refused = (await visitor.post("/shop/cart/add", data=lamp() | {"quantity": "6"}, headers=json)).json()
    assert refused == {"message": "Choose a quantity from 1 to 5.", "count": 1, "error": True}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"size": ""}, "Choose a size."),
        ({"colour": "Plum"}, "Choose a colour."),
        ({"quantity": "0"}, "Choose a quantity from 1 to 5."),
        ({"quantity": "many"}, "Choose a quantity from 1 to 5."),
        ({"id": "4"}, "Linen clock 4 is sold out."),
    ],
)
async def test_options_must_be_chosen(visitor: httpx.AsyncClient, change: dict[str, str], message: str) -> None:
    page = await visitor.post("/shop/cart/add", data=lamp() | change)
    assert page.status_code == 422
    assert message in page.text
    assert "Cart (0)" in page.text


@pytest.mark.parametrize("id", ["", "0", "201", "abc", "٣", "99999999999999999999"])
async def test_an_unknown_product(visitor: httpx.AsyncClient, id: str) -> None:
    assert (await visitor.post("/shop/cart/add", data={"id": id})).status_code == 404


async def test_the_cart_changes(visitor: httpx.AsyncClient) -> None:
    await visitor.post("/shop/cart/add", data=lamp())
    await visitor.post("/shop/cart/add", data={"id": "3"})
    assert "Cart (4)" in (await visitor.post("/shop/cart/change", data={"line": "0", "quantity": "3"})).text
    assert "Cart (6)" in (await visitor.post("/shop/cart/change", data={"line": "0", "quantity": "99"})).text
    left = (await visitor.post("/shop/cart/change", data={"line": "0", "remove": "yes"})).text
    assert names(left) == ["Birch mug 3"]
    assert "Cart (1)" in (await visitor.post("/shop/cart/change", data={"line": "7", "quantity": "0"})).text
    assert "is empty" in (await visitor.post("/shop/cart/change", data={"line": "0", "quantity": "0"})).text


def test_the_same_thing_twice_is_one_line_within_the_stock() -> None:
    basket = Basket()
    for _ in range(9):
        basket.add(products()[7], size="Large", colour="Mist", quantity=1)
    basket.add(products()[7], size="Small", colour="Mist", quantity=1)
    assert [(line.size, line.quantity) for line in basket.lines] == [("Large", 5), ("Small", 1)]


async def test_checkout_says_what_is_wrong_and_keeps_what_was_right(visitor: httpx.AsyncClient) -> None:
    await visitor.post("/shop/cart/add", data=lamp())
    page = await visitor.post("/shop/checkout", data={"name": "Ann Lee", "email": "ann", "shipping": "Express"})
    assert page.status_code == 422
    for message in ("Address is required", "City is required", "Enter an email address", "agree to the terms"):
        assert message in page.text
    assert "Name is required" not in page.text
    assert 'value="Ann Lee"' in page.text
    assert "<option selected>Express</option>" in page.text
    assert "Cart (2)" in page.text


@pytest.mark.parametrize("field", sorted(ADDRESS))
def test_every_field_of_the_checkout_is_needed(field: str) -> None:
    assert not checkout_errors(ADDRESS)
    assert set(checkout_errors({name: value for name, value in ADDRESS.items() if name != field})) == {field}


async def test_an_empty_cart_has_no_checkout(visitor: httpx.AsyncClient) -> None:
    assert (await visitor.get("/shop/checkout")).url.path == "/shop/cart"


async def test_an_account_needs_a_login(visitor: httpx.AsyncClient) -> None:
    page = await visitor.get("/shop/account")
    assert page.url.path == "/shop/login"
    assert "user name demo, password demo" in page.text
    wrong = await visitor.post("/shop/login", data={"user": "demo", "password": "wrong"})
    assert (wrong.status_code, "is wrong" in wrong.text) == (422, True)
    await visitor.post("/shop/cart/add", data=lamp())
    order = await visitor.post("/shop/checkout", data=ADDRESS)
    account = await visitor.post("/shop/login", data={"user": "demo", "password": "demo"})
    assert account.url.path == "/shop/account"
    assert order.url.path in account.text
    assert "Sign in" in (await visitor.post("/shop/logout")).text


async def test_orders_are_their_buyers(site: Site, visitor: httpx.AsyncClient) -> None:
    await visitor.post("/shop/cart/add", data=lamp())
    order = await visitor.post("/shop/checkout", data=ADDRESS)
    assert (await visitor.get(order.url.path)).status_code == 200
    async with httpx.AsyncClient(base_url=site.url, trust_env=False) as stranger:
        assert (await stranger.get(order.url.path)).status_code == 404
