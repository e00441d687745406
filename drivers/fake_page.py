"""Declared pages, and what the product's page scripts would say of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from agentloop.records import Json

__all__ = ["FakeDocument", "FakeElement", "FakePage", "LiveElement"]

_ROLES = {"button": "button", "textarea": "textbox", "select": "combobox", "summary": "disclosuretriangle"}
_INPUT_ROLES = {
    "checkbox": "checkbox",
    "radio": "radio",
    "button": "button",
    "submit": "button",
    "range": "slider",
    "number": "spinbutton",
    "search": "searchbox",
}
_SET_WHOLE = ("date", "time", "month", "week", "datetime-local", "color", "range")
_LEFT, _TOP, _WIDTH, _HEIGHT, _STEP = 20.0, 20.0, 200.0, 30.0, 40.0


@dataclass(frozen=True, kw_only=True)
class FakeElement:
    """One element. `role` follows from the tag where it is left out; "" then means: only text.

    `selector` is what finds it. `on_click` is the address that a click opens, `href` that of a link.
    `context` is the text beside it.
    """

    tag: str = "button"
    name: str = ""
    role: str = ""
    selector: str = ""
    text: str = ""
    type: str = ""
    href: str = ""
    on_click: str = ""
    value: str = ""
    options: Sequence[str] = ()
    checked: bool = False
    disabled: bool = False
    hidden: bool = False
    context: str = ""


@dataclass(frozen=True, kw_only=True)
class FakePage:
    """A page: its elements in document order, one below the other."""

    title: str = ""
    elements: Sequence[FakeElement] = ()


@dataclass
class LiveElement:
    """An element as it stands now."""

    declared: FakeElement
    key: str
    y: float
    value: str = ""
    checked: bool = False
    all_selected: bool = False
    tags: set[str] = field(default_factory=set)

    @property
    def role(self) -> str:
        """The declared role, else the tag's own."""
        declared = self.declared
        if declared.role:
            return declared.role
        if declared.tag == "a":
            return "link" if declared.href or declared.on_click else ""
        if declared.tag == "input":
            return _INPUT_ROLES.get(declared.type, "textbox")
        return _ROLES.get(declared.tag, "clickable" if declared.on_click else "")

    @property
    def text(self) -> str:
        """What a person reads."""
        return self.declared.text or self.declared.name

    @property
    def followed(self) -> str:
        """The address that a click opens."""
        return self.declared.on_click or self.declared.href

    @property
    def checkable(self) -> bool:
        """True for boxes and radio buttons."""
        return self.role in ("checkbox", "radio", "switch")

    @property
    def typable(self) -> bool:
        """True when text can be typed into it."""
        return self.role in ("textbox", "searchbox", "spinbutton") and not self.declared.disabled

    def type(self, text: str) -> None:
        """Takes typed text; a newline only where it has more than one line."""
        if self.declared.tag == "input":
            text = text.replace("\n", "")
        whole = self.all_selected or self.declared.type in _SET_WHOLE
        self.value = text if whole else self.value + text
        self.all_selected = False

    def press(self, name: str) -> None:
        """Takes an editing key."""
        if name == "Control+a":
            self.all_selected = True
        elif name in ("Backspace", "Delete"):
            self.value = "" if self.all_selected else self.value[:-1] if name == "Backspace" else self.value
            self.all_selected = False

    def toggle(self, elements: Sequence[LiveElement]) -> None:
        """A click on a box or radio button; the others of a radio button's page are unchecked."""
        if self.role == "radio":
            for element in elements:
                if element.role == "radio":
                    element.checked = element is self
        elif self.checkable:
            self.checked = not self.checked


