"""Reading the best candidates of a ranking again, and putting those that were judged in the order of the judgement."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import replace

from localrag.errors import LocalRagError
from localrag.protocols import Reranker
from localrag.types import Hit, Ranking

logger = logging.getLogger(__name__)

MOST_CANDIDATES = 30
"""A reranker reads every candidate whole, so its time grows with them; what stands below the 30th is seldom right."""


def reranked_k(top_k: int) -> int:
    """How many hits to fetch when `top_k` of them are to be left after reranking."""
    return max(top_k, min(max(4 * top_k, 20), MOST_CANDIDATES))


def reranked(ranking: Ranking, question: str, reranker: Reranker, *, top_k: int) -> Ranking:
    """The `top_k` best hits by the reranker's judgement of each passage against the question.

    Its scores and those of the search, both scaled to 0 to 1, are mixed by its `share`. A hit that was not judged keeps
    its place, and equal ones keep their order. A reranker that fails costs no answer: the order is then that of the
    search, and `notice` says why.
    """
    started = time.perf_counter()
    hits, notice = ranking.hits, ""
    if hits:
        try:
            scores = reranker.score(question, [hit.chunk.embedding_text for hit in hits])
        except LocalRagError as error:
            logger.warning("the reranker %s failed: %s", reranker.name, error.kind)
            notice = f"The passages were not reranked. {error}"
        else:
            hits, notice = _ordered(hits, scores, reranker.share), _missing(scores)
    milliseconds = ranking.milliseconds + (time.perf_counter() - started) * 1000.0
    kept = tuple(replace(hit, rank=rank) for rank, hit in enumerate(hits[:top_k], start=1))
    return replace(ranking, hits=kept, notice=_joined(ranking.notice, notice), milliseconds=milliseconds)


def _ordered(hits: tuple[Hit, ...], scores: Sequence[float | None], share: float) -> tuple[Hit, ...]:
    """The judged hits, best first, in the places that judged hits had."""
    judged = [(place, score) for place, score in enumerate(scores) if score is not None]
    new = _scaled([score for _, score in judged])
    old = _scaled([hits[place].score for place, _ in judged])
    worth = {place: share * a + (1.0 - share) * b for (place, _), a, b in zip(judged, new, old, strict=True)}
    # Sorting is stable: equal worth stays in the order of the search.
    best = sorted(worth, key=lambda place: worth[place], reverse=True)
    ordered = list(hits)
    for place, origin in zip(worth, best, strict=True):
        ordered[place] = replace(hits[origin], rerank_score=scores[origin])
    return tuple(ordered)


def _scaled(values: Sequence[float]) -> list[float]:
    """The values over 0 to 1; all 1 where they are equal."""
    low, high = min(values, default=0.0), max(values, default=0.0)
    return [(value - low) / (high - low) if high > low else 1.0 for value in values]


def _missing(scores: Sequence[float | None]) -> str:
    missing = sum(score is None for score in scores)
    if not missing:
        return ""
    return f"{missing} of {len(scores)} passages were not judged by the reranker and kept their places."


def _joined(*notices: str) -> str:
    return " ".join(notice for notice in notices if notice)
