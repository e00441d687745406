"""A project's skills: SKILL.md files that tell how something is done, found by name when it is to be done."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from agentloop.capabilities import BuildContext, Capability
from agentloop.errors import InvalidInput
from agentloop.packs.base import Pack
from agentloop.packs.workspace.root import Root
from agentloop.project.front_matter import split_front_matter
from agentloop.project.instructions import project_words
from agentloop.project.levels import find_levels
from agentloop.project.reading import beginning, one_line, open_root, read_text

__all__ = [
    "MOST_SKILLS",
    "SKILLS_DIR",
    "SKILL_BYTES",
    "SKILL_FILE",
    "Skill",
    "Skills",
    "load_skills",
    "skill_capability",
]

SKILLS_DIR: Final = ".agentloop/skills"
"""Where a project keeps its skills, a folder for each."""

SKILL_FILE: Final = "SKILL.md"
"""The file that makes a folder a skill."""

SKILL_BYTES: Final = 256 * 1024
"""What is read of each file."""

MOST_SKILLS: Final = 100
"""How many are read of one folder of skills."""

_ALL_BYTES: Final = 4 * 1024 * 1024
_DESCRIPTION_BYTES: Final = 160
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")


@dataclass(frozen=True, kw_only=True)
class Skill:
    """`text` is what `skillGet(name)` gives; `path` is the file's; `size` in bytes is the file's own."""

    name: str
    description: str
    text: str
    path: str
    size: int


@dataclass(frozen=True, kw_only=True)
class Skills:
    """Skills sorted by name. `errors` say in words which others there are, and what is wrong with them."""

    skills: tuple[Skill, ...] = ()
    errors: tuple[str, ...] = ()

    def capabilities(self) -> tuple[Capability, ...]:
        """One for each skill, by its name."""
        return tuple(skill_capability(skill) for skill in self.skills)


def load_skills(
    folder: str | os.PathLike[str] = ".",
    *,
    skills_dir: str | os.PathLike[str] = SKILLS_DIR,
    global_dir: str | os.PathLike[str] | None = None,
    max_bytes: int = SKILL_BYTES,
) -> Skills:
    """The skills for work in `folder`: those of `global_dir`, then those of `skills_dir` in each folder from the
    repository's root down; of two with one name the later one counts.

    An absolute `skills_dir` is that folder alone. `max_bytes` is for each file, negative: no bound. A file counts only
    where it lies inside its root (the repository, `global_dir`), whatever links lead to it. What cannot be used is an
    error in words, and the rest is there. Raises `InvalidInput` for a `folder` that is none.
    """
    levels = find_levels(folder)
    found: dict[str, Skill] = {}
    errors = list(levels.errors)
    if global_dir is not None:
        found |= _below(os.fspath(global_dir), "", max_bytes, errors)
    inside = os.fspath(skills_dir)
    if os.path.isabs(inside):
        found |= _below(inside, "", max_bytes, errors)
    else:
        for level in levels.folders:
            found |= _below(levels.root, f"{level}/{inside}".lstrip("/"), max_bytes, errors)
    kept = _within(sorted(found.values(), key=lambda skill: skill.name), errors)
    return Skills(skills=tuple(kept), errors=tuple(errors))


def skill_capability(skill: Skill) -> Capability:
    """A line of the prompt tells of the skill; its text is its help entry. Where its name is taken it gives way."""
    line = project_words()["skill_line"].replace("{name}", skill.name)
    pack = Pack(
        name=skill.name,
        description=skill.description,
        kind="prompt",
        declarations=line.replace("{description}", _sentence(skill.description)).replace("  ", " "),
        help={skill.name: skill.text},
        gives_way=True,
    )

    async def build(context: BuildContext) -> Sequence[Pack]:
        return [pack]

    return Capability(name=skill.name, description=skill.description, build=build)


def _below(root: str, inside: str, most: int, errors: list[str]) -> dict[str, Skill]:
    """The skills of one folder of skills; {} where there is none."""
    if not os.path.isdir(root):
        return {}
    found: dict[str, Skill] = {}
    with open_root(root, errors) as opened:
        if opened is None:
            return found
        for path in _folders(opened, inside, errors):
            try:
                skill = _skill(opened, f"{path}/{SKILL_FILE}", most)
                if skill is None:
                    continue
                if other := found.get(skill.name):
                    raise InvalidInput(f"{other.path} is called {skill.name!r} already; rename one of them")
                found[skill.name] = skill
            except InvalidInput as error:
                errors.append(f"skill {path} is left out: {error}")
    return found


def _folders(root: Root, inside: str, errors: list[str]) -> Iterator[str]:
    try:
        descriptor, _ = root.open_folder(inside)
    except FileNotFoundError:
        return
    except (InvalidInput, OSError) as error:
        errors.append(f"skills of {inside} are left out: {error}")
        return
    try:
        names = sorted(os.listdir(descriptor))
    finally:
        os.close(descriptor)
    if len(names) > MOST_SKILLS:
        errors.append(f"{inside} holds {len(names)} entries: only the first {MOST_SKILLS} are read")
    for name in names[:MOST_SKILLS]:
        yield f"{inside}/{name}".lstrip("/")


def _skill(root: Root, path: str, most: int) -> Skill | None:
    """The skill of a file, None where there is no such file. Raises `InvalidInput`."""
    read = read_text(root, path, most=most)
    if read is None:
        return None
    head, body = split_front_matter(read.text)
    name = _named(head.get("name") or path.split("/")[-2])
    text = body.strip()
    if not text:
        raise InvalidInput(f"it has no text: write in {path} how it is done")
    if not read.complete:
        text += "\n" + project_words()["truncated"].replace("{size}", f"{read.size:,}")
    return Skill(
        name=name,
        description=_description(head.get("description") or _first_prose(text)),
        text=text,
        path=f"{root.folder}/{path}",
        size=read.size,
    )


def _named(name: str) -> str:
    lowered = name.strip().lower()
    if not _NAME.fullmatch(lowered):
        raise InvalidInput(f"{name[:80]!r} can be no skill's name: use a-z, 0-9, _ and -, at most 64 of them")
    return lowered


def _description(text: str) -> str:
    # Inside the declarations' fence three backticks would end it for whoever reads it as Markdown.
    line = one_line(text).replace("```", "'''")
    short = beginning(line, _DESCRIPTION_BYTES)
    return line if short == line else short.rstrip() + "…"


def _first_prose(text: str) -> str:
    lines = (line.strip() for line in text.split("\n"))
    return next((line for line in lines if line and not line.startswith("#")), "")


def _sentence(description: str) -> str:
    return description if not description or description[-1] in ".!?…" else f"{description}."


def _within(skills: Sequence[Skill], errors: list[str]) -> Iterator[Skill]:
    """Those whose texts there is room for: all of them are in memory, and with each script's process."""
    left = _ALL_BYTES
    for skill in skills:
        left -= len(skill.text.encode("utf-8", "replace"))
        if left >= 0:
            yield skill
        else:
            errors.append(f"skill {skill.name!r} is left out: together the skills are longer than {_ALL_BYTES:,} bytes")