class FakeDocument:
    """An opened page. `answer` is what the mark script says, `reading` what the other scripts say."""

    def __init__(self, page: FakePage, *, url: str, number: int, viewport: tuple[int, int]) -> None:
        self.declared = page
        self.url = url
        self.token = f"document-{number}"
        self.focused: LiveElement | None = None
        self._viewport = viewport
        self.elements = [
            LiveElement(
                declared=element,
                key=f"{number}.{place}",
                y=_TOP + place * _STEP,
                value=element.value,
                checked=element.checked,
            )
            for place, element in enumerate(page.elements)
        ]

    def find(self, selector: str) -> LiveElement | None:
        """The first element declared with this selector, tagged with it, or of this tag."""
        for element in self.elements:
            if selector in (element.declared.selector, element.declared.tag) or selector in element.tags:
                return element
        return None

    def answer(self, request: dict[str, Any]) -> Json:
        """What the mark script gives for a request."""
        operations: dict[str, Callable[[dict[str, Any]], Json]] = {
            "list": self._list,
            "aim": self._aim,
            "find": self._find,
            "inside": lambda request: None,
            "state": self._state,
            "focus_inside": lambda request: self.focused is not None and self.focused.key == request["key"],
            "select_content": self._select_content,
            "fill": self._fill,
            "select": self._select,
            "nearby": self._nearby,
            "tag": self._tag,
            "untag": self._untag,
        }
        return operations[request["op"]](request)

    def reading(self, script: str, argument: Any) -> Json:
        """What another of the product's scripts gives; `NotImplemented` for one that is not known."""
        text = " ".join(element.text for element in self._shown())
        if script == "stillness":
            held = [(element.value, element.checked) for element in self.elements]
            return {"url": self.url, "document": self.token, "content": str(held)}
        if script == "has_text":
            return " ".join(argument["text"].split()) in text
        if script == "markdown":
            return "\n\n".join(element.text for element in self._shown() if element.text)
        return [0, 0] if script == "scroll" else NotImplemented

    def _shown(self) -> list[LiveElement]:
        return [element for element in self.elements if not element.declared.hidden]

    def _by_key(self, request: dict[str, Any]) -> LiveElement | None:
        return next((element for element in self.elements if element.key == request["key"]), None)

    def _list(self, request: dict[str, Any]) -> Json:
        shown = self._shown()
        marked = [element for element in shown if element.role and not element.declared.disabled]
        width, height = self._viewport
        listing: dict[str, Json] = {
            "token": self.token,
            "url": self.url,
            "title": self.declared.title,
            "scroll": {"x": 0, "y": 0, "width": width, "height": height, "view_width": width, "view_height": height},
            "marks": [self._mark(element) for element in marked],
            "frames": [],
            "left_out": 0,
        }
        if request.get("text"):
            leaves = [self._leaf(place, element) for place, element in enumerate(shown) if element.role or element.text]
            listing["page"] = {"tree": {"u": "page", "p": 0, "n": leaves}, "containers": {}}
        return listing

    def _leaf(self, place: int, element: LiveElement) -> Json:
        if element.role and element.declared.disabled:
            return {"d": element.role, "t": element.declared.name, "b": place}
        return {"m": element.key, "b": place} if element.role else {"t": element.text, "b": place}

    def _mark(self, element: LiveElement) -> Json:
        declared = element.declared
        x, y = _LEFT + _WIDTH / 2, element.y + _HEIGHT / 2
        mark: dict[str, Json] = {
            "key": element.key,
            "tag": declared.tag,
            "role": element.role,
            "name": declared.name,
            "context": declared.context,
            "x": x,
            "y": y,
            "w": _WIDTH,
            "h": _HEIGHT,
            "px": x,
            "py": y,
        }
        if element.checkable:
            mark["checked"] = element.checked
        elif declared.type == "password":
            mark["filled"] = bool(element.value)
        elif declared.tag in ("input", "textarea", "select"):
            mark["value"] = element.value
        if declared.tag == "input":
            mark["type"] = declared.type or "text"
        if declared.options:
            mark["options"] = list(declared.options)
        if element is self.focused:
            mark["focused"] = True
        if not declared.name:
            mark["hint"] = declared.selector
        return mark

    def _aim(self, request: dict[str, Any]) -> Json:
        element = self._by_key(request)
        if element is None:
            return {"state": "gone", "token": self.token}
        for state in ("disabled", "hidden"):
            if getattr(element.declared, state):
                return {"state": state, "token": self.token}
        x, y = _LEFT + _WIDTH / 2, element.y + _HEIGHT / 2
        return {"state": "ok", "name": element.declared.name, "x": x, "y": y, "scrolled": False, "token": self.token}

    def _find(self, request: dict[str, Any]) -> Json:
        element = self.find(request["selector"])
        if element is None:
            return {"state": "missing", "token": self.token}
        if element.declared.hidden:
            return {"state": "hidden", "token": self.token}
        return {"state": "ok", "key": element.key, "token": self.token}

    def _state(self, request: dict[str, Any]) -> Json:
        element = self._by_key(request)
        if element is None:
            return {"state": "gone", "token": self.token}
        declared = element.declared
        secret = declared.type == "password"
        return {
            "state": "ok",
            "tag": declared.tag,
            "type": (declared.type or "text") if declared.tag == "input" else "",
            "role": element.role,
            "name": declared.name,
            "value": None if secret or element.checkable else element.value,
            "filled": bool(element.value),
            "focused": element is self.focused,
            "editable": element.typable,
            "readonly": False,
            "checked": element.checked if element.checkable else None,
            "options": list(declared.options),
            "more_options": 0,
            "contenteditable": False,
        }

    def _select_content(self, request: dict[str, Any]) -> Json:
        element = self._by_key(request)
        if element is not None:
            element.all_selected = True
        return element is not None

    def _fill(self, request: dict[str, Any]) -> Json:
        element = self._by_key(request)
        if element is None or element.declared.tag not in ("input", "textarea"):
            return None
        element.value = request["value"]
        self.focused = element
        return element.value

    def _select(self, request: dict[str, Any]) -> Json:
        element = self._by_key(request)
        if element is None:
            return {"state": "gone"}
        options = list(element.declared.options)
        if not options:
            return {"state": "unfit", "role": element.role, "options": None}
        chosen = [option for label in request["labels"] for option in options if option.casefold() == label.casefold()]
        if len(chosen) != 1 or len(request["labels"]) != 1:
            return {"state": "unfit", "options": options, "more": 0, "multiple": False}
        element.value = chosen[0]
        return {"state": "ok", "chosen": chosen}

    def _nearby(self, request: dict[str, Any]) -> Json:
        element = self._by_key(request)
        return "" if element is None else f"{element.declared.context} {element.text}".strip()

    def _tag(self, request: dict[str, Any]) -> Json:
        element = self._by_key(request)
        if element is None:
            return None
        selector = f'[data-aim="{request["name"]}"]'
        element.tags.add(selector)
        return selector

    def _untag(self, request: dict[str, Any]) -> Json:
        for element in self.elements:
            element.tags.discard(f'[data-aim="{request["name"]}"]')
        return True
