from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from agentloop.errors import InvalidInput
from agentloop.records import Prices, RunLimits
from agentloop.settings import Settings, config_file, data_directory, database_path


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A user's home without anything."""
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder


def gather(home: Path, workspace: Path, flags: dict[str, Any] | None = None, **environ: str) -> Settings:
    return Settings.gather(flags or {}, environ={"XDG_CONFIG_HOME": str(home), **environ}, workspace=workspace)


def users(home: Path, text: str) -> Path:
    """Writes the user's file."""
    file = home / "agentloop" / "config.toml"
    file.parent.mkdir(exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


def workspaces(workspace: Path, text: str) -> Path:
    file = workspace / "agentloop.toml"
    file.write_text(text, encoding="utf-8")
    return file


# Places


def test_the_data_directory_follows_the_variable() -> None:
    assert data_directory({"XDG_DATA_HOME": "/var/data", "HOME": "/home/ann"}) == Path("/var/data/agentloop")


@pytest.mark.skipif(sys.platform != "linux", reason="the places are the platform's")
@pytest.mark.parametrize("chosen", ["", "relative/place"])
def test_without_a_usable_variable_the_places_are_below_the_home(chosen: str) -> None:
    environ = {"XDG_DATA_HOME": chosen, "XDG_CONFIG_HOME": chosen, "HOME": "/home/ann"}
    assert data_directory(environ) == Path("/home/ann/.local/share/agentloop")
    assert config_file(environ) == Path("/home/ann/.config/agentloop/config.toml")


def test_the_database_is_in_the_data_directory_never_in_that_of_configurations() -> None:
    environ = {"XDG_DATA_HOME": "/var/data", "HOME": "/home/ann"}
    assert database_path(environ) == Path("/var/data/agentloop/sessions.db")
    assert database_path({"HOME": "/home/ann"}).parent == data_directory({"HOME": "/home/ann"})
    assert database_path({**environ, "AGENTLOOP_DB": "/tmp/a.db"}) == Path("/tmp/a.db")
    assert database_path({**environ, "AGENTLOOP_DB": ""}) == Path("/var/data/agentloop/sessions.db")
    assert database_path({**environ, "AGENTLOOP_DB": "/tmp/a.db"}, "b.db") == Path("b.db")


# Who wins


def test_without_any_choice_there_are_defaults(home: Path, workspace: Path) -> None:
    settings = gather(home, workspace)
    assert settings == Settings()
    assert settings.limits == RunLimits()
    assert (settings.origins, settings.ignored) == ({}, ())


def test_flags_then_environment_then_the_users_file_then_the_workspaces(home: Path, workspace: Path) -> None:
    user = users(home, 'model = "user"\nmax-steps = 11\npersona = "me.md"\n')
    own = workspaces(workspace, 'model = "workspace"\nmax-steps = 7\ntimeout = "1m"\n')
    flags = {"max-steps": 3, "timeout": None, "with": ()}
    settings = gather(home, workspace, flags, AGENTLOOP_MODEL="environment", AGENTLOOP_MAX_STEPS="5")
    assert (settings.max_steps, settings.model, settings.timeout) == (3, "environment", 60.0)
    assert settings.persona == user.parent / "me.md"
    assert settings.origins == {
        "max-steps": "--max-steps",
        "model": "AGENTLOOP_MODEL",
        "timeout": str(own),
        "persona": str(user),
    }
    assert settings.by_flag("max-steps") and not settings.by_flag("model")


def test_every_kind_is_read_from_each_place(home: Path, workspace: Path) -> None:
    environ = {
        "AGENTLOOP_PRICE": "0.5,1.5",
        "AGENTLOOP_TIMEOUT": "90s",
        "AGENTLOOP_MAX_COST": "0.25",
        "AGENTLOOP_WITH": "fetch, ai",
        "AGENTLOOP_HEADED": "on",
        "AGENTLOOP_QUIET": " 0 ",
        "AGENTLOOP_SLOW_MO": "0",
        "AGENTLOOP_APPROVE": "deny",
        "AGENTLOOP_DB": "~/x.db",
        "AGENTLOOP_MODEL": "",
    }
    settings = gather(home, workspace, None, **environ)
    assert settings.price == Prices(prompt=0.5, completion=1.5)
    assert (settings.timeout, settings.max_cost, settings.packs) == (90.0, 0.25, ("fetch", "ai"))
    assert (settings.headed, settings.quiet, settings.slow_mo) == (True, False, 0)
    assert (settings.approve, settings.model) == ("deny", None)
    assert settings.db == Path("~/x.db").expanduser()
    users(home, 'price = [1, 2.5]\ntimeout = 30\nwith = ["fetch"]\nheaded = true\nallow = "*.example, x.test"\n')
    settings = gather(home, workspace)
    assert settings.price == Prices(prompt=1, completion=2.5)
    assert (settings.timeout, settings.packs, settings.headed) == (30.0, ("fetch",), True)
    assert settings.allow == ("*.example", "x.test")


def test_limits_carry_what_was_chosen(home: Path, workspace: Path) -> None:
    flags = {"max-prompt-tokens": 10, "max-completion-tokens": 20, "max-cost": 0.5, "price": Prices(prompt=1)}
    limits = gather(home, workspace, flags).limits
    assert (limits.prompt_tokens, limits.completion_tokens, limits.cost) == (10, 20, 0.5)
    assert limits.prices == Prices(prompt=1)


# What a workspace may do

FORBIDDEN = """
approve = "auto"
allow = ["*"]
with = ["exec"]
secret = "TOKEN=x"
llm-base-url = "http://evil.example"
cdp = "http://evil.example"
db = "/tmp/x.db"
dangerously-allow-shell = true
dangerously-anything = "?"
price = [0, 0]
browser-sandbox = "off"
allow-private = true
"""


def test_a_workspace_gets_no_power_and_that_is_told(home: Path, workspace: Path) -> None:
    file = workspaces(workspace, FORBIDDEN + "max-steps = 4\n")
    settings = gather(home, workspace)
    assert settings == Settings(max_steps=4, origins={"max-steps": str(file)}, ignored=settings.ignored)
    assert {ignored.key for ignored in settings.ignored} == {
        line.split(" = ")[0] for line in FORBIDDEN.splitlines() if line
    }
    assert {ignored.file for ignored in settings.ignored} == {file}


def test_a_workspace_may_only_go_below_the_defaults(home: Path, workspace: Path) -> None:
    workspaces(workspace, 'max-steps = 500\ntimeout = "2h"\nmax-cost = 3\nmax-prompt-tokens = 1000000\n')
    settings = gather(home, workspace)
    assert (settings.max_steps, settings.timeout) == (20, 300.0)
    assert (settings.max_cost, settings.max_prompt_tokens) == (3.0, 1_000_000)
    assert {ignored.key: ignored.why for ignored in settings.ignored} == {
        "max-steps": "a workspace may only go below 20",
        "timeout": "a workspace may only go below 300",
    }


def test_a_workspaces_persona_is_a_file_in_it(home: Path, workspace: Path) -> None:
    workspaces(workspace, 'persona = "docs/persona.md"\n')
    assert gather(home, workspace).persona == workspace / "docs" / "persona.md"


@pytest.mark.parametrize("path", ["../secret.md", "/etc/passwd", "~/notes.md", "link.md"])
def test_a_workspaces_persona_leads_nowhere_else(home: Path, workspace: Path, path: str) -> None:
    (workspace / "link.md").symlink_to("../elsewhere.md")
    workspaces(workspace, f'persona = "{path}"\n')
    with pytest.raises(InvalidInput, match="outside the workspace"):
        gather(home, workspace)


def test_a_workspaces_persona_is_nothing_that_is_waited_for(home: Path, workspace: Path) -> None:
    os.mkfifo(workspace / "persona.md")
    workspaces(workspace, 'persona = "persona.md"\n')
    with pytest.raises(InvalidInput, match=r"persona\.md is no ordinary file"):
        gather(home, workspace)


# What cannot be read


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("max_steps = 3", "no setting 'max_steps'; did you mean max-steps"),
        ("telepathy = true", "there are: model, "),
        ('max-steps = "3"', "max-steps must be a whole number"),
        ("max-steps = 0", "max-steps must be a whole number"),
        ("max-steps = true", "max-steps must be a whole number"),
        ("max-cost = -1", "max-cost must be a number above 0"),
        ("max-cost = nan", "max-cost must be a number above 0"),
        ('timeout = "soon"', "timeout 'soon' is no length of time"),
        ("model = 5", "model must be text"),
        ('model = " "', "model must be text"),
        ("price = [1]", "price must be two prices"),
        ("price = [1, -1]", "price must be two prices"),
        ("quiet = 1", "quiet must be true or false"),
        ('approve = "maybe"', "approve must be one of prompt, auto, deny"),
        ("with = [1]", "with must be names"),
        ("slow-mo = -1", "slow-mo must be a whole number"),
        ("[browse]", "no setting 'browse'"),
        ("model =", "is no TOML"),
        ("a=" + "[" * 5000, "is no TOML"),
    ],
)
def test_what_cannot_be_read_names_file_and_key(home: Path, workspace: Path, line: str, words: str) -> None:
    file = users(home, f"{line}\n")
    with pytest.raises(InvalidInput) as raised:
        gather(home, workspace)
    assert str(raised.value).startswith(str(file)) and words in str(raised.value)


