"""The scan finds a secret in every form it names: each is planted here, and found."""

from __future__ import annotations

import base64
import gzip
import html
import json
import os
import sqlite3
import struct
import zipfile
import zlib
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from agentloop.artifacts.folder import FolderArtifacts
from agentloop.artifacts.redacted import RedactedArtifacts
from agentloop.artifacts.scan import Scanner
from agentloop.guard.redact import Redactor
from agentloop.guard.secrets import Secret, Secrets

VALUE = 'correct-horse "7" & é'
FLAT = "sk_live_0123456789"
AROUND = b"\x00\xffnoise \r\n" * 50


def secret(value: str = VALUE, name: str = "LOGIN") -> Secret:
    return Secret(name=name, value=value, origins=["https://shop.example"])


def with_text(**info: str) -> bytes:
    out, texts = BytesIO(), PngInfo()
    for key, value in info.items():
        texts.add_text(key, value, zip=key == "zipped")
    Image.new("RGB", (4, 4)).save(out, "PNG", pnginfo=texts)
    return out.getvalue()


def in_pixels(value: str) -> bytes:
    rows = zlib.compress(b"\0" + value.encode())

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", len(value.encode()), 1, 8, 0, 0, 0, 0)
    parts = [chunk(b"IDAT", rows[:9]), chunk(b"IDAT", rows[9:]), chunk(b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + b"".join(parts)


def in_zip(value: str, *, kind: int = zipfile.ZIP_DEFLATED, name: str = "a.txt") -> bytes:
    out = BytesIO()
    with zipfile.ZipFile(out, "w", kind) as archive:
        archive.writestr(name, value * 3)
    return out.getvalue()


def encoded(value: str) -> bytes:
    return value.encode()


FORMS: dict[str, Callable[[str], bytes]] = {
    "as it is": encoded,
    "capitals": lambda value: value.upper().encode(),
    "small letters": lambda value: value.lower().encode(),
    "UTF-16 LE": lambda value: value.encode("utf-16-le"),
    "UTF-16 BE": lambda value: value.encode("utf-16-be"),
    "UTF-16 in base64": lambda value: base64.b64encode(b"x" + value.encode("utf-16-le") + b"y"),
    "JSON": lambda value: json.dumps({"a": value}).encode(),
    "JSON in JSON": lambda value: json.dumps(json.dumps([value])).encode(),
    "JSON, each letter escaped": lambda value: "".join(f"\\u{ord(char):04x}" for char in value).encode(),
    "URL": lambda value: quote(value, safe="").encode(),
    "URL in small letters": lambda value: quote(value, safe="").lower().encode(),
    "form": lambda value: quote_plus(value).encode(),
    "HTML": lambda value: html.escape(value).encode(),
    "HTML numbers": lambda value: "".join(f"&#{ord(char)};" for char in value).encode(),
    "hex": lambda value: value.encode().hex().encode(),
    "HEX": lambda value: value.encode().hex().upper().encode(),
    "unseen characters": lambda value: "\u200b".join(value).encode(),
    "base64": lambda value: base64.b64encode(value.encode()),
    "base64, one later": lambda value: base64.b64encode(b"a" + value.encode() + b"zz"),
    "base64, two later": lambda value: base64.b64encode(b"ab" + value.encode() + b"zz"),
    "base64 for URLs": lambda value: base64.urlsafe_b64encode(b"user:" + value.encode()),
    "base64 in lines": lambda value: base64.encodebytes(b"x" * 50 + value.encode() + b"y" * 70),
    "gzip": lambda value: gzip.compress(value.encode()),
    "zlib": lambda value: zlib.compress(value.encode(), 9),
    "gzip of JSON in gzip": lambda value: gzip.compress(b"--" + gzip.compress(json.dumps(value).encode())),
    "zip": in_zip,
    "zip, stored": lambda value: in_zip(value, kind=zipfile.ZIP_STORED),
    "zip of an escaped text": lambda value: in_zip(json.dumps(value)),
    "PNG text": lambda value: with_text(comment=value),
    "PNG text, zipped": lambda value: with_text(zipped=value),
    "PNG pixels": in_pixels,
}


@pytest.mark.parametrize("value", [VALUE, FLAT])
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())
def test_every_form_is_found_wherever_in_a_file_it_stands(
    tmp_path: Path, form: Callable[[str], bytes], value: str
) -> None:
    file = tmp_path / "deep" / "file.bin"
    file.parent.mkdir()
    file.write_bytes(AROUND + form(value) + AROUND)
    (tmp_path / "clean.bin").write_bytes(AROUND + form("perfect-mouse 12345678") + AROUND)
    report = Scanner([secret(value)]).paths([tmp_path])
    assert {leak.place for leak in report.leaks} == {str(file)}
    assert report.files == 2 and report.unread == ()
    assert value not in repr(report) + "".join(map(str, report.leaks))


def test_each_secret_is_told_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "a").write_text(f"{VALUE} {FLAT}", encoding="utf-8")
    report = Scanner([secret(), secret(FLAT, "TOKEN"), secret("not-there-at-all", "OTHER")]).paths([tmp_path])
    assert [str(leak) for leak in report.leaks] == [
        f"secret LOGIN stands in {tmp_path / 'a'} (as it is)",
        f"secret TOKEN stands in {tmp_path / 'a'} (as it is)",
    ]


