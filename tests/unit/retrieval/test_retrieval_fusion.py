"""Weighted RRF: every expected score is written as the fractions it is made of."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localrag.retrieval.fusion import WeightedList, fuse, leg_weights


def test_score_is_the_sum_of_reciprocal_ranks() -> None:
    lists = [WeightedList(ids=["a", "b", "c"]), WeightedList(ids=["c", "a"])]
    assert fuse(lists) == [
        ("a", pytest.approx(1 / 11 + 1 / 12)),
        ("c", pytest.approx(1 / 13 + 1 / 11)),
        ("b", pytest.approx(1 / 12)),
    ]


def test_weights_multiply_each_lists_vote() -> None:
    lists = [WeightedList(ids=["a"], weight=0.5), WeightedList(ids=["b"], weight=1.5)]
    assert fuse(lists) == [("b", pytest.approx(1.5 / 11)), ("a", pytest.approx(0.5 / 11))]


def test_k_is_a_parameter() -> None:
    assert fuse([WeightedList(ids=["a"])], k=60) == [("a", pytest.approx(1 / 61))]


def test_an_empty_list_punishes_nobody() -> None:
    alone = fuse([WeightedList(ids=["a", "b"])])
    assert fuse([WeightedList(ids=["a", "b"]), WeightedList(ids=[])]) == alone


def test_of_equal_scores_the_first_lists_order_decides() -> None:
    first, second = WeightedList(ids=["z", "a", "m"]), WeightedList(ids=["a", "z", "b", "m"])
    # z and a: 1/11 + 1/12 each; m: 1/13 + 1/14; b: 1/13.
    assert [chunk_id for chunk_id, _ in fuse([first, second])] == ["z", "a", "m", "b"]
    assert [chunk_id for chunk_id, _ in fuse([second, first])] == ["a", "z", "m", "b"]


def test_a_list_of_weight_zero_adds_no_ids() -> None:
    assert fuse([WeightedList(ids=["a"], weight=0.0)]) == []


def test_a_duplicate_id_or_negative_weight_is_refused() -> None:
    with pytest.raises(ValueError, match="twice"):
        fuse([WeightedList(ids=["a", "a"])])
    with pytest.raises(ValueError, match="negative"):
        fuse([WeightedList(ids=["a"], weight=-1.0)])


@pytest.mark.parametrize(
    ("semantic", "expected"), [(0.0, (2.0, 0.0)), (0.5, (1.0, 1.0)), (0.75, (0.5, 1.5)), (1.0, (0.0, 2.0))]
)
def test_slider_weights(semantic: float, expected: tuple[float, float]) -> None:
    assert leg_weights(semantic) == expected


@pytest.mark.parametrize("semantic", [-0.01, 1.01, float("nan")])
def test_a_slider_outside_its_range_is_refused(semantic: float) -> None:
    with pytest.raises(ValueError, match="semantic"):
        leg_weights(semantic)


ids = st.lists(st.text("abcdef", min_size=1, max_size=2), unique=True, max_size=8)


@given(first=ids, second=ids)
def test_moving_up_never_lowers_a_score_and_order_of_lists_does_not_matter(first: list[str], second: list[str]) -> None:
    fused = dict(fuse([WeightedList(ids=first), WeightedList(ids=second)]))
    assert fused == pytest.approx(dict(fuse([WeightedList(ids=second), WeightedList(ids=first)])))
    assert set(fused) == set(first) | set(second)
    for position, chunk_id in enumerate(first[1:], start=1):
        raised = [*first[: position - 1], chunk_id, first[position - 1], *first[position + 1 :]]
        again = dict(fuse([WeightedList(ids=raised), WeightedList(ids=second)]))
        assert again[chunk_id] > fused[chunk_id]
