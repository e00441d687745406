"""Without the extra that a module of this room needs, its import says which to install."""

from __future__ import annotations

import subprocess
import sys

import pytest

WITHOUT = "import sys; sys.modules[{package!r}] = None; import agentloop.testing.{module}"


@pytest.mark.parametrize(
    ("module", "package", "extra"),
    [
        ("site", "aiohttp", "testing"),
        ("llm_server", "aiohttp", "testing"),
        ("hostile_pages", "aiohttp", "testing"),
        ("driver_contract", "pytest", "test"),
        ("store_contract", "pytest", "test"),
    ],
)
def test_what_is_missing_is_named_with_its_extra(module: str, package: str, extra: str) -> None:
    code = WITHOUT.format(package=package, module=module)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=False)
    last = done.stderr.strip().splitlines()[-1]
    assert last == (
        f"ModuleNotFoundError: this part of agentloop.testing needs {package}: "
        f"pip install 'agentloop-engine[{extra}]', or '.[{extra}]' in a clone"
    )
