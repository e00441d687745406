"""The goods of the shop: 200 products, the same in every process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from zlib import crc32

__all__ = ["CATEGORIES", "COLOURS", "SIZES", "SORTS", "Filters", "Product", "matching", "product", "products"]

COLOURS: Mapping[str, str] = MappingProxyType(
    {
        "Amber": "#d9932b",
        "Clay": "#c1664a",
        "Fern": "#5d8a54",
        "Ink": "#3c4a66",
        "Mist": "#8fa9b8",
        "Plum": "#8b5a83",
        "Sand": "#c9ad83",
        "Teal": "#3d8f8a",
    }
)
"""Colour names, each with how it is drawn."""

SIZES = ("Small", "Medium", "Large")
SORTS = ("Featured", "Price: low to high", "Price: high to low", "Best rated", "Name")

_MATERIALS = ("Glass", "Oak", "Wool", "Brass", "Linen", "Slate", "Cork", "Birch")
_KINDS = (
    ("chair", "Furniture", 60, 320),
    ("mug", "Kitchen", 7, 38),
    ("cushion", "Textiles", 14, 70),
    ("vase", "Decor", 16, 120),
    ("stool", "Furniture", 35, 160),
    ("bowl", "Kitchen", 9, 64),
    ("lamp", "Lighting", 38, 280),
    ("blanket", "Textiles", 30, 180),
    ("clock", "Decor", 22, 140),
    ("basket", "Storage", 12, 90),
)
CATEGORIES = tuple(sorted({category for _, category, _, _ in _KINDS}))


@dataclass(frozen=True, kw_only=True)
class Product:
    """One thing on sale. `price` is in whole euros, `rating` from 2.5 to 5.0."""

    id: int
    name: str
    kind: str
    category: str
    material: str
    colour: str
    price: int
    rating: float
    stock: int

    @property
    def colours(self) -> tuple[str, str, str]:
        """What it can be had in, its own colour first."""
        names = list(COLOURS)
        at = names.index(self.colour)
        return names[at], names[(at + 3) % len(names)], names[(at + 5) % len(names)]


@dataclass(frozen=True, kw_only=True)
class Filters:
    """What a visitor asked the list for."""

    query: str = ""
    category: str = ""
    sort: str = SORTS[0]
    lowest: int = 0
    highest: int = 1_000_000
    in_stock: bool = False


def _number(salt: str, id: int, below: int) -> int:
    return crc32(f"{salt} {id}".encode()) % below


def _make(id: int) -> Product:
    kind, category, low, high = _KINDS[id * 7 % len(_KINDS)]
    material = _MATERIALS[(id * 5 + id // 10) % len(_MATERIALS)]
    return Product(
        id=id,
        name=f"{material} {kind} {id}",
        kind=kind,
        category=category,
        material=material,
        colour=list(COLOURS)[_number("colour", id, len(COLOURS))],
        price=low + _number("price", id, high - low),
        rating=2.5 + _number("rating", id, 26) / 10,
        stock=_number("stock", id, 18),
    )


@cache
def products() -> tuple[Product, ...]:
    """All 200, by id from 1."""
    return tuple(_make(id) for id in range(1, 201))


def product(id: int) -> Product | None:
    """The product with this id, None when there is none."""
    return products()[id - 1] if 1 <= id <= len(products()) else None


def matching(filters: Filters) -> Sequence[Product]:
    """The products that fit, in the order asked for; every word of the query must be in name, category or colour."""
    words = filters.query.lower().split()
    found = [item for item in products() if _fits(item, filters, words)]
    match filters.sort:
        case "Price: low to high":
            found.sort(key=lambda item: (item.price, item.id))
        case "Price: high to low":
            found.sort(key=lambda item: (-item.price, item.id))
        case "Best rated":
            found.sort(key=lambda item: (-item.rating, item.id))
        case "Name":
            found.sort(key=lambda item: (item.name, item.id))
    return found


def _fits(item: Product, filters: Filters, words: Sequence[str]) -> bool:
    text = f"{item.name} {item.category} {item.colour}".lower()
    return (
        all(word in text for word in words)
        and filters.category in ("", item.category)
        and filters.lowest <= item.price <= filters.highest
        and (item.stock > 0 or not filters.in_stock)
    )
