"""What the vectors of a library would take and find if OpenSearch kept them in fewer bits.

    python benchmarks/opensearch_quantisation.py [--vectors 20000] [--url http://127.0.0.1:9200]

The same vectors in an index for each way that the lucene engine has: as localrag stores them (float32), quantised
beside the floats (`mode: on_disk`, 4x), and as bytes only. Shows the files that a search reads (`hot`: graph, and the
vectors that are compared), all files, and recall@10 against exact float32 neighbours. Vectors only: no text.
Prints a table and keeps it in `benchmarks/results/opensearch_quantisation.json`.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from opensearch_scale import MEGABYTE, SCRATCH, open_embedder, some_real_vectors
from opensearchpy import OpenSearch
from opensearchpy.helpers import bulk
from synthetic_library import CHUNKS_PER_DOCUMENT, SyntheticLibrary, chunk_id

from localrag.index.opensearch_entries import numbers
from localrag.protocols import Vectors

RESULTS = Path(__file__).parent / "results" / "opensearch_quantisation.json"
INDEX = "quantisation-bench"
QUESTIONS = 200
HNSW: dict[str, Any] = {"name": "hnsw", "space_type": "cosinesimil", "engine": "lucene"}
WAYS: dict[str, dict[str, Any]] = {
    "float32 (localrag)": {"method": HNSW},
    "on_disk, 4x": {"mode": "on_disk", "compression_level": "4x", "method": HNSW},
    "byte": {"data_type": "byte", "method": HNSW},
}
# The files of Lucene's vector formats that a search reads: graph, floats, quantised vectors.
GRAPH, FLOATS, QUANTISED = "vex", "vec", "veq"


def measure(client: OpenSearch, way: str, library: SyntheticLibrary, questions: Vectors) -> dict[str, float]:
    """Fills an index of this way, merges it to one segment, and asks it."""
    client.indices.delete(index=INDEX, ignore_unavailable=True)
    vector = {"type": "knn_vector", "dimension": questions.shape[1], **WAYS[way]}
    settings = {"index.knn": True, "number_of_replicas": 0, "refresh_interval": -1}
    client.indices.create(index=INDEX, body={"settings": settings, "mappings": {"properties": {"v": vector}}})
    as_bytes = "byte" in way

    def actions() -> Iterator[dict[str, Any]]:
        for number in range(library.documents):
            for place, row in enumerate(library.vectors(number)):
                told = _bytes(row) if as_bytes else numbers(row)
                yield {"_index": INDEX, "_id": chunk_id(library.identifier(number), place), "v": told}

    bulk(client, actions(), chunk_size=CHUNKS_PER_DOCUMENT, request_timeout=600)
    client.indices.forcemerge(index=INDEX, max_num_segments=1, request_timeout=3_600)
    client.indices.refresh(index=INDEX)
    shares = []
    for row, wanted in zip(questions, library.exact_neighbours(questions, 10), strict=True):
        asked = {"vector": _bytes(row) if as_bytes else numbers(row), "k": 100}
        found = client.search(index=INDEX, body={"size": 10, "_source": False, "query": {"knn": {"v": asked}}})
        shares.append(len({hit["_id"] for hit in found["hits"]["hits"]} & set(wanted)) / 10)
    stats = client.indices.stats(
        index=INDEX, metric="store,segments", params={"include_segment_file_sizes": "true"}, request_timeout=60
    )["_all"]["primaries"]
    files = {name: each["size_in_bytes"] for name, each in stats["segments"]["file_sizes"].items()}
    compared = files.get(QUANTISED) or files.get(FLOATS, 0)
    client.indices.delete(index=INDEX)
    per_million = 1_000_000 / library.chunks / MEGABYTE
    return {
        "hot_mb_per_million": round((files.get(GRAPH, 0) + compared) * per_million),
        "disk_mb_per_million": round(stats["store"]["size_in_bytes"] * per_million),
        "recall_at_10": round(float(np.mean(shares)), 4),
        **{f"{name}_bytes": files[name] for name in (GRAPH, FLOATS, QUANTISED) if name in files},
    }


def _bytes(row: Vectors) -> list[int]:
    """The vector in whole numbers of a byte; what one step is worth does not matter for the cosine."""
    scaled: list[int] = np.clip(np.rint(row * (127 / _LARGEST)), -128, 127).astype(int).tolist()
    return scaled


# Components of bge-small-en-v1.5 are seldom larger; those that are, are cut.
_LARGEST = 0.25


def table(results: dict[str, dict[str, float]]) -> str:
    """The figures as Markdown."""
    lines = [
        "| vectors | read by searches, MB per million | on disk, MB per million | recall@10 |",
        "|---|---|---|---|",
    ]
    for way, each in results.items():
        lines.append(
            f"| {way} | {each['hot_mb_per_million']:,} | {each['disk_mb_per_million']:,} | {each['recall_at_10']:.3f} |"
        )
    return "\n".join(lines)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--vectors", type=int, default=20_000)
    options.add_argument("--url", default="http://127.0.0.1:9200")
    options.add_argument("--cache", type=Path, default=SCRATCH / "vectors.db")
    chosen = options.parse_args()
    embedder = open_embedder(chosen.cache)
    library = SyntheticLibrary(chosen.vectors, some_real_vectors(embedder))
    embedder.close()
    questions = np.stack([row for _, row in library.questions(QUESTIONS)])
    client = OpenSearch(chosen.url, timeout=600)
    results = {way: measure(client, way, library, questions) for way in WAYS}
    client.close()
    kept = {"vectors": chosen.vectors, "ways": results}
    RESULTS.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    print(table(results))


if __name__ == "__main__":
    main()
