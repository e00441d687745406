"""Finds the JavaScript engine and, where it can, a way to interrupt a running script."""

import importlib.machinery
import importlib.util
import os
import signal
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

__all__ = ["Engine", "EngineError", "Interrupt", "interruptible", "load_engine"]


class EngineError(Exception):
    """No usable engine; the message says what to install."""


class Engine(NamedTuple):
    """The extension module, its distribution's name and version, and whether it is newer than 2022."""

    module: Any
    name: str
    version: str
    modern: bool


def load_engine(candidates: Sequence[str], *, legacy: bool) -> Engine:
    """Loads the first of the module files. Raises `EngineError` when it is missing, broken or too old."""
    if not candidates:
        raise EngineError("no JavaScript engine is installed: pip install quickjs-ng")
    try:
        module = _load(candidates[0])
    except ImportError as error:
        raise EngineError(f"the JavaScript engine could not be loaded: {error}") from error
    modern = module.Context().eval("typeof [].findLast") == "function"
    if not modern and not legacy:
        raise EngineError(
            "the installed JavaScript engine is older than 2023: uninstall quickjs and install quickjs-ng, "
            'or choose engine="legacy"'
        )
    name = "quickjs-ng" if modern else "quickjs"
    return Engine(module, name, _version(os.path.dirname(candidates[0]), name), modern)


def _load(path: str) -> Any:
    loader = importlib.machinery.ExtensionFileLoader("_quickjs", path)
    spec = importlib.util.spec_from_file_location("_quickjs", path, loader=loader)
    if spec is None:
        raise ImportError(path)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def _version(folder: str, name: str) -> str:
    prefix = name.replace("-", "_") + "-"
    for entry in os.listdir(folder):
        if entry.startswith(prefix) and entry.endswith(".dist-info"):
            return entry[len(prefix) : -len(".dist-info")]
    return ""


class Interrupt:
    """Stops a script from within, so that its line is known and the process lives on.

    The binding's own time limit forbids calls into Python, so the engine's interrupt handler is set
    directly. That takes the runtime's address from the first field behind the object's header, which
    only `interruptible` makes safe to rely on.
    """

    def __init__(self, engine: Engine) -> None:
        import ctypes

        self.raised = False
        self._armed = False
        self._address = ctypes.c_void_p.from_address
        self._set_handler = ctypes.CDLL(engine.module.__file__).JS_SetInterruptHandler
        signature = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
        self._handler = signature(self._poll)
        self._set_handler.argtypes = (ctypes.c_void_p, signature, ctypes.c_void_p)
        self._set_handler.restype = None

    def attach(self, context: Any) -> None:
        """Makes scripts of `context` stop once `raised` is set."""
        runtime = self._address(id(context) + 2 * (sys.maxsize.bit_length() + 1) // 8).value
        self._set_handler(runtime, self._handler, None)

    def arm(self, armed: bool) -> None:
        """Arms it for one script; a signal that comes late then stops nothing else."""
        self._armed = armed
        if armed:
            self.raised = False

    def _poll(self, _runtime: object, _opaque: object) -> int:
        return int(self.raised and self._armed)


def interruptible(engine: Engine) -> Interrupt | None:
    """An `Interrupt` if a forked process proves that it works here, else None."""
    if not sys.platform.startswith("linux") or not hasattr(sys, "getrefcount"):
        return None
    try:
        interrupt = Interrupt(engine)
    except (OSError, AttributeError):  # the wheel does not export the symbol
        return None
    process = os.fork()
    if process == 0:
        _prove(engine, interrupt)
    _, status = os.waitpid(process, 0)
    return interrupt if status == 0 else None


def _prove(engine: Engine, interrupt: Interrupt) -> None:
    # A wrong address crashes here or loops into the alarm, and nowhere else.
    signal.alarm(1)
    code = 1
    try:
        context = engine.module.Context()
        interrupt.attach(context)
        interrupt.arm(True)
        interrupt.raised = True
        context.eval("for(;;){}")
    except engine.module.JSException as error:
        code = 0 if "interrupted" in str(error) else 1
    finally:
        os._exit(code)
