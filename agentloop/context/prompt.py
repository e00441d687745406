"""The system prompt: words from files, functions from the packs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Literal

from agentloop.context.words import fill
from agentloop.llm.base import Message
from agentloop.packs.base import Pack

__all__ = ["Prompt", "PromptName", "system_prompt"]

PromptName = Literal["run", "browse"]


@dataclass(frozen=True, kw_only=True)
class Prompt:
    """What a run's prompt is made of.

    `system` holds `{functions}` once, where the packs' declarations go, after those of the core names unless
    `system` tells of them itself (`declares_core`). `examples` are messages between system prompt and history.
    `keep_scripts` is how many of this run's scripts stay in the outgoing history in full, `log_chars` how much
    of a turn's log is shown. With `prose_answers` a reply without a script is the answer; without, it is sent
    back.
    """

    system: str
    declares_core: bool = False
    examples: tuple[Message, ...] = ()
    keep_scripts: int = 1
    log_chars: int = 16_384
    prose_answers: bool = True

    @classmethod
    def named(cls, name: PromptName) -> Prompt:
        """A prompt that ships: "run" for scripts at large, "browse" for driving a page."""
        if name == "run":
            return cls(system=_read("run.md"))
        return cls(
            system=_read("browse.md"),
            declares_core=True,
            examples=(
                Message("user", _read("browse-example-user.md").strip()),
                Message("assistant", _read("browse-example-assistant.md").strip()),
            ),
            keep_scripts=3,
            log_chars=2_000,
            prose_answers=False,
        )


def system_prompt(
    prompt: Prompt, packs: Sequence[Pack], *, core: str = "", persona: str = "", context: str = ""
) -> str:
    """The whole system message: protocol and functions, the packs' prose, the session's persona, the run's context.

    `core` are the declarations of the names that every sandbox has.
    """
    declarations = ["" if prompt.declares_core else core, *(pack.declarations for pack in packs)]
    functions = "\n".join(text.strip() for text in declarations if text.strip())
    parts = [prompt.system.strip().replace("{functions}", functions)]
    parts.extend(pack.prose.strip() for pack in packs if pack.prose.strip())
    if persona.strip():
        parts.append(fill(_read("persona.md").strip(), persona=persona.strip()))
    if context.strip():
        parts.append(context.strip())
    return "\n\n".join(parts)


def _read(name: str) -> str:
    return files("agentloop.context").joinpath("prompts", name).read_text("utf-8")
