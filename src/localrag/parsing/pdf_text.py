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


def _append(text: str, line: str, words: Collection[str]) -> str:
    if not text or not line:
        return text or line
    if _DIVIDED.search(text):
        first = _FIRST_WORD.match(line)
        if first and (text.endswith(SOFT_HYPHEN) or first.group()[0].islower()):
            keep = not text.endswith(SOFT_HYPHEN) and _is_compound(text, first.group(), words)
            return f"{text}{line}" if keep else f"{text[:-1]}{line}"
        if first and not text.endswith(SOFT_HYPHEN):
            return f"{text}{line}"
    if _CJK.match(text[-1]) and _CJK.match(line[0]):
        return f"{text}{line}"
    return f"{text} {line}"


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
