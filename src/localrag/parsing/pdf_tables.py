"""Rows of pieces -> tables without a grid: columns are found by where cells line up.

Most tables in filings and reports draw no cell borders: a label at the left, figures set to the right edge of their
column, `$` at its left edge, headings centred above one column or over several, underlined to show how many.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from localrag.parsing.pdf_lines import Piece, has_figures, is_heading_number, is_number

_MARKER = re.compile(r"[•●▪◦‣■□∙·\uf0b7\uf0a7–-]|\(?(?:\d{1,2}|[a-zA-Z]|[ivx]{2,4})[.)]")
CURRENCY = re.compile(r"[(]?(?:US)?[$€£¥][(]?")
TAIL = re.compile(r"\)?%?|\)%?|pts|bps|x")
_MAX_LABEL = 70  # characters of a label that stands alone inside a table; longer ones are sentences
_MAX_LABELS = 6  # such labels in sequence where the same columns go on below
_MAX_PITCH = 3.2  # font sizes from one row to the next
_FLUSH = 1.0  # points by which the lines of one cell may begin apart
_MAX_LONE = 4  # rows in sequence with a label and no figures, before a table is taken to have ended


@dataclass(slots=True)
class Row:
    """Pieces on one baseline, left to right."""

    pieces: list[Piece]

    @property
    def baseline(self) -> float:
        return self.pieces[0].baseline

    @property
    def size(self) -> float:
        return max(piece.size for piece in self.pieces)

    @property
    def x0(self) -> float:
        return self.pieces[0].x0

    @property
    def x1(self) -> float:
        return max(piece.x1 for piece in self.pieces)

    @property
    def bold(self) -> bool:
        return all(piece.bold for piece in self.pieces)


def rows_of(pieces: Sequence[Piece], *, rtl: bool = False) -> list[Row]:
    """The pieces grouped into rows, top to bottom; list markers are joined with what they mark."""
    rows: list[Row] = []
    for piece in sorted(pieces, key=lambda piece: piece.baseline):
        row = rows[-1] if rows and not piece.table and not rows[-1].pieces[0].table else None
        if row and piece.baseline - row.baseline <= 0.35 * max(piece.size, row.size):
            row.pieces.append(piece)
        else:
            rows.append(Row([piece]))
    for row in rows:
        row.pieces.sort(key=lambda piece: -piece.x1 if rtl else piece.x0)
        _join_marker(row)
    return rows


def _join_marker(row: Row) -> None:
    if len(row.pieces) < 2 or not _MARKER.fullmatch(row.pieces[0].text) or is_number(row.pieces[1].text):
        return
    marker, text = row.pieces[:2]
    if text.x0 - marker.x1 <= 4 * text.size:
        x0, x1 = min(marker.x0, text.x0), max(marker.x1, text.x1)
        joined = replace(text, x0=x0, x1=x1, text=f"{marker.text} {text.text}")
        row.pieces[:2] = [joined]


def table_spans(rows: Sequence[Row]) -> list[tuple[int, int]]:
    """Half-open row ranges that hold a table, in order, none overlapping."""
    spans: list[tuple[int, int]] = []
    start = 0
    while start < len(rows):
        if len(rows[start].pieces) < 2:
            start += 1
            continue
        end = _run_end(rows, start)
        if _is_table(rows[start:end]):
            first = _with_headings_above(rows, start, spans[-1][1] if spans else 0, values_start(rows[start:end]))
            spans.extend(_split_at_headers(rows, first, end))
        start = max(end, start + 1)
    return _resumed(rows, spans)


def _resumed(rows: Sequence[Row], spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The spans, those joined that go on below a label too wide for its column or set apart by space."""
    result: list[tuple[int, int]] = []
    for start, end in spans:
        if result and _goes_on(rows, result[-1], start):
            result[-1] = (result[-1][0], end)
        else:
            result.append((start, end))
    return result


def _goes_on(rows: Sequence[Row], above: tuple[int, int], start: int) -> bool:
    between = rows[above[1] : start]
    labels = all(len(row.pieces[0].text) <= _MAX_LABEL and row.pieces[0].text[-1:] not in ".;" for row in between)
    first, last = rows[start], rows[above[1] - 1]
    far = first.baseline - last.baseline > (len(between) + 1) * _MAX_PITCH * first.size
    if len(between) > _MAX_LABELS or not labels or far or not is_data(first):
        return False
    edges = [piece.x1 for row in rows[slice(*above)] for piece in row.pieces[1:] if is_number(piece.text)]
    figures = [piece for piece in first.pieces[1:] if is_number(piece.text)]
    return all(any(abs(piece.x1 - edge) <= piece.size for edge in edges) for piece in figures)


