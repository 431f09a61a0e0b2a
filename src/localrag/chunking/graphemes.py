"""Keeping what a reader sees as one character in one piece when text has to be cut anywhere."""

from __future__ import annotations

import unicodedata

_JOINER = "\u200d"
# Longest run looked through; beyond it the text is noise and a cut inside it hurts nobody.
_REACH = 32


def safe_cut(text: str, at: int, low: int, high: int) -> int:
    """The cut in `(low, high]` nearest to `at`, to the left if there is one, that parts no visible character.

    Knows combining marks, variation selectors, emoji modifiers and joiners, pairs of regional indicators (flags),
    Hangul jamo, lone surrogate pairs and CR LF: the cases of UAX #29 that occur in documents.
    """
    for candidate in range(at, max(low, at - _REACH), -1):
        if not _glued(text, candidate):
            return candidate
    for candidate in range(at + 1, min(high, at + _REACH) + 1):
        if not _glued(text, candidate):
            return candidate
    return at


def _glued(text: str, at: int) -> bool:
    """True when the characters on both sides of the position are seen as one."""
    if at <= 0 or at >= len(text):
        return False
    before, after = text[at - 1], text[at]
    if after < "\u0300":
        return after == "\n" and before == "\r"
    if _extends(after) or before == _JOINER:
        return True
    if "\udc00" <= after <= "\udfff" and "\ud800" <= before <= "\udbff":
        return True
    if _is_regional(before) and _is_regional(after):
        return _regionals_before(text, at) % 2 == 1
    return "\u1160" <= after <= "\u11ff"


def _extends(char: str) -> bool:
    if char == _JOINER or "\U0001f3fb" <= char <= "\U0001f3ff" or "\ufe00" <= char <= "\ufe0f":
        return True
    return unicodedata.category(char) in ("Mn", "Me", "Mc")


def _is_regional(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def _regionals_before(text: str, at: int) -> int:
    count = 0
    while count < _REACH and at - count > 0 and _is_regional(text[at - count - 1]):
        count += 1
    return count