def test_a_name_that_holds_it_is_found_and_not_repeated(tmp_path: Path) -> None:
    (tmp_path / f"{FLAT}.txt").write_text("nothing", encoding="utf-8")
    report = Scanner([secret(FLAT)]).paths([tmp_path])
    assert [leak.form for leak in report.leaks] == ["a file's name"]
    assert FLAT not in repr(report)


def test_rows_of_a_database_and_its_log_are_read(tmp_path: Path) -> None:
    database = sqlite3.connect(tmp_path / "kept.db")
    database.execute("pragma journal_mode=wal")
    database.execute("create table t (a text)")
    database.commit()
    assert Scanner([secret(FLAT)]).paths([tmp_path]).leaks == ()
    database.execute("insert into t values (?)", ("x" * 9000 + FLAT,))
    database.commit()
    places = {Path(leak.place).name for leak in Scanner([secret(FLAT)]).paths([tmp_path]).leaks}
    database.close()
    assert places == {"kept.db-wal"}


def test_links_are_not_followed_and_what_cannot_be_read_is_told(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a").write_text(FLAT, encoding="utf-8")
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "link").symlink_to(outside / "a")
    (folder / "links").symlink_to(outside)
    (folder / "loop").symlink_to(folder)
    os.mkfifo(folder / "pipe")
    report = Scanner([secret(FLAT)]).paths([folder, tmp_path / "missing"])
    assert (report.leaks, report.files) == ((), 0)
    (folder / "late").write_text(FLAT, encoding="utf-8")
    late = Scanner([secret(FLAT)], seconds=-1).paths([folder])
    assert late.leaks == () and "late: there was no time left" in late.unread[0]


BIG = ("bomb", "bombs", "heads")


def test_a_bomb_and_broken_archives_are_no_trouble(tmp_path: Path) -> None:
    bomb = gzip.compress(bytes(1 << 26))
    for name, data in {
        "bomb": bomb,
        "bombs": in_zip("x") + gzip.compress(gzip.compress(bytes(1 << 25))),
        "cut": in_zip(VALUE)[:40],
        "cut.png": with_text(comment="x")[:20],
        "heads": b"\x78\x9c" * 30_000 + b"PK\x03\x04" * 100 + b"\x89PNG\r\n\x1a\n" * 100,
    }.items():
        (tmp_path / name).write_bytes(data)
    report = Scanner([secret()]).paths([tmp_path])
    assert (report.leaks, report.files) == ((), 5)
    assert sorted(line.partition(":")[0] for line in report.unread) == [str(tmp_path / name) for name in BIG]


def test_text_is_scanned_too() -> None:
    assert Scanner([secret()]).text(f"a {VALUE} b", "a row")[0].place == "a row"
    assert Scanner([secret()]).text("a b", "a row") == ()


async def test_texts_are_redacted_before_they_are_written(tmp_path: Path) -> None:
    secrets = Secrets([secret()])
    place = secrets.get("LOGIN").placeholder
    kept = RedactedArtifacts(FolderArtifacts(tmp_path), secrets.extend(Redactor([("mine-mine", "[mine]")])))
    await kept.write("a.json", json.dumps({"value": VALUE, VALUE: ["mine-mine"]}).encode())
    await kept.write("b.txt", f"x {VALUE} y".encode())
    await kept.write(f"{FLAT}.bin", bytes(range(256)))
    assert json.loads((tmp_path / "a.json").read_bytes()) == {"value": place, place: ["[mine]"]}
    assert (tmp_path / "b.txt").read_text(encoding="utf-8") == f"x {place} y"
    assert (tmp_path / f"{FLAT}.bin").read_bytes() == bytes(range(256))
    assert kept.location == str(tmp_path)
    assert Scanner([secret()]).paths([tmp_path]).leaks == ()