@pytest.mark.parametrize(
    ("name", "text"),
    [("MAX_STEPS", "0"), ("MAX_STEPS", "many"), ("QUIET", "perhaps"), ("TIMEOUT", "-1"), ("MAX_COST", "inf")],
)
def test_a_variable_that_cannot_be_read_is_named(home: Path, workspace: Path, name: str, text: str) -> None:
    with pytest.raises(InvalidInput, match=f"^AGENTLOOP_{name} .*{text}"):
        gather(home, workspace, None, **{f"AGENTLOOP_{name}": text})


def test_a_variable_that_nobody_reads_is_told(home: Path, workspace: Path) -> None:
    read = {"AGENTLOOP_CHROMIUM": "/x", "AGENTLOOP_DB": "/y", "AGENTLOOP_MAX_STEPS": "3", "OTHER": "z"}
    assert gather(home, workspace, None, **read).unknown == ()
    told = gather(home, workspace, None, **read, AGENTLOOP_MAX_STEP="3", AGENTLOOP_="", AGENTLOOP_QQQQQQQ="x").unknown
    assert "AGENTLOOP_MAX_STEP is no setting and is ignored; did you mean AGENTLOOP_MAX_STEPS?" in told
    assert any(words.startswith("AGENTLOOP_QQQQQQQ is no setting") for words in told) and len(told) == 3


