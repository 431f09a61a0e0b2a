"""The rows of a table -> its cells: columns from what lines up, each heading over the columns it speaks for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from localrag.parsing.pdf_lines import Piece, Table, is_number
from localrag.parsing.pdf_rules import Rule
from localrag.parsing.pdf_tables import (
    CURRENCY,
    TAIL,
    Row,
    is_data,
    is_flush_with_a_value,
    is_over_figures,
    is_over_words,
    values_start,
)
from localrag.parsing.pdf_text import stacked

_MAX_COLUMNS = 40
_MAX_HEADINGS = 4  # rows of a header over nothing but words
_SIGN_SPACE = re.compile(r"(?<!\d)[ \u00a0]|[ \u00a0](?!\d)")


@dataclass(slots=True)
class _Column:
    x0: float
    x1: float

    @property
    def middle(self) -> float:
        return (self.x0 + self.x1) / 2

    @property
    def width(self) -> float:
        return self.x1 - self.x0


def build_table(rows: Sequence[Row], rules: Sequence[Rule], *, rtl: bool = False) -> Table | None:
    """The rows as a table, each cell under its header; None when no two columns line up."""
    merged = [Row(_join_signs(row.pieces)) for row in rows]
    headers = _header_rows(merged)
    # In a table of words the lower headings show columns that its rows may leave empty; figures show their own.
    columns = _columns(merged[headers:] if any(map(is_data, merged)) else merged[1:])
    if not 2 <= len(columns) <= _MAX_COLUMNS:
        return None
    body = _body(merged[headers:], columns, rtl=rtl)
    header = _header(merged[:headers], columns, rules) if headers else None
    if rtl:
        header = header[::-1] if header else None
    edges = tuple(x for column in columns for x in (column.x0, column.x1))
    table = Table(header, body, edges=edges)
    if headers:
        table.bold = all(row.bold for row in merged[:headers])
        if _may_be_body(merged[:headers], merged[headers:]):
            table.header_as_body = _body(merged[:headers], columns, rtl=rtl)
    return table


def _body(rows: Sequence[Row], columns: Sequence[_Column], *, rtl: bool) -> list[list[str]]:
    body: list[list[str]] = []
    for row in rows:
        _add_row(body, _place(row, columns))
    return [cells[::-1] for cells in body] if rtl else body


def _may_be_body(headers: Sequence[Row], below: Sequence[Row]) -> bool:
    """Whether what was taken for a header could be rows without figures: words over words, not one over figures."""
    data = [row for row in below if is_data(row)] or below
    values = [piece for row in headers for piece in row.pieces[1:]]
    return any(is_over_words(piece, data) for piece in values) and not any(is_over_figures(p, data) for p in values)


def _join_signs(pieces: Sequence[Piece]) -> list[Piece]:
    """Cells with `$` joined to the figure on its right, `%` and `)` to the one on its left."""
    result: list[Piece] = []
    sign: Piece | None = None
    for piece in pieces:
        if CURRENCY.fullmatch(piece.text):
            sign = piece
        elif result and TAIL.fullmatch(piece.text) and is_number(result[-1].text):
            result[-1] = _extended(result[-1], result[-1].text + piece.text, result[-1].x0, piece.x1)
        elif sign is not None:
            result.append(_extended(piece, sign.text + piece.text, sign.x0, piece.x1))
            sign = None
        else:
            result.append(piece)
    if sign is not None:
        result.append(sign)
    return result


def _extended(piece: Piece, text: str, x0: float, x1: float) -> Piece:
    return replace(piece, x0=x0, x1=x1, text=text)


def _header_rows(rows: Sequence[Row]) -> int:
    """How many leading rows are headings: those before the first row with a figure that is no year."""
    for i, row in enumerate(rows):
        if is_data(row):
            labels = i
            # A lone label right above the figures (`Current assets:`) opens the body.
            while labels > 0 and len(rows[labels - 1].pieces) == 1 and rows[labels - 1].x0 < values_start(rows):
                labels -= 1
            labels = _bold_headings(rows, labels) or labels
            return labels if labels and any(len(r.pieces) > 1 or r.x0 > row.x0 for r in rows[:labels]) else 0
    return _headings_of_words(rows)


def _bold_headings(rows: Sequence[Row], before: int) -> int:
    """How many rows at the top are the bold headings of rows in plain type that happen to hold no figures, or 0."""
    bold = next((i for i, row in enumerate(rows[:before]) if not row.bold), before)
    if not 0 < bold < before or any(piece.bold for row in rows[bold:before] for piece in row.pieces):
        return 0
    labelled = len(rows[bold].pieces) > 1 and rows[bold].x0 < values_start(rows)
    return bold if labelled and _may_be_body(rows[bold:before], rows[before:]) else 0


def _headings_of_words(rows: Sequence[Row]) -> int:
    """How many rows are the header of a table of words: the bold ones, else one and the groups above it."""
    bold = next((i for i, row in enumerate(rows) if not row.bold), 0)
    if 0 < bold <= _MAX_HEADINGS:
        return bold
    groups = 0
    while groups < min(_MAX_HEADINGS, len(rows) - 2) and _is_group_row(rows[groups], rows[groups + 1]):
        groups += 1
    return groups + 1


def _is_group_row(row: Row, below: Row) -> bool:
    """Whether a row of fewer headings leaves out the first column of the one below, and is not the end of a cell."""
    flush = all(is_flush_with_a_value(piece, below) for piece in row.pieces)
    return len(row.pieces) < len(below.pieces) and row.x0 > below.pieces[0].x1 and not flush


def _columns(body: Sequence[Row]) -> list[_Column]:
    figures = [piece for row in body for piece in row.pieces[1:] if is_number(piece.text)]
    figures += [row.pieces[0] for row in body if len(row.pieces) == 1 and is_number(row.pieces[0].text)]
    columns: list[_Column] = []
    for piece in sorted(figures, key=lambda piece: piece.width):
        flush = [column for column in columns if abs(column.x1 - piece.x1) <= 0.6 * piece.size]
        if len(flush) == 1:
            flush[0].x0, flush[0].x1 = min(flush[0].x0, piece.x0), max(flush[0].x1, piece.x1)
        else:
            _grow(columns, piece, partly=0.4)
    labels = [row.pieces[0] for row in body if not is_number(row.pieces[0].text) or len(row.pieces) > 1]
    others = [piece for row in body for piece in row.pieces[1:] if not is_number(piece.text)]
    for piece in sorted([*labels, *others], key=lambda piece: piece.width):
        _grow(columns, piece, partly=0.5)
    columns.sort(key=lambda column: column.x0)
    return _without_strays(columns, body)


def _without_strays(columns: list[_Column], body: Sequence[Row]) -> list[_Column]:
    """The columns, a rare one joined to its neighbour when no row fills both (a total's label set to the right)."""
    places = [{_column_of(piece, columns) for piece in row.pieces} for row in body]
    result: list[_Column] = []
    last: set[int] = set()  # the columns joined in result[-1]
    for i, column in enumerate(columns):
        rare = sum(i in place for place in places) <= max(1, 0.1 * len(body))
        rare = rare or sum(bool(last & place) for place in places) <= max(1, 0.1 * len(body))
        if result and rare and len(body) > 2 and not any(i in place and last & place for place in places):
            result[-1] = _Column(result[-1].x0, column.x1)
            last = {*last, i}
        else:
            result.append(_Column(column.x0, column.x1))
            last = {i}
    return result


def _grow(columns: list[_Column], piece: Piece, partly: float) -> None:
    """Widens the one column the piece lies in, or adds one; a piece over several columns changes nothing."""
    touched = [column for column in columns if column.x0 < piece.x1 and piece.x0 < column.x1]
    if not touched:
        columns.append(_Column(piece.x0, piece.x1))
        return
    if len(touched) == 1:
        column = touched[0]
        shared = min(column.x1, piece.x1) - max(column.x0, piece.x0)
        if shared >= partly * min(column.x1 - column.x0, piece.width):
            column.x0, column.x1 = min(column.x0, piece.x0), max(column.x1, piece.x1)


def _place(row: Row, columns: Sequence[_Column]) -> list[str]:
    cells = [""] * len(columns)
    for piece in row.pieces:
        i = _column_of(piece, columns)
        cells[i] = f"{cells[i]} {piece.text}".strip()
    return [_tight(cell) for cell in cells]


def _tight(cell: str) -> str:
    """`$ 1,234` and `12 %` without the space that the page leaves between sign and figure.

    Between two digits it stays: `+61 3 9226 9028` is no number of eleven digits.
    """
    return _SIGN_SPACE.sub("", cell) if is_number(cell) else cell


def _column_of(piece: Piece, columns: Sequence[_Column]) -> int:
    """Figures go where they overlap most, words where they begin; else the nearest column."""
    x0, x1 = piece.x0, piece.x1
    if not is_number(piece.text):
        for i, column in enumerate(columns):
            if column.x0 - 1 <= x0 < column.x1:
                return i
    fits = [
        (min(column.x1, x1) - max(column.x0, x0), -abs(column.x0 + column.x1 - x0 - x1), -i)
        for i, column in enumerate(columns)
    ]
    return -max(fits)[2]


def _add_row(body: list[list[str]], cells: list[str]) -> None:
    """Adds a row, or joins it to the one above when it is the second line of a wrapped label or cell."""
    if body:
        above = body[-1]
        label_wraps = cells[0][:1].islower() and (not any(above[1:]) or not any(cells[1:]))
        text_wraps = not cells[0] and any(cells) and not any(is_number(cell) for cell in cells if cell)
        if label_wraps or (text_wraps and any(above[i] and cells[i] for i in range(1, len(cells)))):
            body[-1] = [stacked(upper, lower) for upper, lower in zip(above, cells, strict=True)]
            return
    body.append(cells)


def _header(rows: Sequence[Row], columns: Sequence[_Column], rules: Sequence[Rule]) -> list[str]:
    """One heading per column: headings above it joined top to bottom, those over several columns repeated."""
    result = [""] * len(columns)
    for row in rows:
        line = [""] * len(columns)
        for i, text in _spread(row, columns, rules):
            line[i] = f"{line[i]} {text}".strip()
        result = list(map(stacked, result, line))
    return result


def _spread(row: Row, columns: Sequence[_Column], rules: Sequence[Rule]) -> Iterator[tuple[int, str]]:
    """(column, text) of each heading in the row, once for every column it stands over."""
    values = [piece for piece in row.pieces if piece.middle > columns[0].x1 or piece.x0 > columns[1].x0]
    shared = _equal_shares(values, columns)
    for piece in row.pieces:
        x0, x1 = _reach(piece, row, columns, rules)
        over = [i for i, column in enumerate(columns) if x0 < column.x1 and column.x0 < x1]
        if piece not in values:
            over = [0]
        elif shared:
            over = shared[values.index(piece)]
        elif len(over) > 1 and over[0] == 0:
            over = over[1:]
        elif len(values) == 1 and (x0, x1) == (piece.x0, piece.x1) and _is_over_all(piece, columns):
            over = list(range(1, len(columns)))
        elif not over:
            over = [min(range(len(columns)), key=lambda i: abs(columns[i].middle - piece.middle))]
        yield from ((i, piece.text) for i in over)


def _equal_shares(values: Sequence[Piece], columns: Sequence[_Column]) -> list[list[int]]:
    """The columns of each heading when each stands in the middle of as many as the others do; else empty."""
    count = len(columns) - 1
    if len(values) < 2 or count <= len(values) or count % len(values):
        return []
    each = count // len(values)
    shares = [list(range(1 + i * each, 1 + (i + 1) * each)) for i in range(len(values))]
    for piece, share in zip(values, shares, strict=True):
        x0, x1 = columns[share[0]].x0, columns[share[-1]].x1
        if abs(piece.middle - (x0 + x1) / 2) > 0.12 * (x1 - x0):
            return []
    return shares


def _is_over_all(piece: Piece, columns: Sequence[_Column]) -> bool:
    """Whether a lone heading is wider than a column and stands in the middle of all value columns."""
    x0, x1 = columns[1].x0, columns[-1].x1
    return piece.width > 1.2 * columns[-1].width and abs(piece.middle - (x0 + x1) / 2) <= 0.2 * (x1 - x0)


def _reach(piece: Piece, row: Row, columns: Sequence[_Column], rules: Sequence[Rule]) -> tuple[float, float]:
    """The stretch a heading speaks for: its text, the line drawn right below it for it alone, or its drawn box."""
    x0, x1 = piece.x0, piece.x1
    y = piece.baseline - 0.3 * piece.size
    walls = [rule.x0 for rule in rules if rule.x0 == rule.x1 and rule.y0 <= y <= rule.y1]
    left = max((wall for wall in walls if wall <= x0 + 1), default=None)
    right = min((wall for wall in walls if wall >= x1 - 1), default=None)
    if left is not None and right is not None and right - left < 0.9 * (max(walls) - min(walls)):
        boxed = [other for other in row.pieces if left <= other.middle <= right]
        if boxed == [piece] and _is_centred(piece, left, right):
            return left, right
    for rule in rules:
        below = -0.1 * piece.size <= rule.y0 - piece.baseline <= 0.7 * piece.size
        under = [other for other in row.pieces if rule.x0 <= other.middle <= rule.x1]
        alone = under == [piece] and _is_centred(piece, rule.x0, rule.x1)
        if rule.y0 == rule.y1 and below and alone and rule.x0 > columns[0].x0 + 1:
            x0, x1 = min(x0, rule.x0), max(x1, rule.x1)
    return x0, x1


def _is_centred(piece: Piece, x0: float, x1: float) -> bool:
    return abs(piece.middle - (x0 + x1) / 2) <= 0.18 * (x1 - x0)
