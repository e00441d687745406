"""The JavaScript that every realm begins with."""

import os
from collections.abc import Mapping
from typing import Final, NamedTuple

__all__ = ["PRELUDE_LINE", "Prelude", "read_prelude"]

PRELUDE_LINE: Final = 20_000
"""Code of ours begins after so many lines. The engine calls every source `<input>`, so that the line
alone tells a script's own frames from ours."""

_BLANK: Final = "\n" * PRELUDE_LINE
_EAGER: Final = ("losses", "values", "log", "globals")
_LAZY: Final = ("names", "functions", "console", "repair", "url", "encoding", "clone", "crypto", "locale")


class Prelude(NamedTuple):
    """`eager` evaluates to the function that makes a realm; `lazy` holds what is read on first use."""

    eager: str
    lazy: Mapping[str, str]

    def module(self, source: str) -> str:
        """The CommonJS `source` as a function expression."""
        return f"{_BLANK}(function (module, exports, require) {{{source}\n}})"

    def body(self, source: str) -> str:
        """The `source` of a function's body, out of the way of scripts' lines."""
        return _BLANK + source


def read_prelude() -> Prelude:
    """Reads the files beside this one."""
    parts = ",".join(_read(name) for name in _EAGER)
    return Prelude(f"{_BLANK}{_read('core')}([{parts}])", {name: _BLANK + _read(name) for name in _LAZY})


def _read(name: str) -> str:
    with open(os.path.join(os.path.dirname(__file__), f"{name}.js"), encoding="utf-8") as file:
        return file.read()
