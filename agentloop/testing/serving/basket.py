"""What a visitor of the shop has: a cart, orders, a login. Rules and sums, no HTTP."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from zlib import crc32

from agentloop.testing.serving.catalogue import Product

__all__ = ["SHIPPING", "Basket", "Line", "Order", "checkout_errors"]

SHIPPING: Mapping[str, int] = {"Standard": 5, "Express": 14}
"""Ways to ship and what they cost, in euros."""

_LINES = 50
_ORDERS = 50
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")


@dataclass(kw_only=True)
class Line:
    """A product in the cart with its options."""

    product: Product
    size: str
    colour: str
    quantity: int = 1

    @property
    def total(self) -> int:
        """Euros."""
        return self.product.price * self.quantity


@dataclass(frozen=True, kw_only=True)
class Order:
    """A placed order."""

    number: str
    lines: tuple[Line, ...]
    name: str
    address: str
    city: str
    email: str
    shipping: str

    @property
    def subtotal(self) -> int:
        """Euros, without shipping."""
        return sum(line.total for line in self.lines)

    @property
    def total(self) -> int:
        """Euros."""
        return self.subtotal + SHIPPING[self.shipping]


@dataclass
class Basket:
    """One visitor's side of the shop."""

    lines: list[Line] = field(default_factory=list)
    orders: list[Order] = field(default_factory=list)
    user: str = ""

    @property
    def count(self) -> int:
        """How many things are in the cart."""
        return sum(line.quantity for line in self.lines)

    @property
    def subtotal(self) -> int:
        """Euros."""
        return sum(line.total for line in self.lines)

    def add(self, product: Product, *, size: str, colour: str, quantity: int) -> None:
        """Puts it in; the same thing in the same options is one line, at most as many as are in stock."""
        for line in self.lines:
            if (line.product.id, line.size, line.colour) == (product.id, size, colour):
                line.quantity = min(line.quantity + quantity, product.stock)
                return
        if len(self.lines) < _LINES:
            self.lines.append(Line(product=product, size=size, colour=colour, quantity=min(quantity, product.stock)))

    def change(self, at: int, quantity: int) -> None:
        """Sets the quantity of a line; 0 takes it out. An unknown line is left alone."""
        if not 0 <= at < len(self.lines):
            return
        if quantity <= 0:
            del self.lines[at]
        else:
            self.lines[at].quantity = min(quantity, self.lines[at].product.stock)

    def place(self, fields: Mapping[str, str]) -> Order:
        """Turns the cart into an order. Its number follows from what was ordered, so a run can be repeated."""
        content = [f"{line.product.id} {line.size} {line.colour} {line.quantity}" for line in self.lines]
        seed = "|".join([*content, fields["name"], str(len(self.orders))])
        order = Order(
            number=f"F-{10_000 + crc32(seed.encode()) % 90_000}",
            lines=tuple(self.lines),
            **{name: fields[name] for name in ("name", "address", "city", "email", "shipping")},
        )
        self.orders = [*self.orders[-_ORDERS + 1 :], order]
        self.lines = []
        return order


def checkout_errors(fields: Mapping[str, str]) -> dict[str, str]:
    """What is wrong with the checkout form, by field name."""
    errors = {name: f"{name.capitalize()} is required" for name in ("name", "address", "city") if not fields.get(name)}
    if not _EMAIL.fullmatch(fields.get("email", "")):
        errors["email"] = "Enter an email address like ann@example.com"
    if fields.get("shipping") not in SHIPPING:
        errors["shipping"] = "Choose how to ship"
    if fields.get("terms") != "yes":
        errors["terms"] = "You must agree to the terms"
    return errors
