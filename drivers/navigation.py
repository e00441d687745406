"""Opening an address, with an error in plain words for each way it can fail."""

from __future__ import annotations

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Page, Response
from playwright.async_api import TimeoutError as PlaywrightTimeout

from agentloop.drivers.faults import navigation_error
from agentloop.drivers.refusals import Refusals, why_not
from agentloop.errors import DriverTimeout, NavigationError
from agentloop.guard.network.base import BLOCKED_HEADER, UNREACHABLE_HEADER

__all__ = ["goto"]

_DOWNLOAD = "Download is starting"
_OVERTAKEN = "interrupted by another navigation"


async def goto(page: Page, url: str, *, refusals: Refusals, seconds: float) -> None:
    """Returns once the DOM of `url` is parsed; a file to download is no error.

    Raises `NavigationError` (also for an answer of 500 and above, whose page stays open),
    `RequestRefused` when the boundary declined it or what it redirects to, `DriverTimeout`.
    """
    began = refusals.now()
    try:
        response = await _goto(page, url, seconds * 1000)
    except PlaywrightTimeout:
        raise DriverTimeout(f"{url} did not load within {seconds:g} s") from None
    except PlaywrightError as error:
        if _DOWNLOAD in str(error):
            return
        if _OVERTAKEN in str(error):
            await page.wait_for_load_state("domcontentloaded", timeout=seconds * 1000)
            return
        if "net::" not in str(error):
            raise
        tunnel = "ERR_TUNNEL_CONNECTION_FAILED" in str(error)
        raise (why_not(refusals.since(began), url) if tunnel else None) or navigation_error(error, url) from None
    if response is not None:
        _check(response, url, refusals, began)


async def _goto(page: Page, url: str, timeout: float) -> Response | None:
    for last in (False, False, True):
        try:
            return await page.goto(url, wait_until="domcontentloaded", timeout=timeout)
        except PlaywrightError as error:
            # After an attempt that failed the browser still shows its error page, and tries again by itself.
            leftover = "chrome-error:" in str(error) or str(error).count(f'"{url}"') > 1
            if last or _OVERTAKEN not in str(error) or not leftover:
                raise
    return None


def _check(response: Response, url: str, refusals: Refusals, began: float) -> None:
    headers = response.headers
    if BLOCKED_HEADER.lower() in headers or UNREACHABLE_HEADER.lower() in headers:
        error = why_not(refusals.since(began), url)
        raise error or NavigationError(f"{url} could not be opened: the boundary did not let it through", url=url)
    if response.status >= 500:
        raise NavigationError(
            f"{url}: the server answered {response.status} {response.status_text}".rstrip() + "; its page is open",
            url=url,
        )
