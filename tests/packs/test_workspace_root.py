"""Names looked up through handles, while somebody exchanges folders for links."""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from agentloop.errors import FileConflict, InvalidInput
from agentloop.packs.workspace.listing import list_files, list_folder, search
from agentloop.packs.workspace.patterns import compile_glob, compile_line_pattern
from agentloop.packs.workspace.reading import read_text
from agentloop.packs.workspace.root import Root
from agentloop.packs.workspace.threads import Stop
from agentloop.packs.workspace.writing import Edit, plan_edit, plan_write, put

OUTSIDE = "the outside"
TRIES = 200
AT_FDCWD, RENAME_EXCHANGE = -100, 2


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Root]:
    """`inner/file.txt` in the root, and a folder of the same shape beside it."""
    for folder in ("project/inner/sub", "outside/sub"):
        (tmp_path / folder).mkdir(parents=True)
    for folder, content in (("project/inner", "inside"), ("outside", OUTSIDE)):
        (tmp_path / folder / "file.txt").write_text(content)
        (tmp_path / folder / "sub/file.txt").write_text(content)
    opened = Root(tmp_path / "project")
    yield opened
    opened.close()


@contextmanager
def exchanging(tmp_path: Path) -> Iterator[Callable[[], int]]:
    """`inner` is a folder and a link to the outside in turn, as fast as can be; gives how often so far."""
    names = [os.fsencode(tmp_path / name) for name in ("project/inner", "link")]
    (tmp_path / "link").symlink_to(tmp_path / "outside")
    libc = ctypes.CDLL(None, use_errno=True)
    done = threading.Event()
    count = failed = 0

    def exchange() -> None:
        nonlocal count, failed
        while not done.is_set():
            failed |= libc.renameat2(AT_FDCWD, names[0], AT_FDCWD, names[1], RENAME_EXCHANGE)
            count += 1

    thread = threading.Thread(target=exchange)
    thread.start()
    try:
        yield lambda: count
    finally:
        done.set()
        thread.join()
    assert not failed


def attempts(root: Root) -> tuple[Callable[[], object], ...]:
    """One of each thing that scripts can have done below `inner`, returning what it told of it."""
    stop = Stop()
    return (
        lambda: read_text(root, "inner/file.txt", offset=1, limit=None, cap=100, stop=stop).text,
        lambda: read_text(root, "inner/sub/file.txt", offset=1, limit=None, cap=100, stop=stop).text,
        lambda: list_folder(root, "inner", most=10).items,
        lambda: list_files(root, compile_glob("inner/**"), ignored=False, most=9, walked=99, stop=stop).items,
        lambda: (
            search(
                root,
                compile_line_pattern("side", ignore_case=False),
                compile_glob("**"),
                ignored=False,
                most=9,
                walked=99,
                stop=stop,
            ).items
        ),
        lambda: put(root, plan_write(root, "inner/made/new.txt", "new", most=99, stop=stop), stop),
        lambda: put(root, plan_write(root, "inner/file.txt", "inside", most=99, stop=stop), stop),
        lambda: put(
            root, plan_edit(root, "inner/sub/file.txt", Edit(find="side", replace="side"), most=99, stop=stop), stop
        ),
    )


def race(root: Root, tmp_path: Path, tries: int) -> None:
    """So many tries, and as many more as it takes to have met both the folder and the link."""
    worked = refused = number = 0
    with exchanging(tmp_path) as exchanges:
        while number < tries or not (worked and refused and exchanges()):
            assert number < 100 * tries
            attempt = attempts(root)[number % 8]
            number += 1
            try:
                told = attempt()
                worked += 1
            except (InvalidInput, FileConflict, OSError):
                refused += 1
                continue
            assert OUTSIDE not in str(told)
    assert_untouched(tmp_path / "outside")


def assert_untouched(outside: Path) -> None:
    assert sorted(os.listdir(outside)) == ["file.txt", "sub"]
    assert os.listdir(outside / "sub") == ["file.txt"]
    assert (outside / "file.txt").read_text() == OUTSIDE
    assert (outside / "sub/file.txt").read_text() == OUTSIDE


@pytest.mark.skipif(sys.platform != "linux", reason="names are exchanged as Linux does it")
def test_a_folder_exchanged_for_a_link_leads_nowhere(root: Root, tmp_path: Path) -> None:
    race(root, tmp_path, TRIES)


@pytest.mark.soak
@pytest.mark.skipif(sys.platform != "linux", reason="names are exchanged as Linux does it")
@pytest.mark.timeout(300)
def test_ten_thousand_tries_lead_nowhere(root: Root, tmp_path: Path) -> None:
    race(root, tmp_path, 10_000)


def test_a_folder_moved_out_while_inside_it_does_not_lead_up(root: Root, tmp_path: Path) -> None:
    """`..` goes back to the handle that the walk came from, not to wherever the folder is now."""
    (tmp_path / "project/inner/back").symlink_to("sub/../../file.txt")
    (tmp_path / "project/file.txt").write_text("the root's")
    (tmp_path / "project/inner").rename(tmp_path / "outside/inner")
    (tmp_path / "project/inner").symlink_to("../outside/inner")
    with pytest.raises(InvalidInput, match="leads outside"), root.find("inner/back"):
        pass


def test_places(root: Root, tmp_path: Path) -> None:
    (tmp_path / "project/way").symlink_to("inner/sub")
    with root.find("./way/../file.txt") as place:
        assert (place.path, place.name, place.missing) == ("inner/file.txt", "file.txt", ())
    with root.find("") as place:
        assert (place.path, place.name) == ("", ".")
    with root.find("way/new/folder/file") as place:
        assert (place.path, place.missing) == ("inner/sub/new/folder/file", ("new", "folder"))
    assert not (tmp_path / "project/inner/sub/new").exists()
    with pytest.raises(InvalidInput, match="link"), root.find("way/file.txt", links=False):
        pass


@pytest.mark.parametrize("path", ["a/" * 300, "x" * 5000, "\ud800"])
def test_paths_that_cannot_be(root: Root, path: str) -> None:
    with pytest.raises(InvalidInput), root.find(path):
        pass


def test_no_handle_is_left_open(root: Root, tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    for attempt in attempts(root):
        attempt()
    for path in ("..", "inner/file.txt/x", "inner/../..", "missing/a", ".git"):
        with pytest.raises((InvalidInput, OSError)):
            read_text(root, path, offset=1, limit=None, cap=1, stop=Stop())
    assert (len(os.listdir("/proc/self/fd")) if before else 0) == before


def test_a_closed_root_finds_nothing(root: Root) -> None:
    root.close()
    root.close()
    with pytest.raises(InvalidInput, match="closed"), root.find("inner"):
        pass
