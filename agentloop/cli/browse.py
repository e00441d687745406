"""`agentloop browse TASK`: a task in a real browser."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from agentloop.cli.options import TaskOptions, task_options
from agentloop.settings import data_directory

if TYPE_CHECKING:
    from agentloop.browsing import BrowseOptions

__all__ = ["command"]

_EXPECT = """What must hold in the end, else exit 4; repeatable: url=, url~=, title=, title~=, text=, no-text=,
count:SELECTOR=N, js=, answer=, answer~=, download=."""


@click.command("browse")
@task_options
@click.option("--url", help="The page to start on; its origin may always be reached.")
@click.option(
    "--allow",
    multiple=True,
    metavar="PATTERN",
    help="What pages may reach: [scheme://]host[:port], *.host; repeatable.",
)
@click.option("--allow-private", is_flag=True, help="Private addresses may be reached too.")
@click.option("--headed", is_flag=True, help="Show the browser.")
@click.option("--slow-mo", type=click.IntRange(min=0), default=0, metavar="MS", help="Wait so long before each act.")
@click.option(
    "--artifacts",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Where pictures of each turn go.  [runs/ID in the data directory]",
)
@click.option("--vision", metavar="MODEL", help="An image-capable model that scripts may ask about the page.")
@click.option(
    "--browser-sandbox",
    type=click.Choice(["auto", "on", "off"]),
    default="auto",
    show_default=True,
    help="Chromium's own sandbox; auto is on, and off for root.",
)
@click.option("--expect", multiple=True, metavar="CHECK", help=_EXPECT)
def command(task: tuple[str, ...], **given: Any) -> int:
    """Do TASK in a real browser.

    Without words the task is read from standard input. Options may stand before and after it.
    """
    options = TaskOptions.read(task, given)
    from agentloop.browsing import open_browse
    from agentloop.build import named_capabilities
    from agentloop.cli.perform import perform

    named_capabilities(options.packs)
    how = _browse_options(options, given)
    return perform(options, lambda llm, on_event: open_browse(options.message, how, llm=llm, on_event=on_event))


def _browse_options(options: TaskOptions, given: dict[str, Any]) -> BrowseOptions:
    from agentloop.artifacts.folder import FolderArtifacts
    from agentloop.browsing import BrowseOptions
    from agentloop.run.opening import new_id

    if options.ephemeral and given["artifacts"]:
        raise click.UsageError("--ephemeral keeps nothing on disk: leave --artifacts out, or --ephemeral")
    run_id = new_id()
    folder = given["artifacts"] or (None if options.ephemeral else data_directory() / "runs" / run_id)
    return BrowseOptions(
        url=given["url"],
        allow=given["allow"] or None,
        allow_private=given["allow_private"],
        headless=not given["headed"],
        slow_mo_ms=given["slow_mo"],
        browser_sandbox=given["browser_sandbox"],
        model=options.model,
        vision=given["vision"],
        limits=options.limits,
        artifacts=FolderArtifacts(folder) if folder else None,
        run_id=run_id,
        expect=given["expect"],
    )
