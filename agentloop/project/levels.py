"""Which folders speak for a project: from the repository's root down to where the work is done."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from agentloop.errors import InvalidInput

__all__ = ["Levels", "find_levels"]


@dataclass(frozen=True, kw_only=True)
class Levels:
    """`root` is a real path; `folders` lead from it ("") to where the work is done, relative to it, with /.

    `errors` say in words why a repository was not taken for the project's.
    """

    root: str
    folders: tuple[str, ...]
    errors: tuple[str, ...] = ()


def find_levels(folder: str | os.PathLike[str]) -> Levels:
    """The folders from the repository around `folder`, or `folder` alone where there is none.

    A repository is a folder with `.git` in it, be that a folder or a file. Raises `InvalidInput` for a folder that
    is none.
    """
    try:
        here = Path(os.path.realpath(folder, strict=True))
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise InvalidInput(f"{os.fspath(folder)!r} cannot be opened: {why}") from None
    if not here.is_dir():
        raise InvalidInput(f"{os.fspath(folder)!r} is no folder")
    root = next((one for one in (here, *here.parents) if os.path.lexists(one / ".git")), here)
    if _anothers(root, here):
        anothers = f"{root} is another user's repository: its instructions and skills are not read"
        return Levels(root=str(here), folders=("",), errors=(anothers,))
    steps = here.relative_to(root).parts
    return Levels(root=str(root), folders=tuple("/".join(steps[:count]) for count in range(len(steps) + 1)))


def _anothers(root: Path, here: Path) -> bool:
    """Whether somebody else has put a repository around a folder: in a shared folder such as /tmp, say."""
    if not hasattr(os, "getuid"):
        return False
    return root.stat().st_uid not in (os.getuid(), here.stat().st_uid, 0)
