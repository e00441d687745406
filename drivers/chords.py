"""Key chords as people and models write them, in the names the browser knows."""

from __future__ import annotations

from agentloop.errors import InvalidInput

__all__ = ["chord", "is_chord"]

_MODIFIERS = {
    "ctrl": "Control",
    "control": "Control",
    "ctl": "Control",
    "shift": "Shift",
    "alt": "Alt",
    "option": "Alt",
    "meta": "Meta",
    "cmd": "Meta",
    "command": "Meta",
    "win": "Meta",
    "controlormeta": "ControlOrMeta",
    "mod": "ControlOrMeta",
}
# fmt: off
_NAMES = (
    "Enter", "Tab", "Escape", "Backspace", "Delete", "Insert", "Home", "End", "PageUp", "PageDown",
    "ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Space", "CapsLock", "ContextMenu", "PrintScreen",
    "Pause", "NumLock", "ScrollLock", *(f"F{number}" for number in range(1, 13)),
)
# fmt: on
_ALIASES = {
    "return": "Enter",
    "esc": "Escape",
    "del": "Delete",
    "ins": "Insert",
    "up": "ArrowUp",
    "down": "ArrowDown",
    "left": "ArrowLeft",
    "right": "ArrowRight",
    "pgup": "PageUp",
    "pgdn": "PageDown",
    "pagedn": "PageDown",
    "spacebar": "Space",
    "\r": "Enter",
    "\n": "Enter",
    "\t": "Tab",
    "\b": "Backspace",
    "\x1b": "Escape",
    "\x7f": "Delete",
    " ": "Space",
} | {name.lower(): name for name in _NAMES}


def chord(keys: str) -> str:
    """The chord in canonical names: "ctrl+a" is "Control+a". Raises `InvalidInput` for a key that does not exist."""
    parts = _parts(keys)
    held = [_MODIFIERS.get(part.lower()) for part in parts[:-1]]
    key = _key(parts[-1])
    if key is None or None in held:
        raise InvalidInput(
            f"{keys!r} is not a key. Use a character, a name such as Enter, Tab, Escape, ArrowDown, PageDown, F5, "
            "and put modifiers before it: Control+a, Shift+Tab."
        )
    return "+".join([*(name for name in held if name), key])


def is_chord(text: str) -> bool:
    """True when `text` names a key or a chord and is not text to type."""
    try:
        chord(text)
    except InvalidInput:
        return False
    return True


def _parts(keys: str) -> list[str]:
    if len(keys) < 2 or keys.isspace():
        return [keys]
    # "Control++" presses plus with Control.
    body, last = (keys[:-2], "+") if keys.endswith("++") else (keys, "")
    parts = [part.strip() for part in body.split("+")]
    return [*parts, last] if last else parts


def _key(name: str) -> str | None:
    lowered = name.lower()
    if lowered in _ALIASES:
        return _ALIASES[lowered]
    if len(name) == 1:
        return name
    return _MODIFIERS.get(lowered)
