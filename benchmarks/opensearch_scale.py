"""A large library in OpenSearch: how fast it is filled, how much it takes, how fast and how well it answers.

    OPENSEARCH_JIT=full OPENSEARCH_HEAP=4g bash scripts/services/opensearch.sh start
    python benchmarks/opensearch_scale.py [--chunks 1000000] [--writers 2] [--url http://127.0.0.1:9200]

Every chunk goes through the backend as a document of `localrag migrate` does: text, terms and vector. The texts are
Zipf words, the vectors real ones that were moved (`synthetic_library`); both come from a seed, a document at a time.
An interrupted run goes on where it was. Embedding a question is not part of a search's time. The exact neighbours are
computed from the same vectors. Prints a table and keeps it in `benchmarks/results/opensearch_scale.json`;
the library is dropped at the end unless `--keep`.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np
from opensearchpy import OpenSearch
from synthetic_library import WORDS_PER_CHUNK, SyntheticLibrary, real_vectors
from vector_cache import CachedEmbedder

from localrag.embedding.registry import create_embedder
from localrag.evaluation.beir import load_dataset
from localrag.index.content import text_hash
from localrag.index.opensearch import OpenSearchIndex
from localrag.index.opensearch_schema import Copies
from localrag.protocols import Tokenizer, Vectors
from localrag.retrieval.hybrid import Retriever
from localrag.settings import load_settings
from localrag.types import EmbeddingModel, IndexHeader, Query

ROOT = Path(__file__).resolve().parents[1]
BENCH = ROOT.parent / "shared" / "bench"
RESULTS = Path(__file__).parent / "results" / "opensearch_scale.json"
SCRATCH = Path(tempfile.gettempdir()) / "localrag-bench"
NAME = "scale"
REAL_TEXTS = 2_000
QUESTIONS = 200
SEARCHES = 400
CLIENTS = 8
MEGABYTE = 1024 * 1024
# Merges that go on after the last write are waited for so long.
SETTLE_S = 900.0


@dataclass(frozen=True, slots=True)
class Prepared:
    """An embedder that has only the questions' vectors: a search is timed without the model."""

    model: EmbeddingModel
    tokenizer: Tokenizer
    vectors: dict[str, Vectors]

    def embed_query(self, text: str) -> Vectors:
        return self.vectors[text]

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        return np.stack([self.vectors[text] for text in texts])


