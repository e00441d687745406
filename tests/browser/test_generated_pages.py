"""What a person could use is in the listing, and what a person could not is not: counted over pages made at random."""

from __future__ import annotations

from agentloop.browser.marks import Marks
from agentloop.drivers import PlaywrightDriver
from tests.browser.eventually import eventually
from tests.browser.generated_pages import KINDS, PLAIN, SPOILED, generated
from tests.browser.page_server import PageServer

PAGES = 12
RATE = 0.995


async def names_listed(marks: Marks, wanted: set[str]) -> list[str]:
    """The names of all marks, once those wanted are there: frames and roots come a moment after their page."""

    async def listed() -> list[str]:
        return [mark.name for mark in (await marks.list()).marks]

    return await eventually(listed, lambda names: wanted <= set(names), seconds=3)


async def test_what_a_person_could_use_is_listed_and_nothing_else(
    driver: PlaywrightDriver, marks: Marks, pages: PageServer
) -> None:
    usable = spoiled = 0
    missing: list[str] = []
    extra: list[str] = []
    kinds: set[str] = set()
    for seed in range(PAGES):
        page = generated(seed)
        await driver.navigate(pages.put(page.html))
        wanted = set(page.usable)
        names = await names_listed(marks, wanted)
        missing += [f"{seed}: {name} {page.usable[name]}" for name in wanted - set(names)]
        extra += [f"{seed}: {name} {page.spoiled.get(name, 'unknown')}" for name in names if name not in wanted]
        extra += [f"{seed}: {name} twice" for name in wanted if names.count(name) > 1]
        usable, spoiled = usable + len(page.usable), spoiled + len(page.spoiled)
        kinds |= {part for told in (*page.usable.values(), *page.spoiled.values()) for part in told.split(", ")}
    assert usable > 380 and kinds == {*KINDS, *PLAIN, *SPOILED}
    assert len(missing) / usable <= 1 - RATE, missing
    assert len(extra) / spoiled <= 1 - RATE, extra
