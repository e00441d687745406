from __future__ import annotations

import re
from typing import Any

import pytest

from agentloop.packs.markdown import LONGEST_MARKDOWN, markdown_pack
from tests.packs.web import outcome, value

SAMPLE = """Before **all**.

# Title

Some [link](https://a.test/x) and
a second line with <https://auto.test/> and ![picture](p.png).

## Section

- one [in](https://b.test/)
  more of one
  - inner
- two

> ### Quoted

Setext
======

```js
code()
```

[ref]: https://c.test/
See [reference][ref].
"""


async def read(function: str, markdown: str) -> Any:
    return await value(f"require('markdown').{function}(args.text)", await markdown_pack(), args={"text": markdown})


async def test_links_in_order_inline_reference_and_auto_but_no_images_and_bare_urls() -> None:
    assert await read("links", SAMPLE + "\nhttps://bare.test") == [
        {"text": "link", "url": "https://a.test/x"},
        {"text": "https://auto.test/", "url": "https://auto.test/"},
        {"text": "in", "url": "https://b.test/"},
        {"text": "reference", "url": "https://c.test/"},
    ]


async def test_headings_of_both_kinds_and_inside_quotes() -> None:
    found = await read("headings", SAMPLE)

    assert [f"{one['level']}:{one['text']}" for one in found] == ["1:Title", "2:Section", "3:Quoted", "1:Setext"]


async def test_items_are_the_outermost_with_their_sub_items_as_lines() -> None:
    found = await read("items", SAMPLE)

    assert [one["text"] for one in found] == ["one in more of one\ninner", "two"]
    assert found[0]["links"] == [{"text": "in", "url": "https://b.test/"}]


async def test_links_of_items_and_sections_hold_autolinks() -> None:
    markdown = "# H\n\n- see <https://auto.test/>\n"

    assert (await read("items", markdown))[0]["links"] == [{"text": "https://auto.test/", "url": "https://auto.test/"}]
    assert (await read("sections", markdown))[0]["links"][0]["url"] == "https://auto.test/"


async def test_sections_end_before_the_next_heading_and_the_preamble_is_kept() -> None:
    found = await read("sections", SAMPLE)

    assert [(one["level"], one["heading"]) for one in found] == [(0, ""), (1, "Title"), (2, "Section"), (1, "Setext")]
    assert found[0]["content"] == "Before **all**."
    assert found[1]["content"].startswith("Some [link]")
    assert found[1]["content"].endswith("![picture](p.png).")
    assert found[2]["content"].endswith("> ### Quoted")
    assert "code()" in found[3]["content"]
    assert [link["text"] for link in found[1]["links"]] == ["link", "https://auto.test/"]


async def test_an_empty_section_is_a_section() -> None:
    found = await read("sections", "# A\n## B\ntext")

    assert [(one["heading"], one["content"]) for one in found] == [("A", ""), ("B", "text")]


async def test_soft_line_breaks_part_words() -> None:
    markdown = "[two\nwords](/x)\n\nHead\nline\n---\n\n* item\n  goes on\n"

    assert (await read("links", markdown))[0]["text"] == "two words"
    assert (await read("headings", markdown))[0]["text"] == "Head line"
    assert (await read("items", markdown))[0]["text"] == "item goes on"


async def test_plain_has_the_words_without_the_marks() -> None:
    markdown = (
        "# Head\n\nA *b* `c` ~~d~~\nnew <https://auto.test/> ![alt](p)\\\nhard\n\n- one\n- two\n  - three\n\n"
        "<div>gone</div>\n\n    code *kept*\n\n| a | b |\n|---|---|\n| 1 | **2** |\n"
    )

    assert await read("plain", markdown) == (
        "Head\n\nA b c d\nnew https://auto.test/ alt\nhard\n\none\ntwo\nthree\n\ncode *kept*\n\na | b\n1 | 2"
    )


async def test_tables_are_data() -> None:
    markdown = "| a | b |\n|---|--:|\n| 1 | [x](/y) |\n| **2** | |\n\ntext\n\n| c |\n|---|\n"

    assert await read("tables", markdown) == [
        {"header": ["a", "b"], "rows": [["1", "x"], ["2", ""]]},
        {"header": ["c"], "rows": []},
    ]


@pytest.mark.parametrize("function", ["links", "headings", "items", "sections", "tables"])
async def test_of_nothing_there_is_an_empty_list(function: str) -> None:
    assert await read(function, "") == []


async def test_of_nothing_plain_is_an_empty_text() -> None:
    assert await read("plain", "") == ""


@pytest.mark.parametrize(("argument", "says"), [("undefined", "must be a string"), ("args.long", "are read")])
async def test_what_cannot_be_read_is_explained(argument: str, says: str) -> None:
    script = f"function run(args) {{ require('markdown').links({argument}) }}"
    done = await outcome(script, await markdown_pack(), args={"long": "x" * (LONGEST_MARKDOWN + 1)})

    assert done.error is not None
    assert says in done.error.message


@pytest.mark.parametrize("hostile", ["[" * 20_000, "> " * 5_000 + "x", "*" * 20_000, "- " * 2_000 + "x", "`" * 20_000])
async def test_hostile_nesting_is_read_in_bounded_time(hostile: str) -> None:
    assert isinstance(await read("plain", hostile), str)


async def test_declarations_and_module_agree() -> None:
    pack = await markdown_pack()
    exports = await value("Object.keys(require('markdown')).sort()", pack)

    assert sorted(re.findall(r"function (\w+)\(", pack.declarations)) == exports
    assert pack.help.keys() == {"markdown"}
