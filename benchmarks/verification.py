"""How well sentence checks tell true claims from false ones: SQuAD 2.0 dev, no language model.

    python benchmarks/verification.py ../shared/bench/squad2-dev [--queries 600]

A claim is a question turned into a sentence with an answer. It is held against the gold paragraph with its own answer
(should be supported), with another question's answer (should not), and with its own answer against another paragraph
of the same article (should not, though now and then two paragraphs do say the same).
"""

from __future__ import annotations

import argparse
import json
import random
import re
from pathlib import Path

from localrag.answering.context import Passage
from localrag.answering.verify import Claim, Source
from localrag.types import Chunk, Hit


def read(path: Path) -> list[dict]:  # type: ignore[type-arg]
    """The objects of a JSON Lines file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]


def source(text: str) -> Source:
    """The paragraph as the only passage of a prompt."""
    chunk = Chunk(
        id="p_0", document_id="p", index=0, page_ordinal=1, text=text, start=0, end=len(text), token_count=0
    )  # fmt: skip
    hit = Hit(chunk=chunk, document="article.txt", rank=1, score=1.0, scale="bm25", lexical_rank=1)
    return Source(Passage(number=1, hit=hit, text=text))


def statement(question: str, answer: str) -> str:
    """`Who opened the bridge?` and `Ada Moss` give `Ada Moss opened the bridge.`"""
    asked = question.rstrip("?")
    said = re.sub(r"^(who|what|which|where|when|how many|how much)\b", lambda _: answer, asked, flags=re.IGNORECASE)
    return f"{said}." if said != asked else f"{asked}: {answer}."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dataset", type=Path)
    parser.add_argument("--queries", type=int, default=600)
    parser.add_argument("--seed", type=int, default=3)
    arguments = parser.parse_args()

    chance = random.Random(arguments.seed)
    corpus = {paragraph["_id"]: paragraph for paragraph in read(arguments.dataset / "corpus.jsonl")}
    lines = (arguments.dataset / "qrels" / "test.tsv").read_text(encoding="utf-8").splitlines()[1:]
    gold_of = dict(line.split("\t")[:2] for line in lines)
    queries = read(arguments.dataset / "queries.jsonl")
    chance.shuffle(queries)
    queries = queries[: arguments.queries]

    true = wrong = elsewhere = 0
    for number, query in enumerate(queries):
        question, answer = query["text"], query["metadata"]["answers"][0]
        other = queries[(number + 1) % len(queries)]["metadata"]["answers"][0]
        gold = corpus[gold_of[query["_id"]]]
        siblings = [p for p in corpus.values() if p["title"] == gold["title"] and p is not gold]
        claim = Claim.of(statement(question, answer), question)
        true += claim.is_supported_by([source(gold["text"])])
        wrong += Claim.of(statement(question, other), question).is_supported_by([source(gold["text"])])
        elsewhere += claim.is_supported_by([source(chance.choice(siblings)["text"])])
    total = len(queries)
    print(f"claims {total}")
    print(f"supported: own answer {true / total:.3f}, another question's answer {wrong / total:.3f}, ", end="")
    print(f"another paragraph {elsewhere / total:.3f}")


if __name__ == "__main__":
    main()
