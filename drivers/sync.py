"""An adapter for drivers whose ten methods block."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Protocol, Self, TypeVar, cast

from agentloop.browser.base import Driver
from agentloop.errors import AgentLoopError, Closed, DriverError, DriverTimeout
from agentloop.records import Json

__all__ = ["BlockingDriver", "SyncDriver", "serve"]

_T = TypeVar("_T")

_NAVIGATE_S = 35.0
_WAIT_S = 35.0
_ACT_S = 10.0
_PICTURE_S = 15.0
_CLOSE_S = 5.0


class BlockingDriver(Protocol):
    """The ten methods of `Driver`, blocking. A `close()` is called at the end where there is one."""

    def navigate(self, url: str) -> None: ...
    def click(self, selector: str) -> None: ...
    def send_keys(self, selector: str, text: str) -> None: ...
    def wait_visible(self, selector: str) -> None: ...
    def wait_ready(self, selector: str) -> None: ...
    def text(self, selector: str) -> str: ...
    def value(self, selector: str) -> str: ...
    def eval(self, expression: str) -> Json: ...
    def key_event(self, text: str) -> None: ...
    def screenshot(self) -> bytes: ...


class _Executor(Protocol):
    def submit(self, work: Callable[..., _T], /, *args: Any) -> Future[_T]: ...


class SyncDriver:
    """`async with SyncDriver(make) as driver`: a blocking driver as an async one.

    `make` is called, and every call made, in one thread of the driver's own, for objects that belong to
    the thread they were made in. A call that outlasts its bound raises `DriverTimeout`, and calls after
    it raise `DriverError` until it has ended: a blocked thread cannot be stopped. Errors outside of the
    library's tree become `DriverError`. For objects that the calling thread has made already: `serve`.
    """

    def __init__(self, make: Callable[[], BlockingDriver]) -> None:
        self._make = make
        self._executor: _Executor | None = None
        self._pool: ThreadPoolExecutor | None = None
        self._driver: BlockingDriver | None = None
        self._running: Future[Any] | None = None
        self._name = ""

    async def __aenter__(self) -> Self:
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="agentloop-driver")
        self._executor = self._pool
        try:
            self._driver = await self._run("opening the driver", _NAVIGATE_S, self._make)
        except BaseException:
            self._end()
            raise
        return self

    async def __aexit__(self, *exc: object) -> None:
        close = getattr(self._driver, "close", None)
        if self._running is not None and not self._running.done():
            await asyncio.wait([asyncio.wrap_future(self._running)], timeout=_CLOSE_S)
        try:
            if close is not None:
                await self._run("closing the driver", _CLOSE_S, close)
        finally:
            self._end()

    def _end(self) -> None:
        self._executor = None
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)

    # the ten methods ---------------------------------------------------------------------------------

    async def navigate(self, url: str) -> None:
        """As `Driver.navigate`, within 35 s."""
        await self._call("navigate", _NAVIGATE_S, url)

    async def click(self, selector: str) -> None:
        """As `Driver.click`, within 10 s."""
        await self._call("click", _ACT_S, selector)

    async def send_keys(self, selector: str, text: str) -> None:
        """As `Driver.send_keys`, within 10 s."""
        await self._call("send_keys", _ACT_S, selector, text)

    async def wait_visible(self, selector: str) -> None:
        """As `Driver.wait_visible`, within 35 s."""
        await self._call("wait_visible", _WAIT_S, selector)

    async def wait_ready(self, selector: str) -> None:
        """As `Driver.wait_ready`, within 35 s."""
        await self._call("wait_ready", _WAIT_S, selector)

    async def text(self, selector: str) -> str:
        """As `Driver.text`, within 10 s."""
        return cast(str, await self._call("text", _ACT_S, selector))

    async def value(self, selector: str) -> str:
        """As `Driver.value`, within 10 s."""
        return cast(str, await self._call("value", _ACT_S, selector))

    async def eval(self, expression: str) -> Json:
        """As `Driver.eval`, within 10 s."""
        return await self._call("eval", _ACT_S, expression)

    async def key_event(self, text: str) -> None:
        """As `Driver.key_event`, within 10 s."""
        await self._call("key_event", _ACT_S, text)

    async def screenshot(self) -> bytes:
        """As `Driver.screenshot`, within 15 s."""
        return cast(bytes, await self._call("screenshot", _PICTURE_S))

    # inside ------------------------------------------------------------------------------------------

    async def _call(self, name: str, seconds: float, *args: object) -> object:
        return await self._run(name, seconds, getattr(self._driver, name), *args)

    async def _run(self, name: str, seconds: float, work: Callable[..., _T], *args: object) -> _T:
        if self._executor is None:
            raise Closed("the driver is closed")
        if self._running is not None and not self._running.done():
            raise DriverError(f"{name}: the driver is still busy with {self._name}, which cannot be stopped")
        self._name = name
        self._running = future = self._executor.submit(work, *args)
        try:
            async with asyncio.timeout(seconds):
                return await asyncio.wrap_future(future)
        except TimeoutError:
            if future.done() and not future.cancelled():
                raise DriverTimeout(f"{name}: {future.exception()}") from None
            raise DriverTimeout(f"{name} was not done within {seconds:g} s") from None
        except AgentLoopError:
            raise
        except Exception as error:
            # The border to a driver of unknown make: whatever it raises, callers see our own tree.
            raise DriverError(f"{name}: {type(error).__name__}: {str(error).partition(chr(10))[0]}") from error


class _Served(SyncDriver):
    """A blocking driver whose calls are made by the thread that serves the executor."""

    def __init__(self, driver: BlockingDriver, executor: _Executor) -> None:
        super().__init__(lambda: driver)
        self._driver = driver
        self._executor = executor


class _CallingThread:
    """An executor whose work is done by the thread that runs `work_until`."""

    def __init__(self) -> None:
        self._queue: queue.Queue[Callable[[], None] | None] = queue.Queue()

    def submit(self, work: Callable[..., _T], /, *args: Any) -> Future[_T]:
        future: Future[_T] = Future()

        def do() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                future.set_result(work(*args))
            except BaseException as error:
                # It belongs to whoever waits for the future, in the other thread.
                future.set_exception(error)

        self._queue.put(do)
        return future

    def end(self) -> None:
        self._queue.put(None)

    def work_until_end(self) -> None:
        while (do := self._queue.get()) is not None:
            do()


def serve(driver: BlockingDriver, work: Callable[[Driver], Awaitable[_T]]) -> _T:
    """Runs `work(driver)` in an event loop of another thread while this thread makes the driver's calls.

    For blocking objects that belong to the calling thread, such as the `page` of a synchronous test. Returns
    what `work` returns, raises what it raises.
    """
    calling = _CallingThread()
    outcome: Future[_T] = Future()

    async def run() -> _T:
        return await work(_Served(driver, calling))

    def loop() -> None:
        try:
            outcome.set_result(asyncio.run(run()))
        except BaseException as error:
            # It is raised again in the calling thread.
            outcome.set_exception(error)
        finally:
            calling.end()

    thread = threading.Thread(target=loop, name="agentloop-serve", daemon=True)
    thread.start()
    calling.work_until_end()
    thread.join(_CLOSE_S)
    return outcome.result()
