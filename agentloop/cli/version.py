"""`agentloop version`."""

from __future__ import annotations

import click

from agentloop import __version__

__all__ = ["command"]


@click.command("version")
def command() -> int:
    """Print the version."""
    print(f"agentloop {__version__}")
    return 0