@dataclass(slots=True)
class Progress:
    """What the runs so far have written, kept beside the library so that a run can be interrupted."""

    path: Path
    chunks: int = 0
    seconds: float = 0.0

    def load(self) -> None:
        if self.path.is_file():
            told = json.loads(self.path.read_text("utf-8"))
            self.chunks, self.seconds = told["chunks"], told["seconds"]

    def save(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text(json.dumps({"chunks": self.chunks, "seconds": self.seconds}), encoding="utf-8")


class Heap:
    """The largest heap after a look every second, in MB."""

    def __init__(self, client: OpenSearch) -> None:
        self._client = client
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self.peak = 0
        self.limit = 0

    def __enter__(self) -> Heap:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._done.wait(1.0):
            for node in self._client.nodes.stats(metric="jvm", request_timeout=60)["nodes"].values():
                self.peak = max(self.peak, node["jvm"]["mem"]["heap_used_in_bytes"] // MEGABYTE)
                self.limit = node["jvm"]["mem"]["heap_max_in_bytes"] // MEGABYTE


def fill(index: OpenSearchIndex, library: SyntheticLibrary, progress: Progress, *, writers: int, minutes: float) -> int:
    """Writes what is not there yet, for so many minutes at most; how many chunks there are then."""
    there = {each.id for each in index.documents() if each.embedded_count == each.chunk_count}
    missing = [number for number in range(library.documents) if library.identifier(number) not in there]
    earlier, chunks_before, began = progress.seconds, progress.chunks, time.monotonic()
    lock, written = threading.Lock(), 0

    def write(number: int) -> None:
        nonlocal written
        if time.monotonic() - began > minutes * 60:
            return
        part = library.part(number)
        vectors = {text_hash(chunk.embedding_text): row for chunk, row in zip(part.chunks, part.vectors, strict=True)}
        index.replace_document(part.document, part.pages, part.chunks, vectors)
        with lock:
            written += len(part.chunks)
            progress.seconds, progress.chunks = earlier + time.monotonic() - began, chunks_before + written
            if number % 20 == 0:
                progress.save()
                print(
                    f"  {index.stats().chunks} chunks, {written / (time.monotonic() - began):.0f} a second", flush=True
                )

    with ThreadPoolExecutor(writers) as pool:
        for _ in pool.map(write, missing):
            pass
    progress.save()
    return index.stats().chunks


def settle(client: OpenSearch) -> float:
    """Seconds until no merge runs any more."""
    began = time.monotonic()
    quiet = 0
    while quiet < 3 and time.monotonic() - began < SETTLE_S:
        told = client.indices.stats(index=f"{NAME}-content", metric="merge", request_timeout=60)
        quiet = quiet + 1 if told["_all"]["total"]["merges"]["current"] == 0 else 0
        time.sleep(1.0)
    return time.monotonic() - began


def sizes(client: OpenSearch) -> dict[str, Any]:
    """What the content takes on disk, of which the vectors, and how many segments it has."""
    told = client.indices.stats(
        index=f"{NAME}-content",
        metric="store,segments",
        params={"include_segment_file_sizes": "true"},
        request_timeout=60,
    )["_all"]["primaries"]
    files = {
        ending: each["size_in_bytes"] // MEGABYTE for ending, each in told["segments"].get("file_sizes", {}).items()
    }
    return {
        "disk_mb": told["store"]["size_in_bytes"] // MEGABYTE,
        "segments": told["segments"]["count"],
        "largest_files_mb": dict(sorted(files.items(), key=lambda item: -item[1])[:8]),
    }


def timed(search: Callable[[str], object], questions: Sequence[str], *, clients: int) -> dict[str, float]:
    """Milliseconds of a search at so many clients, and how many are answered in a second."""

    def one(question: str) -> float:
        began = time.perf_counter()
        search(question)
        return (time.perf_counter() - began) * 1000

    asked = [question for _, question in zip(range(SEARCHES), _again(questions), strict=False)]
    began = time.perf_counter()
    with ThreadPoolExecutor(clients) as pool:
        took = list(pool.map(one, asked))
    cuts = statistics.quantiles(took, n=100)
    rate = len(asked) / (time.perf_counter() - began)
    return {
        "clients": clients,
        "p50_ms": round(cuts[49], 1),
        "p95_ms": round(cuts[94], 1),
        "p99_ms": round(cuts[98], 1),
        "searches_per_second": round(rate, 1),
    }


def recall(index: OpenSearchIndex, library: SyntheticLibrary, vectors: Vectors, k: int = 10) -> float:
    """The mean share of the k exact neighbours that the vector leg finds."""
    shares = []
    for row, wanted in zip(vectors, library.exact_neighbours(vectors, k), strict=True):
        found = index.search_legs(None, row, limit=k).vector or ()
        shares.append(len({hit.chunk.id for hit in found} & set(wanted)) / k)
    return sum(shares) / len(shares)


def measure(
    index: OpenSearchIndex, library: SyntheticLibrary, prepared: Prepared, client: OpenSearch
) -> dict[str, Any]:
    """Latencies and recall of a library that is filled."""
    retriever = Retriever(index=index, embedder=prepared)
    questions = list(prepared.vectors)

    def search(text: str) -> object:
        return retriever.search(Query(text=text, top_k=10))

    for question in questions[:50]:
        search(question)
    latencies = [timed(search, questions, clients=clients) for clients in (1, CLIENTS)]
    found = recall(index, library, np.stack(list(prepared.vectors.values())))
    return {**sizes(client), "hybrid_search": latencies, "recall_at_10": round(found, 4), "questions": len(questions)}


def table(results: dict[str, Any]) -> str:
    """The figures as Markdown, a row for each size."""
    lines = [
        "| chunks | heap MB | chunks a second | disk GB | segments | peak heap MB | clients | p50 ms | p95 ms | p99 ms "
        "| searches a second | recall@10 |",
        f"|{'---|' * 12}",
    ]
    for each in results.values():
        for of in each["hybrid_search"]:
            lines.append(
                f"| {each['chunks']:,} | {each['heap_mb']} | {each['chunks_per_second']} "
                f"| {each['disk_mb'] / 1024:.2f} "
                f"| {each['segments']} | {each['peak_heap_mb']} | {of['clients']} | {of['p50_ms']} | {of['p95_ms']} "
                f"| {of['p99_ms']} | {of['searches_per_second']} | {each['recall_at_10']:.4f} |"
            )
    return "\n".join(lines)


def _again(questions: Sequence[str]) -> Iterator[str]:
    for each in repeat(questions):
        yield from each


def _real_texts() -> list[str]:
    """Passages of two judged sets, or the sample documents' paragraphs where those are not."""
    if BENCH.is_dir():
        sets = [load_dataset(BENCH / name) for name in ("cranfield", "squad2-dev")]
        entries = [entry for dataset in sets for entry in dataset.corpus if entry.text.strip()]
        # As `opensearch_agreement` embeds them, so that both find them in the cache.
        return [f"Section: {entry.title}\n\n{entry.text}" if entry.title else entry.text for entry in entries]
    paragraphs = [
        each
        for path in sorted((ROOT / "data" / "samples").glob("*.md"))
        for each in path.read_text("utf-8").split("\n\n")
    ]
    return [each for each in paragraphs if len(each) > 80]


def _options() -> argparse.Namespace:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--chunks", type=int, default=1_000_000)
    options.add_argument("--writers", type=int, default=2)
    options.add_argument("--minutes", type=float, default=24 * 60.0, help="write no longer than this, then measure")
    options.add_argument("--shards", type=int, default=1)
    options.add_argument("--url", default="http://127.0.0.1:9200")
    options.add_argument("--cache", type=Path, default=SCRATCH / "vectors.db")
    options.add_argument("--keep", action="store_true", help="leave the library there")
    return options.parse_args()


def open_embedder(cache: Path) -> CachedEmbedder:
    """The settings' embedding model, whose vectors are kept in this file."""
    settings = load_settings()
    return CachedEmbedder(create_embedder(settings.embedding_model, models_dir=settings.data_dir / "models"), cache)


def some_real_vectors(embedder: CachedEmbedder) -> Vectors:
    """`(n, dimension)` float32, norm 1, of real texts."""
    return real_vectors(embedder, _real_texts()[:REAL_TEXTS])


def main() -> None:
    chosen = _options()
    settings = load_settings()
    embedder = open_embedder(chosen.cache)
    library = SyntheticLibrary(chosen.chunks, some_real_vectors(embedder))
    header = IndexHeader(
        model=embedder.model, chunk_tokens=settings.chunk_tokens, chunk_overlap_tokens=settings.chunk_overlap_tokens
    )
    client = OpenSearch(chosen.url, timeout=60)
    progress = Progress(SCRATCH / f"scale-{chosen.chunks}.json")
    index = OpenSearchIndex.open(chosen.url, NAME, header, copies=Copies(shards=chosen.shards))
    if index.documents():
        progress.load()
    with Heap(client) as heap:
        chunks = fill(index, library, progress, writers=chosen.writers, minutes=chosen.minutes)
        settled = settle(client)
        if chunks != chosen.chunks:  # the first documents were written: they are a library of their own
            library = library.of_size(chunks)
        prepared = Prepared(embedder.model, embedder.tokenizer, dict(library.questions(QUESTIONS)))
        measured = measure(index, library, prepared, client)
    result = {
        "chunks": chunks,
        "asked_for": chosen.chunks,
        "words_per_chunk": WORDS_PER_CHUNK,
        "dimension": embedder.model.dimension,
        "shards": chosen.shards,
        "processors": os.cpu_count(),
        "load_average": round(os.getloadavg()[2], 1),
        "heap_mb": heap.limit,
        "peak_heap_mb": heap.peak,
        "writers": chosen.writers,
        "minutes_writing": round(progress.seconds / 60, 1),
        "chunks_per_second": round(progress.chunks / progress.seconds) if progress.seconds else 0,
        "minutes_merging_after": round(settled / 60, 1),
        **measured,
    }
    keep(result)
    index.close()
    embedder.close()
    client.close()
    if not chosen.keep:
        OpenSearchIndex.drop(chosen.url, NAME)
        progress.path.unlink(missing_ok=True)


def keep(result: dict[str, Any]) -> None:
    """Adds the figures of this size to those that are kept, and prints them all."""
    kept = json.loads(RESULTS.read_text("utf-8")) if RESULTS.is_file() else {}
    kept = dict(sorted({**kept, str(result["chunks"]): result}.items(), key=lambda item: int(item[0])))
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    RESULTS.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    print(table(kept))


if __name__ == "__main__":
    main()
