"""Pages of controls laid out at random, with the truth of what a person could use known by construction.

The page is a grid of cells. Each holds one control of some kind, in some surroundings, at a place of its own; what is
done to a cell (covered, clipped, scrolled away, disabled, …) decides whether its control can be used.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["GeneratedPage", "generated"]

COLUMNS, ROWS = 6, 8
WIDTH, HEIGHT = 200, 84
"""Six columns fit a window of 1280 pixels; the last row lies below one of 640."""

HEAD = (
    "<!doctype html><title>Generated</title><style>body { margin: 0; height: 700px; font: 12px sans-serif; "
    "overflow: hidden } .cell { position: absolute; width: 190px; height: 76px } .c { width: 150px; height: 24px; "
    "box-sizing: border-box; margin: 0 } .far { opacity: 0; position: absolute; width: 1px; height: 1px }</style>"
    "<script>function deep(host, mode) { const template = host.querySelector('template'); "
    "host.attachShadow({mode}).append(template.content.cloneNode(true)) }</script>"
)

# name → the control's HTML. Each is at most 150 x 24 pixels.
KINDS: dict[str, Callable[[str], str]] = {
    "button": lambda n: f"<button class=c>{n}</button>",
    "icon": lambda n: f"<button class=c title={n}><i style='display:block;width:9px;height:9px'></i></button>",
    "link": lambda n: f"<a class=c href='#{n}'>{n}</a>",
    "block link": lambda n: f"<a class=c style='display:block' href='#{n}'><b>{n}</b></a>",
    "field": lambda n: f"<input class=c aria-label={n}>",
    "placeholder": lambda n: f"<input class=c placeholder={n}>",
    "labelled": lambda n: f"<label>{n} <input style='width:60px;height:18px'></label>",
    "label before": lambda n: f"<label for=i{n}>{n}</label><input id=i{n} style='width:60px'>",
    "password": lambda n: f"<input class=c type=password aria-label={n}>",
    "select": lambda n: f"<select class=c aria-label={n}><option>a<option>b</select>",
    "text area": lambda n: f"<textarea class=c aria-label={n}></textarea>",
    "check box": lambda n: f"<label><input type=checkbox> {n}</label>",
    "hidden box": lambda n: f"<label class=c style='display:block'><input class=far type=checkbox>{n}</label>",
    "radio": lambda n: f"<input type=radio id=i{n} style='display:none'><label for=i{n}>{n}</label>",
    "range": lambda n: f"<input class=c type=range aria-label={n}>",
    "date": lambda n: f"<input class=c type=date aria-label={n}>",
    "role": lambda n: f"<div class=c role=button tabindex=0>{n}</div>",
    "switch": lambda n: f"<span class=c style='display:inline-block' role=switch aria-checked=false>{n}</span>",
    "tab stop": lambda n: f"<div class=c tabindex=0>{n}</div>",
    "pointer": lambda n: f"<div class=c style='cursor:pointer'>{n}</div>",
    "handler": lambda n: f"<div class=c onclick=1>{n}</div>",
    "listener": lambda n: f"<div class=c id=l{n}>{n}</div><script>l{n}.addEventListener('click', () => 1)</script>",
    "property": lambda n: f"<div class=c id=p{n}>{n}</div><script>p{n}.onclick = () => 1</script>",
    "editor": lambda n: f"<div class=c contenteditable aria-label={n}>x</div>",
    "summary": lambda n: f"<details class=c><summary>{n}</summary></details>",
    "transparent file": lambda n: (
        f"<div class=c style='position:relative;background:#ddd'>Up<input type=file aria-label={n} "
        "style='position:absolute;inset:0;opacity:0;width:100%'></div>"
    ),
}
SCRIPTED = ("listener", "property")
# Pages make native ones transparent and lay them over something pretty, so transparent they can still be used.
OVERLAID = ("select", "range", "check box", "transparent file")

# What is around the control and changes nothing for a person.
PLAIN: dict[str, Callable[[str], str]] = {
    "nothing": lambda html: html,
    "deep": lambda html: "<div><div><span>" + html + "</span></div></div>",
    "scaled": lambda html: f"<div style='transform:scale(.9)'>{html}</div>",
    "clipped with room": lambda html: f"<div style='overflow:hidden;height:70px'>{html}</div>",
    "scroller": lambda html: f"<div style='overflow:auto;height:40px'>{html}<div style='height:200px'></div></div>",
    "flex": lambda html: f"<div style='display:flex;gap:4px'>{html}</div>",
    "contents": lambda html: f"<div style='display:contents'>{html}</div>",
    "lets clicks through": lambda html: (
        f"{html}<div style='position:absolute;inset:0;pointer-events:none;background:#f001'></div>"
    ),
    "half covered": lambda html: (
        f"{html}<div style='position:absolute;left:0;top:0;width:12px;height:76px;background:#ccc'></div>"
    ),
    "open root": lambda html: f"<div><template>{html}</template></div><script>{HOST}, 'open')</script>",
    "closed root": lambda html: f"<x-c><template>{html}</template></x-c><script>{HOST}, 'closed')</script>",
    "frame": lambda html: (
        f"<iframe style='border:0;width:180px;height:60px' srcdoc=\"<style>body {{ margin: 0 }} .c {{ width: 150px; "
        f'height: 24px }} .far {{ opacity: 0; position: absolute; width: 1px; height: 1px }}</style>{html}"></iframe>'
    ),
}
HOST = "deep(document.currentScript.previousElementSibling"

# What takes the control away from a person.
SPOILED: dict[str, Callable[[str], str]] = {
    "covered": lambda html: f"{html}<div style='position:absolute;inset:0;background:#fff'></div>",
    "covered by nothing to see": lambda html: f"{html}<div style='position:absolute;inset:-4px'></div>",
    "clipped away": lambda html: (
        f"<div style='overflow:hidden;height:20px'><div style='height:40px'></div>{html}</div>"
    ),
    "scrolled away": lambda html: f"<div style='overflow:auto;height:30px'><div style='height:60px'></div>{html}</div>",
    "hidden": lambda html: f"<div style='visibility:hidden'>{html}</div>",
    "not displayed": lambda html: f"<div hidden>{html}</div>",
    "seen through": lambda html: f"<div style='opacity:0'>{html}</div>",
    "inert": lambda html: f"<div inert>{html}</div>",
    "without pointer": lambda html: f"<div style='pointer-events:none'>{html}</div>",
    "far left": lambda html: f"<div style='position:fixed;left:-900px'>{html}</div>",
}


@dataclass(frozen=True)
class GeneratedPage:
    """`usable` and `spoiled` are names of controls, each with what it is and what is around it."""

    html: str
    usable: dict[str, str]
    spoiled: dict[str, str]


def generated(seed: int) -> GeneratedPage:
    """The same page for the same seed, for a window of 1280 x 640 or more up to 672 pixels high."""
    chance = random.Random(seed)
    cells: list[str] = []
    usable: dict[str, str] = {}
    spoiled: dict[str, str] = {}
    for place in range(COLUMNS * ROWS):
        name, kind = f"n{place}", chance.choice(list(KINDS))
        bad = chance.random() < 0.3
        around = chance.choice(list(SPOILED if bad else PLAIN))
        # A script inside of a template or a frame's attribute would be another page's; a label needs its own root.
        if kind in SCRIPTED and around in ("open root", "closed root", "frame"):
            around = "nothing"
        if kind in OVERLAID and around == "seen through":
            around = "hidden"
        html = (SPOILED if bad else PLAIN)[around](KINDS[kind](name))
        (spoiled if bad else usable)[name] = f"{kind}, {around}"
        left = place % COLUMNS * WIDTH + 10 + chance.randrange(8)
        top = place // COLUMNS * HEIGHT + 4 + chance.randrange(4)
        cells.append(f"<div class=cell style='left:{left}px;top:{top}px'>{html}</div>")
    return GeneratedPage(HEAD + "".join(cells), usable, spoiled)
