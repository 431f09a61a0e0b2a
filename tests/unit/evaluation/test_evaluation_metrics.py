"""Measures agree with sums worked out by hand."""

from __future__ import annotations

from itertools import product
from math import log2
from pathlib import Path

import pytest

from localrag.evaluation.beir import load_dataset
from localrag.evaluation.metrics import MEASURES, means, paired_p_value, score

MINI = Path(__file__).resolve().parents[2] / "data" / "beir-mini"
QRELS = load_dataset(MINI).qrels

RUN = {
    "q1": ["d4", "d1"],  # relevant: d1, found second
    "q2": ["d4", "d6", "d3"],  # relevant: d3 (2) third, d4 (1) first
    "q3": ["d7", "d6", "d5", "d4", "d3", "d2"],  # relevant: d2, found sixth
    # q4 is not answered at all; relevant: d5
}
HAND = {
    # gain / log2(rank + 1), over the same sum in the best order
    "ndcg@10": {
        "q1": 1 / log2(3),
        "q2": (1 / log2(2) + 2 / log2(4)) / (2 / log2(2) + 1 / log2(3)),  # 2 / 2.6309 = 0.7602
        "q3": 1 / log2(7),
        "q4": 0.0,
    },
    "recall@5": {"q1": 1.0, "q2": 1.0, "q3": 0.0, "q4": 0.0},
    "recall@10": {"q1": 1.0, "q2": 1.0, "q3": 1.0, "q4": 0.0},
    "precision@5": {"q1": 1 / 5, "q2": 2 / 5, "q3": 0.0, "q4": 0.0},
    "mrr@10": {"q1": 1 / 2, "q2": 1.0, "q3": 1 / 6, "q4": 0.0},
    "hit@1": {"q1": 0.0, "q2": 1.0, "q3": 0.0, "q4": 0.0},
    "hit@5": {"q1": 1.0, "q2": 1.0, "q3": 0.0, "q4": 0.0},
    "hit@10": {"q1": 1.0, "q2": 1.0, "q3": 1.0, "q4": 0.0},
}


@pytest.mark.parametrize("measure", MEASURES)
def test_every_measure_equals_the_sum_by_hand(measure: str) -> None:
    assert score(RUN, QRELS)[measure] == pytest.approx(HAND[measure], abs=1e-6)


def test_the_mean_counts_unanswered_queries_as_zero() -> None:
    found = means(score(RUN, QRELS))

    assert found["hit@1"] == 0.25  # 1 of 4
    assert found["mrr@10"] == pytest.approx((1 / 2 + 1 + 1 / 6) / 4)  # 0.4167
    assert found["precision@5"] == pytest.approx((1 / 5 + 2 / 5) / 4)  # 0.15


def test_entries_past_the_cut_do_not_count() -> None:
    run = {"q1": [f"x{number}" for number in range(10)] + ["d1"]}  # found eleventh

    assert set(means(score(run, QRELS)).values()) == {0.0}


def test_a_run_that_found_nothing_scores_zero() -> None:
    assert set(means(score({}, QRELS)).values()) == {0.0}


def test_queries_that_were_not_judged_do_not_count() -> None:
    assert score({"stranger": ["d1"], **RUN}, QRELS) == score(RUN, QRELS)


def test_equal_runs_do_not_differ() -> None:
    assert paired_p_value([0.2, 0.9, 1.0], [0.2, 0.9, 1.0]) == 1.0


def test_the_p_value_is_that_of_all_ways_to_swap() -> None:
    first, second = [0.9, 0.8, 0.7, 0.6, 0.5], [0.5, 0.6, 0.6, 0.4, 0.6]
    differences = [0.4, 0.2, 0.1, 0.2, -0.1]  # their sum is 0.8
    swaps = [
        abs(sum(sign * item for sign, item in zip(signs, differences, strict=True)))
        for signs in product((1, -1), repeat=5)
    ]
    exact = sum(value >= 0.8 - 1e-9 for value in swaps) / 32  # 1.0 twice and 0.8 four times: 6 of 32

    assert exact == 6 / 32
    # 10,000 rounds: the standard error is sqrt(0.1875 x 0.8125 / 10,000) = 0.0039
    assert paired_p_value(first, second) == pytest.approx(exact, abs=0.016)


def test_a_difference_in_every_one_of_many_queries_is_significant() -> None:
    assert paired_p_value([0.6] * 40, [0.5] * 40) < 0.001


def test_the_p_value_is_reproducible_and_has_no_direction() -> None:
    first, second = [0.9, 0.1, 0.7, 0.6], [0.5, 0.6, 0.2, 0.4]

    assert paired_p_value(first, second) == paired_p_value(first, second) == paired_p_value(second, first)
