"""Names of keys: what a model writes for a key, and what drivers are told."""

from __future__ import annotations

__all__ = ["KEY_EXAMPLES", "chord"]

KEY_EXAMPLES = "Enter, Tab, Escape, Backspace, Delete, ArrowUp, ArrowDown, PageDown, Home, End, F1, Control+a"

_MODIFIERS = {
    "control": "Control",
    "ctrl": "Control",
    "shift": "Shift",
    "alt": "Alt",
    "option": "Alt",
    "meta": "Meta",
    "cmd": "Meta",
    "command": "Meta",
}

_NAMES = (
    *("Enter", "Tab", "Escape", "Backspace", "Delete", "Insert", "Home", "End", "PageUp", "PageDown", "Space"),
    *("ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight", "ContextMenu", "CapsLock"),
    *(f"F{number}" for number in range(1, 13)),
)

_KEYS = {name.casefold(): name for name in _NAMES} | {
    "return": "Enter",
    "esc": "Escape",
    "del": "Delete",
    "spacebar": "Space",
    "up": "ArrowUp",
    "down": "ArrowDown",
    "left": "ArrowLeft",
    "right": "ArrowRight",
    "pgup": "PageUp",
    "pgdn": "PageDown",
}


def chord(keys: str) -> str | None:
    """The driver's name of a key or chord ("ctrl+A" is "Control+a"), None when `keys` names none."""
    if len(keys) == 1:
        return "Space" if keys == " " else keys
    if "+" not in keys:
        return _KEYS.get(keys.strip().casefold()) or _MODIFIERS.get(keys.strip().casefold())
    *held, last = (part.strip() for part in (f"{keys[:-2]}+plus" if keys.endswith("++") else keys).split("+"))
    modifiers = [_MODIFIERS.get(part.casefold()) for part in held]
    key = "+" if last == "plus" else _KEYS.get(last.casefold()) or (last if len(last) == 1 else None)
    if key is None or None in modifiers:
        return None
    return "+".join([*(name for name in modifiers if name), key.lower() if len(key) == 1 and held else key])
