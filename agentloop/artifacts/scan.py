"""Looks for secrets in what a run has written: in files as they are, encoded, compressed, and in pictures' own texts.

It proves that they were kept out, or names the file in which one was not. What it finds is told by name; no value is
ever shown.
"""

from __future__ import annotations

import base64
import os
import re
import struct
import time
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Final

from agentloop.guard.redact import Redactor
from agentloop.guard.secrets import Secret

__all__ = ["Leak", "ScanReport", "Scanner"]

_PART: Final = 16 << 20
_OVERLAP: Final = 64 << 10
_WHOLE: Final = 256 << 20
_INFLATED: Final = 8 << 20
_PICTURE: Final = 256 << 20
_STREAMS: Final = 20_000
_DEPTH: Final = 4
_COMPRESSED: Final = re.compile(rb"\x1f\x8b\x08|\x78[\x01\x5e\x9c\xda]")
_PNG: Final = b"\x89PNG\r\n\x1a\n"
_PIXELS: Final = "a picture's pixels"
_ZIP: Final = b"PK\x03\x04"
_LINE_BREAKS: Final = re.compile(rb"[\r\n]+[ \t]*")


@dataclass(frozen=True, kw_only=True)
class Leak:
    """A secret's value stands in a place: `form` says how, `secret` is its name."""

    secret: str
    place: str
    form: str

    def __str__(self) -> str:
        return f"secret {self.secret} stands in {self.place} ({self.form})"


@dataclass(frozen=True, kw_only=True)
class ScanReport:
    """What a scan came to: `leaks`, how many `files` were looked through, and `unread` ones with the reason."""

    leaks: tuple[Leak, ...] = ()
    files: int = 0
    unread: tuple[str, ...] = ()


class Scanner:
    """Finds the values of these secrets in bytes, texts and files. It is work for a thread.

    Forms: as it is (also in capitals or small letters, in UTF-16, with unseen characters in it), JSON-, URL- and
    HTML-escaped, hex, base64 at each alignment, also broken into lines; and each of these inside gzip, zlib and zip
    streams at any place of a file, up to four in one another, and in a PNG's texts and inflated pixels. It cannot see
    what is encrypted, cut in pieces, drawn as letters into a picture, or packed by other means. At most `seconds`.
    """

    def __init__(self, secrets: Iterable[Secret], *, seconds: float = 60.0) -> None:
        self._known = [_Known(secret) for secret in secrets]
        self._until = time.monotonic() + seconds
        self._left = self._opened = 0
        self._cut = False

    def paths(self, paths: Iterable[str | os.PathLike[str]]) -> ScanReport:
        """What is found in files and in all files of folders; links are not followed."""
        leaks: dict[Leak, None] = {}
        unread: list[str] = []
        files = 0
        for path in dict.fromkeys(Path(file) for start in paths for file in _files(Path(start), unread)):
            if time.monotonic() > self._until:
                unread.append(f"{path}: there was no time left")
                continue
            try:
                self._left, self._opened, self._cut = _INFLATED, 0, False
                leaks |= dict.fromkeys(self._file(path))
                files += 1
                if self._cut:
                    unread.append(f"{path}: it is too much, or too much is compressed in it")
            except OSError as error:
                unread.append(f"{path}: {error.strerror or error}")
        return ScanReport(leaks=tuple(leaks), files=files, unread=tuple(unread))

    def text(self, text: str, place: str) -> tuple[Leak, ...]:
        """What is found in a text."""
        return self.data(text.encode("utf-8", "surrogatepass"), place)

    def data(self, data: bytes, place: str) -> tuple[Leak, ...]:
        """What is found in bytes; `place` is how they are called."""
        self._left, self._opened, self._cut = _INFLATED, 0, False
        return tuple(dict.fromkeys(self._within(data, place, depth=0)))

    def _file(self, path: Path) -> Iterator[Leak]:
        # A name may hold one as well, and must then not be told.
        named = [known.name for known in self._known if known.redactor.sees(path.name)]
        place = str(path.parent) if named else str(path)
        yield from (Leak(secret=name, place=place, form="a file's name") for name in named)
        if path.stat().st_size <= _WHOLE:
            yield from self._within(path.read_bytes(), place, depth=0)
            return
        with path.open("rb") as file:
            held = b""
            while part := file.read(_PART):
                if time.monotonic() > self._until:
                    self._cut = True
                    return
                yield from self._within(held + part, place, depth=0)
                held = part[-_OVERLAP:]

    def _within(self, data: bytes, place: str, *, depth: int) -> Iterator[Leak]:
        for known in self._known:
            yield from (Leak(secret=known.name, place=place, form=form) for form in known.forms(data))
        if depth >= _DEPTH:
            return
        for form, inner in self._unpacked(data):
            self._opened += 1
            if self._opened > _STREAMS:
                self._cut = True
                return
            leaks = self._in_pixels(inner, place) if form == _PIXELS else self._within(inner, place, depth=depth + 1)
            for leak in leaks:
                yield Leak(secret=leak.secret, place=place, form=f"{form}: {leak.form}")

    def _in_pixels(self, data: bytes, place: str) -> Iterator[Leak]:
        # Megabytes of each picture, in which nothing is escaped.
        for known in self._known:
            yield from (Leak(secret=known.name, place=place, form=form) for form in known.bare_forms(data))

    def _unpacked(self, data: bytes) -> Iterator[tuple[str, bytes]]:
        if _PNG in data:
            yield from self._in_pictures(data)
        if _ZIP in data:
            yield from self._in_archive(data)
        # A picture is done with; anywhere else a compressed stream may begin at any place.
        for number, match in enumerate(() if data.startswith(_PNG) else _COMPRESSED.finditer(data)):
            if number >= _STREAMS or time.monotonic() > self._until:
                self._cut = True
                return
            if inner := _inflated(data[match.start() :], most=self._left + 1):
                self._cut = self._cut or len(inner) > self._left
                self._left = max(0, self._left - len(inner))
                yield "compressed", inner

    def _in_pictures(self, data: bytes) -> Iterator[tuple[str, bytes]]:
        at = data.find(_PNG)
        while at >= 0:
            pixels, end = bytearray(), at + len(_PNG)
            for kind, body in _chunks(data, end):
                end += 12 + len(body)
                if kind == b"IDAT":
                    pixels += body
                elif kind not in (b"IHDR", b"IEND"):
                    yield "a picture's text", body
            if inner := _inflated(bytes(pixels), most=_PICTURE):
                yield _PIXELS, inner
            if at == 0 and data[end:]:
                yield "behind a picture", data[end:]
            at = data.find(_PNG, at + 1)

    def _in_archive(self, data: bytes) -> Iterator[tuple[str, bytes]]:
        try:
            with zipfile.ZipFile(BytesIO(data)) as archive:
                for entry in archive.infolist():
                    if entry.file_size > self._left or entry.flag_bits & 1:
                        self._cut = True
                        continue
                    inner = archive.read(entry)
                    self._left -= len(inner)
                    yield "an archive", entry.filename.encode() + b"\0" + inner
        except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, OSError, EOFError, ValueError):
            return  # no archive, or a broken one, whose bytes were looked through as they are


