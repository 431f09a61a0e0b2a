"""What every SearchIndex promises, over every backend; the in-memory index is the expected answer."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Protocol

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from localrag.errors import IndexMismatchError, NotFoundError
from localrag.filters import (
    AllOf,
    AnyOf,
    DocumentIn,
    Filter,
    InCollection,
    IndexedBetween,
    MediaTypeIs,
    Not,
    ReadableBy,
    TagIs,
)
from localrag.index.content import text_hash
from localrag.index.memory import MemoryIndex
from localrag.index.opensearch import OpenSearchIndex
from localrag.index.sqlite import SqliteIndex
from localrag.protocols import Library, Vectors
from localrag.types import Chunk, Document, EmbeddingModel, Failure, IndexHeader, Page, ScoredChunk

DIMENSION = 4
HEADER = IndexHeader(
    model=EmbeddingModel(name="test-model", revision="r1", dimension=DIMENSION, max_tokens=512),
    chunk_tokens=256,
    chunk_overlap_tokens=32,
)
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


OTHER = replace(HEADER, model=replace(HEADER.model, name="other-model", dimension=3), chunk_tokens=128)


class Index(Library, Protocol):
    """What a backend is."""


class Clock:
    """Seconds that pass only when told to."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


def _memory(folder: Path, clock: Clock, header: IndexHeader = HEADER) -> Index:
    return MemoryIndex(header, clock=clock)


def _sqlite(folder: Path, clock: Clock, header: IndexHeader = HEADER) -> Index:
    return SqliteIndex.open(folder / "library.db", header, clock=clock)


def _opensearch(folder: Path, clock: Clock) -> Index:
    """A library of its own on the real server (`make test-services` starts it); those of earlier tests are dropped."""
    url = os.environ.get("OPENSEARCH_TEST_URL", "http://127.0.0.1:9200")
    OpenSearchIndex.drop(url, "contract")
    return OpenSearchIndex.open(url, "contract", HEADER, clock=clock)


def _opened(index: Index, header: IndexHeader, clock: Clock) -> Index:
    """The library of `index` as another process finds it; the memory of a process has one only."""
    if isinstance(index, SqliteIndex):
        return SqliteIndex.open(index.path, header, clock=clock)
    if isinstance(index, OpenSearchIndex):
        url = os.environ.get("OPENSEARCH_TEST_URL", "http://127.0.0.1:9200")
        return OpenSearchIndex.open(url, "contract", header, clock=clock)
    assert isinstance(index, MemoryIndex)
    assert index.header == header
    return index


