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

    A hit that was not judged keeps its place, and equal judgements keep their order. A reranker that fails costs no
    answer: the order is then that of the search, and `notice` says why.
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
            hits, notice = _ordered(hits, scores), _missing(scores)
    milliseconds = ranking.milliseconds + (time.perf_counter() - started) * 1000.0
    kept = tuple(replace(hit, rank=rank) for rank, hit in enumerate(hits[:top_k], start=1))
    return replace(ranking, hits=kept, notice=_joined(ranking.notice, notice), milliseconds=milliseconds)


def _ordered(hits: tuple[Hit, ...], scores: Sequence[float | None]) -> tuple[Hit, ...]:
    """The judged hits, best first, in the places that judged hits had."""
    scored = [replace(hit, rerank_score=score) for hit, score in zip(hits, scores, strict=True)]
    places = [place for place, score in enumerate(scores) if score is not None]
    # Sorting is stable: equal scores stay in the order of the search.
    best = sorted(places, key=lambda place: scores[place] or 0.0, reverse=True)
    ordered = list(scored)
    for place, origin in zip(places, best, strict=True):
        ordered[place] = scored[origin]
    return tuple(ordered)


def _missing(scores: Sequence[float | None]) -> str:
    missing = sum(score is None for score in scores)
    if not missing:
        return ""
    return f"{missing} of {len(scores)} passages were not judged by the reranker and kept their places."


def _joined(*notices: str) -> str:
    return " ".join(notice for notice in notices if notice)
