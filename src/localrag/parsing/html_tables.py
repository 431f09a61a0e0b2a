"""A <table> -> rows of cells in which every cell stands under its header, spans given back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from localrag.parsing.tables import row_line, rule_line

_MAX_SPAN = 200  # columns; browsers allow 1,000, real tables stay below 60
_MAX_CELLS = 200_000  # after spans are given back


@dataclass(slots=True)
class _Cell:
    text: str
    heading: bool


def own_rows(table: Any) -> Iterator[Any]:
    """The table's rows, those of tables inside it left out."""
    for child in table:
        if child.tag == "tr":
            yield child
        elif child.tag in ("thead", "tbody", "tfoot"):
            yield from (row for row in child if row.tag == "tr")


def is_layout(table: Any) -> bool:
    """Whether the table only places things on the page: then its cells are read one after the other."""
    if table.get("role") in ("presentation", "none"):
        return True
    rows = [[cell for cell in row if cell.tag in ("td", "th")] for row in own_rows(table)]
    if max((sum(map(_holds_anything, row)) for row in rows), default=0) < 2:
        return True
    if any(cell.tag == "th" for row in rows for cell in row):
        return False
    blocks = ("table", "h1", "h2", "h3", "h4", "p", "ul", "ol", "pre")
    heavy = sum(1 for row in rows for cell in row if sum(1 for _ in cell.iter(*blocks)) > 2)
    return heavy > 0 and len(rows) <= 3


def _holds_anything(cell: Any) -> bool:
    """Whether the cell is more than a spacer."""
    return any(text.strip() for text in cell.itertext()) or next(cell.iter("img"), None) is not None


def table_markdown(table: Any, cell_text: Callable[[Any], str]) -> str:
    """The caption, then the table; "" when no cell holds text."""
    rows, headings = _expanded(table, cell_text)
    kept = [row for row in rows[headings:] if any(cell.text for cell in row)]
    header = [_joined(column) for column in zip(*rows[:headings], strict=True)] if headings else []
    width = len(header) or max((len(row) for row in kept), default=0)
    columns = [i for i in range(width) if (header and header[i]) or any(row[i].text for row in kept)]
    if not columns:
        return ""
    body = [[row[i].text for i in columns] for row in kept]
    lines = [row_line([header[i] for i in columns] if header else [], len(columns)), rule_line(len(columns))]
    lines += [row_line(row, len(columns)) for row in body]
    caption = next((cell_text(child) for child in table if child.tag == "caption"), "")
    text = "\n".join(lines)
    return f"{caption}\n\n{text}" if caption else text


def _joined(column: tuple[_Cell, ...]) -> str:
    return " ".join(dict.fromkeys(cell.text for cell in column if cell.text))


def _expanded(table: Any, cell_text: Callable[[Any], str]) -> tuple[list[list[_Cell]], int]:
    """Rows of equal length and how many of them are headings.

    A cell over several rows is repeated in each; one over several columns only among headings.
    """
    rows: list[list[_Cell]] = []
    below: dict[int, tuple[int, _Cell]] = {}  # column -> (rows still to fill, cell)
    headings = 0
    total = 0
    for element in own_rows(table):
        row, below = _expanded_row(element, below, cell_text)
        total += len(row)
        if total > _MAX_CELLS:
            below = {}
        marked = element.getparent().tag == "thead" or (row and all(cell.heading or not cell.text for cell in row))
        if headings == len(rows) and marked and any(cell.text for cell in row):
            headings += 1
        rows.append(row)
    width = max(map(len, rows), default=0)
    for row in rows:
        row += [_Cell("", False) for _ in range(width - len(row))]
    if not headings and rows and not any(row[0].heading for row in rows if row):
        headings = 1
    return rows, min(headings, len(rows))


def _expanded_row(
    element: Any, above: dict[int, tuple[int, _Cell]], cell_text: Callable[[Any], str]
) -> tuple[list[_Cell], dict[int, tuple[int, _Cell]]]:
    row: list[_Cell] = []
    below: dict[int, tuple[int, _Cell]] = {}

    def fill_from_above() -> None:
        while len(row) in above:
            left, cell = above[len(row)]
            if left > 1:
                below[len(row)] = (left - 1, cell)
            row.append(cell)

    for cell_element in element:
        if cell_element.tag not in ("td", "th"):
            continue
        fill_from_above()
        cell = _Cell(cell_text(cell_element), cell_element.tag == "th")
        repeated = cell if cell.heading or element.getparent().tag == "thead" else _Cell("", False)
        for i in range(_span(cell_element, "colspan", _MAX_SPAN)):
            part = cell if i == 0 else repeated
            down = _span(cell_element, "rowspan", 65_534)
            if down > 1:
                below[len(row)] = (down - 1, part)
            row.append(part)
    fill_from_above()
    return row, below


def _span(cell: Any, name: str, most: int) -> int:
    value = (cell.get(name) or "1").strip()
    return min(max(int(value), 1), most) if value.isascii() and value.isdigit() and len(value) < 7 else 1
