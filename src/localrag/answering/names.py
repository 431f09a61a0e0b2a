"""Names and months of a claim: a sentence with another name in it says something else."""

from __future__ import annotations

import re

from localrag.answering.figures import MONTHS
from localrag.retrieval.words import content_words

# A capital inside a sentence; at its beginning only where a second one follows, as in `Ada Moss opened it`.
_INSIDE = re.compile(r"(?<=[\w,;:)\"”'’] )[^\W\d_a-z][\w’'-]*|(?<=[(\"“])[^\W\d_a-z][\w’'-]*")
_AT_START = re.compile(r"^\W*([^\W\d_a-z][\w’'-]*)(?= [^\W\d_a-z])")
# In German every noun has a capital: there it tells no names.
_GERMAN = re.compile(r"\b(?:und|ist|sind|der|das|nicht|eine[mnrs]?|für|von|mit|wird|wurde|beträgt)\b")
# `American` is found in `America`: stems that share so many letters are forms of one name.
_SHARED = 5
_MONTH = re.compile(r"(?<=\d)(?:st|nd|rd|th)?\W{1,3}([^\W\d_a-z][^\W\d_]+)|\b([^\W\d_a-z][^\W\d_]+)\W{1,3}(?=\d)")
_PIECE = re.compile(r"[-’'/]")


def names(sentence: str) -> list[str]:
    """The names in the sentence as written, each once, months left out; none in a language that capitalises nouns."""
    if _GERMAN.search(sentence):
        return []
    found = [match.group(1) for match in _AT_START.finditer(sentence)] + _INSIDE.findall(sentence)
    return list(dict.fromkeys(name for name in found if name.casefold() not in MONTHS and content_words(name)))


def missing_names(sentence: str, source: str, *, asked: frozenset[str]) -> list[str]:
    """Those of the sentence's names and months that neither the source nor the question has.

    Args:
        asked: the content words of the question, whose names a source may call by a pronoun.
    """
    held = content_words(source)
    lost = [name for name in names(sentence) if not _is_held(name, held | asked, source)]
    return lost + [month for month in _months(sentence) if not _holds_month(source, month)]


def _is_held(name: str, held: frozenset[str], source: str) -> bool:
    for piece in _PIECE.split(name):
        for word in content_words(piece):
            alike = word in held or any(
                len(word) >= _SHARED and len(other) >= _SHARED and word[:_SHARED] == other[:_SHARED] for other in held
            )
            if not alike and not _is_initials(name, source):
                return False
    return True


def _is_initials(name: str, source: str) -> bool:
    """Whether `UK` stands for words of the source, or the name for initials of it: `United Kingdom`."""
    if not (2 <= len(name) <= 6 and name.isupper()):
        return False
    return name in "".join(word[0] for word in re.findall(r"\b[^\W\d_a-z]\w*", source))


def _months(sentence: str) -> list[str]:
    """Month names that stand beside a figure: `May` alone may be a verb, and `March` a walk."""
    return [
        match.group(1) or match.group(2)
        for match in _MONTH.finditer(sentence)
        if (match.group(1) or match.group(2)).casefold() in MONTHS
    ]


def _holds_month(source: str, month: str) -> bool:
    number = MONTHS[month.casefold()]
    if re.search(rf"(?<!\d)0?{number}(?!\d)", source):
        return True
    return any(MONTHS.get(word) == number for word in re.findall(r"[^\W\d_]+", source.casefold()))
