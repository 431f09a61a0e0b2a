"""The rows of a sheet -> pages in which every row stands under its header.

A sheet is read as bands: rows without an empty row between them. A band may open with title lines, may bring a
header of its own, and otherwise continues the table above it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from localrag.parsing.sheet_header import LOOKAHEAD, Header, Row, find_header
from localrag.parsing.tables import row_line, rule_line
from localrag.types import Page

# About 750 tokens: a few chunks a page, so that a cited row range is short enough to look through.
PAGE_CHARS = 3_000
# A header and a row must fit one chunk (at most 512 tokens, about 1,500 characters of mixed text) together.
WIDE_ROW_CHARS = 1_200
# A lone first cell this long is a footnote; row labels and section titles are shorter.
_NOTE_CHARS = 60
# A label merged downwards is repeated in each row it covers; a paragraph merged to get room is not.
_LABEL_CHARS = 100


@dataclass(frozen=True, slots=True)
class Block:
    """Rows `first` to `last` (physical numbers) as Markdown, each under its header."""

    first: int
    last: int
    markdown: str


def sheet_pages(name: str, rows: Iterable[Row], *, first_ordinal: int, hidden: bool = False) -> Iterator[Page]:
    """Pages labelled `sheet NAME, rows 2-40`; none when no cell holds text."""
    heading = _heading(name, hidden)
    for ordinal, block in enumerate(row_blocks(rows), start=first_ordinal):
        place = f"rows {block.first}-{block.last}" if block.last > block.first else f"row {block.first}"
        yield Page(ordinal=ordinal, label=f"sheet {heading}, {place}", markdown=f"## {heading}\n\n{block.markdown}")


def remarks_page(name: str, remarks: Sequence[str], *, ordinal: int, hidden: bool = False) -> Page:
    """One page for what hangs on a sheet's cells, such as comments, labelled `sheet NAME, comments`."""
    heading = _heading(name, hidden)
    items = "\n".join(f"- {remark}" for remark in remarks)
    return Page(ordinal=ordinal, label=f"sheet {heading}, comments", markdown=f"## {heading}\n\n{items}")


def hidden_warnings(names: Iterable[str]) -> tuple[str, ...]:
    """One warning for all hidden sheets that were read, none when there are none."""
    shown = ", ".join(" ".join(name.split()) for name in dict.fromkeys(names))
    return (f"Hidden sheets were read too: {shown}.",) if shown else ()


def _heading(name: str, hidden: bool) -> str:
    return " ".join(name.split()) + (" (hidden)" if hidden else "")


def row_blocks(rows: Iterable[Row]) -> Iterator[Block]:
    """The rows in blocks of about PAGE_CHARS. `rows` is read once and a block at a time, so memory stays bounded."""
    builder = _BlockBuilder()
    header: Header | None = None
    header_rows = 0
    in_table = False
    previous = 0
    for row, window in _with_window(rows):
        if header_rows:
            header_rows -= 1
            builder.cover(row)
            previous = row.number
            continue
        in_table = in_table and row.number == previous + 1 and not _is_note(row)
        previous = row.number
        if not in_table and not _is_line(list(window), header):
            in_table = True
            if found := find_header(list(window), header):
                header, header_rows = found, found.rows - 1
                builder.begin_table(row, header)
                continue
        yield from builder.add_row(row, header) if in_table else builder.add_line(row)
    yield from builder.flush()


def continue_down(texts: list[str], above: Sequence[str], columns: Iterable[int]) -> None:
    """Gives a label merged over several rows to this row too, so that the row can stand alone.

    Args:
        texts: the cells of the row, changed in place; an empty row stays empty.
        above: the cells of the row above. columns: where a cell merged downwards goes on in this row.
    """
    if not any(texts):
        return
    for column in columns:
        if column < len(above) and len(above[column]) <= _LABEL_CHARS:
            texts.extend([""] * (column + 1 - len(texts)))
            texts[column] = texts[column] or above[column]


