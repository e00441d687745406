from __future__ import annotations

from agentloop.context.progress import ProgressGuard


def feed(guard: ProgressGuard, turn: int, script: str = "a()", **outcome: str) -> str:
    return guard.feed(script, position=1 + 2 * turn, **outcome)


def test_four_equal_turns_in_a_row_end_the_run() -> None:
    guard = ProgressGuard()
    assert [feed(guard, turn) for turn in range(5)] == ["ok", "hint", "drop", "end", "end"]


def test_white_space_around_a_script_makes_no_difference() -> None:
    guard = ProgressGuard()
    assert [feed(guard, 0, "a()"), feed(guard, 1, "\na() ")] == ["ok", "hint"]


def test_any_difference_is_progress() -> None:
    for change in ({"value_json": "2"}, {"logs": "x"}, {"error": "E"}, {"script": "b()"}):
        guard = ProgressGuard()
        feed(guard, 0)
        assert feed(guard, 1, **change) == "ok", change


def test_an_effect_seen_is_progress() -> None:
    guard = ProgressGuard()
    pages = [guard.feed("next()", position=n, effects=[f"-> opened /page/{n}"]) for n in range(6)]
    assert pages == ["ok"] * 6


def test_repeats_must_follow_each_other() -> None:
    guard = ProgressGuard()
    assert [feed(guard, turn, "ab"[turn % 2]) for turn in range(6)] == ["ok"] * 6


def test_the_third_takes_the_scripts_and_all_but_the_newest_result_out_for_good() -> None:
    guard = ProgressGuard()
    feed(guard, 0, "other()")
    feed(guard, 1)
    feed(guard, 2)
    assert guard.dropped == frozenset()
    feed(guard, 3)
    assert guard.dropped == {3, 4, 5, 6, 7}
    feed(guard, 4, "other()")
    assert guard.dropped == {3, 4, 5, 6, 7}
