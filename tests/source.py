"""The project's own source, as the tests of its shape read it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

__all__ = ["ROOT", "Module", "body", "modules"]

ROOT = Path(__file__).resolve().parent.parent
LINKED = ("browser", "drivers")


@dataclass(frozen=True)
class Module:
    """One file of the package, under the name that it is imported by."""

    name: str
    path: Path

    @property
    def is_package(self) -> bool:
        return self.path.name == "__init__.py"

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.path.read_text(encoding="utf-8"), str(self.path))


def modules() -> list[Module]:
    """Every module of `agentloop`, those of the linked folders among them."""
    found = list(_below(ROOT / "agentloop", "agentloop"))
    for folder in LINKED:
        found += _below(ROOT / folder, f"agentloop.{folder}")
    return sorted(found, key=lambda module: module.name)


def body(module: Module) -> Iterator[ast.stmt]:
    """The module's top-level statements without those under `if TYPE_CHECKING:`."""
    for node in module.tree.body:
        if not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"):
            yield node


def _below(folder: Path, package: str) -> Iterator[Module]:
    for path in folder.rglob("*.py"):
        inner = path.relative_to(folder)
        # Whether a walk follows the links depends on the Python at hand.
        if package == "agentloop" and inner.parts[0] in LINKED:
            continue
        parts = inner.parts[:-1] if inner.stem == "__init__" else inner.with_suffix("").parts
        yield Module(".".join([package, *parts]), path)
