"""Rows of pieces -> tables without a grid: columns are found by where cells line up.

Most tables in filings and reports draw no cell borders: a label at the left, figures set to the right edge of their
column, `$` at its left edge, headings centred above one column or over several, underlined to show how many.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from localrag.parsing.pdf_lines import Piece, Table, is_number
from localrag.parsing.pdf_rules import Rule

_MARKER = re.compile(r"[•●▪◦‣■□∙·\uf0b7\uf0a7–-]|\(?(?:\d{1,2}|[a-zA-Z]|[ivx]{2,4})[.)]")
_CURRENCY = re.compile(r"[(]?(?:US)?[$€£¥][(]?")
_TAIL = re.compile(r"\)?%?|\)%?|pts|bps|x")
_YEAR = re.compile(r"(?:FY|Q[1-4] ?)?(?:19|20)\d\d[*†]?(?: ?\(\w\))?|Q[1-4]")
_MAX_COLUMNS = 40
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
            first = _with_headings_above(rows, start, spans[-1][1] if spans else 0, _values_start(rows[start:end]))
            spans.extend(_split_at_headers(rows, first, end))
        start = max(end, start + 1)
    return spans


def _values_start(rows: Sequence[Row]) -> float:
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
        if row.baseline - above.baseline > 3.2 * max(row.size, above.size):
            break
        if len(row.pieces) > 1:
            values = min(values, row.pieces[1].x0)
            last, lone = i, 0
            continue
        lone += 1
        if lone > _MAX_LONE or (row.x0 < values and row.x1 > values + 2 * row.size):
            break
    return _with_wrapped_label(rows, last + 1, values)


def _with_wrapped_label(rows: Sequence[Row], end: int, values: float) -> int:
    """The end moved past a last label's second line (`administrative expenses`)."""
    while end < len(rows) and len(rows[end].pieces) == 1:
        row, above = rows[end], rows[end - 1]
        close = row.baseline - above.baseline <= 1.5 * row.size
        if not (close and row.pieces[0].text[:1].islower() and row.x1 <= values):
            break
        end += 1
    return end


def _is_table(rows: Sequence[Row]) -> bool:
    several = [row for row in rows if len(row.pieces) > 1]
    figures = [row for row in several if any(is_number(piece.text) for piece in row.pieces[1:])]
    if len(figures) >= 2 and len(figures) >= 0.3 * len(several):
        return True
    if len(several) < 3 or _is_prose(several):
        return False
    edges = sorted(piece.x0 for row in several for piece in row.pieces[1:])
    aligned = max(sum(abs(edge - other) <= 3 for other in edges) for edge in edges)
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
    figures = 0
    last = start  # the last row of figures
    for i in range(start, end):
        if figures >= 2 and _is_header_like(rows[i]):
            stop = last + 1
            yield start, stop
            start = _with_headings_above(rows, i, stop, _values_start(rows[i:end]))
            figures = 0
        elif _is_data(rows[i]):
            figures += 1
            last = i
    yield start, end


def _is_header_like(row: Row) -> bool:
    """Whether all values are years or words, and at least two of them."""
    values = [piece.text for piece in row.pieces[1:]]
    if len(values) < 2 or not all(_YEAR.fullmatch(text) or not is_number(text) for text in values):
        return False
    return not any(_CURRENCY.fullmatch(text) or _TAIL.fullmatch(text) for text in values)


def _is_data(row: Row) -> bool:
    return any(is_number(piece.text) and not _YEAR.fullmatch(piece.text) for piece in row.pieces[1:])


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
    columns = _columns(merged[headers:])
    if not 2 <= len(columns) <= _MAX_COLUMNS:
        return None
    body: list[list[str]] = []
    for row in merged[headers:]:
        _add_row(body, _place(row, columns))
    header = _header(merged[:headers], columns, rules) if headers else None
    if rtl:
        header = header[::-1] if header else None
        body = [cells[::-1] for cells in body]
    return Table(header, body)


def _join_signs(pieces: Sequence[Piece]) -> list[Piece]:
    """Cells with `$` joined to the figure on its right, `%` and `)` to the one on its left."""
    result: list[Piece] = []
    sign: Piece | None = None
    for piece in pieces:
        if _CURRENCY.fullmatch(piece.text):
            sign = piece
        elif result and _TAIL.fullmatch(piece.text) and is_number(result[-1].text):
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
        if _is_data(row):
            labels = i
            # A lone label right above the figures (`Current assets:`) opens the body.
            while labels > 0 and len(rows[labels - 1].pieces) == 1 and rows[labels - 1].x0 < _values_start(rows):
                labels -= 1
            return labels if labels and any(len(r.pieces) > 1 or r.x0 > row.x0 for r in rows[:labels]) else 0
    return 1


