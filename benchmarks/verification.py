"""How well sentence checks tell true claims from false ones: SQuAD 2.0 dev, no language model.

    python benchmarks/verification.py ../shared/bench/squad2-dev [--queries 600] [--held-out] [--shown 5]

A claim is a question turned into a sentence with an answer, or the bare answer. It is held against the gold paragraph
with its own answer (should be supported), with another question's answer (should not), with another answer from the
same paragraph (should not, and no count of words tells), with a figure or a name of its answer changed (should not),
and with its own answer against another paragraph of the same article (should not, though now and then two paragraphs
do say the same). Thresholds are chosen on the questions of even number; `--held-out` takes the others.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from localrag.answering.context import Passage
from localrag.answering.verify import Claim, Source
from localrag.types import Chunk, Hit

RESULTS = Path(__file__).parent / "results" / "verification.json"
TRUE, BARE = "own answer", "bare, own answer"
_NAME = re.compile(r"\b[A-Z][a-z]{2,}\b")


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
    """`Who opened the bridge?` and `Ada Moss` give `The answer is Ada Moss: Ada Moss opened the bridge.`"""
    asked = question.rstrip("?")
    said = re.sub(r"^(who|what|which|where|when|how many|how much)\b", lambda _: answer, asked, flags=re.IGNORECASE)
    return f"It says that {said}." if said != asked else f"{asked}: {answer}."


def with_other_figure(answer: str, chance: random.Random) -> str | None:
    """The answer with its first figure changed in one digit; None when it has none."""
    figure = re.search(r"\d", answer)
    if figure is None:
        return None
    digit = str((int(figure.group()) + chance.randrange(1, 9)) % 10)
    return answer[: figure.start()] + digit + answer[figure.end() :]


def with_other_name(answer: str, others: list[str], chance: random.Random) -> str | None:
    """The answer with one of its names replaced by a name of another answer; None when it has none."""
    names = _NAME.findall(answer)
    if not names:
        return None
    return answer.replace(chance.choice(names), chance.choice(others))


Case = tuple[str, str, str, str]
"""The kind of a claim, question, answer and the text that it is held against."""


def cases(queries: list[dict], corpus: dict[str, dict], gold_of: dict[str, str]) -> Iterator[Case]:  # type: ignore[type-arg]
    """Every claim; only those with their own answer are true."""
    chance = random.Random(3)
    names = [name for query in queries for name in _NAME.findall(query["metadata"]["answers"][0])]
    for number, query in enumerate(queries):
        question, answer = query["text"], query["metadata"]["answers"][0]
        gold = corpus[gold_of[query["_id"]]]
        siblings = [p for p in corpus.values() if p["title"] == gold["title"] and p is not gold]
        yield TRUE, question, answer, gold["text"]
        yield "another question's answer", question, following(queries, number), gold["text"]
        yield "another paragraph", question, answer, chance.choice(siblings)["text"]
        yield BARE, question, answer, gold["text"]
        rival = same_page(query, queries, gold_of)
        if rival is not None:
            yield "another answer of the paragraph", question, rival, gold["text"]
            yield "bare, another of the paragraph", question, rival, gold["text"]
        for kind, changed in (
            ("a figure changed", with_other_figure(answer, chance)),
            ("a name changed", with_other_name(answer, names, chance)),
        ):
            if changed and changed.casefold() not in gold["text"].casefold():
                yield kind, question, changed, gold["text"]


def same_page(query: dict, queries: list[dict], gold_of: dict[str, str]) -> str | None:  # type: ignore[type-arg]
    """The answer to another question about the same paragraph, sharing no word with this one's; None without any."""
    mine = {word for answer in query["metadata"]["answers"] for word in answer.casefold().split()}
    for other in queries:
        answer = other["metadata"]["answers"][0]
        if gold_of[other["_id"]] == gold_of[query["_id"]] and not mine & set(answer.casefold().split()):
            return str(answer)
    return None


def following(queries: list[dict], number: int) -> str:  # type: ignore[type-arg]
    """The answer to the next question."""
    return str(queries[(number + 1) % len(queries)]["metadata"]["answers"][0])


def measure(claims: Iterable[Case], shown: int) -> dict[str, object]:
    """The share supported of each kind of claim, and how many there were."""
    judged: dict[str, list[bool]] = {}
    wrong: Counter[str] = Counter()
    for kind, question, answer, text in claims:
        claim = Claim.of(answer if kind.startswith("bare") else statement(question, answer), question)
        supported = claim.is_supported_by([source(text)])
        judged.setdefault(kind, []).append(supported)
        wrong[kind] += supported is not (kind in (TRUE, BARE))
        if supported is not (kind in (TRUE, BARE)) and wrong[kind] <= shown:
            print(f"  {kind}: {claim.text}")
    return {kind: {"claims": len(each), "supported": round(sum(each) / len(each), 4)} for kind, each in judged.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dataset", type=Path)
    parser.add_argument("--queries", type=int, default=600)
    parser.add_argument("--held-out", action="store_true")
    parser.add_argument("--shown", type=int, default=0, help="print so many wrongly judged claims of each kind")
    arguments = parser.parse_args()

    corpus = {paragraph["_id"]: paragraph for paragraph in read(arguments.dataset / "corpus.jsonl")}
    lines = (arguments.dataset / "qrels" / "test.tsv").read_text(encoding="utf-8").splitlines()[1:]
    gold_of = dict(line.split("\t")[:2] for line in lines)
    queries = read(arguments.dataset / "queries.jsonl")[int(arguments.held_out) :: 2]
    random.Random(3).shuffle(queries)
    found = measure(cases(queries[: arguments.queries], corpus, gold_of), arguments.shown)
    for kind, values in found.items():
        print(kind, values)
    kept = json.loads(RESULTS.read_text("utf-8")) if RESULTS.is_file() else {}
    kept["held out" if arguments.held_out else "chosen on"] = found
    RESULTS.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
