"""Two ways to make one ranking of two: weighted Reciprocal Rank Fusion, and a blend of the scores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from localrag.types import ChunkId

Fusion: TypeAlias = Literal["rrf", "blend"]

RRF_K = 10
"""The paper takes 60 for lists of a thousand; ours hold a few dozen, where 60 makes rank 1 and rank 5 nearly equal.
10 is better on squad2-dev (nDCG@10 .898 against .891) and no worse on cranfield (benchmarks/fusion.py)."""

LEAD_DEPTH = 10
SCALE_DEPTH = 40
"""A list without a floor is scaled from its 40th score: not from its last, for then how many hits are asked for would
decide which of them comes first."""
LEAST_LEAD = 0.05
"""A list whose first ten are level still votes."""
KEYWORD_SHARE = 1.2
"""In a blend, keyword scores count this much more: with it the slider's middle is the best place on average. 1.0 to 1.3
differ by .003 in mean nDCG@10 over seven sets (benchmarks/fusion.py)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightedList:
    """One leg's chunk ids, best first, and how much its vote counts (0 or more).

    scores: of each id, on the leg's own scale, never rising; only a blend looks at them.
    floor: the score of a chunk that has nothing to do with the query: 0 for BM25. None where there is no such score, as
    with cosines: then the 40th chunk of the list stands for it, or the last of a shorter one.
    like: another list of the same leg, whose floor, best and lead are taken: for a search within a few files, whose
    best need not be good.
    """

    ids: Sequence[ChunkId]
    weight: float = 1.0
    scores: Sequence[float] = ()
    floor: float | None = None
    like: WeightedList | None = None

    def __post_init__(self) -> None:
        if self.weight < 0:
            raise ValueError(f"a weight must not be negative, found {self.weight}")
        if len(set(self.ids)) != len(self.ids):
            raise ValueError("a ranked list must not name an id twice")


def fuse(lists: Sequence[WeightedList], *, by: Fusion) -> list[tuple[ChunkId, float]]:
    """Every id of the lists with its score, best first; equal scores by their order in the lists, the first list first.

    Ties are common under RRF (first here and second there, or the reverse), so they matter: the keyword leg stands
    first, and letting it decide lifts nDCG@10 on squad2-dev from .898 to .903 (benchmarks/fusion.py).
    """
    return reciprocal_ranks(lists) if by == "rrf" else blend(lists)


def reciprocal_ranks(lists: Sequence[WeightedList], *, k: int = RRF_K) -> list[tuple[ChunkId, float]]:
    """Weighted Reciprocal Rank Fusion, which looks at places alone; order as `fuse` has it.

    score(d) = sum over lists of weight / (k + rank of d), rank from 1; a list without d adds nothing, so an
    empty list is left out and punishes nobody.
    Cormack, Clarke and Buettcher, "Reciprocal Rank Fusion outperforms Condorcet and individual Rank Learning
    Methods", SIGIR 2009, https://doi.org/10.1145/1571941.1572114. The weights are our addition.
    """
    return _added(lists, lambda ranked: [1.0 / (k + rank) for rank in range(1, len(ranked.ids) + 1)])


def blend(lists: Sequence[WeightedList]) -> list[tuple[ChunkId, float]]:
    """A convex blend of scores, each list's own scaled to [0, 1]; order as `fuse` has it.

    score(d) = sum over lists of w * (s(d) - floor) / (max - floor), over the sum of the w; a list without d adds
    nothing, and where all of a list's scores are equal each counts 1. Unlike ranks, it keeps how far the first is
    ahead of the second.
    Bruch, Gai and Ingber, "An Analysis of Fusion Functions for Hybrid Retrieval", TOIS 2023,
    https://doi.org/10.1145/3596512. That w is the list's weight times its `lead` is our addition.

    Raises:
        ValueError: a list without a score for each of its ids.
    """
    votes = [
        replace(ranked, weight=ranked.weight * lead(_scaled(ranked.like or ranked)), scores=_scaled(ranked))
        for ranked in lists
    ]
    total = sum(ranked.weight for ranked in votes)
    return _added(votes, lambda ranked: [score / total for score in ranked.scores])


def lead(scaled: Sequence[float]) -> float:
    """How far the best of these scores, scaled to [0, 1] and falling, is ahead of the nine after it: in [0.05, 1].

    A leg that tells its first clearly from the rest has more often found it: one number that weighs the legs for each
    question anew. Like the query performance predictor NQC (Shtok et al., TOIS 2012,
    https://doi.org/10.1145/2180868.2180873), it looks at nothing but how the scores are spread.
    """
    if not scaled:
        return 0.0
    others = scaled[1:LEAD_DEPTH]
    return max(scaled[0] - sum(others) / len(others), LEAST_LEAD) if others else scaled[0]


def _scaled(ranked: WeightedList) -> list[float]:
    if len(ranked.scores) != len(ranked.ids):
        raise ValueError(f"a blend needs a score for each of the {len(ranked.ids)} ids, found {len(ranked.scores)}")
    scale = ranked.like or ranked
    if not ranked.scores or not scale.scores:
        return [0.0] * len(ranked.ids)
    high = max(scale.scores)
    low = min(scale.scores[:SCALE_DEPTH]) if scale.floor is None else min(scale.floor, *scale.scores)
    return [max(score - low, 0.0) / (high - low) if high > low else 1.0 for score in ranked.scores]


def _added(
    lists: Sequence[WeightedList], votes: Callable[[WeightedList], Sequence[float]]
) -> list[tuple[ChunkId, float]]:
    """The sum of the lists' votes for each id, each times its list's weight; lists of weight 0 are left out."""
    scores: dict[ChunkId, float] = {}
    for ranked in lists:
        if ranked.weight == 0 or not ranked.ids:
            continue
        for chunk_id, vote in zip(ranked.ids, votes(ranked), strict=True):
            scores[chunk_id] = scores.get(chunk_id, 0.0) + ranked.weight * vote
    order = {chunk_id: place for place, chunk_id in enumerate(scores)}
    # Rounded: the same fractions added in another order differ in the last bit, and would not tie.
    return sorted(scores.items(), key=lambda item: (-round(item[1], 12), order[item[0]]))


def leg_weights(semantic: float) -> tuple[float, float]:
    """(lexical, vector) weights of the slider: (2(1 - s), 2s), so that in the middle both legs have their plain vote.

    Raises:
        ValueError: `semantic` is outside [0, 1].
    """
    if not 0.0 <= semantic <= 1.0:
        raise ValueError(f"semantic must lie in [0, 1], found {semantic}")
    return 2.0 * (1.0 - semantic), 2.0 * semantic