def _columns(body: Sequence[Row]) -> list[_Column]:
    figures = [piece for row in body for piece in row.pieces[1:] if is_number(piece.text)]
    figures += [row.pieces[0] for row in body if len(row.pieces) == 1 and is_number(row.pieces[0].text)]
    columns: list[_Column] = []
    for piece in sorted(figures, key=lambda piece: piece.width):
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
    """`$ 1,234` and `12 %` without the space that the page leaves between sign and figure."""
    if not is_number(cell):
        return cell
    return cell.replace(" ", "").replace("\u00a0", "")


def _column_of(piece: Piece, columns: Sequence[_Column]) -> int:
    """Figures go where they overlap most, words where they begin; else the nearest column."""
    if not is_number(piece.text):
        for i, column in enumerate(columns):
            if column.x0 - 1 <= piece.x0 < column.x1:
                return i

    def fit(i: int) -> tuple[float, float]:
        column = columns[i]
        return min(column.x1, piece.x1) - max(column.x0, piece.x0), -abs(column.middle - piece.middle)

    return max(range(len(columns)), key=fit)


def _add_row(body: list[list[str]], cells: list[str]) -> None:
    """Adds a row, or joins it to the one above when it is the second line of a wrapped label or cell."""
    if body:
        above = body[-1]
        label_wraps = cells[0][:1].islower() and (not any(above[1:]) or not any(cells[1:]))
        text_wraps = not cells[0] and any(cells) and not any(is_number(cell) for cell in cells if cell)
        if label_wraps or (text_wraps and any(above[i] and cells[i] for i in range(1, len(cells)))):
            body[-1] = [f"{upper} {lower}".strip() for upper, lower in zip(above, cells, strict=True)]
            return
    body.append(cells)


def _header(rows: Sequence[Row], columns: Sequence[_Column], rules: Sequence[Rule]) -> list[str]:
    """One heading per column: headings above it joined top to bottom, those over several columns repeated."""
    parts: list[list[str]] = [[] for _ in columns]
    for row in rows:
        for i, text in _spread(row, columns, rules):
            parts[i].append(text)
    return [" ".join(texts) for texts in parts]


def _spread(row: Row, columns: Sequence[_Column], rules: Sequence[Rule]) -> Iterator[tuple[int, str]]:
    """(column, text) of each heading in the row, once for every column it stands over."""
    values = [piece for piece in row.pieces if piece.middle > columns[0].x1 or piece.x0 > columns[1].x0]
    for piece in row.pieces:
        x0, x1 = _reach(piece, row, rules)
        over = [i for i, column in enumerate(columns) if x0 < column.x1 and column.x0 < x1]
        if piece not in values:
            over = [0]
        elif len(over) > 1 and over[0] == 0:
            over = over[1:]
        elif len(values) == 1 and (x0, x1) == (piece.x0, piece.x1) and _is_over_all(piece, columns):
            over = list(range(1, len(columns)))
        elif not over:
            over = [min(range(len(columns)), key=lambda i: abs(columns[i].middle - piece.middle))]
        yield from ((i, piece.text) for i in over)


def _is_over_all(piece: Piece, columns: Sequence[_Column]) -> bool:
    """Whether a lone heading is wider than a column and stands in the middle of all value columns."""
    x0, x1 = columns[1].x0, columns[-1].x1
    return piece.width > 1.2 * columns[-1].width and abs(piece.middle - (x0 + x1) / 2) <= 0.2 * (x1 - x0)


def _reach(piece: Piece, row: Row, rules: Sequence[Rule]) -> tuple[float, float]:
    """The stretch a heading speaks for: its text, the line drawn right below it for it alone, or its drawn box."""
    x0, x1 = piece.x0, piece.x1
    y = piece.baseline - 0.3 * piece.size
    walls = [rule.x0 for rule in rules if rule.x0 == rule.x1 and rule.y0 <= y <= rule.y1]
    left = max((wall for wall in walls if wall <= x0 + 1), default=None)
    right = min((wall for wall in walls if wall >= x1 - 1), default=None)
    if left is not None and right is not None and right - left < 0.9 * (max(walls) - min(walls)):
        return left, right
    for rule in rules:
        below = -0.1 * piece.size <= rule.y0 - piece.baseline <= 0.7 * piece.size
        under = [other for other in row.pieces if rule.x0 <= other.middle <= rule.x1]
        if rule.y0 == rule.y1 and below and under == [piece]:
            x0, x1 = min(x0, rule.x0), max(x1, rule.x1)
    return x0, x1
