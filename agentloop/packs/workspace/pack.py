"""Files of one folder for scripts: reading is free, changing needs approval, nothing leads outside."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeVar

from agentloop.capabilities import BuildContext, Capability
from agentloop.errors import FileConflict, InvalidInput
from agentloop.guard.grants import Grant, unambiguous
from agentloop.packs.base import Pack, Primitive
from agentloop.packs.consent import require_approval
from agentloop.packs.notes import Notes
from agentloop.packs.options import Options, text_argument
from agentloop.packs.permission import Permission
from agentloop.packs.resources import help_texts, say, text
from agentloop.packs.workspace.listing import Listing, list_files, list_folder, search
from agentloop.packs.workspace.patterns import compile_glob, compile_line_pattern
from agentloop.packs.workspace.reading import read_text
from agentloop.packs.workspace.root import Root
from agentloop.packs.workspace.threads import Bench, GaveUp, Stop
from agentloop.packs.workspace.writing import Change, Edit, plan_edit, plan_write, put
from agentloop.records import Json

__all__ = ["WorkspaceLimits", "workspace_capability", "workspace_pack"]

T = TypeVar("T")

_DESCRIPTION: Final = "Reads, searches and changes the files of the workspace."


@dataclass(frozen=True, kw_only=True)
class WorkspaceLimits:
    """`read_bytes` of one readFile; `write_bytes` of a file to write or edit; `results` of a listing or search;
    `files` seen and `seconds` spent by one glob or grep, which gives up beyond."""

    read_bytes: int = 1024 * 1024
    write_bytes: int = 16 * 1024 * 1024
    results: int = 500
    files: int = 50_000
    seconds: float = 20.0


def workspace_capability(
    root: str | os.PathLike[str] | None = None, *, limits: WorkspaceLimits | None = None
) -> Capability:
    """The files of `root`, or of the run's workspace when that is None; without either there is no pack."""

    async def build(context: BuildContext) -> Sequence[Pack]:
        folder = root if root is not None else context.workspace
        if folder is None:
            raise InvalidInput("no workspace: name the folder whose files scripts may use")
        return [workspace_pack(Root(folder), Permission(context), limits=limits)]

    return Capability(name="workspace", description=_DESCRIPTION, build=build)


def workspace_pack(root: Root, permission: Permission | None = None, *, limits: WorkspaceLimits | None = None) -> Pack:
    """The pack, which closes `root` at the run's end."""
    declarations = text("workspace.d.ts")
    calls = _Calls(root, permission or Permission(), limits or WorkspaceLimits())
    return Pack(
        name="workspace",
        description=_DESCRIPTION,
        declarations=declarations,
        help=help_texts(declarations),
        primitives={
            "readFile": Primitive(calls.read_file, untrusted=True),
            "writeFile": Primitive(calls.write_file, exclusive=True),
            "editFile": Primitive(calls.edit_file, exclusive=True),
            "listDir": Primitive(calls.list_dir, untrusted=True),
            "glob": Primitive(calls.glob, untrusted=True),
            "grep": Primitive(calls.grep, untrusted=True),
        },
        receipts=calls.notes.take,
        aclose=calls.aclose,
    )


