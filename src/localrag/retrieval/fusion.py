"""Weighted Reciprocal Rank Fusion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from localrag.types import ChunkId

RRF_K = 10
"""The paper takes 60 for lists of a thousand; ours hold a few dozen, where 60 makes rank 1 and rank 5 nearly equal.
10 is better on squad2-dev (nDCG@10 .898 against .891) and no worse on cranfield (benchmarks/fusion.py)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightedList:
    """One leg's chunk ids, best first, and how much its vote counts (0 or more)."""

    ids: Sequence[ChunkId]
    weight: float = 1.0


def fuse(lists: Sequence[WeightedList], *, k: int = RRF_K) -> list[tuple[ChunkId, float]]:
    """Every id of the lists with its score, best first; equal scores by their order in the lists, the first list first.

    Ties are common (first here and second there, or the reverse), so they matter: the keyword leg stands first, and
    letting it decide lifts nDCG@10 on squad2-dev from .898 to .903 (benchmarks/fusion.py).

    score(d) = sum over lists of weight / (k + rank of d), rank from 1; a list without d adds nothing, so an
    empty list is left out and punishes nobody.
    Cormack, Clarke and Buettcher, "Reciprocal Rank Fusion outperforms Condorcet and individual Rank Learning
    Methods", SIGIR 2009, https://doi.org/10.1145/1571941.1572114. The weights are our addition.

    Raises:
        ValueError: a negative weight, or a list that names an id twice.
    """
    scores: dict[ChunkId, float] = {}
    order: dict[ChunkId, int] = {}
    for ranked in lists:
        if ranked.weight < 0:
            raise ValueError(f"a weight must not be negative, found {ranked.weight}")
        if len(set(ranked.ids)) != len(ranked.ids):
            raise ValueError("a ranked list must not name an id twice")
        if ranked.weight == 0:
            continue
        for rank, chunk_id in enumerate(ranked.ids, start=1):
            scores[chunk_id] = scores.get(chunk_id, 0.0) + ranked.weight / (k + rank)
            order.setdefault(chunk_id, len(order))
    # Rounded: the same fractions added in another order differ in the last bit, and would not tie.
    return sorted(scores.items(), key=lambda item: (-round(item[1], 12), order[item[0]]))


def leg_weights(semantic: float) -> tuple[float, float]:
    """(lexical, vector) weights of the slider: (2(1 - s), 2s), so that the middle is plain RRF.

    Raises:
        ValueError: `semantic` is outside [0, 1].
    """
    if not 0.0 <= semantic <= 1.0:
        raise ValueError(f"semantic must lie in [0, 1], found {semantic}")
    return 2.0 * (1.0 - semantic), 2.0 * semantic
