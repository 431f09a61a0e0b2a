"""Lines of a paragraph -> its text, words that were divided at a line end whole again."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from localrag.parsing.pdf_lines import SOFT_HYPHEN

# Han, kana, Hangul syllables excluded (Korean writes spaces), full-width forms and CJK punctuation.
_CJK = re.compile("[\u2e80-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff00-\uffef]")
_DIVIDED = re.compile(r"[^\W\d_][-\u2010\u00ad]$")
_LAST_WORD = re.compile(r"[\w'’-]+[-\u2010\u00ad]$")
_FIRST_WORD = re.compile(r"[^\W\d_][\w'’-]*")
_HYPHEN_END = re.compile(r"\w[-\u2010\u00ad]$")
_ADDRESS = re.compile(r"://|^[(<\[\"]?www\.|\w@\w")
_ADDRESS_PART = re.compile(r"\S*[\w)][/._\-=?&%#~]\w")
# `short- and long-term`: the hyphen stands for a part that comes later.
_SUSPENDING = frozenset(("and", "or", "to", "und", "oder", "bis", "bzw", "et", "ou", "y", "e", "o", "en", "of"))
_LEADERS = re.compile(r"(?:[.·…_]\s?){5,}")


def join_lines(lines: Iterable[str], words: Collection[str] = ()) -> str:
    """One line of text.

    Args:
        lines: top to bottom.
        words: words of the document in lower case; they decide whether a hyphen at a line end divides a word
            (`com-` `puter`) or belongs to a compound (`trace-` `based`). A word unknown either way is joined.
    """
    text = ""
    for line in lines:
        text = _append(text, line.strip(), words)
    return _LEADERS.sub("… ", text.replace(SOFT_HYPHEN, "")).strip()


def stacked(upper: str, lower: str) -> str:
    """Two lines of one table cell; a line that ends in a hyphen waits for `join_stacked`, which knows the words."""
    if not upper or not lower:
        return upper or lower
    return f"{upper}\n{lower}" if _HYPHEN_END.search(upper) else f"{upper} {lower}"


def join_stacked(cell: str, words: Collection[str]) -> str:
    """The cell's text on one line."""
    return join_lines(cell.split("\n"), words) if "\n" in cell else cell


def _append(text: str, line: str, words: Collection[str]) -> str:
    if not text or not line:
        return text or line
    if _goes_on(text.rsplit(None, 1)[-1], line):
        return f"{text}{line}"
    if _DIVIDED.search(text):
        first = _FIRST_WORD.match(line)
        if first and first.group().lower() in _SUSPENDING and not text.endswith(SOFT_HYPHEN):
            return f"{text} {line}"
        if first and (text.endswith(SOFT_HYPHEN) or first.group()[0].islower()):
            keep = not text.endswith(SOFT_HYPHEN) and _is_compound(text, first.group(), words)
            return f"{text}{line}" if keep else f"{text[:-1]}{line}"
        if first and not text.endswith(SOFT_HYPHEN):
            return f"{text}{line}"
    if _CJK.match(text[-1]) and _CJK.match(line[0]):
        return f"{text}{line}"
    return f"{text} {line}"


def _goes_on(last: str, line: str) -> bool:
    """Whether an address or a number with hyphens (`333-` `175609`) was cut at the line end."""
    if last[-1] in "-\u2010":
        return _ADDRESS.search(last) is not None or (last[-2:-1].isdigit() and line[0].isdigit())
    if last[-1] in "/_=&?%#" and _ADDRESS.search(last):
        return _ADDRESS_PART.match(line) is not None
    return False


def _is_compound(text: str, first: str, words: Collection[str]) -> bool:
    last = _LAST_WORD.search(text)
    if last is None:
        return False
    head = last.group()[:-1].lower()
    tail = first.lower()
    if f"{head}{tail}" in words:
        return False
    if f"{head}-{tail}" in words:
        return True
    # Three parts and more (`state-of-the-` `art`), or two words that both stand alone in the document.
    return "-" in head or (head in words and tail in words and len(head) > 3 and len(tail) > 3)
