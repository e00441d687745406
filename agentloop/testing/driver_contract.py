"""What every driver must do, as tests. Subclass `DriverContract` and give it a fixture `driver`:

    @pytest.fixture(scope="session")
    async def browser() -> AsyncIterator[MyBrowser]:
        async with MyBrowser() as browser:
            yield browser

    class TestMyDriver(DriverContract):
        @pytest.fixture
        async def driver(self, browser: MyBrowser) -> AsyncIterator[Driver]:
            async with browser.session() as driver:
                yield driver

Each test gets a driver of its own; a browser for each as well would take minutes. So would a driver that waits half a
minute for what is missing or disabled: a bound of some seconds is enough, and `send_keys` of a long text is one step.
The driver must reach loopback: the pages are served there. What needs an ability that it lacks is
skipped and names the ability; `javascript = False` skips what needs `eval` to run scripts, and
`cancellable = False` is for a driver whose calls go on after they were cancelled.

It needs pytest and pytest-asyncio, and one event loop for a browser that tests share:

    pytest -o asyncio_mode=auto -o asyncio_default_fixture_loop_scope=session -o asyncio_default_test_loop_scope=session
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from agentloop.testing.extras import needs

try:
    import pytest
except ModuleNotFoundError as error:
    raise needs("test", error) from None

from agentloop.browser.base import Driver
from agentloop.errors import DriverError, InvalidInput, NavigationError, Refused, TargetError
from agentloop.records import Json
from agentloop.testing.drivers.abilities import AbilityContract, png_size
from agentloop.testing.drivers.site import ContractSite, PageSite

__all__ = ["DriverContract"]


class DriverContract(AbilityContract):
    """The ten methods, then the abilities."""

    cancellable = True

    @pytest.fixture
    async def site(self) -> AsyncIterator[ContractSite]:
        """The pages; a driver without a network of its own overrides this."""
        async with PageSite() as site:
            yield site

    # navigate

    async def test_navigate_opens_a_page(self, driver: Driver, site: ContractSite) -> None:
        await driver.navigate(site.url("form.html"))
        assert await driver.text("#heading") == "A form", "text must be what is rendered, without hidden parts"
        await driver.navigate(site.url("next.html"))
        assert await driver.text("#heading") == "The next page"

    @pytest.mark.parametrize("url", ["file:///etc/passwd", "view-source:http://a/", "javascript:1", "data:text/html,x"])
    async def test_navigate_opens_nothing_but_web_pages(self, driver: Driver, site: ContractSite, url: str) -> None:
        await driver.navigate(site.url("next.html"))
        with pytest.raises((Refused, InvalidInput)):
            await driver.navigate(url)
        assert await driver.text("#heading") == "The next page"

    @pytest.mark.parametrize("url", ["", "example", "example.org/page"])
    async def test_navigate_wants_a_full_address(self, driver: Driver, url: str) -> None:
        with pytest.raises(InvalidInput):
            await driver.navigate(url)

    async def test_navigate_tells_what_cannot_be_opened(self, driver: Driver) -> None:
        async with PageSite() as closed:
            url = closed.url("form.html")
        with pytest.raises(NavigationError) as caught:
            await driver.navigate(url)
        assert caught.value.url == url, "a NavigationError must carry the address"

    # click

    async def test_click_follows_a_link(self, driver: Driver, site: ContractSite) -> None:
        await driver.navigate(site.url("form.html"))
        await driver.click("#next")
        await driver.wait_ready("#back")
        assert await driver.text("#heading") == "The next page"

    async def test_click_is_trusted(self, driver: Driver, site: ContractSite) -> None:
        self._needs_javascript()
        await driver.navigate(site.url("form.html"))
        await driver.click("#add")
        assert await driver.text("#count") == "1", "one click must be one click"
        assert await driver.text("#trusted") == "trusted", "the page must not be able to tell it from a person's"

    async def test_what_is_missing_is_an_error(self, driver: Driver, site: ContractSite) -> None:
        await driver.navigate(site.url("form.html"))
        calls = [
            ("click(selector)", driver.click("#absent")),
            ("send_keys(selector, text)", driver.send_keys("#absent", "x")),
            ("text(selector)", driver.text("#absent")),
            ("value(selector)", driver.value("#absent")),
        ]
        for outcome, (name, _) in zip(await _outcomes([call for _, call in calls]), calls, strict=True):
            wanted = f"{name} on a missing element must raise TargetError(reason='missing'), it gave {outcome!r}"
            assert isinstance(outcome, TargetError) and outcome.reason == "missing", wanted

    async def test_what_is_disabled_is_not_clicked(self, driver: Driver, site: ContractSite) -> None:
        await driver.navigate(site.url("form.html"))
        with pytest.raises(DriverError):
            await driver.click("#off")

    # send_keys, value

    async def test_send_keys_types_after_what_is_there(self, driver: Driver, site: ContractSite) -> None:
        await driver.navigate(site.url("form.html"))
        assert await driver.value("#name") == "Ann"
        await driver.send_keys("#name", "ie é")
        assert await driver.value("#name") == "Annie é"

    async def test_newline_is_text_where_it_can_be(self, driver: Driver, site: ContractSite) -> None:
        await driver.navigate(site.url("form.html"))
        await driver.send_keys("#notes", " and\ntwo")
        assert await driver.value("#notes") == "one and\ntwo"
        await driver.send_keys("#name", "a\nb")
        assert await driver.value("#name") == "Annab", "a field of one line must drop the newline"
        assert await driver.text("#sent") == "", "a newline must not submit a form"

    async def test_long_text_is_quick(self, driver: Driver, site: ContractSite) -> None:
        await driver.navigate(site.url("form.html"))
        lines = "\n".join(f"line {number}" for number in range(4000))
        await driver.send_keys("#notes", lines)
        assert await driver.value("#notes") == "one" + lines

    async def test_a_date_is_set_as_a_whole(self, driver: Driver, site: ContractSite) -> None:
        self._needs_javascript()
        await driver.navigate(site.url("form.html"))
        await driver.send_keys("#day", "2031-02-03")
        assert await driver.value("#day") == "2031-02-03"

    async def test_value_of_a_select(self, driver: Driver, site: ContractSite) -> None:
        await driver.navigate(site.url("form.html"))
        assert await driver.value("#size") == "Large"

    # waiting

    async def test_waiting_for_what_comes_late(self, driver: Driver, site: ContractSite) -> None:
        self._needs_javascript()
        await driver.navigate(site.url("form.html"))
        await driver.wait_ready("#late")
        await driver.wait_visible("#late")
        assert await driver.eval("document.querySelector('#late').hidden") is False

    async def test_a_call_can_be_cancelled(self, driver: Driver, site: ContractSite) -> None:
        if not self.cancellable:
            pytest.skip("needs a driver whose calls can be cancelled")
        await driver.navigate(site.url("form.html"))
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.3):
                await driver.wait_ready("#absent")
        assert await driver.text("#count") == "0", "the driver must go on after a cancelled call"

    # eval

    @pytest.mark.parametrize(
        ("expression", "value"),
        [
            ("1 + 1", 2),
            ("'é'", "é"),
            ("({a: [1, null, true]})", {"a": [1, None, True]}),
            ("undefined", None),
            ("null", None),
            ("Promise.resolve(7)", 7),
            ("document.title", "Form"),
            ("void 0", None),
        ],
    )
    async def test_eval_gives_json(self, driver: Driver, site: ContractSite, expression: str, value: Json) -> None:
        self._needs_javascript()
        await driver.navigate(site.url("form.html"))
        assert await driver.eval(expression) == value

    @pytest.mark.parametrize(
        "expression", ["(() => { throw new Error('broken') })()", "Promise.reject(Error('broken'))"]
    )
    async def test_eval_tells_the_exception(self, driver: Driver, site: ContractSite, expression: str) -> None:
        self._needs_javascript()
        await driver.navigate(site.url("form.html"))
        with pytest.raises(DriverError, match="broken"):
            await driver.eval(expression)

    async def test_an_endless_eval_ends(self, driver: Driver, site: ContractSite) -> None:
        self._needs_javascript()
        await driver.navigate(site.url("form.html"))
        with pytest.raises(DriverError):
            async with asyncio.timeout(20):
                await driver.eval("new Promise(() => {})")
        assert await driver.eval("1") == 1

    # key_event

    async def test_key_event_types_and_presses(self, driver: Driver, site: ContractSite) -> None:
        await driver.navigate(site.url("form.html"))
        await driver.click("#name")
        await driver.key_event("Control+a")
        await driver.key_event("Bo")
        assert await driver.value("#name") == "Bo"
        await driver.key_event("Backspace")
        assert await driver.value("#name") == "B"

    async def test_enter_submits(self, driver: Driver, site: ContractSite) -> None:
        self._needs_javascript()
        await driver.navigate(site.url("form.html"))
        await driver.click("#name")
        await driver.key_event("Enter")
        assert await driver.text("#sent") == "sent"

    # screenshot

    async def test_screenshot_has_a_pixel_for_each_css_pixel(self, driver: Driver, site: ContractSite) -> None:
        await driver.navigate(site.url("form.html"))
        size = png_size(await driver.screenshot())
        if self.javascript:
            assert list(size) == await driver.eval("[innerWidth, innerHeight]")


async def _outcomes(calls: list[object]) -> list[object]:
    """What each call returned or raised, one after the other."""
    found: list[object] = []
    for call in calls:
        try:
            found.append(await call)  # type: ignore[misc]
        except Exception as error:  # whatever a driver does wrong is to be told in words
            found.append(error)
    return found
