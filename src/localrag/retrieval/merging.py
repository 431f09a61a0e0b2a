"""Rankings of several queries -> one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from localrag.types import ChunkId, Hit, Ranking


def merge(rankings: Sequence[Ranking], *, query: str, limit: int) -> Ranking:
    """One ranking of the `limit` best hits of all; a chunk, and a text, counts once.

    A hit's score is the sum of its scores, so what several queries find leads; equal sums go by the order of the
    rankings. A hit keeps the leg ranks of the ranking where it stood best.

    Args:
        query: what the merged ranking says it answers. The queries of the rankings stand in its `queries`.
    """
    best: dict[ChunkId, Hit] = {}
    sums: dict[ChunkId, float] = {}
    for ranking in rankings:
        for hit in ranking.hits:
            known = best.get(hit.chunk.id)
            if known is None or hit.rank < known.rank:
                best[hit.chunk.id] = hit
            sums[hit.chunk.id] = sums.get(hit.chunk.id, 0.0) + hit.score
    # Rounded: the same fractions added in another order differ in the last bit, and would not tie.
    order = sorted(sums, key=lambda chunk_id: -round(sums[chunk_id], 12))
    return Ranking(
        query=query,
        semantic=rankings[0].semantic,
        hits=_ranked([replace(best[chunk_id], score=sums[chunk_id]) for chunk_id in order], limit),
        vectors_ready=min(ranking.vectors_ready for ranking in rankings),
        milliseconds=sum(ranking.milliseconds for ranking in rankings),
        queries=tuple(ranking.query for ranking in rankings),
        notice=" ".join(dict.fromkeys(ranking.notice for ranking in rankings if ranking.notice)),
    )


def _ranked(hits: Sequence[Hit], limit: int) -> tuple[Hit, ...]:
    """The first hits of distinct texts, ranks from 1."""
    kept: dict[str, Hit] = {}
    for hit in hits:
        kept.setdefault(" ".join(hit.chunk.text.split()), hit)
    return tuple(replace(hit, rank=rank) for rank, hit in enumerate(list(kept.values())[:limit], start=1))
