"""Elliptic follow-ups over the sample documents, with the real model, index and readers, and no language model."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from localrag import RAG
from localrag.types import Answer, Hit, Message

ROOT = Path(__file__).resolve().parents[2]
CASES = [
    json.loads(line)
    for line in (ROOT / "tests" / "data" / "followups" / "samples.jsonl").read_text("utf-8").splitlines()
]
WITHIN = 3


@pytest.fixture(scope="module")
def rag(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RAG]:
    with RAG.open(data_dir=tmp_path_factory.mktemp("samples")) as opened:
        opened.ingest(ROOT / "data" / "samples")
        yield opened


def place(hits: tuple[Hit, ...], case: dict[str, Any]) -> int | None:
    """Where the right page stands first."""
    right = (case["document"], case["page"])
    return next((hit.rank for hit in hits if (hit.document, hit.chunk.page_ordinal) == right), None)


def history(case: dict[str, Any]) -> list[Message]:
    return [Message(role=turn["role"], content=turn["text"]) for turn in case["history"]]


@pytest.fixture(scope="module")
def answers(rag: RAG) -> list[Answer]:
    return [rag.ask(case["question"], history=history(case), use_llm=False) for case in CASES]


@pytest.mark.parametrize("number", range(40), ids=lambda number: CASES[number]["question"])
def test_a_follow_up_finds_its_page(answers: list[Answer], number: int) -> None:
    case, answer = CASES[number], answers[number]
    assert place(answer.hits, case) in range(1, WITHIN + 1)
    assert answer.queries[0] == case["question"]
    assert len(answer.queries) == 2


def test_the_history_is_what_finds_them(rag: RAG, answers: list[Answer]) -> None:
    with_history = sum(place(answer.hits, case) == 1 for answer, case in zip(answers, CASES, strict=True))
    without = sum(place(rag.search(case["question"]).hits, case) == 1 for case in CASES)
    assert with_history >= 1.2 * without


def test_a_whole_question_has_the_hits_of_a_search(rag: RAG) -> None:
    question = "How many airplanes of U.S. registry does the proposed directive affect?"
    turns = [Message(role="user", content="What do ducks eat?"), Message(role="assistant", content="Worms.")]
    answer = rag.ask(question, history=turns, use_llm=False)
    assert answer.hits == rag.search(question).hits
    assert answer.queries == (question,)
