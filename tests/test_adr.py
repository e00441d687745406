"""The pages of decisions have one form, and the index lists them all."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.source import ROOT

FOLDER = ROOT / "docs" / "adr"
PAGES = sorted(FOLDER.glob("[0-9]*.md"))
SECTIONS = ["Context", "Decision", "Consequences", "What would change our mind"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_has_the_form(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert text.startswith(f"# {page.stem[:4]}: ")
    assert re.search(r"^Status: (accepted|superseded by \d{4})$", text, re.MULTILINE)
    assert re.search(r"^Decided: \d{4}-\d\d-\d\d$", text, re.MULTILINE)
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == SECTIONS
    assert "\nBuys:\n" in text and "\nCosts:\n" in text
    assert len(text.splitlines()) <= 100


def test_the_index_lists_every_page_under_its_title() -> None:
    index = (FOLDER / "README.md").read_text(encoding="utf-8")
    listed = dict(re.findall(r"^\| \[\d{4}\]\(([^)]*)\) \| (.*?) \|", index, re.MULTILINE))
    titles = {page.name: page.read_text(encoding="utf-8").splitlines()[0][len("# 0000: ") :] for page in PAGES}
    assert listed == titles
