"""Every way in which a control can be there for a person, or not: listed right, clicked and typed into by number."""

from __future__ import annotations

import pytest

from agentloop.browser.listing import Listing
from agentloop.browser.marks import Marks
from agentloop.drivers import PlaywrightDriver
from tests.browser.eventually import eventually
from tests.browser.page_server import PageServer
from tests.browser.scenarios import HIDDEN, SCENARIOS, Scenario


def said(listing: Listing) -> tuple[tuple[str, str], ...]:
    return tuple((mark.role, mark.name) for mark in listing.marks)


async def opened(scenario: Scenario, driver: PlaywrightDriver, marks: Marks, pages: PageServer) -> Listing:
    await driver.navigate(pages.put(scenario.html))
    return await eventually(marks.list, lambda listing: said(listing) == scenario.marks)


@pytest.mark.parametrize("scenario", (*SCENARIOS, *HIDDEN), ids=lambda scenario: scenario.name)
async def test_lists_and_clicks(scenario: Scenario, driver: PlaywrightDriver, marks: Marks, pages: PageServer) -> None:
    listing = await opened(scenario, driver, marks, pages)
    assert said(listing) == scenario.marks
    assert [mark.id for mark in listing.marks] == list(range(1, len(listing.marks) + 1))
    for name, seen in scenario.clicks.items():
        await driver.eval("window.seen = ''")
        aim = await marks.aim(next(mark for mark in listing.marks if mark.name == name))
        await driver.pointer_click(aim.x, aim.y)
        assert await eventually(lambda: driver.eval("window.seen"), seen.__eq__) == seen


TYPED = [scenario for scenario in SCENARIOS if scenario.types]


@pytest.mark.parametrize("scenario", TYPED, ids=lambda scenario: scenario.name)
async def test_types(scenario: Scenario, driver: PlaywrightDriver, marks: Marks, pages: PageServer) -> None:
    listing = await opened(scenario, driver, marks, pages)
    for name, (text, value) in scenario.types.items():
        aim = await marks.aim(next(mark for mark in listing.marks if mark.name == name))
        await driver.pointer_click(aim.x, aim.y)
        assert await marks.focus_inside(aim)
        await marks.select_content(aim)
        await driver.insert_text(text)
        assert (await marks.state(aim)).value == value


def test_there_are_as_many_pages_as_ways() -> None:
    assert len({scenario.name for scenario in (*SCENARIOS, *HIDDEN)}) == 50
