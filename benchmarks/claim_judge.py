"""Does a page hold what a sentence claims? A judge that shares no code with localrag's own check.

The page holds the sentence when it has all of its figures, all of its names, and at least 60% of its other words of
four letters or more, compared by their first five letters; a figure in words counts. A sentence that gives the
question's gold answer is held only by a page that has that answer too. A reply of up to six words, such as "Thursday",
claims to be the answer: where the gold answers are known, it is held only if it is, or is a part of, one of them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

ENOUGH = 0.6
_SMALL = re.compile(
    r"this|that|with|from|they|their|there|have|been|were|also|which|when|what|where|while|about|into|only|more|most|such|"
    r"than|then|them|these|those|other|some|very|will|would|could|should|does|passages?|according|text|context|question|"
    r"answer|stated?s?|mentioned|document|given|information"
)
_FIGURES_IN_WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_BARE = 6


def normal(text: str) -> str:
    """Lower case, with single blanks and no marks."""
    return " ".join(re.findall(r"\w+", text.casefold()))


def holds(answers: Sequence[str], text: str) -> bool:
    """Whether the text contains one of the answers as whole words, case and marks aside."""
    padded = f" {normal(text)} "
    return any(f" {normal(answer)} " in padded for answer in answers if normal(answer))


def is_held(sentence: str, page: str, answers: Sequence[str] = ()) -> bool:
    """Whether the page says it."""
    bare = len(normal(sentence).split()) <= _BARE
    if bare and answers and not (holds(answers, sentence) or any(holds([sentence], answer) for answer in answers)):
        return False
    if not _figures(sentence) <= _figures(page) | _spelled(page):
        return False
    known = {word[:5] for word in normal(page).split()}
    names = re.findall(r"(?<=[\w,;] )[A-Z][\w-]+", sentence)
    if any(part[:5] not in known for name in names for part in normal(name).split()):
        return False
    words = {
        word[:5] for word in normal(sentence).split() if len(word) > 3 and not _SMALL.fullmatch(word) and word.isalpha()
    }
    if words and len(words & known) < ENOUGH * len(words):
        return False
    return not (answers and holds(answers, sentence)) or holds(answers, page)


def _figures(text: str) -> set[str]:
    return {figure.replace(",", "").rstrip(".") for figure in re.findall(r"\d[\d,.]*", text)}


def _spelled(text: str) -> set[str]:
    said = set(normal(text).split())
    return {str(value) for value, word in enumerate(_FIGURES_IN_WORDS, start=1) if word in said}
