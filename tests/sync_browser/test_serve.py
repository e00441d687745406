"""A synchronous test's own `page`, driven from asynchronous code. Runs as a process of its own:

pytest -o addopts="--import-mode=importlib" -W ignore::pytest.PytestRemovedIn10Warning tests/sync_browser
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page

from agentloop.browser.base import Driver
from agentloop.drivers import serve
from agentloop.errors import TargetError
from agentloop.testing.driver_contract import DriverContract
from agentloop.testing.drivers.site import PageSite
from tests.drivers.blocking import BlockingPage


class Contract(DriverContract):
    """The contract as a collection of coroutines; a synchronous test runs them."""

    __test__ = False


def needs_driver_and_site_only(test: Callable[..., Any]) -> bool:
    return list(inspect.signature(test).parameters) == ["self", "driver", "site"]


TEN_METHODS = [
    name
    for name, test in vars(DriverContract).items()
    if name.startswith("test_") and needs_driver_and_site_only(test) and "cancelled" not in name
]


def test_there_is_something_to_run() -> None:
    assert len(TEN_METHODS) > 10


@pytest.mark.parametrize("name", TEN_METHODS)
def test_the_contract_holds_for_a_page_of_this_thread(page: Page, name: str) -> None:
    async def work(driver: Driver) -> None:
        async with PageSite() as site:
            await getattr(Contract(), name)(driver, site)

    serve(BlockingPage(page), work)


def test_results_and_errors_come_back(page: Page) -> None:
    async def title(driver: Driver) -> str:
        await driver.eval("document.title = 'mine'")
        return str(await driver.eval("document.title"))

    async def missing(driver: Driver) -> None:
        await driver.text("#absent")

    assert serve(BlockingPage(page), title) == "mine"
    assert page.title() == "mine"
    with pytest.raises(TargetError):
        serve(BlockingPage(page), missing)
    assert page.title() == "mine"
