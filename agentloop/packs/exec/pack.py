"""Programs for scripts: no shell, approval of exactly what is run, nothing left behind."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from agentloop.capabilities import BuildContext, Capability
from agentloop.errors import InvalidInput, PolicyDenied, refuse_text
from agentloop.packs.base import Pack, Primitive
from agentloop.packs.consent import require_approval
from agentloop.packs.exec.environment import base_environment, checked, telling
from agentloop.packs.exec.programs import Program, Programs
from agentloop.packs.exec.running import Command, Finished, run_command
from agentloop.packs.exec.wording import Wording
from agentloop.packs.notes import Notes
from agentloop.packs.options import Options, text_argument
from agentloop.packs.permission import Permission
from agentloop.packs.resources import help_texts, say, text
from agentloop.packs.workspace.root import Root
from agentloop.records import Json

__all__ = ["ExecLimits", "exec_capability", "exec_pack"]

_DESCRIPTION: Final = "Runs programs of this machine."
_OPTIONS: Final = ("cwd", "timeoutMs", "input", "env")
_MOST_INPUT: Final = 16 * 1024 * 1024


@dataclass(frozen=True, kw_only=True)
class ExecLimits:
    """`timeout_s` unless a call says otherwise, `most_timeout_s` whatever it says; `output_bytes` of each stream;
    `memory_mb` of address space for each process, None for any; `at_once` commands; `network` False cuts them off,
    which only Linux can."""

    timeout_s: float = 30.0
    most_timeout_s: float = 120.0
    output_bytes: int = 64 * 1024
    memory_mb: int | None = None
    at_once: int = 8
    network: bool = True


def exec_capability(
    root: str | os.PathLike[str] | None = None,
    *,
    allow_commands: Sequence[str] = (),
    allow_shell: bool = False,
    env: Mapping[str, str] | None = None,
    environ: Mapping[str, str] = os.environ,
    limits: ExecLimits | None = None,
) -> Capability:
    """Commands in `root`, or in the run's workspace, or where this process is and nowhere else.

    `allow_commands` are names of programs that nobody is asked about, whatever their arguments: each means the file
    that it leads to on the PATH when the run is built. `allow_shell` lets scripts pass a shell's line as one string.
    `env` is added to the few variables of `environ` that commands see.
    """

    refuse_text("allow_commands", allow_commands, of="commands")

    async def build(context: BuildContext) -> Sequence[Pack]:
        folder = root if root is not None else context.workspace
        return [
            exec_pack(
                Root(folder) if folder is not None else None,
                Permission(context),
                allow_commands=allow_commands,
                allow_shell=allow_shell,
                env=base_environment(environ, env or {}),
                limits=limits,
            )
        ]

    return Capability(name="exec", description=_DESCRIPTION, build=build)


def exec_pack(
    root: Root | None,
    permission: Permission | None = None,
    *,
    env: Mapping[str, str],
    allow_commands: Sequence[str] = (),
    allow_shell: bool = False,
    limits: ExecLimits | None = None,
) -> Pack:
    """The pack, which closes `root` at the run's end. `env` is all that commands see."""
    refuse_text("allow_commands", allow_commands, of="commands")
    declarations = text("exec.d.ts")
    calls = _Calls(
        root,
        permission or Permission(),
        env=env,
        allowed=frozenset(allow_commands),
        shell=allow_shell,
        limits=limits or ExecLimits(),
    )
    return Pack(
        name="exec",
        description=_DESCRIPTION,
        declarations=declarations,
        help=help_texts(declarations),
        primitives={"exec": Primitive(calls.exec, untrusted=True)},
        receipts=calls.notes.take,
        aclose=calls.aclose,
    )


@dataclass(frozen=True, kw_only=True)
class _Call:
    """A call's own words, checked."""

    argv: Sequence[str]
    cwd: str
    input: str
    env: Mapping[str, str]
    timeout_s: float


