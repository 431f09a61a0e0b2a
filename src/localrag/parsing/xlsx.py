"""Excel workbooks (xlsx, xlsm): every sheet, every row under its header, figures as the cells show them."""

from __future__ import annotations

from collections.abc import Iterator

from localrag.errors import EmptyDocument
from localrag.parsing.malformed import unreadable
from localrag.parsing.ooxml import Package, open_package
from localrag.parsing.sheet import hidden_warnings, remarks_page, sheet_pages
from localrag.parsing.source import Source
from localrag.parsing.xlsx_book import Workbook
from localrag.types import Page, ParsedDocument

MEDIA_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"


def read(source: Source) -> ParsedDocument:
    """The workbook's sheets in order, hidden ones included and marked; comments and text boxes after their sheet.

    Raises:
        EncryptedDocument, EmptyDocument, UnreadableDocument, DocumentTooLarge
    """
    with unreadable(source, "Excel workbook"), open_package(source) as package:
        title = package.title()
        hidden: list[str] = []
        pages = tuple(_pages(package, hidden))
    if not pages:
        raise EmptyDocument(f"{source.name} has no cell with text.", path=source.name, hint="Nothing to index.")
    return ParsedDocument(media_type=MEDIA_TYPE, title=title, pages=pages, warnings=hidden_warnings(hidden))


def _pages(package: Package, hidden: list[str]) -> Iterator[Page]:
    """The pages of all sheets; names of hidden ones that hold any are put into `hidden`."""
    book = Workbook(package)
    ordinal = 1
    for sheet in book.sheets():
        for page in sheet_pages(sheet.name, book.rows(sheet), first_ordinal=ordinal, hidden=sheet.hidden):
            yield page
            ordinal = page.ordinal + 1
            hidden += [sheet.name] if sheet.hidden else []
        if remarks := book.remarks(sheet):
            yield remarks_page(sheet.name, remarks, ordinal=ordinal, hidden=sheet.hidden)
            ordinal += 1
