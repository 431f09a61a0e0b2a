"""Stored pages -> whole tables: a sheet that was cut into pages is one table again, every cell under its name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from localrag.types import Page

_RULE = re.compile(r"\|?[\s:|-]*-[\s:|-]*\|?")
_BORDER = re.compile(r"(?<!\\)\|")
_PLACE = re.compile(r"(?:(?P<group>.+), )?rows? (?P<first>\d+)(?:-(?P<last>\d+))?")
_RECORD = re.compile(r"Row \d+")
_FIELD = re.compile(r"- (.+?): (.*)")

# A column is known by its name and which of the columns of that name it is; one without a name by the named column
# that it follows, since parsers leave unnamed columns out of pages where they are empty.
_Key: TypeAlias = tuple[str, int, int]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a row stands: the page's ordinal and half-open offsets in its Markdown."""

    page: int
    start: int
    end: int


@dataclass(slots=True)
class RawTable:
    """A table as it is shown: `cells[column][row]`, "" where a cell is empty, and where each row stands.

    group: the part of the document that it is in, such as `sheet Q3`; empty where the document is the table.
    letters: its columns had no names and were given letters or numbers.
    """

    group: str
    names: list[str] = field(default_factory=list)
    cells: list[list[str]] = field(default_factory=list)
    places: list[Place] = field(default_factory=list)
    _keys: dict[_Key, int] = field(default_factory=dict)

    def add(self, piece: _Piece) -> None:
        """Appends the rows of a piece; columns that were not seen before are empty above."""
        for row, keys, place in piece.rows:
            for key, text in zip(keys, row, strict=False):
                column = self._keys.get(key)
                if column is None:
                    column = self._keys[key] = len(self.names)
                    self.names.append(key[0])
                    self.cells.append([])
                texts = self.cells[column]
                if len(texts) < len(self.places):
                    texts.extend([""] * (len(self.places) - len(texts)))
                texts.append(text)
            self.places.append(place)

    def finish(self) -> None:
        """Makes all columns equally long."""
        for texts in self.cells:
            texts.extend([""] * (len(self.places) - len(texts)))


@dataclass(slots=True)
class _Piece:
    """A table as it stands on one page. `opens` and `ends`: no other text stands before or after it there."""

    keys: list[_Key]
    rows: list[tuple[Sequence[str], Sequence[_Key], Place]]
    opens: bool
    ends: bool = True
    record: bool = False


def read_tables(pages: Iterable[Page]) -> list[RawTable]:
    """The tables of a document in order. One that goes on over the end of a page is one table."""
    tables: list[RawTable] = []
    last: _Piece | None = None
    last_page = 0
    for page in pages:
        group = _group(page.label)
        for piece in _pieces(page):
            goes_on = (
                last is not None
                and last.ends
                and piece.opens
                and page.ordinal == last_page + 1
                and tables[-1].group == group
                and _same_columns(last, piece)
            )
            if not goes_on:
                tables.append(RawTable(group))
            tables[-1].add(piece)
            last, last_page = piece, page.ordinal
    for table in tables:
        table.finish()
    return [table for table in tables if table.places]


def rows_of(label: str | None) -> tuple[int, int] | None:
    """The first and last row that a page's label names."""
    found = _PLACE.fullmatch(label or "")
    if found is None:
        return None
    first = int(found["first"])
    return first, int(found["last"] or first)


def split_row(line: str) -> list[str]:
    """The cells of a line `| a | b |`."""
    inner = line.strip().removeprefix("|").removesuffix("|")
    if "\\|" in line:
        return [cell.strip().replace("\\|", "|") for cell in _BORDER.split(inner)]
    return [cell.strip() for cell in inner.split("|")]


def _group(label: str | None) -> str:
    found = _PLACE.fullmatch(label or "")
    return (found["group"] or "") if found else label or ""


def _same_columns(one: _Piece, other: _Piece) -> bool:
    if one.record or other.record:  # a record names only the columns in which its row holds something
        return True
    return [key for key in one.keys if key[0]] == [key for key in other.keys if key[0]]


def _pieces(page: Page) -> Iterator[_Piece]:
    lines = list(_lines(page.markdown))
    piece: _Piece | None = None
    clean = True  # nothing but headings so far
    at = 0
    while at < len(lines):
        line = lines[at][1]
        if line.startswith("|") and at + 1 < len(lines) and _is_rule(lines[at + 1][1]):
            if piece:
                yield piece
            piece = _Piece(_keys(split_row(line)), [], opens=clean)
            at, clean = _table(lines, at + 2, piece, page.ordinal), False
            continue
        if _RECORD.fullmatch(line):
            if piece and not piece.record:
                yield piece
                piece = None
            piece = piece or _Piece([], [], opens=clean, record=True)
            at, clean = _record(lines, at, piece, page.ordinal), False
            continue
        if line.strip() and not (line.startswith("#") and clean):
            clean = False
            if piece:
                piece.ends = False
                yield piece
                piece = None
        at += 1
    if piece:
        yield piece


def _table(lines: Sequence[tuple[int, str]], at: int, piece: _Piece, ordinal: int) -> int:
    """Reads rows from line `at` on; returns the line that follows them."""
    while at < len(lines) and lines[at][1].startswith("|"):
        start, line = lines[at]
        row = split_row(line)
        piece.rows.append((row, piece.keys, Place(ordinal, start, start + len(line))))
        at += 1
    return at


def _record(lines: Sequence[tuple[int, str]], at: int, piece: _Piece, ordinal: int) -> int:
    """Reads a row that is written as a list of `- name: value`; returns the line that follows it."""
    start, line = lines[at]
    end, names, row = start + len(line), [], []
    at += 1
    while at < len(lines) and (not lines[at][1] or lines[at][1].startswith("- ")):
        if found := _FIELD.fullmatch(lines[at][1]):
            names.append(found[1])
            row.append(found[2])
            end = lines[at][0] + len(lines[at][1])
        at += 1
    piece.rows.append((row, _keys(names), Place(ordinal, start, end)))
    return at


def _keys(names: Sequence[str]) -> list[_Key]:
    seen: dict[str, int] = {}
    keys: list[_Key] = []
    gap = position = 0
    for name in names:
        if name:
            seen[name] = seen.get(name, 0) + 1
            keys.append((name, seen[name], 0))
            gap, position = gap + 1, 0
        else:
            position += 1
            keys.append(("", gap, position))
    return keys


def _is_rule(line: str) -> bool:
    return line.startswith("|") and bool(_RULE.fullmatch(line.strip()))


def _lines(text: str) -> Iterator[tuple[int, str]]:
    at = 0
    for line in text.split("\n"):
        yield at, line
        at += len(line) + 1
