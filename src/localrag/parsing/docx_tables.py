"""A Word table -> rows of plain cells: merged cells expanded, nested tables flattened into their cell."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from localrag.parsing.docx_styles import W
from localrag.parsing.docx_text import children
from localrag.parsing.printed_pages import AUTHORED_BREAK, RENDERED_BREAK

# A merged label is repeated in every cell it covers, so that each row can stand alone; a paragraph is not.
_LABEL_CHARS = 100
_MAX_SPAN = 1_000  # Word allows 63 columns; a damaged file may say anything

ParagraphText = Callable[[Any], str]


@dataclass(frozen=True, slots=True)
class TableRow:
    """`breaks`: page breaks in the row, as marked by docx_text, in order. `header`: repeated on each page by Word.

    spans: columns (from 0) that merged cells cover, as half-open ranges.
    """

    cells: tuple[str, ...]
    breaks: str
    header: bool
    spans_all: bool
    spans: tuple[tuple[int, int], ...] = ()


def table_rows(table: Any, text_of: ParagraphText) -> list[TableRow]:
    """The table's rows; deleted ones left out.

    Args:
        text_of: the text of one paragraph of a cell.
    """
    rows: list[TableRow] = []
    above: list[str] = []
    for row in children(table):
        if row.tag != f"{W}tr" or row.find(f"{W}trPr/{W}del") is not None:
            continue
        cells, breaks, count, spans = _cells(row, above, text_of)
        header = row.find(f"{W}trPr/{W}tblHeader") is not None
        spans_all = count == 1 < len(cells)
        rows.append(TableRow(cells=tuple(cells), breaks=breaks, header=header, spans_all=spans_all, spans=tuple(spans)))
        above = cells
    return rows


def is_layout(rows: list[TableRow]) -> bool:
    """Whether the table only frames text: one column."""
    return all(len(row.cells) <= 1 for row in rows)


def _cells(row: Any, above: list[str], text_of: ParagraphText) -> tuple[list[str], str, int, list[tuple[int, int]]]:
    """The row's texts, its page breaks, how many cells it has before merged ones are expanded, and what those cover."""
    cells = [""] * _span(row.find(f"{W}trPr/{W}gridBefore"), 0)
    spans: list[tuple[int, int]] = []
    breaks, count = "", 0
    for cell in children(row):
        if cell.tag != f"{W}tc":
            continue
        count += 1
        properties = cell.find(f"{W}tcPr")
        text, marks = _without_breaks(_cell_text(cell, text_of))
        breaks = max(breaks, marks, key=len)
        span = _span(properties.find(f"{W}gridSpan") if properties is not None else None, 1)
        merge = properties.find(f"{W}vMerge") if properties is not None else None
        if merge is not None and merge.get(f"{W}val", "continue") == "continue" and len(cells) < len(above):
            label = above[len(cells)]
            text = text or (label if len(label) <= _LABEL_CHARS else "")
        if span > 1:
            spans.append((len(cells), len(cells) + span))
        cells.append(text)
        cells.extend([text if len(text) <= _LABEL_CHARS else ""] * (span - 1))
    return cells, breaks, count, spans


def _cell_text(cell: Any, text_of: ParagraphText) -> str:
    return " ".join(text for part in _parts(cell, text_of) if (text := part.strip(" \n")))


def _parts(cell: Any, text_of: ParagraphText) -> Iterator[str]:
    for child in children(cell):
        if child.tag == f"{W}p":
            yield text_of(child)
        elif child.tag == f"{W}tbl":
            rows = (", ".join(text for text in row.cells if text) for row in table_rows(child, text_of))
            yield "; ".join(row for row in rows if row)


def _without_breaks(text: str) -> tuple[str, str]:
    marks = "".join(char for char in text if char in (RENDERED_BREAK, AUTHORED_BREAK))
    return text.replace(RENDERED_BREAK, "").replace(AUTHORED_BREAK, ""), marks


def _span(node: Any, default: int) -> int:
    return min(int(node.get(f"{W}val", default)), _MAX_SPAN) if node is not None else default
