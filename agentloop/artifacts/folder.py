"""A run's files in a folder that only its owner can read."""

from __future__ import annotations

import asyncio
import os
import tempfile
from contextlib import suppress
from pathlib import Path, PurePosixPath

from agentloop.errors import InvalidInput, StoreError

__all__ = ["FolderArtifacts"]

_TRIAL_BYTES = 65_536


class FolderArtifacts:
    """Implements `Artifacts`. The folder is made (0700) at the first write, one that exists keeps its mode;
    files are 0600 and replace older ones of their name in one step, so that a reader never sees half a file.

    Safe against names, whoever chose them; not against another process of the same user that
    changes the folder while a file is being written.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path).expanduser().absolute()

    @property
    def location(self) -> str:
        """The absolute path of the folder."""
        return str(self._path)

    async def check(self) -> None:
        """Raises `InvalidInput` when nothing can be kept here, to be told before a run instead of at its first picture.

        Writes a file and takes it away again, with the folders that it needed.
        """
        await asyncio.to_thread(self._check)

    async def write(self, name: str, data: bytes) -> str:
        """Keeps `data` under a relative name with `/` between folders; returns the file's absolute path.

        Raises `InvalidInput` for a name that leaves the folder, also through a symbolic link, and
        `StoreError` when the disk refuses. A cancelled write leaves the whole file or none.
        """
        parts = _parts(name)
        return await asyncio.shield(asyncio.to_thread(self._write, parts, data))

    def _check(self) -> None:
        missing = [folder for folder in (self._path, *self._path.parents) if not folder.exists()]
        try:
            self._path.mkdir(mode=0o700, parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self._path) as file:
                file.write(bytes(_TRIAL_BYTES))
        except OSError as error:
            raise InvalidInput(
                f"files cannot be kept in {self._path}: {error.strerror}; choose another folder"
            ) from None
        finally:
            for folder in missing:
                with suppress(OSError):  # it was not made, or somebody has put something there meanwhile
                    folder.rmdir()

    def _write(self, parts: tuple[str, ...], data: bytes) -> str:
        try:
            folder = self._folder(parts[:-1])
            target = folder / parts[-1]
            if target.is_dir() and not target.is_symlink():
                raise InvalidInput(f"{'/'.join(parts)!r} is a folder; give the file another name.")
            _replace(target, data)
        except OSError as error:
            raise StoreError(f"The file {'/'.join(parts)!r} could not be written to {self._path}: {error}") from error
        return str(target)

    def _folder(self, parts: tuple[str, ...]) -> Path:
        self._path.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder = self._path
        for part in parts:
            folder /= part
            if folder.is_symlink():
                raise InvalidInput(f"{'/'.join(parts)!r} leads through a symbolic link; choose another name.")
            folder.mkdir(mode=0o700, exist_ok=True)
        return folder


def _parts(name: str) -> tuple[str, ...]:
    path = PurePosixPath(name)
    odd = "\\" in name or "\0" in name or ":" in name
    if odd or path.is_absolute() or ".." in path.parts or not path.parts or name.endswith("/"):
        raise InvalidInput(f"{name!r} is no name for a run's file: give a relative one, such as 'turn-003.png'.")
    return path.parts


def _replace(target: Path, data: bytes) -> None:
    # mkstemp opens 0600 and never follows a link; the rename then replaces a link itself, not what it points to.
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=".writing-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
