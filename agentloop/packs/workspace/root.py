"""The folder a workspace is confined to, held as an open directory: no name is ever looked up from anywhere else."""

from __future__ import annotations

import errno
import os
import stat
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from agentloop.errors import InvalidInput

__all__ = ["FOLDER_FLAGS", "Place", "Root", "regular_file"]

FOLDER_FLAGS: Final = os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)
"""Opens a directory and nothing else, a symbolic link to one least of all."""

# Non-blocking, so that a pipe nobody writes to is found out instead of waited for.
_FILE_FLAGS: Final = (
    os.O_RDONLY
    | os.O_CLOEXEC
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_NOCTTY", 0)
)
_LINKS: Final = 40
_DEPTH: Final = 128
_STEPS: Final = 1_000
_LONGEST: Final = 4_096
_NOT_A_LINK: Final = (errno.EINVAL, errno.ENOTSUP)


@dataclass(frozen=True, kw_only=True)
class Place:
    """A name in an open directory; valid only while the block that gave it is open.

    `missing` are the folders between the two that do not exist. `path` is relative to the root and
    free of links, with "" for the root itself, whose `name` is ".".
    """

    folder: int
    name: str
    path: str
    missing: tuple[str, ...] = ()

    def stat(self) -> os.stat_result:
        """Of the name itself. Raises `FileNotFoundError`."""
        self._require_folder()
        return os.stat(self.name, dir_fd=self.folder, follow_symlinks=False)

    def open_file(self) -> int:
        """A descriptor for reading. Raises `IsADirectoryError`, `OSError` for what is no regular file."""
        self._require_folder()
        return regular_file(self.folder, self.name)

    def open_folder(self) -> int:
        """A descriptor of the directory. Raises `NotADirectoryError`."""
        self._require_folder()
        return os.open(self.name, FOLDER_FLAGS, dir_fd=self.folder)

    def _require_folder(self) -> None:
        if self.missing:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))


def regular_file(folder: int, name: str) -> int:
    """A descriptor for reading a regular file of an open directory; follows no link.

    Raises `IsADirectoryError`; `OSError` for links, pipes, sockets and devices.
    """
    fd = os.open(name, _FILE_FLAGS, dir_fd=folder)
    mode = os.fstat(fd).st_mode
    if stat.S_ISREG(mode):
        return fd
    os.close(fd)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    raise OSError(errno.EINVAL, "not a regular file")


class Root:
    """Finds places below one folder by walking from handle to handle, one name at a time.

    A symbolic link is read and its target walked in the same way, so one that stays inside works and
    no other does, whoever changes what in between. Names in `hidden` cannot be entered. Usable from
    any thread; after `close`, walks that are under way go on with handles of their own.

    Raises `InvalidInput` when the folder cannot be opened or the system has no such handles.
    """

    def __init__(self, folder: str | os.PathLike[str], *, hidden: frozenset[str] = frozenset({".git"})) -> None:
        if os.open not in os.supports_dir_fd or not hasattr(os, "O_NOFOLLOW"):
            raise InvalidInput("a workspace needs directory handles, which this system lacks: use Linux or macOS")
        self.hidden = frozenset(name.casefold() for name in hidden)
        self._lock = threading.Lock()
        try:
            real = os.path.realpath(folder, strict=True)
            self._fd: int | None = os.open(real, FOLDER_FLAGS)
        except OSError as error:
            raise InvalidInput(f"the workspace {os.fspath(folder)!r} cannot be opened: {error.strerror}") from None
        self.folder = real

    def close(self) -> None:
        """Lets go of the folder."""
        with self._lock:
            if self._fd is not None:
                os.close(self._fd)
            self._fd = None

    @contextmanager
    def find(self, path: str, *, links: bool = True) -> Iterator[Place]:
        """Where `path` leads. With `links` false, any link on the way is an error.

        Raises `InvalidInput` for a path that leads outside or into a hidden folder and one that no
        file could have, `NotADirectoryError`, `OSError`.
        """
        walk = _Walk(self._handle(), path, links=_LINKS if links else 0, hidden=self.hidden)
        try:
            yield walk.place()
        finally:
            walk.close()

    @contextmanager
    def make(self, path: str) -> Iterator[Place]:
        """Like `find` without links, and makes the folders that are missing."""
        walk = _Walk(self._handle(), path, links=0, hidden=self.hidden)
        try:
            yield walk.made(walk.place())
        finally:
            walk.close()

    def open_folder(self, path: str) -> tuple[int, str]:
        """A descriptor of a folder, the caller's to close, and its path."""
        with self.find(path) as place:
            return place.open_folder(), place.path

    def _handle(self) -> int:
        with self._lock:
            if self._fd is None:
                raise InvalidInput("the workspace is closed")
            return os.dup(self._fd)