class _Known:
    """One secret as it may stand in bytes."""

    def __init__(self, secret: Secret) -> None:
        self.name = secret.name
        self.redactor = Redactor(secret.pairs())
        values = [value for value, _ in secret.pairs()]
        self._plain = [value.encode("utf-8", "surrogatepass") for value in values]
        self._plain += [value.encode("latin-1") for value in values if max(value) <= "\xff"]
        self._wide = [value.encode(f"utf-16-{order}", "surrogatepass") for value in values for order in ("le", "be")]
        self._coded = [form for data in self._wide for form in _base64_forms(data)]

    def bare_forms(self, data: bytes) -> Iterator[str]:
        """How it stands there unescaped, in words."""
        if any(value in data for value in self._plain):
            yield "as it is"
        if any(value in data for value in self._wide):
            yield "in UTF-16"

    def forms(self, data: bytes) -> Iterator[str]:
        """How it stands there, in words."""
        bare = tuple(self.bare_forms(data))
        yield from bare
        if any(value in data for value in self._coded):
            yield "in UTF-16, encoded"
        if bare:
            return
        if self.redactor.sees(data.decode("utf-8", "replace")):
            yield "encoded"
            return
        joined = _LINE_BREAKS.sub(b"", data) if b"\n" in data or b"\r" in data else data
        if joined != data and self.redactor.sees(joined.decode("utf-8", "replace")):
            yield "broken into lines"


def _base64_forms(data: bytes) -> Iterator[bytes]:
    for shift in range(3):
        encoded = base64.b64encode(bytes(shift) + data)
        yield encoded[-(-8 * shift // 6) : 8 * (shift + len(data)) // 6]


def _inflated(data: bytes, *, most: int) -> bytes:
    try:
        return zlib.decompressobj(wbits=47).decompress(data, most)
    except zlib.error:
        return b""


def _chunks(data: bytes, at: int) -> Iterator[tuple[bytes, bytes]]:
    while at + 8 <= len(data):
        size, kind = struct.unpack_from(">I4s", data, at)
        if at + 8 + size > len(data):
            return
        yield kind, data[at + 8 : at + 8 + size]
        at += 12 + size
        if kind == b"IEND":
            return


def _files(path: Path, unread: list[str]) -> Iterator[Path]:
    if path.is_symlink():
        return
    if not path.is_dir():
        if path.is_file():
            yield path
        return

    def failed(error: OSError) -> None:
        unread.append(f"{error.filename}: {error.strerror}")

    for folder, _, names in os.walk(path, onerror=failed):
        for name in sorted(names):
            file = Path(folder, name)
            if file.is_file() and not file.is_symlink():
                yield file
