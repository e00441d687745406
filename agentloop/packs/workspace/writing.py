"""Files changed in one step, and only as they were when the change was decided."""

from __future__ import annotations

import hashlib
import os
import secrets
import stat
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Final, TypeAlias

from agentloop.errors import FileConflict, InvalidInput
from agentloop.packs.workspace.reading import is_binary
from agentloop.packs.workspace.root import Place, Root
from agentloop.packs.workspace.threads import Stop

__all__ = ["Change", "Edit", "State", "plan_edit", "plan_write", "put"]

_CHUNK: Final = 1024 * 1024
_NEW_MODE: Final = 0o644

State: TypeAlias = tuple[int, int, int, int, str]


@dataclass(frozen=True, kw_only=True)
class Change:
    """New content for a file that `before` describes (None: there is none). `path` is free of links."""

    path: str
    content: bytes
    before: State | None
    mode: int = _NEW_MODE
    owner: tuple[int, int] | None = None
    replaced: int = 0


@dataclass(frozen=True, kw_only=True)
class Edit:
    """Replace a text that is there exactly once, or all of them."""

    find: str
    replace: str
    all: bool = False


def plan_write(root: Root, path: str, content: str, *, most: int, stop: Stop) -> Change:
    """The change that gives a file this content. Raises `InvalidInput`, `IsADirectoryError`, `OSError`."""
    data = _encoded("content", content)
    if len(data) > most:
        raise InvalidInput(f"the content has {len(data)} bytes, at most {most} are written")
    with root.find(path) as place:
        found = _found(place)
        if found is None:
            return Change(path=place.path, content=data, before=None)
        return _change(place, found, data, _state(place, stop))


def plan_edit(root: Root, path: str, edit: Edit, *, most: int, stop: Stop) -> Change:
    """The change that an edit makes. Raises `InvalidInput` when the text is not there, or not just once."""
    find, replace = _encoded("find", edit.find), _encoded("replace", edit.replace)
    if not find:
        raise InvalidInput("find is empty: give the text to replace")
    with root.find(path) as place:
        found = _found(place)
        if found is None:
            raise FileNotFoundError(2, "No such file")
        data, state = _read(place, most, stop)
        if is_binary(data):
            raise InvalidInput(f"{path!r} is binary: only text can be edited")
        count = _counted(path, data, find, all=edit.all)
        # Before it is made: a short text for each of many shorter ones may be more than there is memory.
        size = len(data) + count * (len(replace) - len(find))
        if size > most:
            raise InvalidInput(f"{path!r} would have {size} bytes, at most {most} are written")
        return _change(place, found, data.replace(find, replace), state, replaced=count)


def put(root: Root, change: Change, stop: Stop) -> None:
    """Makes the change, whole or not at all, and missing folders before it.

    Raises `FileConflict` when the file or the way to it is not as it was, `OSError`.
    """
    with _unchanged_way(root, change) as place:
        _compare(place, change, stop)
        scratch = f".{place.name[:100]}.{secrets.token_hex(8)}.tmp"
        try:
            _write_scratch(place.folder, scratch, change, stop)
            _compare(place, change, stop)
            _move(place, scratch, change)
        finally:
            _remove(place.folder, scratch)


@contextmanager
def _unchanged_way(root: Root, change: Change) -> Iterator[Place]:
    with ExitStack() as stack:
        try:
            place = stack.enter_context(root.make(change.path))
        except (InvalidInput, NotADirectoryError):  # a link or a file stands where there was none
            raise _conflict(change) from None
        yield place


def _change(place: Place, found: os.stat_result, data: bytes, state: State, *, replaced: int = 0) -> Change:
    mode = stat.S_IMODE(found.st_mode)
    if not mode & 0o222:
        raise PermissionError(13, "the file is read-only")
    owner = (found.st_uid, found.st_gid)
    return Change(path=place.path, content=data, before=state, mode=mode & 0o777, owner=owner, replaced=replaced)


def _found(place: Place) -> os.stat_result | None:
    try:
        found = place.stat()
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(21, "Is a directory")
    if not stat.S_ISREG(found.st_mode):
        raise OSError(22, "not a regular file")
    return found


def _encoded(what: str, text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise InvalidInput(f"{what} is no Unicode text: it has half of a character at {error.start}") from None


def _counted(path: str, data: bytes, find: bytes, *, all: bool) -> int:
    count = data.count(find)
    if not count:
        crlf = b"\n" in find and b"\r\n" in data and b"\r\n" not in find
        hint = "; its lines end in \\r\\n" if crlf else ": read it again and copy the text exactly"
        raise InvalidInput(f"{path!r} does not contain the text to find{hint}")
    if count > 1 and not all:
        raise InvalidInput(
            f"the text to find appears {count} times in {path!r}: give more of what is around it, or {{all: true}}"
        )
    return count


def _state(place: Place, stop: Stop) -> State:
    digest = hashlib.sha256()
    with os.fdopen(place.open_file(), "rb", buffering=0) as file:
        found = os.fstat(file.fileno())
        while chunk := file.read(_CHUNK):
            stop.check()
            digest.update(chunk)
    return _of(found, digest.hexdigest())


def _read(place: Place, most: int, stop: Stop) -> tuple[bytes, State]:
    with os.fdopen(place.open_file(), "rb", buffering=0) as file:
        found = os.fstat(file.fileno())
        if found.st_size > most:
            raise InvalidInput(f"the file has {found.st_size} bytes, at most {most} can be edited")
        stop.check()
        data = bytearray()
        while len(data) <= most and (chunk := file.read(_CHUNK)):
            data += chunk
    return bytes(data), _of(found, hashlib.sha256(data).hexdigest())


def _of(found: os.stat_result, digest: str) -> State:
    # Not the time of change: a chmod or a new hard link takes nothing from anybody.
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, digest


def _compare(place: Place, change: Change, stop: Stop) -> None:
    try:
        now = _state(place, stop)
    except FileNotFoundError:
        now = None
    except OSError:
        raise _conflict(change) from None
    if now != change.before:
        raise _conflict(change)


def _conflict(change: Change) -> FileConflict:
    return FileConflict(f"{change.path!r} was changed since this call began: read it again, then repeat the change")


def _write_scratch(folder: int, name: str, change: Change, stop: Stop) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
    with os.fdopen(os.open(name, flags, 0o600, dir_fd=folder), "wb", buffering=0) as file:
        for start in range(0, len(change.content), _CHUNK):
            stop.check()
            _write_all(file.write, change.content[start : start + _CHUNK])
        if change.owner not in (None, (os.geteuid(), os.getegid())):
            _give(file.fileno(), change)
        os.fchmod(file.fileno(), change.mode)
        os.fsync(file.fileno())


def _write_all(write: Callable[[bytes], int | None], data: bytes) -> None:
    while data:
        data = data[write(data) or 0 :]


def _give(fd: int, change: Change) -> None:
    assert change.owner is not None
    try:
        os.fchown(fd, *change.owner)
    except PermissionError:
        pass  # only root can; the file is then the writer's, as after any editor's save


def _move(place: Place, scratch: str, change: Change) -> None:
    if change.before is None:
        try:
            os.link(scratch, place.name, src_dir_fd=place.folder, dst_dir_fd=place.folder, follow_symlinks=False)
            return
        except FileExistsError:
            raise _conflict(change) from None
        except OSError:  # a file system without hard links
            pass
    os.rename(scratch, place.name, src_dir_fd=place.folder, dst_dir_fd=place.folder)


def _remove(folder: int, name: str) -> None:
    try:
        os.unlink(name, dir_fd=folder)
    except FileNotFoundError:
        pass  # moved into its place
