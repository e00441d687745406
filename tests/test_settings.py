from __future__ import annotations

import sys
from pathlib import Path

import pytest

from agentloop.settings import data_directory


def test_the_data_directory_follows_the_variable() -> None:
    assert data_directory({"XDG_DATA_HOME": "/var/data", "HOME": "/home/ann"}) == Path("/var/data/agentloop")


@pytest.mark.skipif(sys.platform != "linux", reason="the place is the platform's")
@pytest.mark.parametrize("chosen", ["", "relative/place"])
def test_without_a_usable_variable_it_is_below_the_home(chosen: str) -> None:
    environ = {"XDG_DATA_HOME": chosen, "HOME": "/home/ann"}
    assert data_directory(environ) == Path("/home/ann/.local/share/agentloop")
