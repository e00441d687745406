"""HTML to Markdown: what a reader of the page would see, tables and links included."""

from __future__ import annotations

from typing import Final

from agentloop.errors import InvalidInput, WorldError

__all__ = ["LONGEST_HTML", "html_to_markdown"]

LONGEST_HTML: Final = 8 * 1024 * 1024
"""Characters of HTML that are converted; it takes about a second for each million."""


def html_to_markdown(html: str) -> str:
    """The page as Markdown; scripts, styles and hidden parts are left out, links stay as they are written.

    Takes time: call it in a thread, where it does not hold the interpreter. Raises `InvalidInput` for
    more than `LONGEST_HTML`, `WorldError` for what cannot be converted whole.
    """
    if len(html) > LONGEST_HTML:
        raise InvalidInput(f"the HTML has {len(html):,} characters, at most {LONGEST_HTML:,} are converted")
    if not html.strip():
        return ""
    from html_to_markdown import ConversionOptions, PreprocessingOptions, convert

    options = ConversionOptions(
        extract_metadata=False,
        compact_tables=True,
        exclude_selectors=["svg"],
        preprocessing=PreprocessingOptions(remove_navigation=False, remove_forms=False),
    )
    try:
        result = convert(html.encode("utf-8", "replace").decode(), options)
    except Exception as error:  # the border: the converter's errors have no common base of their own
        raise WorldError(f"the HTML cannot be converted: {error}") from error
    for warning in result.warnings:
        if "depth" in warning.message:
            raise WorldError(f"the HTML nests too deeply to be converted: {warning.message}")
    return (result.content or "").strip("\n")
