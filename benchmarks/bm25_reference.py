"""nDCG@10 of the keyword leg beside bm25s (method lucene, k1 1.2, b 0.75) on the same terms.

    python benchmarks/bm25_reference.py BEIR_FOLDER...

Every corpus line is one chunk. `reference` and `index` see the text alone (names are empty), so they should agree;
`named` has each line's title as its document's name, which shows what the name field does.
"""

from __future__ import annotations

import json
import math
import sys
import tempfile
import time
from collections import defaultdict
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import bm25s
import numpy as np

from localrag.index.analysis import query_groups
from localrag.index.content import chunk_terms
from localrag.index.sqlite import SqliteIndex
from localrag.types import Chunk, Document, EmbeddingModel, IndexHeader, Page

HEADER = IndexHeader(
    model=EmbeddingModel(name="none", revision="0", dimension=2, max_tokens=512),
    chunk_tokens=512,
    chunk_overlap_tokens=0,
)


def main() -> None:
    print(f"{'data set':22}{'reference':>10}{'index':>10}{'named':>10}{'ms a query':>12}")
    for folder in map(Path, sys.argv[1:]):
        corpus, queries, qrels = load(folder)
        expected = ndcg(reference(corpus, queries), qrels)
        got, _ = indexed(corpus, queries, named=False)
        named, milliseconds = indexed(corpus, queries, named=True)
        print(f"{folder.name:22}{expected:10.4f}{ndcg(got, qrels):10.4f}{ndcg(named, qrels):10.4f}{milliseconds:12.2f}")


def load(folder: Path) -> tuple[list[dict[str, str]], dict[str, str], dict[str, dict[str, int]]]:
    corpus = [json.loads(line) for line in (folder / "corpus.jsonl").read_text("utf-8").splitlines()]
    qrels: dict[str, dict[str, int]] = defaultdict(dict)
    for line in (folder / "qrels" / "test.tsv").read_text("utf-8").splitlines()[1:]:
        query, document, grade = line.split("\t")
        qrels[query][document] = int(grade)
    lines = (folder / "queries.jsonl").read_text("utf-8").splitlines()
    queries = {each["_id"]: each["text"] for each in map(json.loads, lines) if each["_id"] in qrels}
    return corpus, queries, dict(qrels)


def chunk_of(line: dict[str, str]) -> Chunk:
    text = line["text"]
    return Chunk(
        id=line["_id"],
        document_id=line["_id"],
        index=0,
        page_ordinal=1,
        text=text,
        start=0,
        end=len(text),
        token_count=1,
    )


def reference(corpus: list[dict[str, str]], queries: dict[str, str]) -> dict[str, list[str]]:
    """Best ten ids by bm25s, fed with the index's own terms; a word's forms share the idf of all of them."""
    terms = [chunk_terms(chunk_of(line), "") for line in corpus]
    languages = {each.language for each in terms}
    # A word's form in a chunk's language is written as the first form of its group, so both count alike.
    first = {}
    for text in queries.values():
        for group in query_groups(text, languages):
            for form in group:
                first.setdefault(form, group[0])
    retriever = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
    retriever.index([[first.get(term, term) for term in each.body] or ["∅"] for each in terms], show_progress=False)
    ids = [line["_id"] for line in corpus]
    best = {}
    for key, text in queries.items():
        asked = list(dict.fromkeys(first[group[0]] for group in query_groups(text, languages)))
        known = [term for term in asked if term in retriever.vocab_dict]
        scores = retriever.get_scores(known) if known else np.zeros(len(ids))
        order = sorted(range(len(ids)), key=lambda place: (-round(float(scores[place]), 5), ids[place]))
        best[key] = [ids[place] for place in order[:10] if scores[place] > 0]
    return best


def indexed(
    corpus: list[dict[str, str]], queries: dict[str, str], *, named: bool
) -> tuple[dict[str, list[str]], float]:
    """Best ten ids by the index, and milliseconds a query. Lines of one title are one document when named."""
    documents: dict[str, list[Chunk]] = defaultdict(list)
    for line in corpus:
        documents[(line.get("title") or line["_id"]) if named else ""].append(chunk_of(line))
    with tempfile.TemporaryDirectory() as folder:
        index = SqliteIndex.open(Path(folder) / "index.db", HEADER)
        for number, (name, chunks) in enumerate(documents.items()):
            owned = [replace(chunk, document_id=str(number), index=place) for place, chunk in enumerate(chunks)]
            index.replace_document(document_of(str(number), name), [Page(ordinal=1, markdown="")], owned)
        started = time.perf_counter()
        found = {key: index.search_legs(text, None, limit=10).lexical or () for key, text in queries.items()}
        took = (time.perf_counter() - started) * 1000 / len(queries)
        index.close()
    return {key: [hit.chunk.id for hit in hits] for key, hits in found.items()}, took


def document_of(identifier: str, name: str) -> Document:
    return Document(
        id=identifier,
        content_hash=identifier,
        name=name,
        uri=identifier,
        media_type="text/plain",
        size_bytes=0,
        page_count=1,
        indexed_at=datetime.now(UTC),
    )


def ndcg(run: dict[str, list[str]], qrels: dict[str, dict[str, int]]) -> float:
    """Mean nDCG@10 with linear gain, over the queries that have judgements."""
    total = 0.0
    for query, grades in qrels.items():
        gain = sum(grades.get(found, 0) / math.log2(rank + 1) for rank, found in enumerate(run.get(query, []), start=1))
        ideal = sorted(grades.values(), reverse=True)[:10]
        total += gain / sum(grade / math.log2(rank + 1) for rank, grade in enumerate(ideal, start=1))
    return total / len(qrels)


if __name__ == "__main__":
    main()
