"""`python -m agentloop` and the command `agentloop`."""

from __future__ import annotations

import sys

from agentloop.cli.main import main

__all__ = ["main"]

if __name__ == "__main__":
    sys.exit(main())