def test_a_bad_line_of_a_workspace_is_an_error_too(home: Path, workspace: Path) -> None:
    file = workspaces(workspace, "max-steps = 1.5\n")
    with pytest.raises(InvalidInput, match="max-steps must be"):
        gather(home, workspace)
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidInput, match="no TOML"):
        gather(home, workspace)
    file.write_text("# long\n" * 20_000, encoding="utf-8")
    with pytest.raises(InvalidInput, match="longer than"):
        gather(home, workspace)


def test_what_is_no_file_is_no_configuration(home: Path, workspace: Path) -> None:
    (workspace / "agentloop.toml").mkdir()
    (home / "agentloop" / "config.toml").mkdir(parents=True)
    assert gather(home, workspace) == Settings()


def test_every_setting_has_a_name_and_a_value() -> None:
    settings = Settings()
    assert len(Settings.names()) > 20 and "with" in Settings.names() and "max-steps" in Settings.names()
    assert settings.value("max-steps") == 20 and settings.value("with") == ()


# What a run remembers


def test_what_shapes_a_run_comes_back_and_wins_over_all_but_flags(home: Path, workspace: Path) -> None:
    flags = {
        "with": ("fetch",),
        "price": Prices(prompt=1, completion=2),
        "timeout": 9.5,
        "artifacts": Path("pictures"),
        "allow": ("a.example", "b.example"),
        "headed": True,
        "approve": "auto",
        "db": Path("x.db"),
        "cdp": "ws://127.0.0.1:1/x",
        "llm-base-url": "http://u:p@a.example/v1",
    }
    begun = gather(home, workspace, flags, AGENTLOOP_MAX_STEPS="7")
    kept = json.loads(json.dumps(begun.to_dict()))
    assert kept == {
        "with": ["fetch"],
        "price": [1, 2],
        "timeout": 9.5,
        "artifacts": str(Path.cwd() / "pictures"),
        "allow": ["a.example", "b.example"],
        "headed": True,
        "max-steps": 7,
    }
    environ = {"XDG_CONFIG_HOME": str(home), "AGENTLOOP_ALLOW": "*", "AGENTLOOP_MODEL": "m"}
    again = Settings.gather({"max-steps": 9}, remembered=kept, environ=environ, workspace=workspace)
    assert (again.allow, again.max_steps, again.model) == (("a.example", "b.example"), 9, "m")
    assert (again.packs, again.price, again.approve) == (("fetch",), Prices(prompt=1, completion=2), None)
    assert again.origins["allow"] == "the run"


def test_a_run_of_a_newer_version_is_not_guessed_at() -> None:
    with pytest.raises(InvalidInput, match="'telepathy', unknown here"):
        Settings.gather({}, remembered={"telepathy": True}, environ={})
