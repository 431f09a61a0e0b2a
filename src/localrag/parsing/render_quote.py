"""Where the words of a quotation stand on a page.

The quotation comes from our Markdown: divided words are whole in it, cells are parted by bars, `$` stands close to its
figure, columns come one after the other. So it is matched word by word against the page's own words, by their letters
and digits alone, in runs that may stand in different places.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from localrag.parsing.pdf_lines import clean

_MIN_SHARE = 0.6  # of the quotation's characters must be found, or nothing is marked
_MIN_RUN = 8  # characters of a run that may stand anywhere; shorter ones count only beside what precedes them


@dataclass(slots=True)
class Word:
    """A word of the page: its letters and digits, and its box."""

    key: str
    box: tuple[float, float, float, float]


def key(text: str) -> str:
    """The letters and digits of the text, folded: what is the same in a page's words and in Markdown made of them."""
    folded = unicodedata.normalize("NFKC", clean(text)).casefold()
    return "".join(filter(str.isalnum, folded))


def find_quote(words: Sequence[Word], quote: str) -> list[tuple[float, float, float, float]]:
    """Boxes of the words that make up the quotation; empty when less than most of it was found.

    All words of the page are one string of letters and digits, and so is the quotation; the longest stretch of the
    quotation that stands on the page is found, then the longest of what follows, and so on.
    """
    wanted = key(quote)
    if not wanted or not words:
        return []
    page = "".join(word.key for word in words)
    hits = _stretches(page, wanted)
    if sum(length for _, length in hits) < _MIN_SHARE * len(wanted):
        return []
    marked: list[tuple[float, float, float, float]] = []
    position = 0
    for word in words:
        end = position + len(word.key)
        # A word counts as marked when most of it lies in a stretch: the rest may be a footnote sign.
        covered = sum(max(0, min(end, start + length) - max(position, start)) for start, length in hits)
        if covered * 2 > len(word.key):
            marked.append(word.box)
        position = end
    return marked


def _stretches(page: str, wanted: str) -> list[tuple[int, int]]:
    """(start, length) in `page` of stretches that together make up `wanted`, left to right in `wanted`."""
    found: list[tuple[int, int]] = []
    at = 0
    near = 0  # where the stretch before ended: of several places, the next one after it is meant
    while at < len(wanted):
        length = _longest(page, wanted, at)
        piece = wanted[at : at + length]
        start = page.find(piece, near) if piece else -1
        start = page.find(piece) if piece and start < 0 else start
        beside = 0 <= start - near <= 40
        if piece and (length >= _MIN_RUN or beside or length == len(wanted)):
            found.append((start, length))
            near = start + length
            at += length
        else:
            at += max(length, 1)
    return found


def _longest(page: str, wanted: str, at: int) -> int:
    """The length of the longest stretch of `wanted` from `at` that stands anywhere in `page`."""
    low, high = 0, len(wanted) - at
    while low < high:
        middle = (low + high + 1) // 2
        if wanted[at : at + middle] in page:
            low = middle
        else:
            high = middle - 1
    return low


def bands(boxes: Sequence[tuple[float, float, float, float]]) -> list[tuple[float, float, float, float]]:
    """The boxes, neighbours on a line as one."""
    bands: list[tuple[float, float, float, float]] = []
    for x0, y0, x1, y1 in boxes:
        last = bands[-1] if bands else None
        if last and abs(last[1] - y0) < 2 and abs(last[3] - y1) < 2 and 0 <= x0 - last[2] < (y1 - y0):
            bands[-1] = (last[0], min(last[1], y0), x1, max(last[3], y1))
        else:
            bands.append((x0, y0, x1, y1))
    return bands
