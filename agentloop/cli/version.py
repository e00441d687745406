"""`agentloop version`."""

from __future__ import annotations

import click

import agentloop

__all__ = ["command"]


@click.command("version")
def command() -> int:
    """Print the version."""
    print(f"agentloop {agentloop.__version__}")
    return 0
