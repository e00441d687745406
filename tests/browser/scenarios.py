"""Pages of every way in which a control can be there, or not, for a person: what must be listed and clickable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["HIDDEN", "SCENARIOS", "Scenario"]

PIXEL = "data:image/gif;base64,R0lGODlhAQABAAAAACw="
PRELUDE = '<!doctype html><script>window.seen = ""; window.hit = (what) => (window.seen += what);</script>'


@dataclass(frozen=True)
class Scenario:
    """`marks`: (role, name) in order. `clicks`: name → what the page has seen after. `types`: name → (text, value)."""

    name: str
    body: str
    marks: tuple[tuple[str, str], ...]
    clicks: Mapping[str, str] = field(default_factory=dict)
    types: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    @property
    def html(self) -> str:
        """The whole page."""
        return PRELUDE + self.body


def _button(label: str, hit: str = "1", style: str = "", more: str = "") -> str:
    return f"<button onclick=\"hit('{hit}')\" style='{style}' {more}>{label}</button>"


def _component(tag: str, inner: str, mode: str = "open") -> str:
    """A custom element with `inner` in its shadow root."""
    return (
        f"<template id=t-{tag}>{inner}</template><script>customElements.define('{tag}', class extends HTMLElement {{"
        f"constructor() {{ super(); this.attachShadow({{mode: '{mode}'}}).append("
        f"document.getElementById('t-{tag}').content.cloneNode(true)); }} }})</script>"
    )


ROWS = "".join(f"<div style='height:30px'>{_button(f'i{n}', str(n))}</div>" for n in range(10))
ROLES = ("button", "link", "tab", "menuitem", "option", "switch", "checkbox")

SCENARIOS = (
    Scenario(
        "plain controls",
        "<a href='#x' onclick='hit(1)'>Home</a>" + _button("Save", "2") + "<input aria-label=Q>"
        "<select aria-label=S><option>a</select><textarea aria-label=T></textarea>",
        (("link", "Home"), ("button", "Save"), ("textbox", "Q"), ("combobox", "S"), ("textbox", "T")),
        {"Home": "1", "Save": "2"},
        {"Q": ("hé llo", "hé llo"), "T": ("l1", "l1")},
    ),
    Scenario(
        "an anchor without an address is no link",
        "<a>dead</a><a onclick='hit(1)' style='cursor:pointer'>live</a>",
        (("clickable", "live"),),
        {"live": "1"},
    ),
    Scenario(
        "every way of hiding",
        _button("a", style="display:none")
        + _button("b", style="visibility:hidden")
        + _button("c", more="hidden")
        + _button("d", style="opacity:0")
        + _button("e", style="width:0;height:0;padding:0;border:0;overflow:hidden")
        + f"<div style='opacity:0'>{_button('f')}</div><div style='content-visibility:hidden'>{_button('g')}</div>"
        + _button("ok"),
        (("button", "ok"),),
        {"ok": "1"},
    ),
    Scenario(
        "visible inside hidden",
        f"<div style='visibility:hidden'>{_button('v', style='visibility:visible')}</div>",
        (("button", "v"),),
        {"v": "1"},
    ),
    Scenario(
        "below the fold",
        _button("top") + "<div style='height:3000px'></div>" + _button("bottom"),
        (("button", "top"),),
        {"top": "1"},
    ),
    Scenario(
        "partly outside the viewport",
        _button("edge", style="position:absolute;left:-60px;width:100px;height:30px;text-align:right"),
        (("button", "edge"),),
        {"edge": "1"},
    ),
    Scenario(
        "clipped by overflow hidden",
        "<div style='width:100px;height:40px;overflow:hidden'>"
        + _button("in")
        + "<div style='height:100px'></div>"
        + _button("out")
        + "</div>",
        (("button", "in"),),
        {"in": "1"},
    ),
    Scenario(
        "the scrolled part of a scroller",
        f"<div id=s style='height:60px;overflow:auto;width:200px'>{ROWS}</div><script>s.scrollTop = 150</script>",
        (("button", "i5"), ("button", "i6")),
        {"i5": "5"},
    ),
    Scenario(
        "absolute escapes a static clip",
        "<div style='height:20px;width:60px;overflow:hidden'>"
        + _button("esc", style="position:absolute;top:200px;left:10px")
        + "</div>",
        (("button", "esc"),),
        {"esc": "1"},
    ),
    Scenario(
        "fixed escapes a clip",
        "<div style='height:20px;overflow:hidden'>"
        + _button("fx", style="position:fixed;top:300px;left:5px")
        + "</div>",
        (("button", "fx"),),
        {"fx": "1"},
    ),
    Scenario(
        "covered by an overlay",
        _button("under")
        + "<div style='position:fixed;inset:0;background:#0008'></div>"
        + _button("Accept", style="position:fixed;top:100px;left:100px"),
        (("button", "Accept"),),
        {"Accept": "1"},
    ),
    Scenario(
        "an overlay that lets clicks through",
        _button("under") + "<div style='position:fixed;inset:0;pointer-events:none;background:#f001'></div>",
        (("button", "under"),),
        {"under": "1"},
    ),
    Scenario(
        "half covered",
        _button("half", style="position:absolute;left:10px;top:10px;width:200px;height:40px")
        + "<div style='position:absolute;left:60px;top:0;width:200px;height:60px;background:#ccc'></div>",
        (("button", "half"),),
        {"half": "1"},
    ),
    Scenario(
        "without pointer events",
        _button("no", style="pointer-events:none") + _button("yes"),
        (("button", "yes"),),
        {"yes": "1"},
    ),
    Scenario(
        "disabled, in a disabled fieldset, inert; aria-disabled stays",
        _button("d", more="disabled") + "<fieldset disabled><input aria-label=f></fieldset>"
        f"<div inert>{_button('in')}</div>" + _button("ad", more="aria-disabled=true"),
        (("button", "ad"),),
        {"ad": "1"},
    ),
    Scenario(
        "a modal dialog makes the rest inert",
        _button("back") + f"<dialog id=d>{_button('OK')}</dialog><script>d.showModal()</script>",
        (("button", "OK"),),
        {"OK": "1"},
    ),
    Scenario(
        "a popover in the top layer",
        "<button popovertarget=p style='position:absolute;top:5px;left:5px'>open</button>"
        f"<div id=p popover>{_button('in pop')}</div><script>p.showPopover()</script>",
        (("button", "open"), ("button", "in pop")),
        {"in pop": "1"},
    ),
    Scenario(
        "a label around a hidden checkbox",
        "<label><input type=checkbox onchange='hit(this.checked)' style='position:absolute;opacity:0;width:0;height:0'>"
        "<span style='display:inline-block;width:20px;height:20px;background:#09f'></span> Agree</label>",
        (("checkbox", "Agree"),),
        {"Agree": "true"},
    ),
    Scenario(
        "a label for a radio without a box",
        "<input type=radio id=r1 name=g style='display:none' onchange='hit(1)'>"
        "<label for=r1 style='cursor:pointer'>One</label>",
        (("radio", "One"),),
        {"One": "1"},
    ),
    Scenario(
        "a visible checkbox and its label are one",
        "<label><input type=checkbox onchange='hit(1)'> Show</label>",
        (("checkbox", "Show"),),
        {"Show": "1"},
    ),
    Scenario(
        "a transparent file input over a button",
        "<div style='position:relative;width:120px;height:30px;background:#ddd'>Upload<input type=file "
        "aria-label='Upload file' style='position:absolute;inset:0;opacity:0;width:100%;height:100%'></div>",
        (("button", "Upload file"),),
    ),
    Scenario(
        "a pointer cursor with a listener",
        "<div id=d style='cursor:pointer;width:80px'>card <b>bold</b></div>"
        "<script>d.addEventListener('click', () => hit(1))</script>",
        (("clickable", "card bold"),),
        {"card bold": "1"},
    ),
    Scenario(
        "a pointer cursor inside a button",
        "<button onclick='hit(1)'><span style='cursor:pointer'><i>Go</i></span></button>",
        (("button", "Go"),),
        {"Go": "1"},
    ),
    Scenario(
        "controls of one size in each other: the inner one",
        "<a href='#q' style='display:inline-block'><span>"
        + _button("Buy", style="display:block;width:100px;height:30px")
        + "</span></a>",
        (("button", "Buy"),),
        {"Buy": "1"},
    ),
    Scenario(
        "a card and the link in it",
        "<div onclick=\"hit('c')\" style='width:300px;height:100px;border:1px solid'>"
        "<a href='#l' onclick=\"event.stopPropagation(); hit('l')\">Title</a></div>",
        (("clickable", "Title"), ("link", "Title")),
        {"Title": "c"},
    ),
    Scenario(
        "an open shadow root",
        "<x-b></x-b>" + _component("x-b", _button("Sh") + "<input aria-label=si>"),
        (("button", "Sh"), ("textbox", "si")),
        {"Sh": "1"},
        {"si": ("abc", "abc")},
    ),
    Scenario(
        "slotted into a shadow root",
        f"<x-o>{_button('slotted')}</x-o>" + _component("x-o", "<div style=padding:5px><slot></slot></div>"),
        (("button", "slotted"),),
        {"slotted": "1"},
    ),
    Scenario(
        "not slotted, so not rendered",
        f"<x-p>{_button('lost')}</x-p>" + _component("x-p", _button("kept")),
        (("button", "kept"),),
        {"kept": "1"},
    ),
    Scenario(
        "a frame with border and padding",
        "<iframe style='border:5px solid;padding:7px' srcdoc=\"<button onclick='parent.hit(1)'>In</button>"
        '<input aria-label=fi>"></iframe>',
        (("button", "In"), ("textbox", "fi")),
        {"In": "1"},
        {"fi": ("zz", "zz")},
    ),
    Scenario(
        "a covered frame",
        "<iframe srcdoc='<button>In</button>' style='position:absolute;top:0;left:0'></iframe>"
        "<div style='position:absolute;inset:0;background:#fff9'></div>",
        (),
    ),
    Scenario(
        "a sandboxed frame of no origin",
        "<iframe sandbox=allow-scripts srcdoc=\"<button onclick='parent.postMessage(1, &quot;*&quot;)'>Sb</button>\">"
        "</iframe><script>onmessage = (event) => hit(event.data)</script>",
        (("button", "Sb"),),
        {"Sb": "1"},
    ),
    Scenario(
        "editable content",
        "<div contenteditable aria-label=Ed style='width:200px;height:30px;border:1px solid'>old</div>",
        (("textbox", "Ed"),),
        types={"Ed": ("new", "new")},
    ),
    Scenario(
        "a canvas",
        "<canvas width=100 height=60 aria-label=Map onclick='hit(1)'></canvas>",
        (("canvas", "Map"),),
        {"Map": "1"},
    ),
    Scenario(
        "shapes in a drawing",
        "<svg width=100 height=50><g style='cursor:pointer' onclick='hit(1)'><title>Dot</title>"
        "<circle cx=20 cy=20 r=15 /></g><a href='#s'><text x=50 y=25>lnk</text></a></svg>",
        (("clickable", "Dot"), ("link", "lnk")),
        {"Dot": "1"},
    ),
    Scenario(
        "an image map",
        f"<img usemap='#m' width=100 height=50 src='{PIXEL}'><map name=m>"
        "<area href='#1' shape=rect coords='0,0,50,50' alt=L onclick='hit(1)'>"
        "<area href='#2' shape=rect coords='50,0,100,50' alt=R></map>",
        (("link", "L"), ("link", "R")),
        {"L": "1"},
    ),
    Scenario(
        "details and summary",
        f"<details><summary>More</summary>{_button('inner')}</details>",
        (("disclosuretriangle", "More"),),
    ),
    Scenario(
        "a link over two lines",
        "<div style='width:120px;font:16px monospace'>aaaa bbb <a href='#w' onclick='hit(1)'>ccccc ddddd</a> e</div>",
        (("link", "ccccc ddddd"),),
        {"ccccc ddddd": "1"},
    ),
    Scenario(
        "a link without a box around a floated image",
        f"<a href='#f' onclick='hit(1)'><img alt=Pic style='float:left' width=40 height=40 src='{PIXEL}'></a>",
        (("link", "Pic"),),
        {"Pic": "1"},
    ),
    Scenario(
        "display contents",
        "<a href='#c' style='display:contents' onclick='hit(1)'>"
        "<span style='display:inline-block;width:50px;height:20px'>Cont</span></a>",
        (("link", "Cont"),),
        {"Cont": "1"},
    ),
    Scenario(
        "where names come from",
        "<span id=l1>First</span> <span id=l2 style='display:none'>hidden ok</span>"
        "<button aria-labelledby='l1 l2'>x</button>"
        "<label for=n1>Lab</label><input id=n1><input placeholder=Ph><input title=Ti><input type=submit>"
        "<input type=submit value=Send><button><img alt=Icon src='data:,'></button>"
        "<button><svg width=9 height=9><title>Sv</title></svg></button><button aria-label='  A  B '>z</button>"
        "<button title=Tt></button>",
        (
            ("button", "First hidden ok"),
            ("textbox", "Lab"),
            ("textbox", "Ph"),
            ("textbox", "Ti"),
            ("button", "Submit"),
            ("button", "Send"),
            ("button", "Icon"),
            ("button", "Sv"),
            ("button", "A B"),
            ("button", "Tt"),
        ),
    ),
    Scenario(
        "aria roles",
        "".join(f"<div role={role} tabindex=0 style='width:60px;height:18px'>{role}1</div>" for role in ROLES),
        tuple((role, f"{role}1") for role in ROLES),
    ),
    Scenario(
        "an unknown role before a known one",
        "<div role='foo button' onclick='hit(1)'>fb</div>",
        (("button", "fb"),),
        {"fb": "1"},
    ),
    Scenario(
        "a focusable scroller is no control",
        "<div tabindex=0 style='height:40px;overflow:auto'><p>a</p><p>b</p><p>c</p></div>",
        (),
    ),
    Scenario(
        "under a sticky header",
        "<div style='position:sticky;top:0;height:40px;background:#eee'></div>"
        "<a href='#k' style='position:absolute;top:10px'>hid</a>"
        "<div style='position:fixed;top:0;left:0;right:0;height:40px;background:#eee'></div>"
        "<a href='#m' style='position:absolute;top:60px' onclick='hit(1)'>seen</a>",
        (("link", "seen"),),
        {"seen": "1"},
    ),
    Scenario(
        "a scaled frame",
        "<iframe style='transform:scale(.5);transform-origin:0 0;border:0' width=300 height=200 srcdoc=\""
        "<button style='position:absolute;top:100px;left:100px' onclick='parent.hit(1)'>Tr</button>\"></iframe>",
        (("button", "Tr"),),
        {"Tr": "1"},
    ),
    Scenario(
        "a handler set as a property",
        "<div id=rr style='width:50px'>rx</div><script>rr.onclick = () => hit(1)</script>",
        (("clickable", "rx"),),
        {"rx": "1"},
    ),
    Scenario(
        "inputs of other kinds",
        "<input list=dl aria-label=Dl><datalist id=dl><option>x</datalist><input type=range aria-label=Rg>"
        "<input type=number aria-label=Nm><input type=hidden><input type=search aria-label=Se>",
        (("combobox", "Dl"), ("slider", "Rg"), ("spinbutton", "Nm"), ("searchbox", "Se")),
        types={"Dl": ("q", "q")},
    ),
    Scenario(
        "a rotated button",
        _button("Rot", style="transform:rotate(45deg);position:absolute;top:80px;left:80px;width:120px"),
        (("button", "Rot"),),
        {"Rot": "1"},
    ),
)

# Only a driver that looks behind the page's own scripts can know these.
HIDDEN = (
    Scenario(
        "a closed shadow root",
        "<x-q></x-q>" + _component("x-q", _button("Cl"), "closed"),
        (("button", "Cl"),),
        {"Cl": "1"},
    ),
    Scenario(
        "a listener without a pointer cursor",
        "<div id=d style='width:60px'>quiet</div><script>d.addEventListener('click', () => hit(1))</script>",
        (("clickable", "quiet"),),
        {"quiet": "1"},
    ),
)
