"""The queue: committed in steps, cancelled between them, one worker at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import count

import numpy as np
import pytest

from localrag.index.memory import MemoryIndex
from localrag.library.embedding_queue import EmbeddingQueue, EmbedProgress
from localrag.protocols import Tokenizer, Vectors
from localrag.types import Chunk, Document, EmbeddingModel, IndexHeader, Page

MODEL = EmbeddingModel(name="m", revision="1", dimension=2, max_tokens=16)


class CountingEmbedder:
    """Every text gets the same unit vector; `texts` keeps what was asked for."""

    model = MODEL

    def __init__(self) -> None:
        self.texts: list[str] = []

    @property
    def tokenizer(self) -> Tokenizer:
        raise NotImplementedError("the queue needs no tokenizer")

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        self.texts += texts
        return np.tile(np.array([0.6, 0.8], dtype=np.float32), (len(texts), 1))

    def embed_query(self, text: str) -> Vectors:
        return self.embed_documents([text])[0]


def _index(texts: int) -> MemoryIndex:
    index = MemoryIndex(IndexHeader(model=MODEL, chunk_tokens=64, chunk_overlap_tokens=0))
    chunks = [
        Chunk(id=f"d_{n}", document_id="d", index=n, page_ordinal=1, text=f"text {n}", start=0, end=6, token_count=2)
        for n in range(texts)
    ]
    document = Document(
        id="d",
        content_hash="h",
        name="d.txt",
        uri="upload:d.txt",
        media_type="text/plain",
        size_bytes=1,
        page_count=1,
        chunk_count=texts,
        indexed_at=datetime(2026, 1, 1, tzinfo=UTC),
    )
    index.replace_document(document, [Page(ordinal=1, markdown="text")], chunks)
    return index


@pytest.fixture
def ticks() -> Iterator[int]:
    return count()


def test_everything_pending_is_embedded_once_with_progress_to_the_end(ticks: Iterator[int]) -> None:
    index, embedder, seen = _index(40), CountingEmbedder(), list[EmbedProgress]()
    final = EmbeddingQueue(index=index, embedder=embedder, clock=lambda: float(next(ticks))).drain(progress=seen.append)
    assert (final.done, final.total, final.finished, index.pending_count()) == (40, 40, True, 0)
    assert sorted(embedder.texts) == sorted(f"text {n}" for n in range(40))
    assert [state.done for state in seen] == [16, 32, 40, 40]
    assert seen[0].rate == pytest.approx(16.0)  # one tick of the clock a report
    assert seen[0].seconds_left == pytest.approx(24 / 16)
    assert index.documents()[0].status == "indexed"


def test_cancel_keeps_what_is_done_and_the_next_run_goes_on() -> None:
    index, embedder = _index(40), CountingEmbedder()
    queue = EmbeddingQueue(index=index, embedder=embedder)
    stopped = queue.drain(cancelled=lambda: len(embedder.texts) >= 16)
    assert (stopped.done, stopped.cancelled, index.pending_count()) == (16, True, 24)
    assert queue.drain().finished
    assert len(embedder.texts) == 40


def test_a_second_worker_waits_and_reports_the_firsts_progress() -> None:
    index, embedder, seen = _index(3), CountingEmbedder(), list[EmbedProgress]()
    assert index.acquire_lease("embedding", "other", 60.0)

    def other_worker_finishes(_: float) -> None:
        index.add_vectors({item.text_hash: embedder.embed_query(item.text) for item in index.pending_texts(9)})

    queue = EmbeddingQueue(index=index, embedder=CountingEmbedder(), sleep=other_worker_finishes)
    final = queue.drain(progress=seen.append)
    assert [(state.elsewhere, state.done) for state in seen] == [(True, 0), (True, 3)]
    assert final.finished


def test_the_lease_is_given_back_even_when_the_embedder_fails() -> None:
    class Broken(CountingEmbedder):
        def embed_documents(self, texts: Sequence[str]) -> Vectors:
            raise RuntimeError("no memory")

    index = _index(3)
    with pytest.raises(RuntimeError, match="no memory"):
        EmbeddingQueue(index=index, embedder=Broken()).drain()
    assert index.acquire_lease("embedding", "next", 60.0)


def test_nothing_pending_is_finished_at_once() -> None:
    final = EmbeddingQueue(index=_index(0), embedder=CountingEmbedder()).drain()
    assert (final.done, final.total, final.finished) == (0, 0, True)
