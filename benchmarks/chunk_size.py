"""Which chunk size brings the most of the answer into a prompt? Recall of gold spans within a budget of tokens.

    python benchmarks/chunk_size.py ../shared/bench/chunk-spans [--tokens 128 256] [--overlaps 0 8] [--head 150000]

Comparing sizes by hit@k favours large chunks, which hold more text; so what is compared is how many characters of the
questions' gold spans are found in the best chunks that together hold 1,000 or 2,000 tokens, as a prompt would take
them. All texts are one index; the keyword leg is BM25 (k1 1.2, b 0.75, Snowball), hybrid is RRF, k = 60. Figures are
means over the questions, kept in results/chunk_size.json as they come; what is there already is not measured again.

Outcome (322 questions): the default is 256 with an overlap of 32. Hybrid finds .977 of the gold characters in 2,000
tokens, about what the 8 passages of an answer hold; 128/16 finds .975, 512/64 .941. The vector leg alone is best at 128
(.968), as a vector of a longer passage blurs; the keyword leg at 256.
"""

from __future__ import annotations

import argparse
import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

import bm25s
import numpy as np
import Stemmer

from localrag.chunking.split import Chunker
from localrag.embedding.onnx import OnnxEmbedder
from localrag.embedding.spec import SHIPPED
from localrag.types import Chunk, Page

RESULTS = Path(__file__).parent / "results" / "chunk_size.json"
TOKENS = (96, 128, 192, 256, 384, 512)
OVERLAPS = (0, 8)
BUDGETS = (1000, 2000)
DEPTH = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    text: str
    corpus: str
    spans: tuple[tuple[int, int], ...]


def load(folder: Path, head: int) -> tuple[dict[str, str], list[Question]]:
    """The first `head` characters of every text, and the questions whose spans lie in them."""
    texts = {path.stem: path.read_text("utf-8")[:head] for path in sorted((folder / "corpora").glob("*.md"))}
    questions = []
    for line in (folder / "queries.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        spans = tuple((span["start_index"], span["end_index"]) for span in row["metadata"]["spans"])
        corpus = row["metadata"]["corpus"]
        if max(end for _, end in spans) <= len(texts[corpus]):
            questions.append(Question(text=row["text"], corpus=corpus, spans=spans))
    return texts, questions


def lexical_ranks(chunks: Sequence[Chunk], questions: Sequence[Question]) -> list[list[int]]:
    stemmer = Stemmer.Stemmer("english")
    options = {"stopwords": "en", "stemmer": stemmer.stemWords, "show_progress": False}
    index = bm25s.BM25(k1=1.2, b=0.75)
    index.index(bm25s.tokenize([chunk.embedding_text for chunk in chunks], **options), show_progress=False)
    asked = bm25s.tokenize([question.text for question in questions], **options)
    found, _ = index.retrieve(asked, k=min(DEPTH, len(chunks)), show_progress=False)
    return [[int(row) for row in rows] for rows in found]


def vector_ranks(embedder: OnnxEmbedder, chunks: Sequence[Chunk], asked: np.ndarray) -> list[list[int]]:
    vectors = embedder.embed_documents([chunk.embedding_text for chunk in chunks])
    return [[int(row) for row in rows[:DEPTH]] for rows in np.argsort(-(asked @ vectors.T), axis=1, kind="stable")]


def fused(one: Sequence[int], other: Sequence[int]) -> list[int]:
    scores: dict[int, float] = {}
    for ranking in (one, other):
        for rank, row in enumerate(ranking, start=1):
            scores[row] = scores.get(row, 0.0) + 1 / (60 + rank)
    return sorted(scores, key=lambda row: (-scores[row], row))


def span_recall(question: Question, chunks: Sequence[Chunk]) -> float:
    """The share of the question's gold characters that the chunks hold."""
    wanted = {at for start, end in question.spans for at in range(start, end)}
    held: set[int] = set()
    for chunk in chunks:
        if chunk.document_id == question.corpus:
            held.update(range(chunk.start, chunk.end))
    return len(wanted & held) / len(wanted)


def score(ranks: Sequence[Sequence[int]], chunks: Sequence[Chunk], questions: Sequence[Question]) -> dict[str, float]:
    totals: dict[str, float] = {}
    for question, rows in zip(questions, ranks, strict=True):
        ranked = [chunks[row] for row in rows]
        held = list(accumulate(chunk.token_count for chunk in ranked))
        for budget in BUDGETS:
            kept = [chunk for chunk, total in zip(ranked, held, strict=True) if total <= budget]
            key = f"recall@{budget}tokens"
            totals[key] = totals.get(key, 0.0) + span_recall(question, kept)
        totals["hit@5"] = totals.get("hit@5", 0.0) + (span_recall(question, ranked[:5]) > 0)
    return {key: round(total / len(questions), 4) for key, total in totals.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare chunk sizes by recall of gold spans within token budgets.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tokens", type=int, nargs="+", default=TOKENS)
    parser.add_argument("--overlaps", type=int, nargs="+", default=OVERLAPS, help="0, or n for 1/n of the size")
    parser.add_argument("--head", type=int, default=10**9, help="only the first so many characters of every text")
    chosen = parser.parse_args()
    logging.getLogger("bm25s").setLevel(logging.WARNING)
    texts, questions = load(chosen.folder, chosen.head)
    embedder = OnnxEmbedder(SHIPPED)
    asked = np.vstack([embedder.embed_query(question.text) for question in questions])
    kept = json.loads(RESULTS.read_text("utf-8")) if RESULTS.is_file() else {}
    table = kept.setdefault(f"{len(questions)} questions, {sum(map(len, texts.values()))} characters", {})
    for overlap in chosen.overlaps:
        for size in chosen.tokens:
            repeated = size // overlap if overlap else 0
            key = f"{size}/{repeated}"
            if key in table:
                continue
            chunker = Chunker(embedder.tokenizer, size, repeated)
            chunks = [
                chunk for name, text in texts.items() for chunk in chunker.chunk(name, [Page(ordinal=1, markdown=text)])
            ]
            lexical, vector = lexical_ranks(chunks, questions), vector_ranks(embedder, chunks, asked)
            hybrid = [fused(one, other) for one, other in zip(lexical, vector, strict=True)]
            table[key] = {"chunks": len(chunks)} | {
                mode: score(ranks, chunks, questions)
                for mode, ranks in (("lexical", lexical), ("vector", vector), ("hybrid", hybrid))
            }
            RESULTS.parent.mkdir(exist_ok=True)
            RESULTS.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
            print(key, json.dumps(table[key]), flush=True)


if __name__ == "__main__":
    main()
