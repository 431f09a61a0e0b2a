"""Answers are kept within limits, the newest first, in the file and in memory."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from localrag.index import sqlite_notes
from localrag.index.answer_memory import AnswersInMemory
from localrag.index.sqlite import SqliteIndex
from localrag.types import EmbeddingModel, IndexHeader

HEADER = IndexHeader(
    model=EmbeddingModel(name="m", revision="1", dimension=4, max_tokens=64), chunk_tokens=64, chunk_overlap_tokens=8
)
HALF = 10 * 1024 * 1024 + 1  # two of them are over 20 MB

Keep = Callable[[str, str], None]
Find = Callable[[str], str | None]


class Unchanging(AnswersInMemory):
    def change_counter(self) -> int:
        return 1


def _in_memory() -> tuple[Keep, Find]:
    store = Unchanging()
    return lambda key, text: store.save_answer(key, text, change=1), store.load_answer


def _in_file() -> tuple[Keep, Find]:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE answers (key TEXT PRIMARY KEY, answer TEXT NOT NULL, saved_at REAL NOT NULL)")
    moments = count()
    return (
        lambda key, text: sqlite_notes.save_answer(connection, key, text, now=next(moments)),
        lambda key: sqlite_notes.load_answer(connection, key),
    )


@pytest.mark.parametrize("make", [_in_memory, _in_file])
def test_the_newest_500_within_20_megabytes_are_kept(make: Callable[[], tuple[Keep, Find]]) -> None:
    keep, find = make()
    for number in range(502):
        keep(str(number), "{}")
    assert [find(str(number)) for number in (0, 1, 2, 501)] == [None, None, "{}", "{}"]
    keep("2", "{}")  # now the newest
    keep("new", "{}")
    assert [find(key) for key in ("2", "3", "new")] == ["{}", None, "{}"]
    keep("big", "x" * HALF)
    assert find("501") == "{}"
    keep("bigger", "y" * HALF)
    assert [find(key) and len(find(key) or "") for key in ("bigger", "big", "501")] == [HALF, None, None]


def test_a_file_of_an_earlier_release_gets_room_for_answers(tmp_path: Path) -> None:
    path = tmp_path / "library.db"
    SqliteIndex.open(path, HEADER).close()
    with sqlite3.connect(path) as connection:
        connection.execute("DROP TABLE answers")
    connection.close()
    index = SqliteIndex.open(path, HEADER)
    index.save_answer("k", "{}", change=index.change_counter())
    assert index.load_answer("k") == "{}"
    index.close()
