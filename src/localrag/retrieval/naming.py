"""Which documents does a question name? "In report_march.pdf, what ..." should look there first.

And which does it hint at? "What is Amazon's FY2019 net income?" rather means AMAZON_2019_10K.pdf than the others.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import zip_longest

from localrag.retrieval.words import stems
from localrag.types import Document, DocumentId

_MIN_BARE_NAME = 6
"""A name without its extension counts only from this length: `a.txt` must not claim every question with "a"."""

_NEAR_THE_BEST = 0.8
"""Documents are hinted at whose names hold this share of what the best one's holds."""

_RUN = re.compile(r"[^\W_]+")
_PART = re.compile(r"[^\W\d_]+|\d+")
_HUMP = re.compile(r"(?<=[^\W\d_A-Z])(?=[A-Z])")


class HintedNames:
    """The words of all file names, to find the documents that a question hints at by some of them."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self._words = {document.id: _name_words(document.name) for document in documents}
        counts = Counter(word for words in self._words.values() for word in words)
        self._most = math.log(max(len(documents), 1))
        self._weights = {word: self._most - math.log(count) for word, count in counts.items()}

    def hinted(self, question: str) -> tuple[frozenset[DocumentId], float]:
        """(ids, how clearly they are meant in [0, 1]): no ids and 0.0 where the question hints at none.

        A word counts by how few names hold it (idf over the names), so a word of all names hints at nothing. One word
        alone must look like a name where it stands in the question: a capital inside the sentence, or a digit; else
        `contract.pdf` would claim every question about contracts. A number alone is a year or an amount.
        """
        asked, proper = _asked(question)
        asked &= self._weights.keys()
        found: dict[DocumentId, float] = {}
        for identity, words in self._words.items() if asked else ():
            shared = words & asked
            tells = any(not word.isdigit() and self._weights[word] > 0 for word in shared)
            if tells and (len(shared) > 1 or shared & proper):
                found[identity] = sum(self._weights[word] for word in shared)
        if not found:
            return frozenset(), 0.0
        best = max(found.values())
        near = frozenset(identity for identity, weight in found.items() if weight >= _NEAR_THE_BEST * best)
        return near, min(best / self._most, 1.0)


def _name_words(name: str) -> set[str]:
    stem = name.rpartition(".")[0] or name
    return _parts(_fold(_HUMP.sub(" ", stem)))


def _parts(folded: str) -> set[str]:
    """Runs of letters and digits, whole and cut where one becomes the other: `fy2022`, `fy`, `2022`."""
    runs = _RUN.findall(folded)
    return {part for run in runs for part in (run, *_PART.findall(run)) if len(part) > 1}


def _asked(question: str) -> tuple[set[str], set[str]]:
    """The question's words as names may hold them, neighbours joined as well; and those that look like names."""
    words = [match.group() for match in _RUN.finditer(question)]
    asked: set[str] = set()
    proper: set[str] = set()
    for place, (word, following) in enumerate(zip_longest(words, words[1:], fillvalue="")):
        if not any(stems(word)):
            continue
        parts = _parts(_fold(word)) | {_fold(word + following)}
        asked |= parts
        if any(map(str.isdigit, word)) or (word[0].isupper() and (place > 0 or following[:1].isupper())):
            proper |= parts
    return asked, proper


def documents_named(question: str, documents: Iterable[Document]) -> frozenset[DocumentId]:
    """Ids of the documents whose file name stands in the question, with or without its extension.

    A bare name counts when it is long and looks like a file name (holds a digit, `_` or `-`), so that a file
    called `contract.pdf` does not claim every question about contracts.
    """
    text = _fold(question)
    return frozenset(document.id for document in documents if _is_named(_fold(document.name), text))


def _is_named(name: str, text: str) -> bool:
    if not name:
        return False
    if _stands_in(name, text):
        return True
    stem, dot, _ = name.rpartition(".")
    looks_like_a_file = bool(re.search(r"[\d_-]", stem))
    return bool(dot) and len(stem) >= _MIN_BARE_NAME and looks_like_a_file and _stands_in(stem, text)


def _stands_in(name: str, text: str) -> bool:
    """Whole name only: `report.pdf` does not stand in `annual_report.pdf`."""
    # The plain look-up first: a library has thousands of names, and a question holds one of them or none.
    return name in text and re.search(rf"(?<![\w./-]){re.escape(name)}(?![\w-]|\.\w)", text) is not None


def _fold(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()
