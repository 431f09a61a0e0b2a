"""Judged hits change places among themselves; nothing that was found is lost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from localrag.errors import ModelError
from localrag.retrieval.reranking import reranked, reranked_k
from localrag.types import Check, Chunk, Hit, Ranking


class Judge:
    """Gives the scores it was told to, and remembers what it was asked."""

    name = "judge"
    share = 1.0

    def __init__(self, *scores: float | None) -> None:
        self.scores = scores
        self.asked: list[tuple[str, list[str]]] = []

    def score(self, query: str, passages: Sequence[str]) -> Sequence[float | None]:
        self.asked.append((query, list(passages)))
        return self.scores

    def check(self) -> list[Check]:
        return []


class Broken(Judge):
    def score(self, query: str, passages: Sequence[str]) -> Sequence[float | None]:
        raise ModelError("The file model.onnx is gone.", hint="Pull it again.")


def ranking(*texts: str) -> Ranking:
    hits = [
        Hit(
            chunk=Chunk(
                id=text, document_id="d", index=0, page_ordinal=1, text=text, start=0, end=len(text), token_count=1
            ),
            document="d.txt",
            rank=rank,
            score=1 / rank,
            scale="rrf",
        )
        for rank, text in enumerate(texts, start=1)
    ]
    return Ranking(query="q", semantic=0.5, hits=tuple(hits))


def shown(found: Ranking) -> list[tuple[str, int, float | None]]:
    return [(hit.chunk.text, hit.rank, hit.rerank_score) for hit in found.hits]


def test_hits_stand_in_the_order_of_the_judgement_and_keep_the_score_of_the_search() -> None:
    judge = Judge(0.1, -2.0, 0.7)
    found = reranked(ranking("a", "b", "c"), "the question", judge, top_k=2)
    assert judge.asked == [("the question", ["a", "b", "c"])]
    assert shown(found) == [("c", 1, 0.7), ("a", 2, 0.1)]
    assert [hit.score for hit in found.hits] == [1 / 3, 1.0]
    assert found.notice == ""


def test_equal_judgements_keep_the_order_of_the_search() -> None:
    assert [text for text, _, _ in shown(reranked(ranking("a", "b", "c"), "q", Judge(1.0, 2.0, 1.0), top_k=3))] == [
        "b",
        "a",
        "c",
    ]


def test_what_was_not_judged_keeps_its_place() -> None:
    # Places 1 and 3 were judged: c, the better, takes place 1 and a takes place 3; b and d stay 2nd and 4th.
    found = reranked(ranking("a", "b", "c", "d"), "q", Judge(0.0, None, 3.0, None), top_k=4)
    assert shown(found) == [("c", 1, 3.0), ("b", 2, None), ("a", 3, 0.0), ("d", 4, None)]
    assert found.notice == "2 of 4 passages were not judged by the reranker and kept their places."


def test_a_reranker_that_fails_costs_only_its_own_work() -> None:
    before = ranking("a", "b", "c")
    found = reranked(before, "q", Broken(), top_k=2)
    assert found.hits == before.hits[:2]
    assert found.notice == "The passages were not reranked. The file model.onnx is gone. Pull it again."


def test_a_judge_with_a_share_is_mixed_with_the_search() -> None:
    # Search 1, 1/2, 1/3 scaled: 1, .25, 0. Judge 0, 4, 3 scaled: 0, 1, .75. Half of each: .5, .625, .375.
    judge = Judge(0.0, 4.0, 3.0)
    judge.share = 0.5
    found = reranked(ranking("a", "b", "c"), "q", judge, top_k=3)
    assert shown(found) == [("b", 1, 4.0), ("a", 2, 0.0), ("c", 3, 3.0)]


def test_an_earlier_notice_stays_and_nothing_is_judged_where_nothing_was_found() -> None:
    judge = Judge()
    found = reranked(replace(ranking(), notice="Earlier."), "q", judge, top_k=3)
    assert (found.hits, found.notice, judge.asked) == ((), "Earlier.", [])


@pytest.mark.parametrize(("top_k", "fetched"), [(1, 20), (5, 20), (6, 24), (8, 30), (30, 30), (40, 40)])
def test_how_many_are_read_again(top_k: int, fetched: int) -> None:
    assert reranked_k(top_k) == fetched