class _Calls:
    """What stands between a script's call and the folder: reading arguments, approval, events and notes."""

    def __init__(self, root: Root, permission: Permission, limits: WorkspaceLimits) -> None:
        self.notes = Notes()
        self._root = root
        self._permission = permission
        self._limits = limits
        self._bench = Bench()

    async def aclose(self) -> None:
        self._root.close()

    async def read_file(self, path: Json, opts: Json = None) -> str:
        with _told("readFile", path):
            options = Options(opts, ("offset", "limit"))
            work = partial(
                read_text,
                self._root,
                text_argument("path", path),
                offset=options.whole("offset", least=1) or 1,
                limit=options.whole("limit", least=0),
                cap=self._limits.read_bytes,
            )
            found = await self._work(work)
        self.notes.add(found.note)
        await self._emit("file_read", f"readFile: {found.path}", path=found.path)
        return found.text

    async def write_file(self, path: Json, content: Json) -> bool:
        with _told("writeFile", path):
            path, content = text_argument("path", path), text_argument("content", content)
            change = await self._work(partial(plan_write, self._root, path, content, most=self._limits.write_bytes))
            await self._make("writeFile", change)
        return True

    async def edit_file(self, path: Json, find: Json, replace: Json, opts: Json = None) -> int:
        with _told("editFile", path):
            path = text_argument("path", path)
            edit = Edit(
                find=text_argument("find", find),
                replace=text_argument("replace", replace),
                all=Options(opts, ("all",)).flag("all"),
            )
            change = await self._work(partial(plan_edit, self._root, path, edit, most=self._limits.write_bytes))
            await self._make("editFile", change)
        return change.replaced

    async def _make(self, tool: str, change: Change) -> None:
        await require_approval(
            self._permission,
            tool,
            question=f"Allow the agent to modify {unambiguous(change.path)}?",
            grant=_modify(change.path),
            other=_beside(change.path),
            path=change.path,
        )
        await self._work(partial(put, self._root, change))
        size = len(change.content)
        await self._emit("file_write", f"{tool}: {change.path} ({size} bytes)", path=change.path, bytes=size)

    async def list_dir(self, path: Json = None) -> list[Json]:
        with _told("listDir", path):
            path = "" if path is None else text_argument("path", path)
            work = partial(list_folder, self._root, path, most=self._limits.results)
            listing = await self._bench.run(lambda stop: work())
        self._note("listDir", listing, "more_list")
        return listing.items

    async def glob(self, pattern: Json, opts: Json = None) -> list[Json]:
        with _told("glob", pattern):
            work = partial(
                list_files,
                self._root,
                compile_glob(text_argument("pattern", pattern)),
                ignored=Options(opts, ("ignored",)).flag("ignored"),
                most=self._limits.results,
                walked=self._limits.files,
            )
            listing = await self._work(work)
        self._note("glob", listing, "more_glob")
        return listing.items

    async def grep(self, pattern: Json, opts: Json = None) -> list[Json]:
        with _told("grep", pattern):
            options = Options(opts, ("glob", "limit", "ignoreCase", "ignored"))
            wanted = options.whole("limit", least=1) or self._limits.results
            files = options.text("glob") or "**"
            work = partial(
                search,
                self._root,
                compile_line_pattern(text_argument("pattern", pattern), ignore_case=options.flag("ignoreCase")),
                compile_glob(files),
                ignored=options.flag("ignored"),
                most=min(wanted, self._limits.results),
                walked=self._limits.files,
            )
            listing = await self._work(work)
        self._note("grep", listing, "more_grep")
        self._note_files(listing, files)
        return listing.items

    def _note(self, tool: str, listing: Listing, more: str) -> None:
        if listing.more:
            self.notes.add(say("workspace.md", more, count=len(listing.items)))
        elif listing.ignored and not listing.items:
            self.notes.add(say("workspace.md", "ignored", tool=tool))

    def _note_files(self, listing: Listing, files: str) -> None:
        if listing.unreadable:
            self.notes.add(say("workspace.md", "unreadable", count=listing.unreadable))
        if not listing.files and "/" not in files and files != "**":
            self.notes.add(say("workspace.md", "no_file", files=repr(files), deeper=repr(f"**/{files}")))

    async def _work(self, work: Callable[..., T]) -> T:
        def bounded(stop: Stop) -> T:
            return work(stop=stop)

        return await self._bench.run(bounded, seconds=self._limits.seconds)

    async def _emit(self, kind: str, content: str, **args: Json) -> None:
        await self._permission.tell("sandbox_event", content=content, args={"kind": kind, **args})


def _modify(path: str) -> Grant:
    return Grant(kind="path", subject=f"modify {unambiguous(path)}")


def _beside(path: str) -> dict[str, Grant]:
    """The wider yes: every file of the same folder; none for files of the workspace's own."""
    folder = path[: path.rfind("/") + 1]
    if not folder or not folder.isprintable():
        return {}
    return {f"always for any file under {folder}": _modify(folder)}


@contextmanager
def _told(tool: str, subject: Json) -> Iterator[None]:
    """Errors in words of the script's world: the call's name, its own path, and never one of this machine."""
    try:
        yield
    except InvalidInput as error:
        raise InvalidInput(f"{tool}: {error}") from None
    except FileConflict as error:
        raise FileConflict(f"{tool}: {error}") from None
    except GaveUp as error:
        raise TimeoutError(f"{tool}: {error}; narrow it") from None
    except OSError as error:
        raise type(error)(f"{tool}: {subject!r} {_trouble(error)}") from None


def _trouble(error: OSError) -> str:
    if isinstance(error, FileNotFoundError):
        return "does not exist: listDir and glob show what there is"
    if isinstance(error, IsADirectoryError):
        return "is a folder: listDir shows what is in it"
    if isinstance(error, NotADirectoryError):
        return "is no folder, or goes through something that is none"
    if error.errno in (errno.ELOOP, errno.EMLINK):
        return "was exchanged for a link while it was being opened"
    return f"cannot be used: {(error.strerror or str(error)).lower()}"
