"""Real questions asked in both indices: the same answers, and as good."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from localrag.evaluation.beir import BeirDataset, load_dataset
from localrag.evaluation.metrics import means, score
from localrag.index.opensearch import OpenSearchIndex
from localrag.index.sqlite import SqliteIndex
from localrag.library.migration import migrate
from localrag.protocols import Library
from localrag.retrieval.hybrid import Retriever
from localrag.testing import HashEmbedder
from localrag.types import Chunk, Document, IndexHeader, Page, Query

pytestmark = pytest.mark.opensearch

BENCH = Path(__file__).resolve().parents[2] / "../shared/bench"
URL = os.environ.get("OPENSEARCH_TEST_URL", "http://127.0.0.1:9200")
NAME = "agreement-test"
EMBEDDER = HashEmbedder()
HEADER = IndexHeader(model=EMBEDDER.model, chunk_tokens=256, chunk_overlap_tokens=32)
QUESTIONS = 200
PER_DOCUMENT = 100


@pytest.fixture
def both(tmp_path: Path) -> Iterator[tuple[SqliteIndex, OpenSearchIndex]]:
    OpenSearchIndex.drop(URL, NAME)
    embedded, opensearch = SqliteIndex.open(tmp_path / "index.db", HEADER), OpenSearchIndex.open(URL, NAME, HEADER)
    yield embedded, opensearch
    embedded.close()
    opensearch.close()
    OpenSearchIndex.drop(URL, NAME)


def fill(index: SqliteIndex, dataset: BeirDataset) -> None:
    """Every entry of the corpus as one chunk that has its id, a hundred in a document; all have their vectors."""
    entries = [entry for entry in dataset.corpus if entry.text.strip()]
    for at in range(0, len(entries), PER_DOCUMENT):
        part = entries[at : at + PER_DOCUMENT]
        document = Document(
            id=f"d{at}",
            content_hash=f"h{at}",
            name=f"part{at}",
            uri=f"file:///{at}",
            media_type="text/plain",
            size_bytes=1,
            page_count=len(part),
            indexed_at=datetime(2026, 3, 1, tzinfo=UTC),
        )
        pages = [Page(ordinal=number, markdown=entry.text) for number, entry in enumerate(part, start=1)]
        chunks = [
            Chunk(
                id=entry.id,
                document_id=document.id,
                index=number,
                page_ordinal=number + 1,
                heading_path=(entry.title,) if entry.title else (),
                text=entry.text,
                start=0,
                end=len(entry.text),
                token_count=1,
            )
            for number, entry in enumerate(part)
        ]
        index.replace_document(document, pages, chunks)
    waiting = index.pending_texts(10_000)
    rows = EMBEDDER.embed_documents([each.text for each in waiting])
    index.add_vectors({each.text_hash: row for each, row in zip(waiting, rows, strict=True)})


def ask(index: Library, questions: dict[str, str]) -> dict[str, list[str]]:
    """The best ten chunks of each question."""
    retriever = Retriever(index=index, embedder=EMBEDDER)
    found = {key: retriever.search(Query(text=text, top_k=10)).hits for key, text in questions.items()}
    return {key: [hit.chunk.id for hit in hits] for key, hits in found.items()}


def ndcg(run: dict[str, list[str]], dataset: BeirDataset) -> float:
    return means(score(run, {key: dataset.qrels[key] for key in run}))["ndcg@10"]


@pytest.mark.parametrize("name", ["squad2-dev", "cranfield"])
def test_both_indices_give_the_same_answers(name: str, both: tuple[SqliteIndex, OpenSearchIndex]) -> None:
    dataset = load_dataset(BENCH / name)
    embedded, opensearch = both
    fill(embedded, dataset)
    moved = migrate(embedded, opensearch)
    assert moved.problems == ()
    keys = list(dataset.queries)[:: max(1, len(dataset.queries) // QUESTIONS)][:QUESTIONS]
    questions = {key: dataset.queries[key] for key in keys}
    ours, theirs = ask(embedded, questions), ask(opensearch, questions)
    shares = [len(set(ours[key]) & set(theirs[key])) / len(ours[key]) for key in keys if ours[key]]
    assert len(shares) == len(keys) == QUESTIONS
    overlap = sum(shares) / len(shares)
    print(f"{name}: overlap@10 {overlap:.4f}, nDCG@10 {ndcg(ours, dataset):.4f} and {ndcg(theirs, dataset):.4f}")
    assert overlap >= 0.9
    assert ndcg(theirs, dataset) == pytest.approx(ndcg(ours, dataset), abs=0.01)
