"""Whether the hits are about the question at all: decided before a model is called."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from localrag.retrieval.words import content_words
from localrag.types import Hit

CALIBRATED_MODEL = "bge-small-en-v1.5"
"""In other embedding spaces cosines have another scale, so there the words alone decide."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """A logistic regression: the log-odds that the hits answer the question are intercept + weights * shares.

    asking: the probability from which a model sees the hits. quoting: from which sentences are quoted without one.
    """

    intercept: float
    first: float
    best: float
    agreement: float = 0.0
    cosine: float = 0.0
    asking: float
    quoting: float


# Fitted by benchmarks/refusal.py on the odd questions of squad2-dev, hotpotqa-mini and mtrag-un, each asked with its
# documents in the library and again with them taken out. The thresholds on the 1,000 even ones of squad2-dev: of those
# that can be answered 2.5% lie below `asking` and 4.6% below `quoting`, of the others 80% and 87%. A model may still
# refuse what it is asked; quotes have nobody behind them who could.
WITH_COSINE = Weights(intercept=-14.26, first=0.93, best=4.19, agreement=1.95, cosine=15.63, asking=0.2, quoting=0.3)
# While there are no vectors, words that differ may mean the same: none and 4.6%, of the others 12% and 73%.
WORDS_ALONE = Weights(intercept=-4.89, first=5.32, best=3.11, asking=0.05, quoting=0.3)
# The default model reads English, and words of other languages are cut less well: inflected, or into pairs of
# characters. Fitted on the odd questions of xquad-de and xquad-zh; of the 100 even ones of each, 4% and 5% lie below
# `asking`, 7% and 7% below `quoting`; without vectors 2% and 1%, 5% and 8%. (With English weights up to 69%.)
OTHER_LANGUAGE = Weights(intercept=-9.2, first=0.16, best=8.44, agreement=1.36, cosine=7.14, asking=0.15, quoting=0.2)
OTHER_LANGUAGE_WORDS = Weights(intercept=-3.63, first=1.39, best=7.85, asking=0.1, quoting=0.2)

_ENGLISH = re.compile(
    r"\b(?:the|of|is|are|was|were|do|does|did|has|have|what|who|whom|whose|which|when|where|why|how|to|for|from|by|and|with|"
    r"on|at|can|could|should|would|that|this|be|if|not)\b"
)
_OTHER = re.compile(
    r"\b(?:der|die|das|den|dem|des|eine?|einen|einer|und|ist|sind|war|wer|wie|wo|wann|warum|welche[rs]?|wurde|von|für|mit|"
    r"nicht|auf|im|le|la|les|une|est|sont|qui|que|quel|quelle|où|quand|pourquoi|comment|el|los|las|una|es|son|quién|qué|"
    r"cuál|cuándo|dónde|por|para)\b"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """How much of the question the hits talk about. The scores of a fusion say nothing here: they only encode ranks.

    words: how many content words the question has.
    first: the share in [0, 1] of them in the first hit; `best` in the best single hit, `together` in all hits.
    cosine: of question and nearest hit; None without vectors, or where it has another scale than was fitted.
    agreement: 1 / the rank that the vector leg gives to the keyword leg's best hit, 0 where it has none for it.
    english: the question is in English, as far as its small words tell.
    by_meaning: the vector leg of a model that was not fitted found hits, so that words alone may miss what fits.
    """

    words: int
    first: float
    best: float
    together: float
    hits: int
    cosine: float | None = None
    agreement: float = 0.0
    english: bool = True
    by_meaning: bool = False

    @property
    def probability(self) -> float:
        """The measured probability in [0, 1] that the hits answer the question; 0 without hits.

        A question without content words ("What is it about?") says nothing that could be missing: 1.
        """
        if not self.hits or not self.words:
            return float(self.hits > 0)
        by = self._weights
        words = by.first * self.first + by.best * self.best
        meaning = by.agreement * self.agreement + by.cosine * (self.cosine or 0.0)
        return 1.0 / (1.0 + math.exp(-(by.intercept + words + meaning)))

    @property
    def is_worth_asking(self) -> bool:
        """Whether a model should see the hits.

        With an embedding model of another scale it always should: it may have found the answer in other words, or in
        another language.
        """
        return self.hits > 0 and (self.by_meaning or self.probability >= self._weights.asking)

    @property
    def is_worth_quoting(self) -> bool:
        """Whether sentences may be quoted as the answer, with no model that reads them first."""
        return self.probability >= self._weights.quoting

    @property
    def _weights(self) -> Weights:
        if self.english:
            return WORDS_ALONE if self.cosine is None else WITH_COSINE
        return OTHER_LANGUAGE_WORDS if self.cosine is None else OTHER_LANGUAGE


def weigh(question: str, hits: Sequence[Hit], embedding_model: str | None = None) -> Evidence:
    """The evidence in the hits, headings and file names included.

    Args:
        embedding_model: the name of the model that the hits' cosines come from.
    """
    asked = content_words(question)
    found = [asked & content_words(_searchable(hit)) for hit in hits]
    size = max(len(asked), 1)
    cosine = max((hit.vector_score for hit in hits if hit.vector_score is not None), default=None)
    fitted = embedding_model == CALIBRATED_MODEL
    return Evidence(
        words=len(asked),
        first=len(found[0]) / size if found else 0.0,
        best=max(map(len, found), default=0) / size,
        together=len(frozenset().union(*found)) / size,
        hits=len(hits),
        cosine=cosine if fitted else None,
        agreement=max((1 / hit.vector_rank for hit in hits if hit.lexical_rank == 1 and hit.vector_rank), default=0.0),
        english=is_english(question),
        by_meaning=cosine is not None and not fitted,
    )


def is_english(question: str) -> bool:
    """Whether it reads as English: Latin letters, and no more small words of German, French or Spanish than of English.

    Key words without small words count as English.
    """
    folded = question.casefold()
    if any(letter.isalpha() and not unicodedata.name(letter, "").startswith("LATIN") for letter in folded):
        return False
    return len(_OTHER.findall(folded)) <= len(_ENGLISH.findall(folded))


def _searchable(hit: Hit) -> str:
    return "\n".join([hit.document, *hit.chunk.heading_path, hit.chunk.prefix, hit.chunk.text])