BACKENDS: dict[str, Callable[[Path, Clock], Index]] = {"memory": _memory, "sqlite": _sqlite, "opensearch": _opensearch}
BACKEND_NAMES = [pytest.param(name, marks=[pytest.mark.opensearch] * (name == "opensearch")) for name in BACKENDS]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=BACKEND_NAMES)
def index(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> Iterator[Index]:
    made = BACKENDS[request.param](tmp_path, clock)
    yield made
    made.close()


def document(identifier: str = "a", **changes: object) -> Document:
    made = Document(
        id=identifier,
        content_hash=f"hash-{identifier}",
        name=f"{identifier}.txt",
        uri=f"file:///{identifier}.txt",
        media_type="text/plain",
        size_bytes=10,
        page_count=1,
        indexed_at=NOON,
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def chunk(document_id: str, number: int, text: str, **changes: object) -> Chunk:
    made = Chunk(
        id=f"{document_id}_{number}",
        document_id=document_id,
        index=number,
        page_ordinal=1,
        text=text,
        start=0,
        end=len(text),
        token_count=len(text.split()) + 2,
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def put(index: Index, identifier: str, *texts: str, **changes: object) -> Document:
    """Stores a document of one page whose chunks are the texts."""
    stored = document(identifier, **changes)
    index.replace_document(
        stored,
        [Page(ordinal=1, markdown="\n\n".join(texts) or "empty")],
        [chunk(identifier, number, text) for number, text in enumerate(texts)],
    )
    return stored


def embed(index: Index, **vectors: Sequence[float]) -> None:
    """Gives texts (named by their words) their vectors, which are made unit length."""
    kept = index.add_vectors({text_hash(text.replace("_", " ")): unit(*row) for text, row in vectors.items()})
    assert kept == len(vectors)


def unit(*values: float) -> Vectors:
    row = np.array(values, dtype=np.float32)
    return row / np.float32(np.linalg.norm(row))


def found(index: Index, text: str, where: Filter | None = None, limit: int = 100) -> list[str]:
    """Chunk ids of the keyword leg, best first."""
    return ids(index.search_legs(text, None, limit=limit, where=where).lexical)


def nearest(index: Index, vector: Vectors, where: Filter | None = None, limit: int = 100) -> list[str]:
    """Chunk ids of the vector leg, best first."""
    return ids(index.search_legs(None, vector, limit=limit, where=where).vector)


def ids(leg: Sequence[ScoredChunk] | None) -> list[str]:
    assert leg is not None
    return [scored.chunk.id for scored in leg]


class TestCatalog:
    def test_an_empty_index_answers_every_question(self, index: Index) -> None:
        assert index.documents() == []
        assert index.get_document("a") is None
        assert index.find_by_hash("x") is None
        assert index.pages("a") == []
        assert index.page("a", 1) is None
        assert index.chunks(["a_0"]) == []
        assert index.document_chunks("a") == []
        assert index.failures() == []
        assert index.pending_texts(10) == []
        assert index.pending_count() == 0
        legs = index.search_legs("anything", unit(1, 0, 0, 0), limit=5)
        assert (legs.lexical, legs.vector, legs.vectors_ready) == ((), (), 1.0)
        stats = index.stats()
        assert (stats.documents, stats.chunks, stats.embedded) == (0, 0, 0)

    def test_everything_stored_comes_back_equal(self, index: Index) -> None:
        stored = document(
            "a",
            name="Übersicht\n*2026*.pdf",
            tags={"team": "legal", "year": "2026"},
            collection="legal/contracts",
            readable_by=frozenset({"ann", "bob"}),
            warnings=("page 3 has no text",),
            page_count=2,
            indexed_at=datetime(2026, 3, 1, 13, 0, 0, 123456, tzinfo=timezone(timedelta(hours=2))),
        )
        pages = [
            Page(ordinal=2, number=4, label="docs/a.pdf", markdown="zweite Seite 第二页"),
            Page(ordinal=1, number=None, label=None, markdown="# One\n\nfirst\x00page 😀"),
        ]
        first = chunk(
            "a", 0, "first\x00page 😀", page_ordinal=1, heading_path=("One", "Two > Three"), prefix="Section: One"
        )
        second = chunk("a", 1, "zweite Seite 第二页", page_ordinal=2, page=4, label="docs/a.pdf", start=0, end=15)
        index.replace_document(stored, pages, [second, first])

        assert index.get_document("a") == replace(stored, chunk_count=2, embedded_count=0)
        assert index.pages("a") == [pages[1], pages[0]]
        assert index.page("a", 2) == pages[0]
        assert index.page("a", 3) is None
        assert index.document_chunks("a") == [first, second]
        assert index.chunks(["a_1", "nope", "a_0"]) == [second, first]
        hit = index.search_legs("Seite", None, limit=5).lexical
        assert hit is not None
        assert (hit[0].chunk, hit[0].document) == (second, stored.name)

    def test_documents_come_by_name_then_id(self, index: Index) -> None:
        for identifier, name in (("3", "b.txt"), ("2", "a.txt"), ("1", "b.txt")):
            put(index, identifier, "text", name=name)
        assert [each.id for each in index.documents()] == ["2", "1", "3"]

    def test_find_by_hash_gives_the_first_by_id(self, index: Index) -> None:
        put(index, "z", "text", content_hash="same")
        put(index, "b", "text", content_hash="same")
        same = index.find_by_hash("same")
        assert same is not None
        assert same.id == "b"
        assert index.find_by_hash("sam") is None

    def test_update_changes_the_catalog_and_keeps_the_text(self, index: Index) -> None:
        put(index, "a", "walrus", name="old_name.txt", tags={"k": "v"}, collection="x", readable_by=frozenset({"ann"}))
        embed(index, walrus=(1, 0, 0, 0))
        changed = document(
            "a",
            name="new_title.txt",
            uri="file:///elsewhere.txt",
            tags={"q": "w"},
            collection=None,
            content_hash="ignored",
            media_type="ignored/type",
        )
        index.update_document(changed)
        stored = index.get_document("a")
        assert stored == replace(
            changed, content_hash="hash-a", media_type="text/plain", chunk_count=1, embedded_count=1
        )
        assert found(index, "title") == ["a_0"]
        assert found(index, "old_name") == []
        assert found(index, "walrus", TagIs("q", "w")) == ["a_0"]
        assert found(index, "walrus", TagIs("k", "v")) == []
        assert found(index, "walrus", ReadableBy(frozenset({"bob"}))) == ["a_0"]
        assert nearest(index, unit(1, 0, 0, 0), InCollection("x")) == []
        hits = index.search_legs("walrus", None, limit=1).lexical
        assert hits is not None
        assert hits[0].document == "new_title.txt"

    def test_what_is_not_there_is_said(self, index: Index) -> None:
        put(index, "a", "text")
        with pytest.raises(NotFoundError, match="'b'"):
            index.update_document(document("b"))
        with pytest.raises(NotFoundError, match="'b'"):
            index.delete_document("b")

    @pytest.mark.parametrize(
        "chunks",
        [
            [chunk("a", 0, "one"), chunk("a", 0, "two", id="a_x")],
            [chunk("a", 0, "one"), chunk("a", 1, "two", id="a_0")],
            [chunk("other", 0, "one")],
            [chunk("a", 0, "one", id="b_0")],
        ],
        ids=["same index", "same id", "another document's", "id of another document's chunk"],
    )
    def test_inconsistent_chunks_are_refused_and_nothing_changes(self, index: Index, chunks: list[Chunk]) -> None:
        put(index, "a", "old")
        put(index, "b", "text")
        with pytest.raises(ValueError):
            index.replace_document(document("a"), [Page(ordinal=1, markdown="x")], chunks)
        assert found(index, "old") == ["a_0"]
        assert [each.text for each in index.document_chunks("a")] == ["old"]

    def test_a_time_without_zone_is_refused(self, index: Index) -> None:
        with pytest.raises(ValueError, match="time zone"):
            put(index, "a", "x", indexed_at=datetime(2026, 1, 1))  # noqa: DTZ001


class TestReplaceAndDelete:
    def test_replacing_leaves_nothing_of_the_old_version(self, index: Index) -> None:
        put(index, "a", "alpha", "beta", "gamma")
        embed(index, alpha=(1, 0, 0, 0), beta=(0, 1, 0, 0))
        put(index, "a", "delta", content_hash="v2")
        assert [each.id for each in index.document_chunks("a")] == ["a_0"]
        assert found(index, "alpha beta gamma") == []
        assert found(index, "delta") == ["a_0"]
        assert nearest(index, unit(1, 0, 0, 0)) == []
        assert [page.markdown for page in index.pages("a")] == ["delta"]
        stored = index.get_document("a")
        assert stored is not None
        assert (stored.content_hash, stored.chunk_count, stored.embedded_count) == ("v2", 1, 0)

    def test_deleting_reports_its_chunks_and_leaves_no_trace(self, index: Index) -> None:
        put(index, "a", "alpha", "beta", tags={"k": "v"})
        put(index, "b", "gamma")
        embed(index, alpha=(1, 0, 0, 0), gamma=(0, 1, 0, 0))
        assert index.delete_document("a") == 2
        assert index.get_document("a") is None
        assert index.pages("a") == []
        assert index.chunks(["a_0", "a_1"]) == []
        assert found(index, "alpha beta") == []
        assert nearest(index, unit(1, 0, 0, 0)) == ["b_0"]
        assert found(index, "gamma", TagIs("k", "v")) == []
        assert index.pending_count() == 0
        assert (index.stats().documents, index.stats().chunks, index.stats().embedded) == (1, 1, 1)

    def test_ids_are_compared_exactly(self, index: Index) -> None:
        for identifier in ("a", "a-chunk-1", "A", "a_0", "a%", "a_", "b"):
            put(index, identifier, f"text of {identifier}")
        index.delete_document("a")
        assert {each.id for each in index.documents()} == {"a-chunk-1", "A", "a_0", "a%", "a_", "b"}
        assert found(index, "text", DocumentIn(frozenset({"A"}))) == ["A_0"]
        put(index, "a_", "other")
        assert [each.text for each in index.document_chunks("a_0")] == ["text of a_0"]

    def test_clear_keeps_conversations_only(self, index: Index) -> None:
        put(index, "a", "alpha")
        embed(index, alpha=(1, 0, 0, 0))
        index.record_failure(failure("file:///x"))
        index.save_conversation("c", "[]")
        index.clear()
        assert index.documents() == []
        assert index.failures() == []
        assert found(index, "alpha") == []
        assert nearest(index, unit(1, 0, 0, 0)) == []
        assert index.load_conversation("c") == "[]"
        put(index, "a", "alpha")
        assert index.pending_count() == 1

    def test_a_document_without_chunks_is_kept(self, index: Index) -> None:
        put(index, "a")
        stored = index.get_document("a")
        assert stored is not None
        assert (stored.chunk_count, stored.status) == (0, "indexed")
        assert index.delete_document("a") == 0

    def test_a_reader_never_sees_half_a_document(self, index: Index) -> None:
        versions = {"old": "oldword", "new": "newword"}
        put(index, "a", *[f"{versions['old']} {number}" for number in range(8)])
        stop = threading.Event()
        seen: list[tuple[int, int, int]] = []

        def read() -> None:
            while not stop.is_set():
                legs = index.search_legs("oldword newword", None, limit=50)
                assert legs.lexical is not None
                texts = [hit.chunk.text for hit in legs.lexical]
                old = sum("oldword" in text for text in texts)
                seen.append((old, len(texts) - old, len(index.document_chunks("a"))))

        reader = threading.Thread(target=read)
        reader.start()
        for number in range(15):
            word, size = (versions["new"], 3) if number % 2 == 0 else (versions["old"], 8)
            put(index, "a", *[f"{word} {each}" for each in range(size)])
        stop.set()
        reader.join()
        assert seen
        assert {(old, new) for old, new, _ in seen} <= {(8, 0), (0, 3)}
        assert {count for _, _, count in seen} <= {8, 3}


class TestVectors:
    def test_equal_texts_are_embedded_once_in_the_order_they_came(self, index: Index) -> None:
        put(index, "z", "zeta", "shared")
        put(index, "a", "shared", "alpha")
        pending = index.pending_texts(10)
        assert [each.text for each in pending] == ["zeta", "shared", "alpha"]
        assert [each.text_hash for each in pending] == [text_hash("zeta"), text_hash("shared"), text_hash("alpha")]
        assert [each.text for each in index.pending_texts(1)] == ["zeta"]
        assert index.pending_texts(0) == []
        assert index.pending_count() == 3

        embed(index, shared=(1, 0, 0, 0))
        assert [each.text for each in index.pending_texts(10)] == ["zeta", "alpha"]
        assert nearest(index, unit(1, 0, 0, 0)) == ["a_0", "z_1"]
        assert {each.id: (each.embedded_count, each.status) for each in index.documents()} == {
            "a": (1, "embedding"),
            "z": (1, "embedding"),
        }
        assert index.search_legs("x", None, limit=1).vectors_ready == 0.5  # 2 of 4 chunks

    def test_the_prefix_is_part_of_what_is_embedded(self, index: Index) -> None:
        index.replace_document(
            document("a"),
            [Page(ordinal=1, markdown="text")],
            [chunk("a", 0, "text", prefix="Section: A"), chunk("a", 1, "text", prefix="Section: B")],
        )
        assert [each.text for each in index.pending_texts(10)] == ["Section: A\n\ntext", "Section: B\n\ntext"]

    def test_a_shared_vector_outlives_one_of_its_documents(self, index: Index) -> None:
        put(index, "a", "shared", "alone")
        put(index, "b", "shared")
        embed(index, shared=(1, 0, 0, 0), alone=(0, 1, 0, 0))
        index.delete_document("a")
        assert nearest(index, unit(1, 0, 0, 0)) == ["b_0"]
        put(index, "c", "alone", "shared")
        assert [each.text for each in index.pending_texts(10)] == ["alone"]

    def test_unchanged_texts_keep_their_vectors_through_a_replace(self, index: Index) -> None:
        put(index, "a", "kept", "dropped")
        embed(index, kept=(1, 0, 0, 0), dropped=(0, 1, 0, 0))
        put(index, "a", "fresh", "kept")
        assert [each.text for each in index.pending_texts(10)] == ["fresh"]
        assert nearest(index, unit(1, 0, 0, 0)) == ["a_1"]
        stored = index.get_document("a")
        assert stored is not None
        assert stored.embedded_count == 1

    def test_vectors_of_texts_that_are_gone_are_ignored(self, index: Index) -> None:
        put(index, "a", "alpha")
        kept = index.add_vectors({text_hash("alpha"): unit(1, 0, 0, 0), text_hash("gone"): unit(0, 1, 0, 0)})
        assert kept == 1
        assert index.add_vectors({text_hash("gone"): unit(0, 1, 0, 0)}) == 0
        assert index.add_vectors({}) == 0
        put(index, "b", "gone")
        assert index.pending_count() == 1

    @pytest.mark.parametrize(
        ("bad", "said"),
        [
            (np.array([np.nan, 0, 0, 0], dtype=np.float32), "not finite"),
            (np.array([np.inf, 0, 0, 0], dtype=np.float32), "not finite"),
            (np.array([2, 0, 0, 0], dtype=np.float32), "length 1"),
            (np.zeros(4, dtype=np.float32), "length 1"),
            (unit(1, 0, 0), "shape"),
            (np.eye(4, dtype=np.float32), "shape"),
        ],
    )
    def test_a_bad_vector_is_refused_and_none_of_its_batch_kept(self, index: Index, bad: Vectors, said: str) -> None:
        put(index, "a", "alpha", "beta")
        with pytest.raises(ValueError, match=said):
            index.add_vectors({text_hash("alpha"): unit(1, 0, 0, 0), text_hash("beta"): bad})
        assert index.pending_count() == 2
        with pytest.raises(ValueError, match=said):
            index.search_legs(None, bad, limit=1)

    def test_a_document_may_bring_its_vectors(self, index: Index) -> None:
        put(index, "b", "shared", "other")
        texts = ["alpha", "shared", "beta"]
        chunks = [chunk("a", number, text) for number, text in enumerate(texts)]
        given = {text_hash("alpha"): unit(1, 0, 0, 0), text_hash("shared"): unit(0, 1, 0, 0)}
        index.replace_document(document("a"), [Page(ordinal=1, markdown="text")], chunks, given)
        assert [each.text for each in index.pending_texts(10)] == ["other", "beta"]
        assert [(each.id, each.embedded_count) for each in index.documents()] == [("a", 2), ("b", 1)]
        assert nearest(index, unit(1, 0, 0, 0))[:1] == ["a_0"]
        assert sorted(nearest(index, unit(0, 1, 0, 0))[:2]) == ["a_1", "b_0"]
        newer = {text_hash("shared"): unit(0, 0, 1, 0)}
        index.replace_document(document("a"), [Page(ordinal=1, markdown="text")], chunks, newer)
        assert sorted(nearest(index, unit(0, 0, 1, 0))[:2]) == ["a_1", "b_0"]
        assert nearest(index, unit(1, 0, 0, 0))[:1] == ["a_0"]  # which nothing was given for this time

    def test_a_document_with_a_bad_vector_changes_nothing(self, index: Index) -> None:
        put(index, "a", "alpha")
        bad = {text_hash("beta"): np.array([2, 0, 0, 0], dtype=np.float32)}
        with pytest.raises(ValueError, match="length 1"):
            index.replace_document(document("a"), [Page(ordinal=1, markdown="beta")], [chunk("a", 0, "beta")], bad)
        assert [each.text for each in index.document_chunks("a")] == ["alpha"]

    def test_embedding_again_takes_the_newer_vector(self, index: Index) -> None:
        put(index, "a", "alpha", "beta")
        embed(index, alpha=(1, 0, 0, 0), beta=(0.6, 0.8, 0, 0))
        assert nearest(index, unit(1, 0, 0, 0)) == ["a_0", "a_1"]
        embed(index, alpha=(0, 0, 1, 0))
        assert nearest(index, unit(1, 0, 0, 0)) == ["a_1", "a_0"]

    def test_cosines_order_the_leg_and_ids_break_ties(self, index: Index) -> None:
        put(index, "b", "north", "east")
        put(index, "a", "north", "southish")
        embed(index, north=(1, 0, 0, 0), east=(0, 1, 0, 0), southish=(-0.6, 0.8, 0, 0))
        legs = index.search_legs(None, unit(1, 0, 0, 0), limit=10)
        assert legs.lexical is None
        assert legs.vector is not None
        assert [(hit.chunk.id, hit.score) for hit in legs.vector] == [
            ("a_0", pytest.approx(1.0, abs=1e-5)),
            ("b_0", pytest.approx(1.0, abs=1e-5)),
            ("b_1", pytest.approx(0.0, abs=1e-5)),
            ("a_1", pytest.approx(-0.6, abs=1e-5)),
        ]
        assert nearest(index, unit(1, 0, 0, 0), limit=1) == ["a_0"]
        assert nearest(index, unit(1, 0, 0, 0), limit=0) == []


class TestKeywords:
    def test_scores_order_the_leg_and_ids_break_ties(self, index: Index) -> None:
        put(index, "b", "walrus")
        put(index, "a", "walrus")
        put(index, "c", "walrus walrus")
        put(index, "d", "tiger")
        # c: as long as 4 + 2 - every name has the terms d, txt and dtxt - and has the word twice.
        assert found(index, "walrus") == ["c_0", "a_0", "b_0"]
        assert found(index, "walrus", limit=2) == ["c_0", "a_0"]
        assert found(index, "walrus", limit=0) == []
        scores = [hit.score for hit in index.search_legs("walrus", None, limit=3).lexical or ()]
        assert scores == sorted(scores, reverse=True)
        assert scores[-1] > 0

    def test_a_word_in_every_chunk_still_finds_and_orders(self, index: Index) -> None:
        put(index, "a", "fern fern fern fern", name="x")
        put(index, "b", "fern moss lichen bark", name="x")
        assert found(index, "fern") == ["a_0", "b_0"]

    def test_the_only_document_is_found_by_its_only_word(self, index: Index) -> None:
        put(index, "a", "fern")
        assert found(index, "fern") == ["a_0"]

    @pytest.mark.parametrize(
        ("text", "query"),
        [
            ("本合同自双方签字之日起生效", "合同生效"),
            ("水是生命之源", "水"),
            ("東京タワーは港区にあります", "タワー"),
            ("계약은 서명한 날부터 효력이 있다", "계약"),
            ("Договоры подписаны директором", "договор подписан"),
            ("Die Verträge wurden gekündigt und es ist nicht mehr gültig", "Vertrag Kündigung"),
            ("Les résultats de la société sont dans le rapport", "resultat société"),
            ("การประชุมคณะกรรมการ", "ประชุม"),
            ("अनुबंध की शर्तें", "शर्तें"),
            ("تم توقيع العقد", "العقد"),
            ("naïve Café über Ørsted", "naive cafe uber orsted"),
            ("Order AB-1234/X was shipped", "AB1234X"),
            ("Order AB-1234/X was shipped", "ab-1234/x"),
            ("It costs 1,234.5 dollars", "1234.5"),
            ("It costs 1,234,567 dollars", "1234567"),
            ("Write to jane.doe@example.org", "jane.doe@example.org"),
            ("ＦＵＬＬ width", "full"),
            ("The running dogs", "dog runs"),
        ],
    )
    def test_every_script_and_form_is_found(self, index: Index, text: str, query: str) -> None:
        put(index, "a", text, name="x")
        put(index, "b", "Something else entirely, with the and of", name="y")
        assert found(index, query)[:1] == ["a_0"]

    def test_names_and_headings_are_found(self, index: Index) -> None:
        put(index, "a", "nothing here", name="report_march.pdf")
        put(index, "b", "nothing here", name="report_april.pdf")
        index.replace_document(
            document("c"), [Page(ordinal=1, markdown="x")], [chunk("c", 0, "x", heading_path=("Warranty", "Batteries"))]
        )
        assert found(index, "in report_march.pdf what is there")[0] == "a_0"
        assert found(index, "battery") == ["c_0"]

    def test_a_query_of_stop_words_alone_is_still_asked(self, index: Index) -> None:
        put(index, "a", "to be or not to be")
        put(index, "b", "tiger")
        assert found(index, "to be or not to be") == ["a_0"]
        assert found(index, "what is the tiger") == ["b_0"]

    @pytest.mark.parametrize(
        "query",
        [
            '" OR 1',
            "a* NEAR(",
            "col:x",
            "body:tiger",
            "''--",
            "; DROP TABLE documents; --",
            "NOT AND OR",
            "{}[]()^-+:\"'",
            "",
            "   \n\t",
            "😀",
            "مرحبا \u202eabc",
            "a\x00b\x00",
            "\ud800",
            "x" * 100_000,
            "word " * 20_000,
            " ".join(f"w{number}" for number in range(20_000)),
        ],
        ids=lambda query: ascii(query[:12]),
    )
    def test_no_query_text_is_syntax(self, index: Index, query: str) -> None:
        put(index, "a", "tiger")
        leg = index.search_legs(query, None, limit=5).lexical
        assert leg is not None
        assert set(ids(leg)) <= {"a_0"}
        assert found(index, f"tiger {query[:9000]}") == ["a_0"]


WITH_META = {
    "a": {
        "tags": {"team": "legal", "year": "2026"},
        "collection": "legal",
        "media_type": "application/pdf",
        "indexed_at": NOON,
    },
    "b": {"tags": {"team": "Legal"}, "collection": "legal/contracts", "readable_by": frozenset({"ann", "staff"})},
    "c": {"tags": {}, "collection": "legal2", "indexed_at": NOON + timedelta(days=1)},
    "d": {"collection": None, "readable_by": frozenset({"bob"}), "indexed_at": NOON - timedelta(microseconds=1)},
}
CASES: list[tuple[Filter, set[str]]] = [
    (DocumentIn(frozenset()), set()),
    (DocumentIn(frozenset({"a", "c", "zz"})), {"a", "c"}),
    (TagIs("team", "legal"), {"a"}),
    (TagIs("year", "2026"), {"a"}),
    (TagIs("team", "x' OR 1=1 --"), set()),
    (InCollection("legal"), {"a", "b"}),
    (InCollection("legal/contracts"), {"b"}),
    (InCollection("Legal"), set()),
    (InCollection("lega_"), set()),
    (MediaTypeIs("application/pdf"), {"a"}),
    (IndexedBetween(), {"a", "b", "c", "d"}),
    (IndexedBetween(start=NOON), {"a", "b", "c"}),
    (IndexedBetween(end=NOON), {"d"}),
    (IndexedBetween(start=NOON, end=NOON + timedelta(days=1)), {"a", "b"}),
    (IndexedBetween(start=datetime(2026, 3, 1, 14, tzinfo=timezone(timedelta(hours=2)))), {"a", "b", "c"}),
    (ReadableBy(frozenset()), {"a", "c"}),
    (ReadableBy(frozenset({"ann"})), {"a", "b", "c"}),
    (ReadableBy(frozenset({"ann", "bob"})), {"a", "b", "c", "d"}),
    (AllOf(()), {"a", "b", "c", "d"}),
    (AnyOf(()), set()),
    (Not(InCollection("legal")), {"c", "d"}),
    (Not(Not(TagIs("team", "legal"))), {"a"}),
    (Not(AnyOf(())), {"a", "b", "c", "d"}),
    (AllOf((InCollection("legal"), Not(TagIs("team", "legal")), ReadableBy(frozenset({"staff"})))), {"b"}),
    (
        AnyOf((MediaTypeIs("application/pdf"), AllOf((Not(ReadableBy(frozenset())), DocumentIn(frozenset({"d"})))))),
        {"a", "d"},
    ),
    (AnyOf(tuple(TagIs("year", str(year)) for year in range(1000, 3000))), {"a"}),
]


class TestFilters:
    @pytest.mark.parametrize(("where", "expected"), CASES, ids=lambda value: repr(value)[:60])
    def test_both_legs_apply_every_node(self, index: Index, where: Filter, expected: set[str]) -> None:
        for identifier, changes in WITH_META.items():
            put(index, identifier, "shared words", **changes)
        embed(index, shared_words=(1, 0, 0, 0))
        wanted = [f"{identifier}_0" for identifier in sorted(expected)]
        assert found(index, "words", where) == wanted
        assert nearest(index, unit(1, 0, 0, 0), where) == wanted

    def test_a_filter_is_applied_before_the_limit(self, index: Index) -> None:
        for number in range(30):
            put(index, f"n{number:02}", "walrus walrus")
        put(index, "z", "walrus and many other words that make it rank last of all the chunks", tags={"only": "me"})
        for each in index.pending_texts(10):
            index.add_vectors({each.text_hash: unit(1, 0, 0, 0) if "many" not in each.text else unit(0, 1, 0, 0)})
        assert found(index, "walrus", TagIs("only", "me"), limit=3) == ["z_0"]
        assert nearest(index, unit(1, 0, 0, 0), TagIs("only", "me"), limit=3) == ["z_0"]


class TestQueueAndNotes:
    def test_a_failure_is_replaced_cleared_and_ended_by_success(self, index: Index) -> None:
        index.record_failure(failure("file:///b.txt", kind="timeout"))
        index.record_failure(failure("file:///b.txt", kind="empty"))
        index.record_failure(failure("file:///a.txt"))
        assert [(each.uri, each.kind) for each in index.failures()] == [
            ("file:///a.txt", "crash"),
            ("file:///b.txt", "empty"),
        ]
        assert index.failures()[0] == failure("file:///a.txt")
        put(index, "a", "text", uri="file:///a.txt")
        index.clear_failure("file:///none")
        assert [each.uri for each in index.failures()] == ["file:///b.txt"]
        index.clear_failure("file:///b.txt")
        assert index.failures() == []

    def test_a_lease_has_one_holder_until_it_expires(self, index: Index, clock: Clock) -> None:
        assert index.acquire_lease("embed", "one", 30)
        assert not index.acquire_lease("embed", "two", 30)
        assert index.acquire_lease("other", "two", 30)
        clock.now += 20
        assert index.acquire_lease("embed", "one", 30)  # renewed: until 1050
        clock.now += 29
        assert not index.acquire_lease("embed", "two", 30)
        clock.now += 1
        assert index.acquire_lease("embed", "two", 30)
        index.release_lease("embed", "one")  # no longer its holder
        assert not index.acquire_lease("embed", "one", 30)
        index.release_lease("embed", "two")
        assert index.acquire_lease("embed", "one", 30)

    def test_conversations_are_kept_replaced_and_deleted(self, index: Index) -> None:
        assert index.load_conversation("c") is None
        index.save_conversation("c", '[{"role": "user"}]')
        index.save_conversation("c", "[]")
        index.save_conversation("☃", "{}")
        assert index.load_conversation("c") == "[]"
        assert index.conversation_ids() == ["c", "☃"]
        index.delete_conversation("c")
        assert index.conversation_ids() == ["☃"]
        index.delete_conversation("c")
        assert index.load_conversation("c") is None

    def test_answers_are_kept_replaced_and_dropped_by_any_change(self, index: Index) -> None:
        put(index, "a", "alpha")
        assert index.load_answer("k") is None
        index.save_answer("k", '{"text": "old"}', change=index.change_counter())
        index.save_answer("k", '{"text": "☃"}', change=index.change_counter())
        index.save_conversation("c", "[]")
        assert index.load_answer("k") == '{"text": "☃"}'
        for change in (
            lambda: put(index, "b", "beta"),
            lambda: embed(index, beta=(1, 0, 0, 0)),
            lambda: index.update_document(document("b", name="c.txt")),
            lambda: index.delete_document("b"),
            index.clear,
        ):
            index.save_answer("k", "{}", change=index.change_counter())
            assert index.load_answer("k") == "{}"
            change()
            assert index.load_answer("k") is None

    def test_an_answer_to_older_contents_is_not_kept(self, index: Index) -> None:
        seen = index.change_counter()
        put(index, "a", "alpha")
        index.save_answer("k", "{}", change=seen)
        assert index.load_answer("k") is None

    def test_the_counter_grows_with_what_a_search_can_notice(self, index: Index) -> None:
        counters = [index.change_counter()]

        def counted() -> bool:
            counters.append(index.change_counter())
            return counters[-1] > counters[-2]

        put(index, "a", "alpha")
        assert counted()
        embed(index, alpha=(1, 0, 0, 0))
        assert counted()
        index.update_document(document("a", name="b.txt"))
        assert counted()
        index.search_legs("alpha", unit(1, 0, 0, 0), limit=1)
        index.save_conversation("c", "[]")
        index.acquire_lease("embed", "one", 30)
        index.record_failure(failure("file:///x"))
        index.add_vectors({text_hash("gone"): unit(1, 0, 0, 0)})
        assert not counted()
        index.delete_document("a")
        assert counted()
        index.clear()
        assert counted()

    def test_a_used_index_is_sound(self, index: Index) -> None:
        put(index, "a", "alpha", "shared")
        put(index, "b", "beta", "shared")
        embed(index, alpha=(1, 0, 0, 0), shared=(0, 1, 0, 0))
        put(index, "a", "gamma", "shared")
        index.delete_document("b")
        for deep in (False, True):
            checks = index.check(deep=deep)
            assert checks
            assert all(check.ok for check in checks), checks

    def test_threads_write_and_read_at_once(self, index: Index) -> None:
        problems: list[BaseException] = []

        def work(name: str) -> None:
            try:
                for number in range(6):
                    put(index, f"{name}{number}", f"{name} word{number}", "shared")
                    embed(index, **{f"{name}_word{number}": (1, 0, 0, 0)})
                    assert found(index, name)
                    assert nearest(index, unit(1, 0, 0, 0), DocumentIn(frozenset({f"{name}{number}"})))
                    index.delete_document(f"{name}{number}")
            except BaseException as error:  # noqa: BLE001  # a thread's failure must reach the test
                problems.append(error)

        threads = [threading.Thread(target=work, args=(name,)) for name in ("anna", "bert", "carl")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert problems == []
        assert index.stats().documents == 0


def failure(uri: str, kind: str = "crash") -> Failure:
    return Failure(
        uri=uri, name=uri.rpartition("/")[2], kind=kind, message="It broke.", hint="Mend it.", failed_at=NOON
    )


# ---- random libraries: every backend orders as the oracle does -----------------------------------------------------

WORDS = st.sampled_from(
    ["oak", "oaks", "elm", "the", "Verträge", "Vertrag", "数据库", "AB-12", "1,234.5", "дубы", "dub"]
)
TEXTS = st.lists(WORDS, min_size=1, max_size=6).map(" ".join)
NAMES = st.sampled_from(["a", "b", "c", "d", "e"])
# Halves and quarters: exact in float32 whatever the order of summation.
DIRECTIONS = st.sampled_from([(1, 0, 0, 0), (0, 1, 0, 0), (0.5, 0.5, 0.5, 0.5), (0.5, -0.5, 0.5, -0.5), (-1, 0, 0, 0)])
LEAVES = st.one_of(
    st.frozensets(NAMES).map(DocumentIn),
    st.builds(TagIs, st.sampled_from("kl"), st.sampled_from("vw")),
    st.sampled_from(["x", "x/y", "x/y/z", "X"]).map(InCollection),
    st.sampled_from(["text/plain", "text/html"]).map(MediaTypeIs),
    st.builds(
        IndexedBetween,
        *[st.none() | st.integers(-2, 2).map(lambda days: NOON + timedelta(days=days))] * 2,
    ),
    st.frozensets(st.sampled_from(["ann", "bob"])).map(ReadableBy),
)
FILTERS: st.SearchStrategy[Filter] = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda parts: AllOf(tuple(parts))),
        st.lists(inner, max_size=3).map(lambda parts: AnyOf(tuple(parts))),
        inner.map(Not),
    ),
    max_leaves=5,
)
DOCUMENTS = st.tuples(
    NAMES,
    st.lists(TEXTS, max_size=4),
    st.fixed_dictionaries(
        {
            "tags": st.dictionaries(st.sampled_from("kl"), st.sampled_from("vw")),
            "collection": st.sampled_from([None, "x", "x/y", "xx"]),
            "media_type": st.sampled_from(["text/plain", "text/html"]),
            "readable_by": st.frozensets(st.sampled_from(["ann", "bob"])),
            "indexed_at": st.integers(-2, 2).map(lambda days: NOON + timedelta(days=days)),
            "name": st.sampled_from(["oak_report.pdf", "elm.txt", "数据.docx"]),
        }
    ),
)
STEPS = st.lists(
    st.one_of(
        DOCUMENTS.map(lambda made: ("put", made)),
        NAMES.map(lambda name: ("delete", name)),
        st.lists(DIRECTIONS, min_size=1, max_size=4).map(lambda rows: ("embed", rows)),
        st.tuples(NAMES, st.sampled_from(["oak.pdf", "elm.txt"])).map(lambda both: ("rename", both)),
    ),
    min_size=1,
    max_size=12,
)


def _apply(index: Index, steps: Sequence[tuple[str, object]]) -> None:
    for action, what in steps:
        match action, what:
            case "put", (str(name), list(texts), dict(changes)):
                put(index, name, *texts, **changes)
            case "delete", str(name) if index.get_document(name):
                index.delete_document(name)
            case "rename", (str(name), str(title)) if index.get_document(name):
                stored = index.get_document(name)
                assert stored is not None
                index.update_document(replace(stored, name=title))
            case "embed", list(rows):
                waiting = index.pending_texts(len(rows))
                rows_of = zip(waiting, rows, strict=False)
                index.add_vectors({each.text_hash: np.array(row, dtype=np.float32) for each, row in rows_of})
            case _:
                pass  # deleting or renaming what is not there is another test's


class TestAgainstTheOracle:
    @pytest.fixture(params=BACKEND_NAMES[1:])
    def backend(self, request: pytest.FixtureRequest) -> Callable[[Path, Clock], Index]:
        return BACKENDS[request.param]

    @settings(
        max_examples=40,
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )
    @given(
        steps=STEPS, searches=st.lists(st.tuples(TEXTS, DIRECTIONS, st.none() | FILTERS, st.integers(1, 9)), max_size=4)
    )
    def test_any_history_gives_the_oracles_answers(
        self,
        backend: Callable[[Path, Clock], Index],
        tmp_path_factory: pytest.TempPathFactory,
        steps: list[tuple[str, object]],
        searches: list[tuple[str, tuple[float, ...], Filter | None, int]],
    ) -> None:
        oracle: Index = MemoryIndex(HEADER)
        tried = backend(tmp_path_factory.mktemp("library"), Clock())
        try:
            # Two halves, so that what a search remembers of the first meets the changes of the second.
            for part in (steps[: len(steps) // 2], steps[len(steps) // 2 :]):
                _apply(oracle, part)
                _apply(tried, part)
                assert tried.documents() == oracle.documents()
                assert tried.pending_texts(100) == oracle.pending_texts(100)
                for text, direction, where, limit in searches:
                    vector = np.array(direction, dtype=np.float32)
                    expected = oracle.search_legs(text, vector, limit=limit, where=where)
                    given_back = tried.search_legs(text, vector, limit=limit, where=where)
                    assert given_back.vectors_ready == expected.vectors_ready
                    assert _shown(given_back.vector) == _shown(expected.vector)
                    assert _shown(given_back.lexical) == _shown(expected.lexical)
            assert all(check.ok for check in tried.check(deep=True)), tried.check(deep=True)
        finally:
            tried.close()


def _shown(leg: Sequence[ScoredChunk] | None) -> list[tuple[str, str, float]]:
    assert leg is not None
    return [(hit.chunk.id, hit.document, hit.score) for hit in leg]


class TestSuccessor:
    """Another index is built beside the one in use and takes its place."""

    def test_the_one_in_use_answers_until_the_other_takes_its_place(self, index: Index, clock: Clock) -> None:
        put(index, "a", "alpha beta", tags={"n": "1"})
        put(index, "b", "gamma")
        embed(index, alpha_beta=(1, 0, 0, 0), gamma=(0, 1, 0, 0))
        index.save_conversation("c", "[1]")
        index.record_failure(failure("file:///x"))
        seen = index.latest_change()
        successor = index.open_successor(OTHER)
        assert successor.documents() == []
        put(successor, "a", "alpha", "beta", tags={"n": "1"})
        put(successor, "b", "gamma")
        assert successor.add_vectors({text_hash("beta"): unit(0, 0, 1)}) == 1
        assert index.latest_change() == seen
        legs = index.search_legs("alpha gamma", unit(1, 0, 0, 0), limit=9)
        assert [hit.chunk.text for hit in legs.lexical or ()] == ["gamma", "alpha beta"]
        assert [hit.chunk.text for hit in legs.vector or ()] == ["alpha beta", "gamma"]
        successor.close()
        counter = index.change_counter()

        assert index.promote_successor(seen=seen)

        after = _opened(index, OTHER, clock)
        assert [each.id for each in after.documents()] == ["a", "b"]
        assert [each.text for each in after.document_chunks("a")] == ["alpha", "beta"]
        legs = after.search_legs("alpha gamma", unit(0, 0, 1), limit=9)
        assert sorted(hit.chunk.text for hit in legs.lexical or ()) == ["alpha", "gamma"]
        assert [hit.chunk.text for hit in legs.vector or ()] == ["beta"]
        assert [each.text for each in after.pending_texts(9)] == ["alpha", "gamma"]
        assert after.load_conversation("c") == "[1]"
        assert after.failures() == [failure("file:///x")]
        assert after.change_counter() > counter
        assert all(check.ok for check in after.check(deep=True)), after.check(deep=True)
        put(after, "d", "delta")
        assert after.delete_document("a") == 2
        after.close()

    @pytest.mark.parametrize("index", BACKEND_NAMES[1:], indirect=True)  # a memory index has one opener
    def test_who_has_the_old_one_open_is_told(self, index: Index) -> None:
        put(index, "a", "alpha")
        seen = index.latest_change()
        successor = index.open_successor(OTHER)
        put(successor, "a", "alpha")
        successor.close()
        assert index.promote_successor(seen=seen)
        attempts: list[Callable[[], object]] = [
            lambda: index.search_legs("alpha", None, limit=1),
            lambda: index.search_legs(None, unit(1, 0, 0, 0), limit=1),
            lambda: put(index, "b", "beta"),
            lambda: index.delete_document("a"),
            lambda: embed(index, alpha=(1, 0, 0, 0)),
            index.latest_change,
            lambda: index.open_successor(OTHER),
            lambda: index.promote_successor(seen=seen),
        ]
        for attempt in attempts:
            with pytest.raises(IndexMismatchError, match="dimension: the settings say 4, it has 3"):
                attempt()

    def test_what_changed_meanwhile_stops_the_switch(self, index: Index) -> None:
        put(index, "a", "alpha")
        seen = index.latest_change()
        successor = index.open_successor(OTHER)
        put(successor, "a", "alpha")
        successor.close()
        put(index, "b", "beta")
        assert not index.promote_successor(seen=seen)
        assert [each.id for each in index.documents()] == ["a", "b"]
        put(index, "c", "gamma")  # writers are not kept waiting
        seen = index.latest_change()
        index.save_conversation("c", "[]")  # no change that the successor lacks
        successor = index.open_successor(OTHER)
        put(successor, "b", "beta")
        put(successor, "c", "gamma")
        successor.close()
        assert index.promote_successor(seen=seen)

    def test_one_that_lacks_documents_stays_where_it_is(self, index: Index) -> None:
        put(index, "a", "alpha")
        put(index, "b", "beta")
        successor = index.open_successor(OTHER)
        put(successor, "a", "alpha")
        successor.close()
        assert not index.promote_successor(seen=index.latest_change())
        assert [each.id for each in index.documents()] == ["a", "b"]
        again = index.open_successor(OTHER)
        assert [each.id for each in again.documents()] == ["a"]
        put(again, "b", "beta")
        again.close()
        assert index.promote_successor(seen=index.latest_change())

    @pytest.mark.parametrize("index", BACKEND_NAMES[1:], indirect=True)  # one in memory does not outlive its process
    def test_one_that_is_left_is_told_of(self, index: Index) -> None:
        put(index, "a", "alpha")
        index.open_successor(OTHER).close()
        (told,) = [check for check in index.check() if check.name == "rebuild"]
        assert told.ok
        assert "localrag embed --rebuild" in told.hint
        index.drop_successor()
        assert "rebuild" not in [check.name for check in index.check()]

    def test_it_is_gone_on_with_unless_it_is_of_other_parameters(self, index: Index) -> None:
        put(index, "a", "alpha")
        successor = index.open_successor(OTHER)
        put(successor, "a", "alpha")
        successor.add_vectors({text_hash("alpha"): unit(0, 0, 1)})
        successor.close()
        again = index.open_successor(OTHER)
        assert (again.stats().documents, again.stats().embedded) == (1, 1)
        again.close()
        third = index.open_successor(replace(OTHER, chunk_tokens=64))
        assert third.stats().documents == 0
        third.close()
        index.drop_successor()
        index.drop_successor()
        last = index.open_successor(OTHER)
        assert last.stats().documents == 0
        last.close()
        assert [each.text for each in index.document_chunks("a")] == ["alpha"]

    def test_what_is_deleted_is_deleted_there_too(self, index: Index) -> None:
        put(index, "a", "alpha")
        put(index, "b", "beta")
        successor = index.open_successor(OTHER)
        put(successor, "a", "alpha")
        index.delete_document("a")
        index.delete_document("b")  # not there yet
        assert successor.documents() == []
        put(successor, "b", "beta")
        successor.close()
        index.clear()
        empty = index.open_successor(OTHER)
        assert empty.documents() == []
        empty.close()

    def test_how_a_page_is_to_be_cut_is_kept(self, index: Index) -> None:
        pages = [Page(ordinal=1, markdown="# code", verbatim=True), Page(ordinal=2, markdown="# heading")]
        index.replace_document(document(), pages, [])
        assert [page.verbatim for page in index.pages("a")] == [True, False]
        index.update_document(document(name="b.txt"))
        assert [page.verbatim for page in index.pages("a")] == [True, False]

    def test_vectors_and_derived_data_are_what_was_stored(self, index: Index) -> None:
        put(index, "a", "alpha", "beta")
        embed(index, alpha=(0, 0, 1, 0))
        assert {key: row.tolist() for key, row in index.document_vectors("a").items()} == {
            text_hash("alpha"): [0.0, 0.0, 1.0, 0.0]
        }
        assert index.document_vectors("none") == {}
        index.rebuild_derived()
        index.purge()
        assert [hit.chunk.text for hit in index.search_legs("beta", None, limit=9).lexical or ()] == ["beta"]
