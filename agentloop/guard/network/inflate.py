"""Decompresses a response no further than its limit, however much it would become."""

from __future__ import annotations

import zlib

from agentloop.errors import WorldError

__all__ = ["Inflater"]

_GZIP_OR_ZLIB = 47
_BARE = -15


class Inflater:
    """Takes a body as it arrives. `encoding` is its `Content-Encoding`; `limit` bytes are kept of what comes out.

    Raises `WorldError` for an encoding that nobody asked for, and for data that is none.
    """

    def __init__(self, encoding: str, *, limit: int) -> None:
        codings = [name for name in encoding.lower().replace(" ", "").split(",") if name not in ("", "identity")]
        if len(codings) > 1 or not {"gzip", "x-gzip", "deflate"}.issuperset(codings):
            raise WorldError(f"the response is encoded as {encoding[:40]!r}, which was not asked for")
        self._coding = codings[0] if codings else ""
        self._limit = limit
        self._kept = bytearray()
        self._stream = zlib.decompressobj(_GZIP_OR_ZLIB) if codings else None
        self._begun = False

    @property
    def full(self) -> bool:
        """Whether more has come than is kept: no need to read on."""
        return len(self._kept) > self._limit

    def feed(self, data: bytes) -> None:
        """Takes the next piece."""
        if self._stream is None:
            self._kept += data[: self._room]
            return
        while data and not self.full:
            self._kept += self._inflated(data)
            data = self._stream.unused_data
            # A second member may follow the first, as `cat a.gz b.gz` makes them.
            if data and self._coding != "deflate":
                self._stream = zlib.decompressobj(_GZIP_OR_ZLIB)
            else:
                return

    def taken(self) -> tuple[bytes, bool]:
        """What is kept, and whether it is less than the whole."""
        unfinished = self._stream is not None and self._begun and not self._stream.eof
        return bytes(self._kept[: self._limit]), self.full or unfinished

    @property
    def _room(self) -> int:
        return self._limit + 1 - len(self._kept)

    def _inflated(self, data: bytes) -> bytes:
        assert self._stream is not None
        try:
            inflated = self._stream.decompress(data, self._room)
        except zlib.error as error:
            # Some servers mean the bare format by "deflate", and browsers read both.
            if self._begun or self._coding != "deflate":
                raise WorldError(f"the response is no {self._coding} data: {error}") from None
            self._stream = zlib.decompressobj(_BARE)
            self._begun = True
            return self._inflated(data)
        self._begun = True
        return inflated
