"""How often the quoted sentences hold the gold answer: SQuAD 2.0 dev questions, no language model.

    python benchmarks/extractive.py ../shared/bench/squad2-dev [--queries 200] [--hits 8]

Prints, for hits from plain BM25 over the paragraphs and for the gold paragraph alone, the share of questions whose
gold answer stands in the first quote and in any of the three. Figures of the first row are bounded by BM25's recall,
which is printed too.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Sequence
from pathlib import Path

import bm25s

from localrag.answering.extractive import extract
from localrag.types import Chunk, Hit


def hit(paragraph: dict[str, str], rank: int) -> Hit:
    """The paragraph as the hit of that rank."""
    text = paragraph["text"]
    chunk = Chunk(
        id=paragraph["_id"],
        document_id=paragraph["_id"],
        index=0,
        page_ordinal=1,
        text=text,
        start=0,
        end=len(text),
        token_count=0,
    )
    return Hit(chunk=chunk, document=paragraph["title"], rank=rank, score=1 / rank, scale="bm25", lexical_rank=rank)


def holds(answers: Sequence[str], quotes: Sequence[str]) -> bool:
    """Whether a quote contains one of the gold answers, case and spacing aside."""
    shown = [" ".join(quote.split()).casefold() for quote in quotes]
    return any(" ".join(answer.split()).casefold() in quote for answer in answers for quote in shown)


def read(path: Path) -> list[dict]:  # type: ignore[type-arg]
    """The objects of a JSON Lines file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dataset", type=Path)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--hits", type=int, default=8)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--misses", type=int, default=0, help="print so many questions that the first quote misses")
    arguments = parser.parse_args()

    corpus = read(arguments.dataset / "corpus.jsonl")
    by_id = {paragraph["_id"]: paragraph for paragraph in corpus}
    qrels = dict(
        line.split("\t")[:2] for line in (arguments.dataset / "qrels" / "test.tsv").read_text().splitlines()[1:]
    )
    queries = read(arguments.dataset / "queries.jsonl")
    random.Random(arguments.seed).shuffle(queries)
    queries = queries[: arguments.queries]

    index = bm25s.BM25()
    index.index(bm25s.tokenize([p["title"] + " " + p["text"] for p in corpus], stopwords="en", show_progress=False),
                show_progress=False)  # fmt: skip
    found, _ = index.retrieve(
        bm25s.tokenize([query["text"] for query in queries], stopwords="en", show_progress=False),
        k=arguments.hits,
        show_progress=False,
    )
    counts = {"bm25": [0, 0], "gold": [0, 0]}
    recalled = 0
    for query, row in zip(queries, found, strict=True):
        answers = query["metadata"]["answers"]
        gold = by_id[qrels[query["_id"]]]
        ranked = [corpus[number] for number in row]
        recalled += gold in ranked
        for name, paragraphs in (("bm25", ranked), ("gold", [gold])):
            hits = [hit(paragraph, rank) for rank, paragraph in enumerate(paragraphs, 1)]
            quotes = [extracted.quote for extracted in extract(query["text"], hits)]
            counts[name][0] += holds(answers, quotes[:1])
            counts[name][1] += holds(answers, quotes)
            if name == "gold" and arguments.misses and not holds(answers, quotes[:1]):
                arguments.misses -= 1
                print(f"? {query['text']}\n  gold: {answers}\n  quote: {quotes[:1]}")
    total = len(queries)
    print(f"questions {total}, gold paragraph among the {arguments.hits} hits {recalled / total:.3f}")
    for name, (first, three) in counts.items():
        print(f"{name:5} first quote {first / total:.3f}   three quotes {three / total:.3f}")


if __name__ == "__main__":
    main()
