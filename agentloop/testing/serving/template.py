"""Pages from HTML files: `{{name}}` is a value, escaped unless it is `Html` already."""

from __future__ import annotations

import html
import re
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import TypeAlias

from agentloop.errors import InvalidInput

__all__ = ["Html", "Templates", "Value", "sites_folder"]

_SLOT = re.compile(r"\{\{(\w+)\}\}")


class Html(str):
    """Text that is markup already and is not escaped again."""

    __slots__ = ()


Value: TypeAlias = str | int


def sites_folder() -> Traversable:
    """The folder with one folder per site. Raises `InvalidInput` when the checkout lost its symbolic link."""
    folder = files("agentloop.testing") / "sites"
    if not folder.is_dir():
        raise InvalidInput(
            "The fixture sites are missing: agentloop/testing/sites is not a folder. "
            "Clone with symbolic links on (git config core.symlinks true), or install the wheel."
        )
    return folder


class Templates:
    """The files of one site."""

    def __init__(self, site: str) -> None:
        self._folder = sites_folder() / site

    def render(self, name: str, /, **values: Value) -> Html:
        """The file `<name>.html` with its slots filled. Raises `InvalidInput` for a slot without a value."""
        source = (self._folder / f"{name}.html").read_text("utf-8")

        def fill(match: re.Match[str]) -> str:
            value = values.get(match[1])
            if value is None:
                raise InvalidInput(f"The template {name}.html needs a value for {{{{{match[1]}}}}}.")
            return value if isinstance(value, Html) else html.escape(str(value))

        return Html(_SLOT.sub(fill, source))

    def read(self, name: str) -> bytes | None:
        """The bytes of a file of the site, None when there is none."""
        file = self._folder / name
        return file.read_bytes() if file.is_file() else None