def values_start(rows: Sequence[Row]) -> float:
    """Where the second column begins: the median left edge of second pieces."""
    seconds = sorted(row.pieces[1].x0 for row in rows if len(row.pieces) > 1)
    return seconds[len(seconds) // 4]


def _run_end(rows: Sequence[Row], start: int) -> int:
    """The row after the last one with several pieces, as far as only labels stand between such rows."""
    last = start
    values = rows[start].pieces[1].x0
    lone = 0
    for i in range(start + 1, len(rows)):
        row, above = rows[i], rows[i - 1]
        if row.baseline - above.baseline > _MAX_PITCH * max(row.size, above.size):
            break
        if len(row.pieces) > 1:
            values = min(values, row.pieces[1].x0)
            last, lone = i, 0
            continue
        lone += 1
        if lone > _MAX_LONE or (row.x0 < values and row.x1 > values + 2 * row.size):
            break
    return _with_wrapped(rows, last + 1, values)


def _with_wrapped(rows: Sequence[Row], end: int, values: float) -> int:
    """The end moved past the second line of a last label (`administrative expenses`) or of another cell."""
    last = rows[end - 1]
    while end < len(rows) and len(rows[end].pieces) == 1:
        row, above = rows[end], rows[end - 1]
        close = row.baseline - above.baseline <= 1.5 * row.size
        label = row.pieces[0].text[:1].islower() and row.x1 <= values
        if not (close and (label or is_flush_with_a_value(row.pieces[0], last))):
            break
        end += 1
    return end


def is_flush_with_a_value(piece: Piece, row: Row) -> bool:
    """Whether words are set flush with one of the row's values, on either side."""
    values = [] if is_number(piece.text) else row.pieces[1:]
    return any(abs(piece.x0 - value.x0) <= _FLUSH or abs(piece.x1 - value.x1) <= _FLUSH for value in values)


def _is_table(rows: Sequence[Row]) -> bool:
    several = [row for row in rows if len(row.pieces) > 1]
    figures = [row for row in several if any(is_number(piece.text) for piece in row.pieces[1:])]
    if len(figures) >= 2 and len(figures) >= 0.3 * len(several):
        return True
    if len(several) < 3 or _is_prose(several):
        return False
    edges = sorted(piece.x0 for row in several for piece in row.pieces[1:])
    aligned = max(bisect_right(edges, edge + 3) - bisect_left(edges, edge - 3) for edge in edges)
    return aligned >= 0.7 * len(several) and aligned >= 3


def _is_prose(rows: Sequence[Row]) -> bool:
    """Whether these are lines of text columns side by side: both parts long in most rows."""
    long = sum(len(row.pieces[0].text) > 35 and len(row.pieces[1].text) > 35 for row in rows)
    return long > 0.5 * len(rows)


def _with_headings_above(rows: Sequence[Row], start: int, floor: int, values: float) -> int:
    """The start moved up over headings that stand above value columns only."""
    for _ in range(3):
        above = start - 1
        if above < floor or len(rows[above].pieces) != 1:
            break
        row = rows[above]
        far = rows[start].baseline - row.baseline > 2.6 * max(row.size, rows[start].size)
        if far or row.size > 1.15 * rows[start].size:
            break
        if row.x0 < values - 3 * row.size or len(row.pieces[0].text) > 60:
            break
        start = above
    return start


def _split_at_headers(rows: Sequence[Row], start: int, end: int) -> Iterator[tuple[int, int]]:
    """Parts a run where a second header begins below rows of figures; what leads up to it belongs to neither."""
    figures: list[Row] = []
    last = start  # the last row of figures, or of words in the same columns
    for i in range(start, end):
        if len(figures) >= 2 and _is_header_like(rows[i]):
            if _lacks_figures(rows[i], figures, rows[start:i]):
                last = i
                continue
            stop = min(_with_wrapped(rows, last + 1, values_start(figures)), i)
            yield start, stop
            start = _with_headings_above(rows, i, stop, values_start(rows[i:end]))
            figures = []
        elif is_data(rows[i]):
            figures.append(rows[i])
            last = i
    yield start, end


def _lacks_figures(row: Row, figures: Sequence[Row], above: Sequence[Row]) -> bool:
    """Whether this is a row like those of figures that has only its words: each stands in a column of words."""
    if row.bold and not figures[-1].bold:
        return False
    return all(
        is_over_words(value, figures) or (is_over_words(value, above) and not is_over_figures(value, figures))
        for value in row.pieces[1:]
    )


def is_over_words(piece: Piece, rows: Sequence[Row]) -> bool:
    """Whether most values in the piece's place are words."""
    texts = _values_at(piece, rows)
    return 2 * sum(map(is_number, texts)) < len(texts)


def is_over_figures(piece: Piece, rows: Sequence[Row]) -> bool:
    """Whether at least half of the values in the piece's place are figures."""
    return bool(_values_at(piece, rows)) and not is_over_words(piece, rows)


def _values_at(piece: Piece, rows: Sequence[Row]) -> list[str]:
    return [cell.text for row in rows for cell in row.pieces[1:] if cell.x0 < piece.x1 and piece.x0 < cell.x1]


def _is_header_like(row: Row) -> bool:
    """Whether all values are years or words, and at least two of them."""
    values = [piece.text for piece in row.pieces[1:]]
    if len(values) < 2 or not all(is_heading_number(text) or not is_number(text) for text in values):
        return False
    return not any(CURRENCY.fullmatch(text) or TAIL.fullmatch(text) for text in values)


def is_data(row: Row) -> bool:
    return has_figures(row.pieces[0].text, [piece.text for piece in row.pieces[1:]])
