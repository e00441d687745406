"""Server-sent events, as model servers really send them: bytes in, payloads out."""

from __future__ import annotations

from agentloop.errors import ModelError

__all__ = ["DONE", "EventDecoder"]

DONE = "[DONE]"
"""The payload that closes a stream."""

_LIMIT = 1 << 20


class EventDecoder:
    """Collects bytes and gives back the payload of each `data:` line.

    Each such line is a frame of its own, because not every server puts the blank line between
    events. Lines end with LF or CRLF and nothing else: JSON may hold any other separator. Comments and
    other fields are ignored. Until the first frame, the text that came is kept in `plain`, for
    servers that answer a streaming request with an ordinary body. A line, or a body without frames,
    of more than 1 MiB raises `ModelError`.
    """

    def __init__(self) -> None:
        self._rest = bytearray()
        self._plain = bytearray()
        self._framed = False

    @property
    def framed(self) -> bool:
        """True once a frame was seen."""
        return self._framed

    @property
    def plain(self) -> str:
        """What came instead of frames."""
        return self._plain.decode("utf-8", "replace")

    def feed(self, data: bytes) -> list[str]:
        """Takes the next bytes; returns the payloads that are complete now, blank ones left out."""
        self._rest += data
        *lines, rest = self._rest.split(b"\n")
        self._rest = bytearray(rest)
        payloads = [payload for line in lines if (payload := self._line(line))]
        self._check_size()
        return payloads

    def finish(self) -> list[str]:
        """The payload of a last line without an end."""
        last, self._rest = bytes(self._rest), bytearray()
        payload = self._line(last) if last else ""
        return [payload] if payload else []

    def _line(self, line: bytes | bytearray) -> str:
        field, _, value = line.removesuffix(b"\r").partition(b":")
        if field == b"data":
            self._framed = True
            return value.decode("utf-8", "replace").strip()
        if field == b"error" and value.lstrip()[:1] == b"{":
            # llama-server has sent failures under a field name of its own.
            self._framed = True
            return f'{{"error": {value.decode("utf-8", "replace").strip()}}}'
        if not self._framed:
            self._plain += line + b"\n"
        return ""

    def _check_size(self) -> None:
        if len(self._rest) > _LIMIT or (not self._framed and len(self._plain) > _LIMIT):
            raise ModelError(f"the model's server sent more than {_LIMIT:,} bytes without a complete event")
