"""Which rows of a table are its header, and what each column is called.

A header is a row of words most of whose cells are filled. Sparse rows of words above it (groups of columns) and
rows below it whose first cell is empty (second lines) belong to it; the names of a column are joined with " / ".
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, zip_longest

# Rows looked at to find a header. The US tax tables of the shared files have six header rows.
LOOKAHEAD = 12
_MAX_SECOND_LINES = 3
_JOIN = " / "

_NUMBER = re.compile(
    r"[-+(]?\s?[$€£¥₹]?\s?[-+]?[\d.,'\u00a0\u202f]*\d[\d.,'\u00a0\u202f]*(e[-+]?\d+)?\s?[%°$€£¥₹]?\s?\)?"
    r"|\d{4}-\d{2}-\d{2}([ T]\d{1,2}:\d{2}(:\d{2})?)?|\d{1,3}:\d{2}(:\d{2})?|[—–-]|true|false",
    re.IGNORECASE,
)
_YEAR_OR_DATE = re.compile(r"(19|20)\d{2}|\d{4}-\d{2}-\d{2}")


@dataclass(frozen=True, slots=True)
class Row:
    """One row: its physical number from 1, and its cells as shown.

    spans: columns (from 0) that merged cells of this row cover, as half-open ranges; their text is in the first.
    """

    number: int
    cells: tuple[str, ...]
    spans: tuple[tuple[int, int], ...] = ()

    @property
    def filled(self) -> tuple[int, ...]:
        """Columns that hold text."""
        return tuple(i for i, text in enumerate(self.cells) if text)


@dataclass(frozen=True, slots=True)
class Header:
    """The names of the columns (from 0), and how many rows they were read from."""

    rows: int
    names: dict[int, str]


def is_number(text: str) -> bool:
    """Whether a cell holds a figure, a date, a time, a truth value, a formula or a dash for none, and no words."""
    return text.startswith("=") or (len(text) <= 40 and bool(_NUMBER.fullmatch(text)))


def find_header(window: Sequence[Row], known: Header | None) -> Header | None:
    """The header that starts at the first row of `window`, None when that row is data.

    Args:
        window: the next rows that are not empty, at most LOOKAHEAD of them.
        known: the header of the table above. With one, a new header needs proof: a row of words may be data.
    """
    widest = max(len(row.filled) for row in window)
    words = [_is_words(row, below) for row, below in zip_longest(window, window[1:])]
    main = next((i for i, row in enumerate(window) if not words[i] or _is_full(row, widest)), None)
    if main is None or not words[main] or widest < 2:
        return None
    if _is_group_row(window[main : main + 3], words[main + 1 : main + 2]):
        main += 1
    end = main + 1
    left = min(row.filled[0] for row in window)
    while (
        end < min(len(window), main + 1 + _MAX_SECOND_LINES)
        and window[end].filled[0] > left
        and len(window[end].filled) > 1
        and words[end]
    ):
        end += 1
    header = Header(rows=end, names=_names(window[:end]))
    return header if known is None or _is_new(header, window, known) else None


def _is_full(row: Row, widest: int) -> bool:
    return len(row.filled) >= max(2, widest / 2)


def _is_group_row(rows: Sequence[Row], next_is_words: Sequence[bool]) -> bool:
    """Whether a row of words that fills gaps of this one stands between it and the first figures: the real names."""
    if len(rows) < 3 or not all(next_is_words) or set(rows[1].filled) <= set(rows[0].filled):
        return False
    return any(is_number(rows[2].cells[i]) for i in rows[2].filled)


def _is_words(row: Row, below: Row | None) -> bool:
    """Words only. Years and dates are words too, unless the row below goes on with years and dates."""
    numbers = [i for i in row.filled if is_number(row.cells[i])]
    if not numbers:
        return True
    if below is None or not all(_YEAR_OR_DATE.fullmatch(row.cells[i]) for i in numbers):
        return False
    return not all(i < len(below.cells) and _YEAR_OR_DATE.fullmatch(below.cells[i]) for i in numbers)


def _is_new(header: Header, window: Sequence[Row], known: Header) -> bool:
    """Whether rows under a known header open another table."""
    texts, known_texts = (_parts(one) for one in (header, known))
    if len(texts & known_texts) * 2 >= len(texts):
        return True
    if not set(header.names) <= set(known.names):
        return True
    if header.rows >= len(window):
        return False
    below = window[header.rows]
    named = [i for i in header.names if i != min(header.names)]
    figures = [i for i in named if i < len(below.cells) and is_number(below.cells[i])]
    return len(figures) * 2 >= len(named) > 0


def _parts(header: Header) -> set[str]:
    return {part for name in header.names.values() for part in name.split(_JOIN)}


def _names(rows: Sequence[Row]) -> dict[int, str]:
    """Column -> its names in all header rows, top down, joined."""
    lowest = rows[-1]
    levels = [_spread(row, lowest) for row in rows[:-1]]
    levels.append(_spread_spans(lowest))
    names = {}
    for column in range(max(row.filled[-1] for row in rows) + 1):
        parts = [" ".join(level[column].split()) for level in levels if column in level]
        parts = [part for i, part in enumerate(parts) if i == 0 or part != parts[i - 1]]
        if parts:
            names[column] = _JOIN.join(parts)
    return names


def _spread_spans(row: Row) -> dict[int, str]:
    """Column -> text, where a merged cell gives its text to all columns it covers."""
    texts = {i: row.cells[i] for i in row.filled}
    for start, stop in row.spans:
        if start in texts:
            texts.update(dict.fromkeys(range(start, stop), texts[start]))
    return texts


def _spread(row: Row, lowest: Row) -> dict[int, str]:
    """Column -> the group it stands in.

    Many sheets write a group's name over its first or last column and leave the rest empty instead of merging.
    That is taken for granted only where it shows: a lone group, or groups over columns of the same names.
    """
    texts = _spread_spans(row)
    columns = lowest.filled
    anchors = [i for i in row.filled if i >= columns[0]]
    if row.spans or not anchors:
        return texts
    if anchors[-1] >= columns[-1]:
        edges = [columns[0], *(i + 1 for i in anchors)]
    else:
        edges = [*anchors, columns[-1] + 1]
    groups = [[i for i in columns if start <= i < stop] for start, stop in pairwise(edges)]
    under = [{lowest.cells[i] for i in group} for group in groups]
    if len(groups) == 1 or any(left & right for left, right in pairwise(under)):
        for anchor, group in zip(anchors, groups, strict=True):
            texts.update(dict.fromkeys(group, row.cells[anchor]))
    return texts
