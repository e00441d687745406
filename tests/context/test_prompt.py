from __future__ import annotations

import pytest

from agentloop.context.prompt import Prompt, PromptName, system_prompt
from agentloop.packs.base import Pack

PACK = Pack(name="shop", description="", declarations="declare function buy(name: string): void\n", prose="Shops lie.")


@pytest.mark.parametrize("name", ["run", "browse"])
def test_a_prompt_that_ships_has_one_place_for_functions(name: PromptName) -> None:
    assert Prompt.named(name).system.count("{functions}") == 1


def test_protocol_and_functions_come_first_then_prose_persona_and_context() -> None:
    text = system_prompt(
        Prompt(system="Write code.\n{functions}"), [PACK], core="declare function log(): void", persona=" A {clerk}. ",
        context="Today is Monday.",
    )  # fmt: skip
    assert text == (
        "Write code.\ndeclare function log(): void\ndeclare function buy(name: string): void\n\nShops lie.\n\n"
        "## Persona\nA {clerk}.\n\nToday is Monday."
    )


def test_what_is_empty_takes_no_room() -> None:
    assert system_prompt(Prompt(system="Write code."), [], persona=" ", context="\n") == "Write code."


def test_a_prompt_that_tells_of_the_core_names_itself_is_not_given_them() -> None:
    prompt = Prompt(system="{functions}", declares_core=True)
    assert system_prompt(prompt, [PACK], core="declare function log(): void").startswith("declare function buy")


def test_the_pair_of_browse_is_one_question_and_one_script() -> None:
    ask, reply = Prompt.named("browse").examples
    assert (ask.role, reply.role) == ("user", "assistant")
    assert "PAGE NOW" in ask.text and reply.text.startswith("```javascript\nfunction run(args) {")
