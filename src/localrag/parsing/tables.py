"""Rows of cells -> a Markdown table in which every row has as many cells as the header."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from localrag.parsing.sheet_header import is_number

# A longer table is cut into several under the same header, so that pages can be cut between them.
TABLE_CHARS = 4_000

_YEAR = re.compile(r"(19|20)\d{2}")

# Columns (from 0) that merged cells of a row cover, as half-open ranges.
Spans = Sequence[tuple[int, int]]


def cell(text: str) -> str:
    """The text as it may stand in a Markdown table: one line, pipes escaped."""
    return " ".join(text.split()).replace("|", "\\|")


def row_line(cells: Sequence[str], width: int) -> str:
    """One line of a Markdown table, padded with empty cells to `width`."""
    padded = [*(cell(text) for text in cells), *[""] * (width - len(cells))]
    return f"| {' | '.join(padded)} |"


def rule_line(width: int) -> str:
    """The line between header and body."""
    return f"|{' --- |' * width}"


def table_pieces(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """The table of markdown_table in pieces of about TABLE_CHARS under the same header, so that pages can be cut."""
    piece: list[Sequence[str]] = []
    chars = 0
    for row in rows[1:]:
        size = sum(len(text) for text in row)
        if piece and chars + size > TABLE_CHARS:
            yield markdown_table([rows[0], *piece])
            piece, chars = [], 0
        piece.append(row)
        chars += size
    if markdown := markdown_table([*rows[:1], *piece]):
        yield markdown


def markdown_table(rows: Sequence[Sequence[str]]) -> str:
    """A table whose header is the first row; empty rows and columns are left out; "" when nothing is left."""
    filled = [row for row in rows if any(text.strip() for text in row)]
    width = max((len(row) for row in filled), default=0)
    columns = [i for i in range(width) if any(i < len(row) and row[i].strip() for row in filled)]
    if not columns:
        return ""
    kept = [[row[i] if i < len(row) else "" for i in columns] for row in filled]
    lines = [row_line(row, len(columns)) for row in kept]
    lines.insert(1, rule_line(len(columns)))
    return "\n".join(lines)


def joined_header(rows: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Several header rows as one: the different names of a column, top down."""
    width = max(len(row) for row in rows)
    columns = ([row[i] for row in rows if i < len(row) and row[i]] for i in range(width))
    return tuple(" / ".join(dict.fromkeys(names)) for names in columns)


def header_height(rows: Sequence[Sequence[str]], spans: Sequence[Spans]) -> int:
    """How many rows are the header: the first, and below merged cells those that name the columns one by one.

    Args:
        rows: cells, the text of a merged cell in each it covers. spans: for each row, what its merged cells cover.
    """
    height = 1
    while height < len(rows) - 1 and _names_columns(rows[height - 1 : height + 2], spans[height - 1]):
        height += 1
    return height


def _names_columns(rows: Sequence[Sequence[str]], spans: Spans) -> bool:
    """Whether the second of three rows divides each group of the first into columns, and names nothing else anew.

    A text that goes on in the third row is the label of several rows of data.
    """
    above, row, below = rows
    if not spans or not len(above) == len(row) == len(below):
        return False
    if any(name and name == under for name, under in zip(row, below, strict=True)):
        return False
    for start, stop in spans:
        names = [name for name in row[start:stop] if name]
        if len(names) < stop - start or len(set(names)) < len(names):
            return False
        if any(is_number(name) and not _YEAR.fullmatch(name) for name in names):
            return False
    grouped = {column for start, stop in spans for column in range(start, stop)}
    return all(
        not over or not name or over == name
        for column, (over, name) in enumerate(zip(above, row, strict=True))
        if column not in grouped
    )
