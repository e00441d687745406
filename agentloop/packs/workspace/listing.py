"""What is in a folder, and which files there are."""

from __future__ import annotations

import os
import stat
from collections.abc import Generator
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from typing import Any

from agentloop.errors import InvalidInput
from agentloop.packs.workspace.patterns import Glob
from agentloop.packs.workspace.root import Root
from agentloop.packs.workspace.searching import hits
from agentloop.packs.workspace.threads import Stop
from agentloop.packs.workspace.walking import Walk
from agentloop.records import Json

__all__ = ["Listing", "list_files", "list_folder", "search"]


@dataclass(frozen=True, kw_only=True)
class Listing:
    """`items` as scripts get them; `more` when the cap left some out, `ignored` when .gitignore did.

    `files` counts those looked into, `unreadable` those that could not be."""

    items: list[Json]
    more: bool = False
    ignored: bool = False
    files: int = 0
    unreadable: int = 0


def list_folder(root: Root, path: str, *, most: int) -> Listing:
    """The entries of a folder by name, hidden ones left out. A link is what it leads to, or a file without size."""
    with root.find(path) as place:
        fd = place.open_folder()
        try:
            names = sorted(name for name in os.listdir(fd) if name.casefold() not in root.hidden)
            items = [_entry(root, fd, name, f"{place.path}/{name}" if place.path else name) for name in names[:most]]
        finally:
            os.close(fd)
    return Listing(items=[item for item in items if item], more=len(names) > most)


def _entry(root: Root, folder: int, name: str, path: str) -> dict[str, Json]:
    try:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return {}
    if stat.S_ISLNK(found.st_mode):
        inside = _led_to(root, path)
        return {"name": name, "path": path, "dir": _is_folder(inside), "size": inside.st_size if inside else 0}
    return {"name": name, "path": path, "dir": _is_folder(found), "size": found.st_size}


def _is_folder(found: os.stat_result | None) -> bool:
    return found is not None and stat.S_ISDIR(found.st_mode)


def _led_to(root: Root, path: str) -> os.stat_result | None:
    """What a link inside the root leads to, or None when that is outside, hidden or nowhere."""
    try:
        with root.find(path) as place:
            return place.stat()
    except (InvalidInput, OSError):
        return None


def list_files(root: Root, glob: Glob, *, ignored: bool, most: int, walked: int, stop: Stop) -> Listing:
    """The paths of the files that match, links to files inside among them, in the order of a walk."""
    walk = Walk(root, glob, ignored=ignored, most=walked, stop=stop)
    with closing(_paths(root, walk)) as paths:
        items: list[Json] = list(islice(paths, most + 1))
    return Listing(items=items[:most], more=len(items) > most, ignored=walk.left_out)


def _paths(root: Root, walk: Walk) -> Generator[str]:
    with closing(walk.files()) as files:
        for found in files:
            if not found.link or _is_file(_led_to(root, found.path)):
                yield found.path


def _is_file(found: os.stat_result | None) -> bool:
    return found is not None and stat.S_ISREG(found.st_mode)


def search(root: Root, pattern: Any, glob: Glob, *, ignored: bool, most: int, walked: int, stop: Stop) -> Listing:
    """The lines that match, links not followed: what they lead to is searched where it is."""
    walk = Walk(root, glob, ignored=ignored, most=walked, stop=stop)
    items: list[Json] = []
    files = unreadable = 0
    with closing(walk.files()) as found_files:
        for found in found_files:
            if found.link:
                continue
            files += 1
            try:
                for hit in hits(found.folder, found.name, pattern, stop):
                    if len(items) == most:
                        return Listing(items=items, more=True, ignored=walk.left_out, files=files)
                    items.append({"path": found.path, "line": hit.line, "text": hit.text})
            except OSError:  # gone, not ours to read, or no file after all
                unreadable += 1
    return Listing(items=items, ignored=walk.left_out, files=files, unreadable=unreadable)
