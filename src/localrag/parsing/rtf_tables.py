"""Cells and rows of a rich text -> rows of plain text, merged cells expanded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from localrag.parsing.tables import table_pieces

# A merged label is repeated in every cell it covers, so that each row can stand alone; a paragraph is not.
_LABEL_CHARS = 100


@dataclass(slots=True)
class RtfTable:
    """The table being read. A row's cells may be defined before or after their text; `end_row` wants both."""

    rows: list[list[str]] = field(default_factory=list)
    _cells: list[str] = field(default_factory=list)
    _texts: list[str] = field(default_factory=list)  # paragraphs of the cell being read
    _merges: list[str] = field(default_factory=list)  # of the cells of the row: "", "above" or "left"
    _merge: str = ""

    @property
    def is_open(self) -> bool:
        """Whether a row has begun and not ended."""
        return bool(self._cells or self._texts)

    def define(self, word: str) -> None:
        """Takes in a word that describes the cells of the row."""
        if word == "trowd":
            self._merges, self._merge = [], ""
        elif word in ("clvmrg", "clmrg"):
            self._merge = "above" if word == "clvmrg" else "left"
        elif word == "cellx":
            self._merges.append(self._merge)
            self._merge = ""

    def add_text(self, text: str) -> None:
        """Adds a paragraph to the cell."""
        if text:
            self._texts.append(text)

    def end_cell(self) -> None:
        """Ends the cell."""
        self._cells.append(" ".join(" ".join(self._texts).split()))
        self._texts = []

    def end_row(self) -> None:
        """Ends the row: cells merged with the one above or left of them get its label."""
        above = self.rows[-1] if self.rows else []
        for at, merge in enumerate(self._merges[: len(self._cells)]):
            if merge and not self._cells[at]:
                source = above[at : at + 1] if merge == "above" else self._cells[max(at - 1, 0) : at]
                self._cells[at] = next((text for text in source if len(text) <= _LABEL_CHARS), "")
        if self._cells:
            self.rows.append(self._cells)
        self._cells = []

    def take(self) -> Iterator[str]:
        """The table as Markdown blocks, and after it what was begun and never ended; the table is empty then."""
        rows, rest = self.rows, [*self._cells, " ".join(self._texts)]
        self.rows, self._cells, self._texts = [], [], []
        yield from _blocks(rows)
        yield from (text for text in rest if text)


def _blocks(rows: Sequence[list[str]]) -> Iterator[str]:
    """A table of one column only frames text; first rows of one cell are titles of what is below."""
    width = max((len(row) for row in rows), default=0)
    start = 0
    while start < len(rows) and (width == 1 or (len(rows[start]) == 1 and start + 1 < len(rows))):
        yield from filter(None, rows[start])
        start += 1
    if start < len(rows):
        yield from table_pieces(rows[start:])
