"""A library copied to another index: nothing parsed or embedded again, an interruption made good, faults told."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from localrag.errors import SettingsError
from localrag.index.content import text_hash
from localrag.index.sqlite import SqliteIndex
from localrag.library.migration import MigrationProgress, migrate
from localrag.protocols import Vectors
from localrag.testing import store_texts
from localrag.types import EmbeddingModel, Failure, IndexHeader

HEADER = IndexHeader(
    model=EmbeddingModel(name="m", revision="r", dimension=4, max_tokens=512), chunk_tokens=256, chunk_overlap_tokens=32
)
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
WORDS = ["oak", "elm", "fir", "ash", "yew", "box"]


@pytest.fixture
def source(tmp_path: Path) -> Iterator[SqliteIndex]:
    """Six documents of two chunks; the second text is in all of them; one text has no vector yet."""
    index = SqliteIndex.open(tmp_path / "source.db", HEADER)
    for number, word in enumerate(WORDS):
        store_texts(index, word, f"the {word} tree", "shared words", tags={"n": str(number)}, collection="trees/all")
    for each in index.pending_texts(100):
        if "box" not in each.text:
            index.add_vectors({each.text_hash: vector_for(each.text)})
    index.record_failure(
        Failure(uri="file:///x", name="x", kind="crash", message="It broke.", hint="Mend it.", failed_at=NOON)
    )
    yield index
    index.close()


@pytest.fixture
def target(tmp_path: Path) -> Iterator[SqliteIndex]:
    index = SqliteIndex.open(tmp_path / "target.db", HEADER)
    yield index
    index.close()


def vector_for(text: str) -> Vectors:
    row = np.array([len(text), ord(text[4]) - 96, ord(text[5]) - 96, 1], dtype=np.float32)
    return row / np.float32(np.linalg.norm(row))


def test_everything_is_there_and_alike(source: SqliteIndex, target: SqliteIndex) -> None:
    seen: list[MigrationProgress] = []
    result = migrate(source, target, on_progress=seen.append)
    # 6 documents of 2 chunks, each with a text of its own and one that all share; one of their own waits
    assert (result.documents, result.copied, result.chunks, result.vectors) == (6, 6, 12, 11)
    assert (result.searches, result.agreement, result.problems) == (6, 1.0, ())
    assert [(each.done, each.total) for each in seen] == [(number, 6) for number in range(1, 7)]
    assert target.documents() == source.documents()
    assert target.failures() == source.failures()
    for word in WORDS:
        assert target.pages(word) == source.pages(word)
        assert target.document_chunks(word) == source.document_chunks(word)
        ours, theirs = source.document_vectors(word), target.document_vectors(word)
        assert ours.keys() == theirs.keys()
        assert all(np.array_equal(ours[key], theirs[key]) for key in ours)
    assert [each.text for each in target.pending_texts(10)] == ["the box tree"]


def test_a_second_run_goes_on_where_the_first_ended(source: SqliteIndex, target: SqliteIndex) -> None:
    class Killed(Exception):
        pass

    def kill(progress: MigrationProgress) -> None:
        if progress.done == 4:
            raise Killed

    with pytest.raises(Killed):
        migrate(source, target, on_progress=kill)
    assert len(target.documents()) == 4
    result = migrate(source, target)
    assert (result.copied, result.documents, result.problems) == (2, 6, ())
    again = migrate(source, target)
    assert (again.copied, again.vectors, again.problems) == (0, 0, ())


def test_a_document_that_changed_meanwhile_is_copied_again(source: SqliteIndex, target: SqliteIndex) -> None:
    migrate(source, target)
    store_texts(source, "oak", "another text", content_hash="v2")
    result = migrate(source, target)
    assert (result.copied, result.problems) == (1, ())
    assert [chunk.text for chunk in target.document_chunks("oak")] == ["another text"]


def test_a_document_that_is_deleted_meanwhile_is_left_out(source: SqliteIndex, target: SqliteIndex) -> None:
    def delete_another(progress: MigrationProgress) -> None:
        if progress.done == 3:
            source.delete_document(source.documents()[4].id)

    result = migrate(source, target, on_progress=delete_another)
    assert (result.copied, result.documents, result.problems) == (5, 5, ())
    assert target.documents() == source.documents()


def test_a_document_that_is_deleted_while_both_are_compared_is_no_sample(
    source: SqliteIndex, target: SqliteIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    migrate(source, target)
    monkeypatch.setattr(source, "document_chunks", lambda _: [])  # as if deleted after it was listed
    assert migrate(source, target).searches == 0


def test_a_target_with_other_documents_is_left_alone(source: SqliteIndex, target: SqliteIndex) -> None:
    store_texts(target, "stranger", "text")
    with pytest.raises(SettingsError, match=r"1 documents that the source does not have, such as stranger\.txt"):
        migrate(source, target)
    assert [each.id for each in target.documents()] == ["stranger"]


def test_what_does_not_agree_is_told(source: SqliteIndex, target: SqliteIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    def empty(text: str | None, vector: Vectors | None, *, limit: int, where: object = None) -> object:
        return SqliteIndex.search_legs(target, "nothing like it", None, limit=limit)

    monkeypatch.setattr(target, "search_legs", empty)
    result = migrate(source, target)
    assert result.agreement == 0.0
    assert result.problems == ("the best 10 of 6 searches agree by 0% only",)
    target.clear()
    whole = target.replace_document
    monkeypatch.setattr(target, "replace_document", lambda *parts: whole(*parts[:3]))
    monkeypatch.setattr(target, "add_vectors", lambda vectors: 0)
    assert "embedded: the source has 11, the target 0" in migrate(source, target).problems


def test_an_empty_library_is_copied_too(tmp_path: Path, target: SqliteIndex) -> None:
    empty = SqliteIndex.open(tmp_path / "empty.db", HEADER)
    result = migrate(empty, target)
    empty.close()
    assert (result.documents, result.searches, result.agreement, result.problems) == (0, 0, 1.0, ())


def test_vectors_are_read_by_text(source: SqliteIndex) -> None:
    read: Sequence[str] = list(source.document_vectors("oak"))
    assert sorted(read) == sorted([text_hash("the oak tree"), text_hash("shared words")])
    assert source.document_vectors("none") == {}


def test_conversations_go_along_and_are_compared(
    source: SqliteIndex, target: SqliteIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    source.save_conversation("c1", '[{"role": "user"}]')
    source.save_conversation("c2", "[]")
    target.save_conversation("c2", '["of an earlier run"]')
    target.save_conversation("c3", '["the target\'s own"]')
    result = migrate(source, target)
    assert (result.conversations, result.problems) == (2, ())
    held = {each: target.load_conversation(each) for each in target.conversation_ids()}
    assert held == {"c1": '[{"role": "user"}]', "c2": "[]", "c3": '["the target\'s own"]'}
    target.delete_conversation("c1")
    monkeypatch.setattr(target, "save_conversation", lambda *parts: None)
    assert migrate(source, target).problems == ("conversations: 1 are not as in the source, such as c1",)
