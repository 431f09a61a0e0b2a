"""Rankings of several queries -> one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import zip_longest

from localrag.types import ChunkId, Hit, Ranking


def add_up(rankings: Sequence[Ranking], *, query: str, limit: int) -> Ranking:
    """One ranking of the `limit` best hits of all, for queries that ask the same in other words.

    A hit's score is the sum of its scores, so what several queries find leads; equal sums go by the order of the
    rankings. A hit keeps the leg ranks of the ranking where it stood best; a chunk, and a text, counts once.
    On mtrag-un sums do better than places: nDCG@10 .891, reciprocal ranks .873, in turns .861.

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
    return _merged(rankings, query, (replace(best[chunk_id], score=sums[chunk_id]) for chunk_id in order), limit)


def take_turns(rankings: Sequence[Ranking], *, query: str, limit: int) -> Ranking:
    """One ranking of the first hit of each ranking, then the second of each and so on, for queries that ask different
    things: each is heard, however many passages speak of one of them.

    A hit keeps the score and leg ranks that it had where it was taken from; a chunk, and a text, counts once.
    Of two SQuAD questions in one, both paragraphs are among eight for 92% (benchmarks/compound.py);
    in a trial where scores add up, for 87%.
    """
    rounds = zip_longest(*(ranking.hits for ranking in rankings))
    return _merged(rankings, query, (hit for taken in rounds for hit in taken if hit is not None), limit)


def _merged(rankings: Sequence[Ranking], query: str, hits: Iterable[Hit], limit: int) -> Ranking:
    """The first hits of distinct texts, ranks from 1, and what the rankings have to tell."""
    kept: dict[str, Hit] = {}
    for hit in hits:
        kept.setdefault(" ".join(hit.chunk.text.split()), hit)
    return Ranking(
        query=query,
        semantic=rankings[0].semantic,
        hits=tuple(replace(hit, rank=rank) for rank, hit in enumerate(list(kept.values())[:limit], start=1)),
        vectors_ready=min(ranking.vectors_ready for ranking in rankings),
        milliseconds=sum(ranking.milliseconds for ranking in rankings),
        queries=tuple(ranking.query for ranking in rankings),
        notice=" ".join(dict.fromkeys(ranking.notice for ranking in rankings if ranking.notice)),
    )
