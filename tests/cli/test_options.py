from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import pytest

from agentloop.build import NAMES
from agentloop.cli.adding import check_names, warn_of_packs_beside_pages
from agentloop.cli.browse import command
from agentloop.cli.options import TaskOptions, read_message
from agentloop.errors import InvalidInput
from agentloop.settings import Settings

GIVEN: dict[str, Any] = {"json": False, "json_stream": False}


def read(**given: Any) -> TaskOptions:
    return TaskOptions.read({**GIVEN, **given})


def test_without_flags_there_are_defaults() -> None:
    options = read()
    assert (options.settings.limits.iterations, options.settings.limits.wall_s) == (20, 300)
    assert options.cwd == Path.cwd()
    assert (options.session, options.newest, options.fresh, options.url) == (None, False, False, None)


def test_flags_become_settings() -> None:
    options = read(max_steps=3, timeout=1.5, **{"with": ("fetch, ai", "", "ai,exec,")})
    assert (options.settings.limits.iterations, options.settings.limits.wall_s) == (3, 1.5)
    assert options.settings.packs == ("fetch", "ai", "exec")
    assert options.settings.by_flag("with") and not options.settings.by_flag("model")


def test_nobody_is_asked_where_nobody_is() -> None:
    assert read().approve == "deny"
    assert read(approve="auto").approve == "auto"


def test_a_task_that_is_no_utf_8_is_read_as_far_as_it_goes() -> None:
    assert read_message(("caf\udce9", "\udcc3\udca9")) == "caf\ufffd é"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"json_stream": True}, "needs --json"),
        ({"llm": "scripted:x", "llm_base_url": "http://x"}, "two models"),
        ({"session": "a", "newest": True}, "two sessions"),
        ({"newest": True, "ephemeral": True}, "--continue goes on"),
        ({"db": Path("x.db"), "ephemeral": True}, "--db is for sessions on disk"),
        ({"artifacts": Path("x"), "ephemeral": True}, "--ephemeral keeps nothing"),
        ({"max_cost": 1.0}, "--max-cost needs --price"),
        ({"no_exec": True, "with": ("exec",), "allow_exec": ("git",)}, "--no-exec leaves nothing"),
        ({"no_exec": True, "dangerously_allow_shell": True}, "--no-exec leaves nothing"),
        ({"allow_exec": (" git,", "go")}, "--allow-exec is for the commands of exec"),
        ({"approve": "prompt"}, "--approve prompt needs a terminal"),
        ({"session": " "}, "--session: an id is"),
        ({"session": "a\x1bb"}, "--session: an id is"),
        ({"session": "x" * 201}, "--session: an id is"),
    ],
)
def test_what_does_not_go_together_is_refused(given: dict[str, Any], words: str) -> None:
    with pytest.raises(click.UsageError, match=words):
        read(**given)


def test_a_variable_that_asks_for_a_terminal_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTLOOP_APPROVE", "prompt")
    with pytest.raises(click.UsageError, match=r"^AGENTLOOP_APPROVE prompt needs a terminal"):
        read()
    assert read(approve="deny").approve == "deny"


def test_what_a_run_remembers_yields_to_flags_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTLOOP_MAX_STEPS", "9")
    remembered = read(max_steps=3, model="m", db=Path("x.db"), approve="auto").settings.to_dict()
    assert remembered == {"max-steps": 3, "model": "m"}
    again = TaskOptions.read({**GIVEN, "model": "n"}, remembered=remembered).settings
    assert (again.max_steps, again.model, again.db, again.approve) == (3, "n", None, None)


@pytest.mark.parametrize("setting", ["with", "enable"])
def test_a_pack_that_there_is_not_is_named_with_who_chose_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, setting: str
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    file = tmp_path / "agentloop" / "config.toml"
    file.parent.mkdir()
    file.write_text(f'{setting} = ["fetch", "wrokspace"]')
    with pytest.raises(InvalidInput, match=r"config\.toml: no pack is called 'wrokspace'; did you mean workspace\?"):
        check_names(Settings.gather({}))
    monkeypatch.setenv(f"AGENTLOOP_{setting.upper()}", "fetch,nope")
    with pytest.raises(InvalidInput, match=rf"^AGENTLOOP_{setting.upper()}: no pack is called 'nope'; there are"):
        check_names(Settings.gather({}))
    check_names(Settings.gather({setting: ("exec,ai",)}))


def test_enabling_nothing_is_a_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidInput, match="--enable must name something"):
        Settings.gather({"enable": ("",)})
    monkeypatch.setenv("AGENTLOOP_ENABLE", ",")
    with pytest.raises(InvalidInput, match="AGENTLOOP_ENABLE must name something"):
        Settings.gather({})


def test_the_packs_are_named_where_one_is_asked_for() -> None:
    for option in command.params:
        if option.name in ("with", "enable"):
            assert isinstance(option, click.Option) and ", ".join(NAMES) in (option.help or "")


def test_what_is_to_be_confirmed_is_read_and_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    options = read(confirm=("submit,new-host", "upload"))
    assert options.settings.confirm == ("submit", "new-host", "upload")
    assert options.settings.to_dict() == {"confirm": ["submit", "new-host", "upload"]}
    with pytest.raises(InvalidInput, match="--confirm must be of submit, download, upload, new-host, not 'buy'"):
        read(confirm=("submit,buy",))
    monkeypatch.setenv("AGENTLOOP_CONFIRM", "download")
    assert read().settings.confirm == ("download",)


def test_a_pattern_that_is_none_is_told_with_who_gave_it(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidInput, match=r"^--allow: .*\[bad"):
        read(allow=("shop.example", "[bad"))
    monkeypatch.setenv("AGENTLOOP_ALLOW", "ftp://shop.example")
    with pytest.raises(InvalidInput, match=r"^AGENTLOOP_ALLOW: ftp://shop\.example: only http"):
        read()


def test_a_secret_that_may_go_nowhere_is_named_once() -> None:
    with pytest.raises(InvalidInput, match=r"^--secret A: "):
        read(secret=("A=env:A@http://shop.example",))


@pytest.mark.parametrize(("packs", "words"), [(("exec",), "exec: "), (("workspace", "exec"), "workspace and exec: ")])
def test_packs_that_a_page_may_talk_the_model_into_are_told(
    capsys: pytest.CaptureFixture[str], packs: tuple[str, ...], words: str
) -> None:
    warn_of_packs_beside_pages(Settings.gather({}), packs)
    told = capsys.readouterr().err
    assert told.startswith(f"[warning] {words}") and told.endswith(
        " using these\n" if len(packs) > 1 else " using this\n"
    )
