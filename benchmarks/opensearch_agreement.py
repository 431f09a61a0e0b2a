"""Whether OpenSearch answers as the embedded index does: the same judged sets in both, question by question.

    python benchmarks/opensearch_agreement.py [--sets squad2-dev cranfield] [--url http://127.0.0.1:9200]

Each set is indexed in both and some of its questions asked in both. Prints a table and
keeps the figures in `benchmarks/results/opensearch_agreement.json`. The library in OpenSearch is dropped at the end.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from vector_cache import CachedEmbedder

from localrag.chunking.split import Chunker
from localrag.embedding.registry import create_embedder
from localrag.evaluation.beir import BeirDataset, load_dataset
from localrag.evaluation.benchmark import Progress, evaluate
from localrag.index.opensearch import OpenSearchIndex
from localrag.index.sqlite import SqliteIndex
from localrag.parsing.isolated import IsolatedParser
from localrag.parsing.source import Limits
from localrag.protocols import Embedder, Library
from localrag.retrieval.hybrid import Retriever
from localrag.settings import load_settings
from localrag.types import IndexHeader, Query

BENCH = Path(__file__).resolve().parents[2] / "shared" / "bench"
RESULTS = Path(__file__).parent / "results" / "opensearch_agreement.json"
DEPTH = 10
QUESTIONS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """What one set showed; times are of this machine at this moment and not kept."""

    documents: int
    chunks: int
    questions: int
    overlap: float
    same_first: float
    ndcg_embedded: float
    ndcg_opensearch: float
    ms_embedded: float
    ms_opensearch: float


def compare(folder: Path, *, embedder: Embedder, embedded: Library, opensearch: Library) -> Agreement:
    """Indexes the set in both and asks both."""
    settings = load_settings()
    dataset = _some_questions(load_dataset(folder))
    parser = IsolatedParser(limits=Limits())
    chunker = Chunker(embedder.tokenizer, settings.chunk_tokens, settings.chunk_overlap_tokens)
    evaluations = []
    try:
        for index in (embedded, opensearch):
            evaluations.append(
                evaluate(
                    dataset,
                    index=index,
                    embedder=embedder,
                    chunker=chunker,
                    parser=parser,
                    semantic=settings.semantic,
                    on_progress=_show,
                )
            )
    finally:
        parser.close()
    ours, theirs = evaluations
    overlap, same_first, times = _overlap(dataset, embedder, embedded, opensearch)
    return Agreement(
        documents=ours.documents,
        chunks=ours.chunks,
        questions=ours.queries,
        overlap=overlap,
        same_first=same_first,
        ndcg_embedded=ours.by_mode["hybrid"]["ndcg@10"],
        ndcg_opensearch=theirs.by_mode["hybrid"]["ndcg@10"],
        ms_embedded=times[0],
        ms_opensearch=times[1],
    )


def _some_questions(dataset: BeirDataset) -> BeirDataset:
    """The set with some of its questions, spread over all, and their judgements; its whole corpus."""
    step = max(1, len(dataset.queries) // QUESTIONS)
    chosen = list(dataset.queries)[::step][:QUESTIONS]
    return replace(
        dataset,
        queries={query: dataset.queries[query] for query in chosen},
        qrels={query: dataset.qrels[query] for query in chosen if query in dataset.qrels},
    )


def _overlap(
    dataset: BeirDataset, embedder: Embedder, embedded: Library, opensearch: Library
) -> tuple[float, float, tuple[float, float]]:
    """Mean share of the embedded index's best ten that OpenSearch gives too, share of equal first hits, times."""
    asked = list(dataset.queries.values())
    ours, our_ms = _ask(Retriever(index=embedded, embedder=embedder), asked)
    theirs, their_ms = _ask(Retriever(index=opensearch, embedder=embedder), asked)
    pairs = [(one, other) for one, other in zip(ours, theirs, strict=True) if one]
    overlap = sum(len(set(one) & set(other)) / len(one) for one, other in pairs) / len(pairs)
    first = sum(one[:1] == other[:1] for one, other in pairs) / len(pairs)
    return overlap, first, (our_ms, their_ms)


def _ask(retriever: Retriever, questions: Sequence[str]) -> tuple[list[list[str]], float]:
    """The chunk ids of the best ten for each question, and the mean milliseconds of a search."""
    found = []
    began = time.perf_counter()
    for question in questions:
        hits = retriever.search(Query(text=question, top_k=DEPTH)).hits
        found.append([hit.chunk.id for hit in hits])
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


def _show(progress: Progress) -> None:
    if progress.done % 500 == 0 or progress.done == progress.total:
        print(f"  {progress.stage} {progress.done}/{progress.total}", flush=True)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--sets", nargs="+", default=["squad2-dev", "cranfield"])
    options.add_argument("--bench", type=Path, default=BENCH)
    options.add_argument("--url", default="http://127.0.0.1:9200")
    options.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "localrag-bench" / "vectors.db")
    chosen = options.parse_args()
    kept = json.loads(RESULTS.read_text("utf-8")) if RESULTS.is_file() else {}
    settings = load_settings()
    models = settings.data_dir / "models"
    embedder = CachedEmbedder(create_embedder(settings.embedding_model, models_dir=models), chosen.cache)
    for name in chosen.sets:
        print(name, flush=True)
        with both(embedder, chosen.url, "agreement") as (embedded, opensearch):
            found = compare(chosen.bench / name, embedder=embedder, embedded=embedded, opensearch=opensearch)
        print(f"  a search takes {found.ms_embedded:.1f} ms embedded, {found.ms_opensearch:.1f} ms in OpenSearch")
        kept[name] = {
            "documents": found.documents,
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
