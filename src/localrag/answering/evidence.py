"""Whether the hits are about the question at all: decided before a model is called."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from localrag.retrieval.words import content_words
from localrag.types import Hit


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """How much of the question the hits talk about.

    words: how many content words the question has. best: the share in [0, 1] of them in the best single hit.
    together: the share in all hits together. RRF scores say nothing here: they only encode ranks.
    """

    words: int
    best: float
    together: float
    hits: int

    def is_sufficient(self, threshold: float) -> bool:
        """Whether to answer: there are hits, and the best of them covers more than `threshold` of the question.

        A question without content words ("What is it about?") says nothing that could be missing.
        """
        return self.hits > 0 and (self.words == 0 or self.best > threshold)


def weigh(question: str, hits: Sequence[Hit]) -> Evidence:
    """The evidence in the hits, headings and file names included."""
    asked = content_words(question)
    found = [asked & content_words(_searchable(hit)) for hit in hits]
    size = max(len(asked), 1)
    return Evidence(
        words=len(asked),
        best=max(map(len, found), default=0) / size,
        together=len(frozenset().union(*found)) / size,
        hits=len(hits),
    )


def _searchable(hit: Hit) -> str:
    return "\n".join([hit.document, *hit.chunk.heading_path, hit.chunk.prefix, hit.chunk.text])
