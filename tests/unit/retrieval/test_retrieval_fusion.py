"""Weighted RRF: every expected score is written as the fractions it is made of."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localrag.retrieval.fusion import WeightedList, blend, fuse, lead, leg_weights, reciprocal_ranks


def test_score_is_the_sum_of_reciprocal_ranks() -> None:
    lists = [WeightedList(ids=["a", "b", "c"]), WeightedList(ids=["c", "a"])]
    assert reciprocal_ranks(lists) == [
        ("a", pytest.approx(1 / 11 + 1 / 12)),
        ("c", pytest.approx(1 / 13 + 1 / 11)),
        ("b", pytest.approx(1 / 12)),
    ]


def test_weights_multiply_each_lists_vote() -> None:
    lists = [WeightedList(ids=["a"], weight=0.5), WeightedList(ids=["b"], weight=1.5)]
    assert reciprocal_ranks(lists) == [("b", pytest.approx(1.5 / 11)), ("a", pytest.approx(0.5 / 11))]


def test_k_is_a_parameter() -> None:
    assert reciprocal_ranks([WeightedList(ids=["a"])], k=60) == [("a", pytest.approx(1 / 61))]


def test_an_empty_list_punishes_nobody() -> None:
    alone = reciprocal_ranks([WeightedList(ids=["a", "b"])])
    assert reciprocal_ranks([WeightedList(ids=["a", "b"]), WeightedList(ids=[])]) == alone


def test_of_equal_scores_the_first_lists_order_decides() -> None:
    first, second = WeightedList(ids=["z", "a", "m"]), WeightedList(ids=["a", "z", "b", "m"])
    # z and a: 1/11 + 1/12 each; m: 1/13 + 1/14; b: 1/13.
    assert [chunk_id for chunk_id, _ in reciprocal_ranks([first, second])] == ["z", "a", "m", "b"]
    assert [chunk_id for chunk_id, _ in reciprocal_ranks([second, first])] == ["a", "z", "m", "b"]


def test_a_list_of_weight_zero_adds_no_ids() -> None:
    assert reciprocal_ranks([WeightedList(ids=["a"], weight=0.0)]) == []


def test_a_duplicate_id_or_negative_weight_is_refused() -> None:
    with pytest.raises(ValueError, match="twice"):
        reciprocal_ranks([WeightedList(ids=["a", "a"])])
    with pytest.raises(ValueError, match="negative"):
        reciprocal_ranks([WeightedList(ids=["a"], weight=-1.0)])


def test_a_blend_adds_scores_scaled_to_one() -> None:
    keyword = WeightedList(ids=["a", "b", "c"], scores=[9.0, 6.0, 1.0], weight=0.5)
    meaning = WeightedList(ids=["c", "a"], scores=[0.9, 0.5], weight=1.5)
    # Scaled: a 1, b 5/8, c 0 by keyword, which leads by 1 - 5/16; c 1, a 0 by meaning, which leads by 1.
    # Weights 1/2 * 11/16 = 11/32 and 3/2 = 48/32: shares of 11/59 and 48/59.
    assert blend([keyword, meaning]) == [
        ("c", pytest.approx(48 / 59)),
        ("a", pytest.approx(11 / 59)),
        ("b", pytest.approx(11 / 59 * 5 / 8)),
    ]


def test_a_list_that_knows_its_floor_is_scaled_from_there() -> None:
    assert blend([WeightedList(ids=["a", "b"], scores=[8.0, 6.0], floor=0.0)]) == [("a", 1.0), ("b", 0.75)]
    # A floor is no cut: what lies below it is the lowest.
    assert blend([WeightedList(ids=["a", "b"], scores=[8.0, -2.0], floor=0.0)]) == [("a", 1.0), ("b", 0.0)]


def test_how_many_candidates_there_are_changes_no_score() -> None:
    scores = [1.0 - rank / 100 for rank in range(80)]
    names = [f"c{rank}" for rank in range(80)]
    short, long = (WeightedList(ids=names[:depth], scores=scores[:depth]) for depth in (40, 80))
    assert blend([long])[:40] == blend([short])
    assert {score for _, score in blend([long])[40:]} == {0.0}


def test_a_list_like_another_is_scaled_and_weighed_as_that_one() -> None:
    everywhere = WeightedList(ids=["a", "b", "c"], scores=[9.0, 7.0, 5.0])  # scaled 1, 1/2, 0; leads by 3/4
    inside = WeightedList(ids=["b", "d"], scores=[7.0, 4.0], weight=2.0, like=everywhere)
    # Weights 1 and 2, the same lead: shares of 1/3 and 2/3. "d" is below the last of all and gains nothing.
    assert blend([everywhere, inside]) == [
        ("b", pytest.approx(1 / 2 * 1 / 3 + 1 / 2 * 2 / 3)),
        ("a", pytest.approx(1 / 3)),
        ("c", 0.0),
        ("d", 0.0),
    ]


def test_the_leg_that_tells_its_first_from_the_rest_counts_more() -> None:
    decided = WeightedList(ids=["a", "b", "c"], scores=[10.0, 1.0, 0.0])  # leads by 1 - 0.05
    level = WeightedList(ids=["b", "a", "c"], scores=[10.0, 9.0, 0.0])  # leads by 1 - 0.45
    assert [chunk_id for chunk_id, _ in blend([decided, level])] == ["a", "b", "c"]
    assert [chunk_id for chunk_id, _ in blend([level, decided])] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("scaled", "expected"),
    [
        ([], 0.0),
        ([1.0], 1.0),
        ([1.0, 0.0], 1.0),
        ([1.0, 0.5, 0.25], 1 - 0.75 / 2),
        ([1.0] * 30, 0.05),  # level lists still vote
        ([1.0] + [0.5] * 9 + [0.0] * 90, 0.5),  # nine are looked at, however long the list is
    ],
)
def test_a_lead_is_measured_from_the_nine_that_follow(scaled: list[float], expected: float) -> None:
    assert lead(scaled) == pytest.approx(expected)


def test_a_blend_keeps_how_far_the_first_is_ahead() -> None:
    clear = WeightedList(ids=["a", "b", "x"], scores=[10.0, 1.0, 0.0])
    close = WeightedList(ids=["b", "a", "x"], scores=[0.81, 0.80, 0.70])
    assert [chunk_id for chunk_id, _ in blend([clear, close])] == ["a", "b", "x"]
    assert [chunk_id for chunk_id, _ in blend([close, clear])] == ["a", "b", "x"]


def test_an_empty_list_or_one_of_weight_zero_leaves_a_blend_as_it_is() -> None:
    alone = [WeightedList(ids=["a", "b"], scores=[2.0, 1.0])]
    assert blend([*alone, WeightedList(ids=[])]) == blend(alone) == [("a", 1.0), ("b", 0.0)]
    assert blend([*alone, WeightedList(ids=["c"], scores=[9.0], weight=0.0)]) == blend(alone)
    assert blend([]) == []


def test_equal_scores_count_one_each_and_keep_their_order() -> None:
    assert blend([WeightedList(ids=["b", "a"], scores=[3.0, 3.0])]) == [("b", 1.0), ("a", 1.0)]


def test_a_blend_needs_a_score_for_each_id() -> None:
    with pytest.raises(ValueError, match="score for each"):
        blend([WeightedList(ids=["a", "b"], scores=[1.0])])


def test_each_way_to_fuse_has_its_name() -> None:
    lists = [WeightedList(ids=["a", "b"], scores=[2.0, 1.0])]
    assert fuse(lists, by="rrf") == reciprocal_ranks(lists)
    assert fuse(lists, by="blend") == blend(lists)


@given(data=st.data())
def test_a_blend_lies_between_0_and_1_and_grows_with_every_score(data: st.DataObject) -> None:
    def drawn() -> WeightedList:
        names = data.draw(ids)
        scores = data.draw(st.lists(st.integers(0, 50), min_size=len(names), max_size=len(names)))
        ordered = sorted(map(float, scores), reverse=True)
        return WeightedList(ids=names, scores=ordered, weight=data.draw(st.integers(1, 4)))

    lists = [drawn(), drawn()]
    fused = blend(lists)
    assert all(0.0 <= score <= 1.0 + 1e-12 for _, score in fused)
    scores = dict(fused)
    for ranked in lists:
        elsewhere = {chunk_id for other in lists if other is not ranked for chunk_id in other.ids}
        alone = [scores[chunk_id] for chunk_id in ranked.ids if chunk_id not in elsewhere]
        assert alone == sorted(alone, reverse=True)


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
    fused = dict(reciprocal_ranks([WeightedList(ids=first), WeightedList(ids=second)]))
    assert fused == pytest.approx(dict(reciprocal_ranks([WeightedList(ids=second), WeightedList(ids=first)])))
    assert set(fused) == set(first) | set(second)
    for position, chunk_id in enumerate(first[1:], start=1):
        raised = [*first[: position - 1], chunk_id, first[position - 1], *first[position + 1 :]]
        again = dict(reciprocal_ranks([WeightedList(ids=raised), WeightedList(ids=second)]))
        assert again[chunk_id] > fused[chunk_id]
