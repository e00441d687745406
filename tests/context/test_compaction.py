from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import count

import pytest

from agentloop.context.budget import ContextBudget
from agentloop.context.compaction import Compaction, SummarizingCompactor, compact_prompt, merge_prompt
from agentloop.context.history import Entry
from agentloop.context.tokens import Estimator, estimate_tokens, message_tokens
from agentloop.errors import InvalidInput, ModelError
from agentloop.llm.base import ModelReply, ModelRequest
from agentloop.llm.scripted import Scripted, ScriptedReply, rough_tokens


def turns(number: int, *, chars: int = 0) -> list[Entry]:
    """One request, then scripts with their results; each result holds a fact of its own."""
    entries = [Entry("user", "The budget is 12 EUR.", "r")]
    for turn in range(number):
        entries.append(Entry("script", f"step{turn}()", "r"))
        entries.append(Entry("result", f"fact-{turn} {'lorem ipsum dolor ' * (chars // 18)}", "r"))
    return entries


def is_merge(request: ModelRequest) -> bool:
    return request.messages[0].text.startswith(merge_prompt()[:60]) and "notes, part" in request.messages[1].text


def summariser(calls: int = 1000, *, words: int = 10) -> Scripted:
    numbers = count(1)

    def reply(request: ModelRequest) -> str:
        return f"{'merged' if is_merge(request) else 'summary'} {next(numbers)} " + "word " * words

    replies: list[ScriptedReply] = [reply] * calls
    return Scripted(replies)


async def compact(entries: Sequence[Entry], llm: Scripted, **options: object) -> Compaction:
    return await SummarizingCompactor(**options).compact(entries, llm=llm)  # type: ignore[arg-type]


def asked(llm: Scripted) -> str:
    return "\n".join(request.messages[1].text for request in llm.requests if not is_merge(request))


def sizes(llm: Scripted, estimate: Estimator) -> list[int]:
    return [sum(message_tokens(message, estimate) for message in request.messages) for request in llm.requests]


# When, and how much ---------------------------------------------------------------------------------


async def test_up_to_the_trigger_nothing_happens_and_nothing_is_paid() -> None:
    llm = summariser()
    entries = turns(30)[:60]
    assert await compact(entries, llm) == Compaction(entries=tuple(entries))
    assert llm.requests == []


async def test_past_the_trigger_all_but_the_newest_are_one_summary() -> None:
    llm = summariser()
    entries = turns(30)
    done = await compact(entries, llm)
    assert done.retained_from == 41 and done.entries[1:] == tuple(entries[41:])
    assert done.entries[0] == Entry("summary", done.summary, "r")
    assert "41" in done.summary and "word\n[end of notes " in done.summary
    assert len(llm.requests) == 1


async def test_a_result_stays_with_its_script() -> None:
    entries = turns(30)
    done = await compact(entries, summariser(), keep=19)
    assert done.retained_from == 41 and done.entries[1].kind == "script"


@pytest.mark.parametrize(("trigger", "keep", "kept"), [(10, 10, 5), (10, 50, 5), (11, 30, 5), (10, 3, 3)])
async def test_as_many_kept_as_would_trigger_count_as_half_of_it(trigger: int, keep: int, kept: int) -> None:
    entries = [Entry("user", str(n), "r") for n in range(20)]
    done = await compact(entries, summariser(), trigger=trigger, keep=keep)
    assert len(done.entries) == 1 + kept


@pytest.mark.parametrize(("trigger", "keep"), [(1, 1), (0, 5), (60, 0), (-3, -3)])
def test_figures_that_make_no_sense_are_refused(trigger: int, keep: int) -> None:
    with pytest.raises(InvalidInput, match="trigger"):
        SummarizingCompactor(trigger=trigger, keep=keep)


async def test_a_summary_alone_is_not_summarised_again() -> None:
    llm = summariser()
    entries = [Entry("summary", "NOTES", "r"), *turns(1)[1:], Entry("user", "more", "r")]
    assert await compact(entries, llm, trigger=3, keep=2) == Compaction(entries=tuple(entries))
    assert llm.requests == []
    longer = await compact([*entries, Entry("user", "and more", "r")], llm, trigger=3, keep=2)
    assert longer.retained_from == 3 and "NOTES" in asked(llm)


# What is asked ----------------------------------------------------------------------------------------


async def test_the_summariser_reads_everything_between_marks_under_the_prompt() -> None:
    llm = summariser()
    entries = turns(30)
    await compact(entries, llm)
    request = llm.requests[0]
    assert [message.role for message in request.messages] == ["system", "user"]
    text = request.messages[1].text
    assert re.fullmatch(r"\[transcript (\w{8})\]\n.*\n\[end of transcript \1\]", text, re.DOTALL)
    assert all(entry.content in text for entry in entries[:41]) and entries[41].content not in text
    assert re.search(r"\[request \w{8}\]\nThe budget is 12 EUR\.", text)
    assert re.search(r"\[script \w{8}\]\nstep0\(\)", text)


async def test_the_reserve_is_the_cap_of_every_call_and_its_words_are_in_the_prompt() -> None:
    llm = summariser()
    await compact(turns(100, chars=2000), llm, budget=ContextBudget(4096))
    assert {request.max_tokens for request in llm.requests} == {512}
    assert all("At most 307 words." in request.messages[0].text for request in llm.requests)
    default = summariser()
    await compact(turns(40), default)
    assert default.requests[0].max_tokens == 4096


