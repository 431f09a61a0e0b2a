"""`check` finds every disagreement, `rebuild_derived` mends what can be derived, and memory follows the file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from localrag.index import sqlite_vectors
from localrag.index.sqlite import SqliteIndex
from localrag.testing import store_texts
from localrag.types import EmbeddingModel, IndexHeader

HEADER = IndexHeader(
    model=EmbeddingModel(name="m", revision="r", dimension=2, max_tokens=512), chunk_tokens=256, chunk_overlap_tokens=32
)
NORTH = np.array([1, 0], dtype=np.float32)
EAST = np.array([0, 1], dtype=np.float32)


def embed(index: SqliteIndex, vector: np.ndarray) -> None:  # type: ignore[type-arg]
    index.add_vectors({each.text_hash: vector for each in index.pending_texts(1000)})


def nearest(index: SqliteIndex) -> list[str]:
    return [hit.chunk.id for hit in index.search_legs(None, NORTH, limit=10).vector or ()]


@pytest.fixture
def index(tmp_path: Path) -> SqliteIndex:
    made = SqliteIndex.open(tmp_path / "library.db", HEADER)
    store_texts(made, "a", "walrus one", "walrus two")
    embed(made, NORTH)
    store_texts(made, "b", "otter")
    return made


@pytest.mark.parametrize(
    ("damage", "failing"),
    [
        ("DELETE FROM chunk_words WHERE rowid = 1", {"keyword index"}),
        ("INSERT INTO chunk_words (rowid, body) VALUES (999, 'ghost')", {"keyword index"}),
        ("UPDATE chunk_words_content SET c0 = 'other' WHERE id = 1", {"keyword postings"}),
        ("UPDATE documents SET chunk_count = 7 WHERE id = 'a'", {"chunk counts"}),
        ("UPDATE documents SET embedded_count = 1 WHERE id = 'b'", {"embedding counts"}),
        ("INSERT INTO texts (hash) VALUES ('orphan')", {"vectors"}),
        ("DELETE FROM vectors WHERE text_key = 1", {"vectors"}),
        ("UPDATE texts SET embedded_change = NULL WHERE key = 1", {"vectors", "embedding counts"}),
    ],
)
def test_a_disagreement_is_found_and_mended(index: SqliteIndex, damage: str, failing: set[str]) -> None:
    assert all(check.ok for check in index.check(deep=True))
    with index._database.writing() as connection:
        connection.execute(damage)
    wrong = [check for check in index.check(deep=True) if not check.ok]
    assert {check.name for check in wrong} == failing
    assert all(check.hint for check in wrong)
    index.rebuild_derived()
    assert all(check.ok for check in index.check(deep=True)), index.check(deep=True)
    found = index.search_legs("walrus otter", None, limit=10).lexical or ()
    assert {hit.chunk.id for hit in found} == {"a_0", "a_1", "b_0"}
    index.close()


def test_a_lost_vector_is_pending_again_after_mending(index: SqliteIndex) -> None:
    with index._database.writing() as connection:
        connection.execute("DELETE FROM vectors WHERE text_key = 1")
    index.rebuild_derived()
    assert [each.text for each in index.pending_texts(5)] == ["walrus one", "otter"]
    assert nearest(index) == ["a_1"]
    index.close()


def test_mending_is_seen_by_those_who_have_it_open(index: SqliteIndex) -> None:
    other = SqliteIndex.open(index.path, HEADER)
    with index._database.writing() as connection:
        connection.execute("UPDATE chunks SET term_count = 1000 WHERE id = 'a_1'")
        connection.execute("UPDATE meta SET value = value + 1 WHERE key = 'changes'")
    ids = [hit.chunk.id for hit in other.search_legs("walrus", None, limit=5).lexical or ()]
    scores = [hit.score for hit in other.search_legs("walrus", None, limit=5).lexical or ()]
    index.rebuild_derived()
    mended = [hit.score for hit in other.search_legs("walrus", None, limit=5).lexical or ()]
    assert ids == ["a_0", "a_1"]
    assert scores[0] > scores[1]
    assert mended[0] == mended[1]
    other.close()
    index.close()


def test_small_changes_do_not_read_the_vectors_again(index: SqliteIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    assert nearest(index) == ["a_0", "a_1"]
    first = index._mirror._matrix
    store_texts(index, "c", "third")
    embed(index, EAST)
    index.delete_document("a")
    assert nearest(index) == ["b_0", "c_0"]
    second = index._mirror._matrix
    assert second.rows == first.rows + 2  # otter and third came; the two that went are still in the buffer
    monkeypatch.setattr(sqlite_vectors, "_READ_ROWS", 1)
    store_texts(index, "d", "fourth")
    assert nearest(index) == ["b_0", "c_0"]
    # 4 rows, 2 of them needed: not yet above 2 * 2 + 1.
    assert index._mirror._matrix.rows == 4
    index.delete_document("b")
    assert nearest(index) == ["c_0"]
    # 4 rows, 1 needed: above 2 * 1 + 1, so read anew.
    assert index._mirror._matrix.rows == 1
    index.close()


def test_a_keyword_search_reads_no_vectors(index: SqliteIndex) -> None:
    assert index.search_legs("walrus", None, limit=5).lexical
    assert index._mirror._matrix.rows == 0
    index.close()
