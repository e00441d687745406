"""`agentloop install-browser`."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

import click

from agentloop.cli.render import visible
from agentloop.errors import BrowserNotFound
from agentloop.report.verdict import EXIT_SETUP

if TYPE_CHECKING:
    from agentloop.drivers.install import InstallWay

__all__ = ["command"]


@click.command("install-browser")
@click.option("--yes", is_flag=True, help="Do not ask before installing.")
def command(yes: bool) -> int:
    """Get a Chromium, by whichever way works.

    Tries Playwright's download, then the system's package manager. Never asks for more rights than it has;
    where that is not enough, it prints the line to run.
    """
    from agentloop.drivers.install import install_ways
    from agentloop.drivers.locate import find_browser

    try:
        print(f"There is one already: {find_browser().path}")
        return 0
    except BrowserNotFound:
        pass
    ways = install_ways()
    for way in ways:
        if _wanted(way, yes=yes) and _done(way):
            return 0
    print("No browser was installed. You can run one of these yourself:", file=sys.stderr)
    for way in ways:
        print(f"  {way.line}", file=sys.stderr)
    return EXIT_SETUP


def _wanted(way: InstallWay, *, yes: bool) -> bool:
    if not way.allowed:
        return False
    if yes:
        return True
    return sys.stdin.isatty() and click.confirm(f"{way.description[0].upper()}{way.description[1:]}?", err=True)


def _done(way: InstallWay) -> bool:
    from agentloop.drivers.install import carry_out

    def show(line: str) -> None:
        print(f"  {visible(line)}", file=sys.stderr)

    print(f"Now: {way.description}.", file=sys.stderr)
    try:
        binary = asyncio.run(carry_out(way, on_line=show))
    except BrowserNotFound as error:
        print(f"That did not work: {visible(str(error))}", file=sys.stderr)
        return False
    print(f"Installed: {binary.path}")
    return True