async def test_prompts_and_model_can_be_replaced() -> None:
    llm = summariser()
    options = {"prompt": "Sum up.", "merge_prompt": "Join.", "model": "cheap", "budget": ContextBudget(2048)}
    await compact(turns(60, chars=900), llm, **options)
    assert {request.messages[0].text for request in llm.requests} == {"Sum up.", "Join."}
    assert {request.model for request in llm.requests} == {"cheap"}
    run_model = summariser()
    await SummarizingCompactor().compact(turns(40), llm=run_model, model="the run's")
    assert run_model.requests[0].model == "the run's"


def test_the_prompts_are_files_and_say_how_long() -> None:
    assert all("{words}" in prompt() and "transcript marks" in prompt() for prompt in (compact_prompt, merge_prompt))
    assert SummarizingCompactor().prompt == compact_prompt()


# Long transcripts -------------------------------------------------------------------------------------


@pytest.mark.parametrize("estimate", [rough_tokens, estimate_tokens, len])
@pytest.mark.parametrize("window", [2048, 4096])
async def test_no_call_is_larger_than_its_allowance_and_no_fact_is_left_out(
    window: int, estimate: Callable[[str], int]
) -> None:
    llm = summariser()
    budget = ContextBudget(window * (4 if estimate is len else 1), estimate=estimate)
    entries = turns(60, chars=1500)
    done = await compact(entries, llm, budget=budget)
    assert len(llm.requests) > 3 and max(sizes(llm, estimate)) <= budget.allowance
    assert all(f"fact-{turn} " in asked(llm) for turn in range(done.retained_from // 2))
    assert "merged" in done.summary


async def test_a_message_larger_than_a_call_is_read_in_stretches() -> None:
    llm = summariser()
    facts = [f"row {n}: {n * 7919}" for n in range(4000)]
    entries = [Entry("user", "read it", "r"), Entry("script", "go()", "r"), Entry("result", "\n".join(facts), "r")]
    budget = ContextBudget(4096)
    await compact([*entries, *turns(9)], llm, trigger=4, keep=4, budget=budget)
    assert all(f"{fact}\n" in f"{asked(llm)}\n" for fact in facts)
    assert re.search(r"\[result \w{8}, continued\]", asked(llm))
    assert max(sizes(llm, estimate_tokens)) <= budget.allowance


async def test_parts_are_numbered_and_merged_in_order() -> None:
    llm = summariser()
    await compact(turns(40, chars=1800), llm, budget=ContextBudget(4096))
    merge = llm.requests[-1].messages[1].text
    assert re.findall(r"notes, part (\d+) of", merge) == [str(n) for n in range(1, len(llm.requests))]
    assert re.findall(r"summary (\d+)", merge) == [str(n) for n in range(1, len(llm.requests))]
    assert re.match(r"\[transcript \w+: part 1 of \d+\]", llm.requests[0].messages[1].text)


async def test_summaries_of_which_no_two_fit_together_are_still_merged_and_none_alone() -> None:
    numbers = count(1)

    def reply(request: ModelRequest) -> str:
        return f"merged {next(numbers)}" if is_merge(request) else f"part-{next(numbers)} " + "long words here " * 700

    llm = Scripted([reply] * 100)
    done = await compact(turns(40, chars=1800), llm, budget=ContextBudget(4096))
    merges = [request.messages[1].text for request in llm.requests if is_merge(request)]
    assert all(len(re.findall(r"^\[notes, part", text, re.MULTILINE)) >= 2 for text in merges)
    assert "merged" in done.summary and max(sizes(llm, estimate_tokens)) <= 3584


async def test_a_part_left_over_is_passed_on_and_not_paid_for_again() -> None:
    llm = Scripted([lambda request: "merged" if is_merge(request) else "word " * 1300] * 20)
    entries = [Entry("result", "fact " * 3000, "r") for _ in range(3)] + turns(3)
    await compact(entries, llm, trigger=8, keep=7, budget=ContextBudget(4096))
    merges = [request.messages[1].text for request in llm.requests if is_merge(request)]
    assert len(llm.requests) - len(merges) == 3
    assert [len(re.findall(r"^\[notes, part", text, re.MULTILINE)) for text in merges] == [2, 2]


async def test_summaries_that_never_get_shorter_fail_instead_of_costing_for_ever() -> None:
    llm = Scripted([lambda request: request.messages[1].text] * 200)
    with pytest.raises(ModelError, match="shorter"):
        await compact(turns(40, chars=1800), llm, budget=ContextBudget(4096))
    assert len(llm.requests) < 60


# Failures ---------------------------------------------------------------------------------------------


async def test_a_failing_call_fails_the_whole() -> None:
    with pytest.raises(ModelError):
        await compact(turns(40, chars=1800), summariser(calls=3), budget=ContextBudget(4096))


@pytest.mark.parametrize("reply", ["", "  \n", ModelReply(content="half", finish_reason="content_filter")])
async def test_an_empty_or_filtered_summary_is_a_failure(reply: ScriptedReply) -> None:
    with pytest.raises(ModelError, match="no summary"):
        await compact(turns(40), Scripted([reply]))


async def test_a_summary_cut_off_says_so() -> None:
    done = await compact(turns(40), Scripted([ModelReply(content="half of it", finish_reason="length")]))
    assert "half of it\n(these notes were cut off" in done.summary


async def test_a_window_that_holds_the_prompt_only_is_refused_before_any_call() -> None:
    llm = summariser()
    with pytest.raises(InvalidInput, match="larger budget"):
        await compact(turns(40), llm, budget=ContextBudget(600))
    assert llm.requests == []