class _Calls:
    """What stands between a script's call and the process: arguments, approval, events and notes."""

    def __init__(
        self,
        root: Root | None,
        permission: Permission,
        *,
        env: Mapping[str, str],
        allowed: frozenset[str],
        shell: bool,
        limits: ExecLimits,
    ) -> None:
        self.notes = Notes()
        self._root = root
        self._permission = permission
        self._env = env
        self._allowed = allowed
        self._shell = shell
        self._limits = limits
        self._room = asyncio.Semaphore(limits.at_once)
        folder = root.folder if root is not None else None
        self._programs = Programs(env.get("PATH", os.defpath), names=allowed, folder=folder)

    async def aclose(self) -> None:
        if self._root is not None:
            self._root.close()

    async def exec(self, command: Json, opts: Json = None) -> Json:
        with _told():
            call = self._read(command, Options(opts, _OPTIONS))
            with self._folder(call.cwd) as (fd, folder):
                program = self._programs.find(call.argv[0], folder=self._real(folder))
                wording = Wording(argv=call.argv, program=program, env=call.env, folder=folder, input=call.input)
                await self._require_approval(call, program, wording)
                await self._tell("exec", f"exec: {wording.line}", argv=list(call.argv), cwd=folder or "")
                finished = await self._run(call, program, fd)
        await self._tell("exec_result", f"exec: {_outcome(finished, call)}", code=finished.code)
        if finished.left:
            self.notes.add(say("exec.md", "left", count=finished.left, program=repr(call.argv[0])))
        return _as_json(finished)

    def _read(self, command: Json, options: Options) -> _Call:
        timeout = options.whole("timeoutMs", least=1)
        given = options.text("input") or ""
        if len(given) > _MOST_INPUT:
            raise InvalidInput(f"input has {len(given)} characters, at most {_MOST_INPUT} are passed")
        return _Call(
            argv=self._argv(command),
            cwd=options.text("cwd") or "",
            input=given,
            env=checked(options.texts("env")),
            timeout_s=self._timeout(timeout),
        )

    def _argv(self, command: Json) -> Sequence[str]:
        if isinstance(command, str):
            if not self._shell:
                raise InvalidInput(
                    'a command is an array of strings, ["git", "log", "-1"]: no shell reads it, so a string is none'
                )
            command = ["sh", "-c", command]
        if not isinstance(command, list) or not command:
            raise InvalidInput("a command is a non-empty array of strings: the program and its arguments")
        argv = [text_argument(f"argument {number}", word) for number, word in enumerate(command)]
        if not argv[0].strip() or any("\0" in word for word in argv):
            raise InvalidInput("a command begins with the name of a program, and has no NUL in it")
        return argv

    def _timeout(self, ms: int | None) -> float:
        most = self._limits.most_timeout_s
        if ms is None:
            return min(self._limits.timeout_s, most)
        if ms > most * 1000:
            self.notes.add(say("exec.md", "timeout", ms=ms, most=f"{most * 1000:g}"))
        return min(ms / 1000, most)

    @contextmanager
    def _folder(self, cwd: str) -> Iterator[tuple[int | None, str | None]]:
        """A descriptor of where to run, and its name in the workspace: what is asked about is where it runs."""
        if self._root is None:
            if cwd:
                raise InvalidInput("cwd needs a workspace, and this run has none: leave it out")
            yield None, None
            return
        try:
            fd, folder = self._root.open_folder(cwd)
        except OSError as error:
            raise InvalidInput(f"cwd {cwd!r} is no folder of the workspace: {error.strerror}") from None
        try:
            yield fd, folder
        finally:
            os.close(fd)

    def _real(self, folder: str | None) -> str:
        return os.path.join(self._root.folder, folder or "") if self._root is not None else os.getcwd()

    async def _require_approval(self, call: _Call, program: Program, wording: Wording) -> None:
        name = program.known_as
        if variables := telling(call.env):
            # No longer the program that a name stands for, so it must not sound like one.
            name = f"env {' '.join(variables)} {program.real}"
        if name in self._allowed:
            return
        await require_approval(
            self._permission,
            "exec",
            question=wording.question,
            grant=wording.grant,
            command=name,
            argv=wording.line,
        )

    async def _run(self, call: _Call, program: Program, folder: int | None) -> Finished:
        limits = self._limits
        command = Command(
            program=program.path,
            argv=call.argv,
            env={**self._env, **call.env},
            folder=folder,
            input=call.input.encode("utf-8", "replace"),
            timeout_s=call.timeout_s,
            output_bytes=limits.output_bytes,
            memory_mb=limits.memory_mb,
            network=limits.network,
        )
        async with self._room:
            return await run_command(command)

    async def _tell(self, kind: str, content: str, **args: Json) -> None:
        await self._permission.tell("sandbox_event", content=content, args={"kind": kind, **args})


def _outcome(finished: Finished, call: _Call) -> str:
    if finished.timed_out:
        return f"timed out after {call.timeout_s:g} s"
    return f"ended by {finished.signal}" if finished.signal else f"exit {finished.code}"


def _as_json(finished: Finished) -> Json:
    result: dict[str, Any] = {
        "stdout": finished.stdout.text(),
        "stderr": finished.stderr.text(),
        "code": finished.code,
        "timedOut": finished.timed_out,
    }
    if finished.stdout.truncated or finished.stderr.truncated:
        result["truncated"] = True
    if finished.signal:
        result["signal"] = finished.signal
    return result


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except InvalidInput as error:
        raise InvalidInput(f"exec: {error}") from None
    except PolicyDenied:
        raise
    except OSError as error:
        raise type(error)(f"exec: {error.strerror or error}") from None
