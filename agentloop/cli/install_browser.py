"""`agentloop install-browser`."""

from __future__ import annotations

import sys

import click

__all__ = ["command"]


@click.command("install-browser")
@click.option("--yes", is_flag=True, help="Do not ask before installing.")
@click.option("--headed", is_flag=True, help="One that can show windows.")
def command(yes: bool, headed: bool) -> int:
    """Get a Chromium, by whichever way works.

    Tries Playwright's download, then the system's package manager. Never asks for more rights than it has;
    where that is not enough, it prints the line to run.
    """
    from agentloop.drivers.install import install_browser

    binary = install_browser(yes=yes, ask=_ask, headed=headed)
    print(f"A browser is here: {binary.path}")
    return 0


def _ask(line: str) -> bool:
    return sys.stdin.isatty() and click.confirm(f"Run `{line}`?", err=True)
