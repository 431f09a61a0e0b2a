"""What is searched for, and how the rankings of several queries become one."""

from __future__ import annotations

from typing import Any

import pytest

from localrag.retrieval.merging import add_up, take_turns
from localrag.retrieval.planning import plan
from localrag.types import Chunk, Hit, Message, Ranking

LEASE = Message(role="user", content="When does the lease of the garage end?")


def hit(name: str, rank: int, score: float, text: str = "", **ranks: Any) -> Hit:
    text = text or name
    chunk = Chunk(id=name, document_id="d", index=0, page_ordinal=1, text=text, start=0, end=len(text), token_count=1)
    return Hit(chunk=chunk, document="d.txt", rank=rank, score=score, scale="rrf", **ranks)


def ranking(query: str, *hits: Hit, **facts: Any) -> Ranking:
    return Ranking(query=query, semantic=0.5, hits=hits, **facts)


def test_a_question_without_history_is_searched_as_it_is() -> None:
    planned = plan("Who signed it?")
    assert (planned.queries, planned.standalone, planned.kept(8)) == (("Who signed it?",), "Who signed it?", 8)


def test_a_whole_question_is_searched_as_it_is_whatever_was_said_before() -> None:
    question = "Which tenants of the flat paid too late in 2012?"
    assert plan(question, [LEASE]).queries == (question,)


def test_a_question_that_leans_is_searched_with_the_words_it_leaves_out_too() -> None:
    planned = plan("Who signed it?", [LEASE])
    assert planned.queries == ("Who signed it?", "Who signed it? lease garage end")
    assert planned.standalone == "Who signed it? lease garage end"
    assert planned.kept(8) == 8  # one question still


def test_scores_of_a_chunk_add_up_and_ranks_are_dense() -> None:
    merged = add_up(
        [
            ranking("one", hit("a", 1, 0.25), hit("b", 2, 0.125, lexical_rank=4)),
            ranking("two", hit("b", 1, 0.25, lexical_rank=1, vector_rank=3), hit("c", 2, 0.125)),
        ],
        query="both",
        limit=8,
    )
    # b: .125 + .25 = .375, a .25, c .125
    assert [(h.chunk.id, h.rank, h.score) for h in merged.hits] == [("b", 1, 0.375), ("a", 2, 0.25), ("c", 3, 0.125)]
    assert (merged.hits[0].lexical_rank, merged.hits[0].vector_rank) == (1, 3)  # where it stood best
    assert (merged.query, merged.queries) == ("both", ("one", "two"))


def test_equal_sums_go_by_the_order_of_the_rankings() -> None:
    merged = add_up([ranking("one", hit("z", 1, 0.25)), ranking("two", hit("a", 1, 0.25))], query="q", limit=8)
    assert [h.chunk.id for h in merged.hits] == ["z", "a"]


def test_the_same_text_counts_once_and_the_limit_counts_what_is_left() -> None:
    merged = add_up(
        [
            ranking("one", hit("a", 1, 0.5, "The  lease"), hit("b", 2, 0.25, "A flat")),
            ranking("two", hit("c", 1, 0.4, "The lease"), hit("d", 2, 0.1, "A dog")),
        ],
        query="q",
        limit=2,
    )
    assert [h.chunk.id for h in merged.hits] == ["a", "b"]


def test_facts_of_the_rankings_are_kept_together() -> None:
    merged = add_up(
        [
            ranking("one", vectors_ready=1.0, milliseconds=3.0, notice="slow"),
            ranking("two", vectors_ready=0.5, milliseconds=4.0, notice="slow"),
        ],
        query="q",
        limit=8,
    )
    assert (merged.vectors_ready, merged.milliseconds, merged.notice, merged.hits) == (0.5, 7.0, "slow", ())


@pytest.mark.parametrize("history", [[], [Message(role="assistant", content="Hello! Ask your documents.")]])
def test_the_first_follow_up_is_planned_like_the_others(history: list[Message]) -> None:
    assert len(plan("And in Texas?", [*history, LEASE]).queries) == 2


def test_a_compound_question_is_searched_whole_and_by_its_parts() -> None:
    planned = plan("When does the lease end and who signed the contract?")
    assert planned.queries == (
        "When does the lease end and who signed the contract?",
        "When does the lease end",
        "who signed the contract? lease end",
    )
    assert planned.kept(8) == 16


def test_different_questions_take_turns() -> None:
    whole = ranking("whole", hit("a", 1, 0.5), hit("b", 2, 0.25), hit("c", 3, 0.1))
    first = ranking("first", hit("a", 1, 0.5), hit("d", 2, 0.25))
    second = ranking("second", hit("e", 1, 0.5, vector_rank=2), hit("f", 2, 0.25))
    merged = take_turns([whole, first, second], query="whole", limit=5)
    # First round: a (a again) e; second: b d f; c would be the sixth.
    assert [(h.chunk.id, h.rank) for h in merged.hits] == [("a", 1), ("e", 2), ("b", 3), ("d", 4), ("f", 5)]
    assert (merged.hits[1].vector_rank, merged.hits[1].score) == (2, 0.5)
    assert merged.queries == ("whole", "first", "second")


def test_a_plan_merges_by_what_its_queries_are() -> None:
    one, two = ranking("one", hit("a", 1, 0.5), hit("b", 2, 0.4)), ranking("two", hit("c", 1, 0.3), hit("b", 2, 0.2))
    follow_up = plan("Who signed it?", [LEASE]).merged([one, two], limit=3)
    assert [h.chunk.id for h in follow_up.hits] == ["b", "a", "c"]  # .4 + .2, .5, .3
    compound = plan("When did it end and who signed the lease?").merged([one, two], limit=3)
    assert [h.chunk.id for h in compound.hits] == ["a", "c", "b"]
