"""The file of an unfinished index and the one in use: what is said, what is cleaned up, who is locked out."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from localrag.errors import BackendTimeout, IndexMismatchError, LocalRagError
from localrag.index import sqlite_successor
from localrag.index.content import REBUILD_LEASE
from localrag.index.sqlite import SqliteIndex
from localrag.index.sqlite_successor import files_beside
from localrag.library.rebuilding import LEASE
from localrag.types import Chunk, Document, EmbeddingModel, IndexHeader, Page

HEADER = IndexHeader(
    model=EmbeddingModel(name="m", revision="r", dimension=2, max_tokens=512), chunk_tokens=256, chunk_overlap_tokens=32
)
OTHER = replace(HEADER, chunk_tokens=128)


@pytest.fixture
def index(tmp_path: Path) -> Iterator[SqliteIndex]:
    made = SqliteIndex.open(tmp_path / "library.db", HEADER)
    put(made, "secretword")
    yield made
    made.close()


def put(index: SqliteIndex, text: str) -> None:
    document = Document(
        id="a",
        content_hash="h",
        name="a.txt",
        uri="file:///a.txt",
        media_type="text/plain",
        size_bytes=1,
        page_count=1,
        indexed_at=datetime(2026, 3, 1, tzinfo=UTC),
    )
    chunk = Chunk(id="a_0", document_id="a", index=0, page_ordinal=1, text=text, start=0, end=len(text), token_count=3)
    index.replace_document(document, [Page(ordinal=1, markdown=text)], [chunk])


def build(index: SqliteIndex, text: str = "secretword") -> Path:
    """A successor with the document; its file."""
    successor = index.open_successor(OTHER)
    assert isinstance(successor, SqliteIndex)
    put(successor, text)
    successor.close()
    return successor.path


def hint(index: SqliteIndex, header: IndexHeader = OTHER) -> str:
    with pytest.raises(IndexMismatchError) as refused:
        SqliteIndex.open(index.path, header)
    assert refused.value.can_rebuild
    return refused.value.hint


def test_the_hint_tells_how_far_a_rebuild_is(index: SqliteIndex) -> None:
    assert hint(index).startswith("Run `localrag embed --rebuild`, which makes the index")
    build(index)
    assert "has not ended: run it again" in hint(index)
    assert hint(index, replace(OTHER, chunk_tokens=99)).startswith("Run `localrag embed --rebuild`, which makes")
    assert index.acquire_lease(LEASE, "one", 60.0)
    assert "is making the index for these settings now" in hint(index)
    assert LEASE == REBUILD_LEASE


def test_a_kill_between_the_switch_and_the_cleaning_leaves_nothing(
    index: SqliteIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    def kill(self: object) -> None:
        raise Killed

    path = build(index)
    seen = index.latest_change()
    with monkeypatch.context() as patched:
        patched.setattr(sqlite_successor.Successor, "drop", kill)
        with pytest.raises(Killed):
            index.promote_successor(seen=seen)
    assert path.exists()
    after = SqliteIndex.open(index.path, OTHER)
    assert not path.exists()
    assert [each.text for each in after.document_chunks("a")] == ["secretword"]
    after.close()


def test_what_is_deleted_is_in_no_file(index: SqliteIndex) -> None:
    path = build(index)
    index.delete_document("a")
    index.purge()
    for each in (index.path, path):
        for name in (each, each.with_name(each.name + "-wal")):
            assert b"secretword" not in (name.read_bytes() if name.exists() else b"")


def test_what_was_replaced_by_the_switch_is_in_no_file(index: SqliteIndex) -> None:
    build(index, "anotherword")
    assert index.promote_successor(seen=index.latest_change())
    index.close()
    assert [each.name for each in index.path.parent.iterdir()] == ["library.db"]
    assert b"anotherword" in index.path.read_bytes()
    assert b"secretword" not in index.path.read_bytes()


def test_a_reader_in_the_middle_keeps_its_state(index: SqliteIndex) -> None:
    build(index, "anotherword")
    reader = sqlite3.connect(index.path, isolation_level=None)
    reader.execute("BEGIN")
    assert reader.execute("SELECT text FROM chunks").fetchall() == [("secretword",)]
    assert index.promote_successor(seen=index.latest_change())
    assert reader.execute("SELECT text FROM chunks").fetchall() == [("secretword",)]
    reader.execute("COMMIT")
    assert reader.execute("SELECT text FROM chunks").fetchall() == [("anotherword",)]
    reader.close()


def test_a_writer_that_does_not_end_is_told_of(index: SqliteIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    path = build(index)
    monkeypatch.setattr(sqlite_successor, "_WAIT_S", 0.05)
    writer = sqlite3.connect(index.path, isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    with pytest.raises(BackendTimeout, match="stayed locked by another process; the new one is ready"):
        index.promote_successor(seen=index.latest_change())
    writer.execute("ROLLBACK")
    writer.close()
    assert path.exists()
    assert index.promote_successor(seen=index.latest_change())


def test_a_conversation_saved_just_before_the_lock_goes_along(
    index: SqliteIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    build(index)
    bring_along = sqlite_successor._bring_along

    def late(old: sqlite3.Connection, new: sqlite3.Connection) -> None:
        bring_along(old, new)
        if index.load_conversation("c") is None:
            index.save_conversation("c", "[1]")

    monkeypatch.setattr(sqlite_successor, "_bring_along", late)
    assert index.promote_successor(seen=index.latest_change())
    assert index.load_conversation("c") == "[1]"


def test_a_damaged_successor_is_begun_anew(index: SqliteIndex) -> None:
    path = build(index)
    path.write_bytes(b"no database at all" * 100)
    again = index.open_successor(OTHER)
    assert again.documents() == []
    again.close()


def test_all_files_of_both_are_known(index: SqliteIndex) -> None:
    successor = index.open_successor(OTHER)
    put(index, "text")
    present = set(index.path.parent.iterdir())
    assert len(present) >= 4
    assert present <= set(files_beside(index.path))
    successor.close()


def test_searches_meet_the_old_index_or_the_refusal_and_nothing_else(index: SqliteIndex) -> None:
    ends: list[LocalRagError] = []

    def search() -> None:
        try:
            while True:
                found = index.search_legs("secretword", None, limit=1).lexical
                assert found is not None
                assert [hit.chunk.text for hit in found] == ["secretword"]
        except LocalRagError as error:
            ends.append(error)

    searchers = [threading.Thread(target=search) for _ in range(4)]
    for each in searchers:
        each.start()
    build(index, "anotherword")
    assert index.promote_successor(seen=index.latest_change())
    for each in searchers:
        each.join(timeout=30)
    assert [type(each) for each in ends] == [IndexMismatchError] * 4


def test_one_that_is_just_being_made_is_left_alone(index: SqliteIndex) -> None:
    path = build(index)
    path.unlink()
    path.touch()
    SqliteIndex.open(index.path, HEADER).close()
    assert path.exists()
    with pytest.raises(IndexMismatchError, match="another program"):
        index.promote_successor(seen=index.latest_change())
    assert [each.text for each in index.document_chunks("a")] == ["secretword"]
