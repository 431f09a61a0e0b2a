"""Whether a text gives a gold answer, by the measures of SQuAD."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

_ARTICLE = re.compile(r"\b(?:a|an|the)\b")
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]")
_YES_NO = frozenset({"yes", "no"})


def normalise(text: str) -> str:
    """The text in lower case without punctuation, articles and runs of white space.

    Rajpurkar et al., "SQuAD: 100,000+ Questions for Machine Comprehension of Text", EMNLP 2016,
    https://arxiv.org/abs/1606.05250. Theirs knows the punctuation of ASCII only; here it is that of every script.
    """
    return _words("".join(char for char in _folded(text) if not _is_mark(char)))


def is_gold(text: str, gold: Sequence[str]) -> bool:
    """Whether the text is one of the answers and nothing else."""
    return normalise(text) in {normalise(answer) for answer in gold} - {""}


def holds_gold(text: str, gold: Sequence[str]) -> bool:
    """Whether one of the answers stands in the text, in whole words: "ten" does not stand in "often".

    Punctuation inside words is looked at both ways, so that "US" stands in "the U.S." and "1990" in "1990-94". Scripts
    that put no spaces between words are searched without them. A "yes" or "no" must be the first word: anywhere
    else it says nothing.
    """
    closed, split = normalise(text), _split(text)
    return any(_stands(answer, closed, split) for answer in gold)


def is_telling(answer: str) -> bool:
    """Whether a passage that holds this answer can be told by it; every other passage holds a "no"."""
    return normalise(answer) not in {*_YES_NO, ""}


def _stands(answer: str, closed: str, split: str) -> bool:
    wanted = normalise(answer)
    if not wanted:
        return False
    if wanted in _YES_NO:
        return split.split(" ")[0] == wanted
    if _UNSPACED.search(wanted):
        return wanted.replace(" ", "") in closed.replace(" ", "")
    return f" {wanted} " in f" {closed} " or f" {_split(answer)} " in f" {split} "


def _split(text: str) -> str:
    """As `normalise`, with a space where each mark stood."""
    return _words("".join(" " if _is_mark(char) else char for char in _folded(text)))


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).lower()


def _words(text: str) -> str:
    return " ".join(_ARTICLE.sub(" ", text).split())


def _is_mark(char: str) -> bool:
    return unicodedata.category(char)[0] in "PS"
