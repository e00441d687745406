"""A person's end of a pseudo-terminal."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.cli.conftest import environment

__all__ = ["Terminal"]


class Terminal:
    """The command line at a pseudo-terminal, and what has been shown so far."""

    def __init__(self, repository: Path, env: Mapping[str, str], *words: str) -> None:
        self._mine, theirs = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "agentloop", *words],
            cwd=repository,
            env=environment({**env, "TERM": "xterm"}),
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)
        self.seen = ""

    def type(self, text: str) -> None:
        os.write(self._mine, text.encode())

    def wait_for(self, pattern: str) -> None:
        """Reads on until what comes next matches; what was matched is forgotten."""
        while not (match := re.search(pattern, self.seen)):
            data = os.read(self._mine, 4096)
            assert data, self.seen
            self.seen += data.decode()
        self.seen = self.seen[match.end() :]

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._mine)
