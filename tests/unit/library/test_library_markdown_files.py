"""The Markdown that users can read: written whole, whoever else writes it at the same time."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from localrag.library.markdown_files import MarkdownFiles
from localrag.types import Page

PAGES = [Page(ordinal=n, number=n, markdown=f"page {n}") for n in (1, 2, 3)]


def _read(folder: Path) -> list[str]:
    return [path.read_text() for path in sorted(folder.glob("*/page_*.md"))]


def test_two_writers_of_the_same_bytes_leave_them_whole(tmp_path: Path) -> None:
    def write() -> None:
        try:
            for _ in range(20):
                MarkdownFiles(tmp_path).write("abc", PAGES)
        except BaseException as error:  # noqa: BLE001 - a thread's error must reach the test
            errors.append(error)

    errors: list[BaseException] = []
    writers = [threading.Thread(target=write) for _ in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert errors == []
    assert _read(tmp_path) == ["page 1", "page 2", "page 3"]
    assert [path.name for path in tmp_path.iterdir()] == ["abc"]


def test_pages_appear_all_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = MarkdownFiles(tmp_path)
    files.write("abc", PAGES)
    seen: list[list[str]] = []
    from localrag.library import markdown_files

    def spy(path: Path, data: bytes) -> None:
        seen.append([text for text in _read(tmp_path) if text.startswith("page")])
        path.write_bytes(data)

    monkeypatch.setattr(markdown_files, "write_unseen", spy)
    files.write("abc", [Page(ordinal=n, number=n, markdown=f"new {n}") for n in (1, 2)])
    assert seen == [["page 1", "page 2", "page 3"]] * 2
    assert _read(tmp_path) == ["new 1", "new 2"]


def test_one_page_takes_the_place_of_several_and_the_other_way_round(tmp_path: Path) -> None:
    files = MarkdownFiles(tmp_path)
    files.write("abc", PAGES)
    files.write("abc", PAGES[:1])
    assert [path.name for path in tmp_path.iterdir()] == ["abc.md"]
    files.write("abc", PAGES)
    assert [path.name for path in tmp_path.iterdir()] == ["abc"]


def test_what_vanishes_during_a_sweep_stops_nothing(tmp_path: Path) -> None:
    MarkdownFiles(tmp_path).write("old", PAGES)
    (tmp_path / "gone.md").symlink_to(tmp_path / "nowhere")  # listed, but not there when it is looked at
    os.utime(tmp_path / "old", (0, 0))
    assert MarkdownFiles(tmp_path).sweep(set()) == 1
    assert not (tmp_path / "old").exists()


def test_what_a_kill_left_of_a_write_is_swept(tmp_path: Path) -> None:
    part = tmp_path / ".part-0123"
    part.mkdir()
    (part / "page_001.md").write_text("x")
    os.utime(part, (0, 0))
    MarkdownFiles(tmp_path).sweep(set())
    assert not part.exists()
