"""One search of both legs for a question, whatever the weights they are then fused with."""

from __future__ import annotations

from typing import Any, TypeAlias, cast

from localrag.filters import Filter
from localrag.protocols import SearchIndex, Vectors
from localrag.types import LegResults, ScoredChunk

_Leg: TypeAlias = tuple[ScoredChunk, ...]
_MOST_KEPT = 64
"""Legs; a question asks for some two of each depth, and is not asked again once the next one comes."""


def one_pass(index: SearchIndex) -> SearchIndex:
    """The index, each leg of which is searched once for what is asked of it again and again.

    A leg's candidates do not depend on whether the other leg is run too, so that a search of both serves those of one.
    Only for as long as nothing is written.
    """
    # It has every method of an index: those that are no searches are passed on.
    return cast("SearchIndex", _OnePass(index))


class _OnePass:
    def __init__(self, index: SearchIndex) -> None:
        self._index = index
        self._legs: dict[tuple[str | bytes, int, Filter | None], _Leg] = {}
        self._ready = 1.0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._index, name)

    def search_legs(
        self, text: str | None, vector: Vectors | None, *, limit: int, where: Filter | None = None
    ) -> LegResults:
        """What the index finds, found once."""
        asked = [text, None if vector is None else vector.tobytes()]
        if any(key is not None and (key, limit, where) not in self._legs for key in asked):
            if len(self._legs) >= _MOST_KEPT:
                self._legs.clear()
            found = self._index.search_legs(text, vector, limit=limit, where=where)
            self._ready = found.vectors_ready
            for key, leg in zip(asked, (found.lexical, found.vector), strict=True):
                if key is not None and leg is not None:
                    self._legs[key, limit, where] = leg
        lexical, semantic = (None if key is None else self._legs[key, limit, where] for key in asked)
        return LegResults(lexical=lexical, vector=semantic, vectors_ready=self._ready)
