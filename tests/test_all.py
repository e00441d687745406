"""`__all__` says what is public, and what is public is explained."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib import import_module

import pytest

from tests.source import Module, body, modules

ALL = modules()
PLAIN = [module for module in ALL if not module.is_package and not module.name.endswith("__main__")]
ROOMS = [module for module in ALL if module.is_package]


def listed(module: Module) -> list[str] | None:
    for node in module.tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            names: list[str] = ast.literal_eval(node.value)
            return names
    return None


def defined(module: Module) -> Iterator[tuple[str, ast.stmt]]:
    """Public names that the module's own statements bind, type variables left out."""
    for node in body(module):
        for name in _bound(node):
            if not name.startswith("_"):
                yield name, node


def _bound(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        return [node.name]
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return [node.target.id]
    if isinstance(node, ast.Assign) and not ast.unparse(node.value).startswith(("TypeVar(", "ParamSpec(")):
        return [target.id for target in node.targets if isinstance(target, ast.Name)]
    return []


def sort_key(name: str) -> tuple[int, str]:
    return (0 if name.isupper() else 1 if name[0].isupper() else 2), name


@pytest.mark.parametrize("module", PLAIN, ids=lambda module: module.name)
def test_all_is_what_is_defined(module: Module) -> None:
    names = listed(module)
    assert names is not None, "no __all__"
    assert sorted(names) == sorted({name for name, _ in defined(module)})
    assert names == sorted(names, key=sort_key)


@pytest.mark.parametrize("module", ROOMS, ids=lambda module: module.name)
def test_a_room_offers_what_it_lists(module: Module) -> None:
    names = listed(module) or []
    assert names == sorted(names, key=sort_key)
    offered = import_module(module.name)
    missing = [name for name in names if not hasattr(offered, name)]
    assert not missing


@pytest.mark.parametrize("module", ALL, ids=lambda module: module.name)
def test_what_is_public_has_a_docstring(module: Module) -> None:
    silent = [
        name
        for name, node in defined(module)
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and ast.get_docstring(node) is None
    ]
    assert not silent
    assert ast.get_docstring(module.tree) is not None or not module.tree.body
