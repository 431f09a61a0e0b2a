"""A table in an OpenDocument text or slide -> rows of plain cells, merged cells expanded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from localrag.parsing.odf import TABLE, TEXT, whole_number
from localrag.parsing.tables import joined_header

# A merged label is repeated in every cell it covers, so that each row can stand alone; a paragraph is not.
_LABEL_CHARS = 100
_MAX_REPEATED = 1_000  # a damaged file may say anything
COLUMNS_REPEATED, ROWS_REPEATED, COLUMNS_SPANNED, ROWS_SPANNED = (
    f"{TABLE}number-{name}" for name in ("columns-repeated", "rows-repeated", "columns-spanned", "rows-spanned")
)
_GROUPS = (f"{TABLE}table-rows", f"{TABLE}table-row-group", f"{TABLE}table-header-rows")


@dataclass(slots=True)
class TextTable:
    """titles: first rows whose one cell spans all columns. pieces: the rows below the header, cut at page breaks."""

    titles: list[str] = field(default_factory=list)
    header: tuple[str, ...] = ()
    pieces: list[list[list[str]]] = field(default_factory=lambda: [[]])
    cells: list[Any] = field(default_factory=list)
    is_layout: bool = False


@dataclass(slots=True)
class _Row:
    """`cells` is empty for a page break."""

    cells: list[str]
    is_header: bool = False
    spans_all: bool = False


def text_table(node: Any, text_of: Callable[[Any], str]) -> TextTable:
    """The table; one of a single column only frames text, which is left to the caller as `cells`.

    Args:
        text_of: the text of one cell.
    """
    if _width(node) <= 1:
        return TextTable(cells=[cell for row in node.iter(f"{TABLE}table-row") for cell in row], is_layout=True)
    rows = list(_Rows(text_of).read(node, is_header=False))
    while rows and not rows[0].cells:
        rows.pop(0)
    table = TextTable()
    if not rows:
        return table
    while len(rows) > 1 and rows[0].spans_all:
        table.titles.append(rows.pop(0).cells[0])
    heads = max(1, next((i for i, row in enumerate(rows) if not row.is_header), len(rows)))
    table.header = joined_header([row.cells for row in rows[:heads]])
    for row in rows[heads:]:
        if row.cells:
            table.pieces[-1].append(row.cells[:1] if row.spans_all else row.cells)
        elif table.pieces[-1]:
            table.pieces.append([])
    return table


def _width(table: Any) -> int:
    """The number of columns of the widest row."""
    rows = table.iter(f"{TABLE}table-row")
    return max((sum(repeated(cell, COLUMNS_REPEATED) for cell in _cells(row)) for row in rows), default=0)


def _cells(row: Any) -> Iterator[Any]:
    yield from row.iterchildren(f"{TABLE}table-cell", f"{TABLE}covered-table-cell")


def repeated(node: Any, attribute: str, limit: int = _MAX_REPEATED) -> int:
    """A count in an attribute, from 1 to the limit; 1 when the node lacks it, as most do."""
    return 1 if node.get(attribute) is None else min(max(whole_number(node, attribute, 1), 1), limit)


class _Rows:
    def __init__(self, text_of: Callable[[Any], str]) -> None:
        self._text_of = text_of
        self._covered: dict[tuple[int, int], str] = {}  # row and column -> label of the cell that covers them
        self._number = 0

    def read(self, node: Any, *, is_header: bool) -> Iterator[_Row]:
        for child in node:
            if child.tag in _GROUPS:
                yield from self.read(child, is_header=is_header or child.tag == f"{TABLE}table-header-rows")
            elif child.tag == f"{TEXT}soft-page-break":
                yield _Row([])
            elif child.tag == f"{TABLE}table-row":
                yield from self._row(child, is_header)

    def _row(self, node: Any, is_header: bool) -> Iterator[_Row]:
        if not is_header and node.find(f"{TEXT}soft-page-break") is not None:
            yield _Row([])
        cells: list[str] = []
        spanning = 0
        for cell in _cells(node):
            text = self._text_of(cell)
            columns = repeated(cell, COLUMNS_SPANNED)
            spanning = max(spanning, columns)
            if cell.tag == f"{TABLE}covered-table-cell":
                text = text or self._covered.get((self._number, len(cells)), "")
            elif len(text) <= _LABEL_CHARS:
                self._cover(text, len(cells), columns, repeated(cell, ROWS_SPANNED))
            cells.extend([text] * repeated(cell, COLUMNS_REPEATED))
        for _ in range(repeated(node, ROWS_REPEATED) if any(cells) else 1):
            self._number += 1
            if any(cells):
                yield _Row(cells, is_header, spans_all=spanning == len(cells) > 1)

    def _cover(self, text: str, column: int, columns: int, rows: int) -> None:
        for row in range(rows):
            for at in range(columns if columns * rows <= _MAX_REPEATED else 0):
                self._covered[self._number + row, column + at] = text
