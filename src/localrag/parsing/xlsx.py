"""Excel workbooks (xlsx, xlsm): every sheet, every row under its header, figures as the cells show them."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from itertools import repeat
from typing import Any

from localrag.errors import EmptyDocument
from localrag.parsing.malformed import unreadable
from localrag.parsing.number_format import format_date, format_number
from localrag.parsing.ooxml import open_package
from localrag.parsing.sheet import continue_down, sheet_pages
from localrag.parsing.sheet_header import Row
from localrag.parsing.source import Source
from localrag.types import Page, ParsedDocument

MEDIA_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"

_SCAN_BYTES = 1 << 20
# Long enough to hold a whole <mergeCell .../> or the end of a formula cell across two reads.
_SCAN_OVERLAP = 512
_MERGED = re.compile(rb'<(?:\w+:)?mergeCell [^>]*?ref="([A-Z]+)(\d+):([A-Z]+)(\d+)"')
_NOT_CALCULATED = re.compile(
    rb"(?:</(?:\w+:)?f>|<(?:\w+:)?f [^>]*/>)\s*(?:<(?:\w+:)?v\s*/>|<(?:\w+:)?v></(?:\w+:)?v>)?\s*</(?:\w+:)?c>"
)
# Bounds what a range merged over the whole sheet costs.
_MERGED_ROWS = 1_000


@dataclass(slots=True)
class _Scan:
    """What openpyxl does not tell while streaming a sheet.

    spans: row number -> merged ranges that start in it, as half-open columns from 0.
    down: row number -> columns in which a cell merged downwards goes on.
    not_calculated: a formula was saved without its value, as by programs that write but do not compute.
    """

    spans: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    down: dict[int, list[int]] = field(default_factory=dict)
    not_calculated: bool = False


def read(source: Source) -> ParsedDocument:
    """The workbook's sheets in order, hidden ones included and marked; chart sheets have no cells.

    Raises:
        EncryptedDocument, EmptyDocument, UnreadableDocument
    """
    with unreadable(source, "Excel workbook"):
        with open_package(source) as package:
            title = package.title()
        pages = list(_pages(source))
    if not pages:
        raise EmptyDocument(f"{source.name} has no cell with text.", path=source.name, hint="Nothing to index.")
    return ParsedDocument(media_type=MEDIA_TYPE, title=title, pages=tuple(pages))


def _pages(source: Source) -> Iterator[Page]:
    # Deferred: openpyxl takes 0.3 s to import and only this format needs it.
    import openpyxl

    values = openpyxl.load_workbook(source.path, read_only=True, data_only=True)
    formulas = None
    ordinal = 1
    with zipfile.ZipFile(source.path) as archive:
        for sheet in values.worksheets:
            scan = _scan(archive, sheet._worksheet_path)
            twin: Iterable[Any] = repeat(())
            if scan.not_calculated:
                formulas = formulas or openpyxl.load_workbook(source.path, read_only=True)
                twin = _cells(formulas[sheet.title])
            hidden = sheet.sheet_state != "visible"
            for page in sheet_pages(sheet.title, _rows(sheet, twin, scan), first_ordinal=ordinal, hidden=hidden):
                yield page
                ordinal = page.ordinal + 1


def _cells(sheet: Any) -> Iterator[tuple[Any, ...]]:
    # The size that a sheet states is often wrong (A1:A1); without it all rows that exist are read.
    sheet.reset_dimensions()
    cells: Iterator[tuple[Any, ...]] = sheet.iter_rows()
    return cells


def _rows(sheet: Any, formulas: Iterable[tuple[Any, ...]], scan: _Scan) -> Iterator[Row]:
    above: tuple[str, ...] = ()
    for number, (cells, twins) in enumerate(zip(_cells(sheet), formulas, strict=False), start=1):
        texts = [_text(cell) for cell in cells]
        for i, twin in enumerate(twins):
            if i < len(texts) and not texts[i] and twin.data_type == "f":
                texts[i] = _formula(twin.value)
        continue_down(texts, above, scan.down.get(number, ()))
        above = tuple(texts)
        yield Row(number, above, tuple(scan.spans.get(number, ())))


def _text(cell: Any) -> str:
    value = cell.value
    if value is None:
        return ""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, int | float):
        return format_number(value, cell.number_format)
    if isinstance(value, datetime | date | time | timedelta):
        return format_date(value)
    return str(value)


def _formula(value: Any) -> str:
    """The formula's own text; array formulas carry it in an attribute."""
    return str(getattr(value, "text", value) or "")


def _scan(archive: zipfile.ZipFile, part: str) -> _Scan:
    """Merged ranges and uncalculated formulas, found in one pass over the sheet's bytes."""
    scan = _Scan()
    tail = b""
    with archive.open(part) as file:
        while data := file.read(_SCAN_BYTES):
            window = tail + data
            scan.not_calculated = scan.not_calculated or bool(_NOT_CALCULATED.search(window))
            for match in _MERGED.finditer(window):
                _note_range(scan, match)
            tail = window[-_SCAN_OVERLAP:]
    return scan


def _note_range(scan: _Scan, match: re.Match[bytes]) -> None:
    left, right = (_column(letters) for letters in (match[1], match[3]))
    top, bottom = int(match[2]), int(match[4])
    if right > left:
        scan.spans.setdefault(top, []).append((left, right + 1))
    else:
        for row in range(top + 1, min(bottom, top + _MERGED_ROWS) + 1):
            scan.down.setdefault(row, []).append(left)


def _column(letters: bytes) -> int:
    index = 0
    for letter in letters:
        index = index * 26 + letter - 64
    return index - 1