def column_letter(index: int) -> str:
    """A for 0, Z for 25, AA for 26."""
    letters = ""
    index += 1
    while index:
        index, rest = divmod(index - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters


def _with_window(rows: Iterable[Row]) -> Iterator[tuple[Row, deque[Row]]]:
    """Each row that is not empty, with itself and the rows that follow it."""
    window: deque[Row] = deque()
    for row in rows:
        if row.filled:
            window.append(row)
        if len(window) == LOOKAHEAD:
            yield window[0], window
            window.popleft()
    while window:
        yield window[0], window
        window.popleft()


def _is_line(window: list[Row], header: Header | None) -> bool:
    """Whether the first row, outside a table, is a line of text (a title, a note): one cell, at the left.

    A short one right above rows that go on with the table is the title of a section of that table.
    """
    left = min(row.filled[0] for row in window)
    table = next((i for i, row in enumerate(window) if row.filled != (left,)), None)
    if table == 0:
        return False
    if table is None or header is None or _is_note(window[0]):
        return True
    adjoining = window[table].number - window[0].number == table
    return not adjoining or find_header(window[table:], header) is not None


def _is_note(row: Row) -> bool:
    """Whether a row inside a table is a remark on it: one long cell at the left."""
    return len(row.filled) == 1 and row.filled[0] <= 1 and len(row.cells[row.filled[0]]) > _NOTE_CHARS


@dataclass(slots=True)
class _Part:
    """Consecutive rows of one table, or lines of text where `lines` is not empty."""

    header: Header | None = None
    rows: list[Row] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)


class _BlockBuilder:
    """Collects rows and hands out a Block whenever PAGE_CHARS are full."""

    def __init__(self) -> None:
        self._parts: list[_Part] = []
        self._chars = 0
        self._first: int | None = None
        self._last = 0

    def begin_table(self, row: Row, header: Header) -> None:
        """Opens a table at its first header row, so that a header without rows is kept too."""
        self._open(header)
        self.cover(row)

    def cover(self, row: Row) -> None:
        """Counts a row to the block."""
        self._first = row.number if self._first is None else self._first
        self._last = row.number

    def add_line(self, row: Row) -> Iterator[Block]:
        """Adds a line of text."""
        text = " ".join(row.cells[row.filled[0]].split())
        yield from self._make_room(len(text))
        if not self._parts or not self._parts[-1].lines:
            self._parts.append(_Part())
        self._parts[-1].lines.append(text)
        self.cover(row)

    def add_row(self, row: Row, header: Header | None) -> Iterator[Block]:
        """Adds a row of a table."""
        yield from self._make_room(sum(len(text) + 3 for text in row.cells if text))
        if not self._parts or self._parts[-1].lines or self._parts[-1].header is not header:
            self._open(header)
        self._parts[-1].rows.append(row)
        self.cover(row)

    def flush(self) -> Iterator[Block]:
        """The block collected so far, if it holds anything."""
        if self._parts and self._first is not None:
            markdown = "\n\n".join(_render(part) for part in self._parts)
            yield Block(first=self._first, last=self._last, markdown=markdown)
        self._parts, self._chars, self._first = [], 0, None

    def _open(self, header: Header | None) -> None:
        self._parts.append(_Part(header=header))
        self._chars += sum(len(name) + 3 for name in header.names.values()) if header else 0

    def _make_room(self, chars: int) -> Iterator[Block]:
        if self._chars + chars > PAGE_CHARS and any(part.lines or part.rows for part in self._parts):
            yield from self.flush()
        self._chars += chars


def _render(part: _Part) -> str:
    if part.lines:
        return "\n\n".join(part.lines)
    names = part.header.names if part.header else {}
    columns = sorted(set(names).union(*(row.filled for row in part.rows)))
    # Letters name the columns where the sheet does not.
    titles = [names.get(i, "" if names else column_letter(i)) for i in columns]
    header = row_line(titles, len(columns))
    lines = [row_line([_at(row, i) for i in columns], len(columns)) for row in part.rows]
    if len(header) + max((len(line) for line in lines), default=0) > WIDE_ROW_CHARS:
        return "\n\n".join(_record(row, names) for row in part.rows) or header
    return "\n".join([header, rule_line(len(columns)), *lines])


def _record(row: Row, names: dict[int, str]) -> str:
    """A row too wide for a table line: a list of `name: value`, empty cells left out."""
    lines = [f"- {names.get(i, f'column {column_letter(i)}')}: {' '.join(row.cells[i].split())}" for i in row.filled]
    return "\n".join([f"Row {row.number}", "", *lines])


def _at(row: Row, column: int) -> str:
    return row.cells[column] if column < len(row.cells) else ""
