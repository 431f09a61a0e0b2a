"""Whether OpenSearch answers as the embedded index does: the same judged sets in both, question by question.

    python benchmarks/opensearch_agreement.py [--sets squad2-dev cranfield] [--url http://127.0.0.1:9200]

Every entry of a set is one chunk; the library is copied as `localrag migrate` does. Prints a table and
keeps the figures in `benchmarks/results/opensearch_agreement.json`. The library in OpenSearch is dropped at the end.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from vector_cache import CACHE, remembered

from localrag.evaluation.beir import BeirDataset, load_dataset
from localrag.evaluation.metrics import means, score
from localrag.index.opensearch import OpenSearchIndex
from localrag.index.sqlite import SqliteIndex
from localrag.library.embedding_queue import EmbeddingQueue
from localrag.library.migration import migrate
from localrag.protocols import Embedder, Library
from localrag.retrieval.hybrid import Retriever
from localrag.settings import load_settings
from localrag.types import Chunk, Document, IndexHeader, Page, Query

BENCH = Path(__file__).resolve().parents[2] / "shared" / "bench"
RESULTS = Path(__file__).parent / "results" / "opensearch_agreement.json"
DEPTH = 10
QUESTIONS = 200
PER_DOCUMENT = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """What one set showed; times are of this machine at this moment and not kept."""

    chunks: int
    questions: int
    overlap: float
    same_first: float
    ndcg_embedded: float
    ndcg_opensearch: float
    ms_embedded: float
    ms_opensearch: float


def compare(folder: Path, *, embedder: Embedder, embedded: Library, opensearch: Library) -> Agreement:
    """Fills the first index, copies it to the second, asks both."""
    dataset = _some_questions(load_dataset(folder))
    fill(embedded, dataset, embedder)
    moved = migrate(embedded, opensearch)
    assert not moved.problems, moved.problems
    ours, our_ms = _ask(Retriever(index=embedded, embedder=embedder), dataset.queries)
    theirs, their_ms = _ask(Retriever(index=opensearch, embedder=embedder), dataset.queries)
    pairs = [(ours[key], theirs[key]) for key in ours if ours[key]]
    return Agreement(
        chunks=moved.chunks,
        questions=len(pairs),
        overlap=sum(len(set(one) & set(other)) / len(one) for one, other in pairs) / len(pairs),
        same_first=sum(one[:1] == other[:1] for one, other in pairs) / len(pairs),
        ndcg_embedded=means(score(ours, dataset.qrels))["ndcg@10"],
        ndcg_opensearch=means(score(theirs, dataset.qrels))["ndcg@10"],
        ms_embedded=our_ms,
        ms_opensearch=their_ms,
    )


def fill(index: Library, dataset: BeirDataset, embedder: Embedder) -> None:
    """Every entry of the corpus as one chunk, a hundred in a document, all with their vectors."""
    entries = [entry for entry in dataset.corpus if entry.text.strip()]
    for at in range(0, len(entries), PER_DOCUMENT):
        part = list(enumerate(entries[at : at + PER_DOCUMENT], start=1))
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
        chunks = [
            Chunk(
                id=entry.id,
                document_id=document.id,
                index=number,
                page_ordinal=number,
                heading_path=(entry.title,) if entry.title else (),
                prefix=f"Section: {entry.title}" if entry.title else "",
                text=entry.text,
                start=0,
                end=len(entry.text),
                token_count=1,
            )
            for number, entry in part
        ]
        index.replace_document(document, [Page(ordinal=number, markdown=entry.text) for number, entry in part], chunks)
    EmbeddingQueue(index=index, embedder=embedder).drain()


def _some_questions(dataset: BeirDataset) -> BeirDataset:
    """The set with some of its questions, spread over all, and their judgements; its whole corpus."""
    step = max(1, len(dataset.queries) // QUESTIONS)
    chosen = list(dataset.queries)[::step][:QUESTIONS]
    return replace(
        dataset,
        queries={query: dataset.queries[query] for query in chosen},
        qrels={query: dataset.qrels[query] for query in chosen if query in dataset.qrels},
    )


def _ask(retriever: Retriever, questions: Mapping[str, str]) -> tuple[dict[str, list[str]], float]:
    """The chunk ids of the best ten for each question, and the mean milliseconds of a search."""
    found = {}
    began = time.perf_counter()
    for key, question in questions.items():
        hits = retriever.search(Query(text=question, top_k=DEPTH)).hits
        found[key] = [hit.chunk.id for hit in hits]
    return found, (time.perf_counter() - began) * 1000 / len(questions)


@contextmanager
def both(embedder: Embedder, url: str, name: str) -> Iterator[tuple[SqliteIndex, OpenSearchIndex]]:
    """Two empty libraries for this model, gone after the block."""
    settings = load_settings()
    header = IndexHeader(
        model=embedder.model,
        chunk_tokens=settings.chunk_tokens,
        chunk_overlap_tokens=settings.chunk_overlap_tokens,
    )
    OpenSearchIndex.drop(url, name)
    with tempfile.TemporaryDirectory() as scratch:
        embedded = SqliteIndex.open(Path(scratch) / "index.db", header)
        opensearch = OpenSearchIndex.open(url, name, header)
        try:
            yield embedded, opensearch
        finally:
            embedded.close()
            opensearch.close()
            OpenSearchIndex.drop(url, name)


def table(results: Mapping[str, Mapping[str, Any]]) -> str:
    """The figures as Markdown, a row for each set."""
    lines = [
        "| set | chunks | questions | overlap@10 | same first hit | nDCG@10 embedded | nDCG@10 OpenSearch |",
        f"|{'---|' * 7}",
    ]
    for name, each in results.items():
        lines.append(
            f"| {name} | {each['chunks']} | {each['questions']} | {each['overlap']:.4f} | {each['same_first']:.3f} "
            f"| {each['ndcg_embedded']:.4f} | {each['ndcg_opensearch']:.4f} |"
        )
    return "\n".join(lines)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--sets", nargs="+", default=["squad2-dev", "cranfield"])
    options.add_argument("--bench", type=Path, default=BENCH)
    options.add_argument("--url", default="http://127.0.0.1:9200")
    options.add_argument("--cache", type=Path, default=CACHE)
    chosen = options.parse_args()
    kept = json.loads(RESULTS.read_text("utf-8")) if RESULTS.is_file() else {}
    settings = load_settings()
    embedder = remembered(settings, chosen.cache)
    for name in chosen.sets:
        print(name, flush=True)
        with both(embedder, chosen.url, "agreement") as (embedded, opensearch):
            found = compare(chosen.bench / name, embedder=embedder, embedded=embedded, opensearch=opensearch)
        print(f"  a search takes {found.ms_embedded:.1f} ms embedded, {found.ms_opensearch:.1f} ms in OpenSearch")
        kept[name] = {
            "chunks": found.chunks,
            "questions": found.questions,
            "overlap": round(found.overlap, 4),
            "same_first": round(found.same_first, 4),
            "ndcg_embedded": round(found.ndcg_embedded, 4),
            "ndcg_opensearch": round(found.ndcg_opensearch, 4),
        }
        RESULTS.parent.mkdir(parents=True, exist_ok=True)
        RESULTS.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    embedder.close()
    print(table(kept))


if __name__ == "__main__":
    main()
