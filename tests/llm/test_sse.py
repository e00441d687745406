from __future__ import annotations

import pytest

from agentloop.errors import ModelError
from agentloop.llm.sse import EventDecoder


def decode(data: bytes, size: int) -> tuple[list[str], EventDecoder]:
    decoder = EventDecoder()
    payloads = [p for start in range(0, len(data), size) for p in decoder.feed(data[start : start + size])]
    return payloads + decoder.finish(), decoder


@pytest.mark.parametrize("size", [1, 2, 5, 1000])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_frames_come_out_whatever_the_pieces(size: int, end: bytes) -> None:
    lines = [
        b": hello",
        b"event: x",
        b'data: {"a": "\xc3\xa9"}',
        b"",
        b"data:two",
        b"data:   ",
        b"id: 3",
        b"data: [DONE]",
        b"",
    ]
    payloads, decoder = decode(end.join(lines), size)
    assert payloads == ['{"a": "é"}', "two", "[DONE]"]
    assert decoder.framed


def test_only_line_feeds_end_a_line() -> None:
    text = 'data: {"a": "one\u2028two\u0085three\x0bfour"}\n'
    assert decode(text.encode(), 4)[0] == [text[6:].strip()]


def test_a_last_line_without_an_end_counts() -> None:
    assert decode(b"data: one\ndata: two", 3)[0] == ["one", "two"]


def test_an_error_field_becomes_an_error_frame() -> None:
    assert decode(b'error: {"code": 500}\n\n', 50)[0] == ['{"error": {"code": 500}}']


def test_a_body_without_frames_is_kept() -> None:
    payloads, decoder = decode(b'{\n"choices": []}', 3)
    assert payloads == [] and not decoder.framed
    assert decoder.plain.strip() == '{\n"choices": []}'


@pytest.mark.parametrize("data", [b"data: " + b"x" * (1 << 20), b"plain line\n" * 100_000])
def test_endless_lines_and_bodies_are_refused(data: bytes) -> None:
    with pytest.raises(ModelError, match="without a complete event"):
        decode(data, 1 << 16)