class _Walk:
    """The open directories from the root to where a walk stands."""

    def __init__(self, root: int, path: str, *, links: int, hidden: frozenset[str]) -> None:
        self._open = [root]
        self._names: list[str] = []
        self._given = path
        self._links = links
        self._hidden = hidden
        self._steps = 0
        self._ahead: deque[str] = deque()

    def close(self) -> None:
        for fd in self._open:
            os.close(fd)
        self._open = []

    def place(self) -> Place:
        self._look_ahead(_checked(self._given))
        while self._ahead:
            name = self._ahead.popleft()
            self._count()
            if name == "..":
                self._up()
                continue
            self._check(name)
            target = self._target(name)
            if target is not None:
                self._follow(target)
            elif not self._ahead:
                return self._here(name)
            elif not self._enter(name):
                return self._beyond(name)
        return Place(folder=self._open[-1], name=".", path=self._path())

    def made(self, place: Place) -> Place:
        for name in place.missing:
            os.mkdir(name, 0o755, dir_fd=self._open[-1])
            if not self._enter(name):
                raise InvalidInput(f"{self._given!r} was changed while it was being made")
        return self._here(place.name) if place.missing else place

    def _look_ahead(self, path: str) -> None:
        self._ahead.extendleft(name for name in reversed(path.split("/")) if name not in ("", "."))

    def _count(self) -> None:
        self._steps += 1
        if self._steps > _STEPS or len(self._open) > _DEPTH:
            raise InvalidInput(f"{self._shown} goes through too many folders")

    def _up(self) -> None:
        if len(self._open) == 1:
            raise InvalidInput(f"{self._shown} leads outside the workspace: give a path inside it")
        os.close(self._open.pop())
        self._names.pop()

    def _check(self, name: str) -> None:
        if name.casefold() in self._hidden:
            raise InvalidInput(f"{self._shown} leads into {name}, which is no part of the workspace")

    def _target(self, name: str) -> str | None:
        try:
            return os.readlink(name, dir_fd=self._open[-1])
        except FileNotFoundError:
            return None
        except OSError as error:
            if error.errno in _NOT_A_LINK:
                return None
            raise

    def _follow(self, target: str) -> None:
        self._links -= 1
        if self._links < 0:
            raise InvalidInput(f"{self._shown} goes through too many links, or one where none was before")
        if target.startswith("/"):
            raise InvalidInput(f"{self._shown} goes through a link that leads outside the workspace")
        self._look_ahead(target)

    def _enter(self, name: str) -> bool:
        try:
            self._open.append(os.open(name, FOLDER_FLAGS, dir_fd=self._open[-1]))
        except FileNotFoundError:
            return False
        self._names.append(name)
        return True

    def _here(self, name: str) -> Place:
        return Place(folder=self._open[-1], name=name, path=self._path(name))

    def _beyond(self, first: str) -> Place:
        names = (first, *self._ahead)
        if len(self._open) + len(names) > _DEPTH:
            raise InvalidInput(f"{self._shown} goes through too many folders")
        if ".." in names:
            raise InvalidInput(f"{self._shown} goes back from a folder that does not exist")
        for name in names:
            self._check(name)
        return Place(folder=self._open[-1], name=names[-1], path=self._path(*names), missing=names[:-1])

    def _path(self, *more: str) -> str:
        return "/".join((*self._names, *more))

    @property
    def _shown(self) -> str:
        return repr(self._given)


def _checked(path: str) -> str:
    if path.startswith("/"):
        raise InvalidInput(f"{path!r} is absolute: give a path inside the workspace, without the leading /")
    if "\0" in path or len(path) > _LONGEST:
        raise InvalidInput(f"{path[:80]!r} is no path: too long, or with a NUL in it")
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        raise InvalidInput(f"{path!r} is no path: it is not Unicode text") from None
    return path
