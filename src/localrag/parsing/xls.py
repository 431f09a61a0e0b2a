"""Old Excel workbooks (xls, Excel 2.0 to 2003): same pages as for xlsx."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import olefile

from localrag.errors import DocumentError, EmptyDocument, EncryptedDocument
from localrag.parsing.excel_values import shown_date
from localrag.parsing.malformed import unreadable
from localrag.parsing.number_format import format_number
from localrag.parsing.sheet import continue_down, hidden_warnings, sheet_pages
from localrag.parsing.sheet_header import Row
from localrag.parsing.source import Source
from localrag.types import Page, ParsedDocument

MEDIA_TYPE = "application/vnd.ms-excel"


def read(source: Source) -> ParsedDocument:
    """The workbook's sheets in order, hidden ones included and marked.

    Raises:
        EncryptedDocument, EmptyDocument, UnreadableDocument
    """
    # Deferred: only this format needs it.
    import xlrd

    with unreadable(source, "Excel workbook"):
        try:
            book = _open(source, xlrd)
        except xlrd.XLRDError as error:
            if "encrypted" in str(error):
                raise _encrypted(source) from error
            raise
        hidden: list[str] = []
        pages = list(_pages(book, xlrd, hidden))
    if not pages:
        raise EmptyDocument(f"{source.name} has no cell with text.", path=source.name, hint="Nothing to index.")
    return ParsedDocument(media_type=MEDIA_TYPE, pages=tuple(pages), warnings=hidden_warnings(hidden))


def _encrypted(source: Source) -> DocumentError:
    return EncryptedDocument(
        f"{source.name} is protected with a password.",
        path=source.name,
        hint="Save a copy without the password and add that.",
    )


def _open(source: Source, xlrd: Any) -> Any:
    # xlrd prints its complaints; the child's output is not for it. Formatting gives number formats and merged cells.
    log = io.StringIO()
    book = _book_stream(source)
    return xlrd.open_workbook(source.path, file_contents=book, formatting_info=True, on_demand=True, logfile=log)


def _book_stream(source: Source) -> bytes | None:
    """The workbook inside its OLE container, None for Excel 2 to 4, which had none.

    xlrd follows a chain of sectors that leads back to itself for ever; olefile notices.
    """
    with source.path.open("rb") as file:
        if file.read(len(olefile.MAGIC)) != olefile.MAGIC:
            return None
    with olefile.OleFileIO(source.path) as ole:
        name = next(name for name in ("Workbook", "Book") if ole.exists(name))
        return bytes(ole.openstream(name).read())


def _pages(book: Any, xlrd: Any, hidden: list[str]) -> Iterator[Page]:
    """The pages of all sheets; names of hidden ones that hold any are put into `hidden`."""
    ordinal = 1
    for index in range(book.nsheets):
        sheet = book.sheet_by_index(index)
        rows = _rows(book, sheet, xlrd)
        for page in sheet_pages(sheet.name, rows, first_ordinal=ordinal, hidden=sheet.visibility != 0):
            yield page
            ordinal = page.ordinal + 1
            hidden += [sheet.name] if sheet.visibility != 0 else []
        book.unload_sheet(index)


def _rows(book: Any, sheet: Any, xlrd: Any) -> Iterator[Row]:
    spans: dict[int, list[tuple[int, int]]] = {}
    down: dict[int, list[int]] = {}
    for top, bottom, left, right in sheet.merged_cells:
        if right - left > 1:
            spans.setdefault(top, []).append((left, right))
        else:
            for number in range(top + 1, min(bottom, sheet.nrows)):
                down.setdefault(number, []).append(left)
    above: tuple[str, ...] = ()
    for number in range(sheet.nrows):
        texts = [_text(book, cell, xlrd) for cell in sheet.row(number)]
        continue_down(texts, above, down.get(number, ()))
        above = tuple(texts)
        yield Row(number + 1, above, tuple(spans.get(number, ())))


def _text(book: Any, cell: Any, xlrd: Any) -> str:
    kind, value = cell.ctype, cell.value
    if kind == xlrd.XL_CELL_TEXT:
        return str(value).strip()
    if kind == xlrd.XL_CELL_NUMBER:
        return format_number(value, _format_code(book, cell))
    if kind == xlrd.XL_CELL_DATE:
        return shown_date(value, _format_code(book, cell), since_1904=book.datemode == 1)
    if kind == xlrd.XL_CELL_BOOLEAN:
        return "TRUE" if value else "FALSE"
    if kind == xlrd.XL_CELL_ERROR:
        return str(xlrd.error_text_from_code.get(value, "#ERR!"))
    return ""


def _format_code(book: Any, cell: Any) -> str:
    if cell.xf_index is None or cell.xf_index >= len(book.xf_list):
        return "General"
    found = book.format_map.get(book.xf_list[cell.xf_index].format_key)
    return str(found.format_str) if found else "General"
