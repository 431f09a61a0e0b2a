"""OpenDocument spreadsheets (ods, ots): every sheet, every row under its header, figures as the cells show them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from lxml import etree

from localrag.errors import DocumentTooLarge, EmptyDocument
from localrag.parsing.malformed import unreadable
from localrag.parsing.odf import OFFICE, STYLE, TABLE, TEXT, OdfPackage, open_odf
from localrag.parsing.odf_styles import Styles
from localrag.parsing.odf_tables import COLUMNS_REPEATED, COLUMNS_SPANNED, ROWS_REPEATED, ROWS_SPANNED, repeated
from localrag.parsing.odf_text import TextReader, is_drawing
from localrag.parsing.printed_pages import PageCollector
from localrag.parsing.sheet import column_letter, continue_down, hidden_warnings, remarks_page, sheet_pages
from localrag.parsing.sheet_header import Row
from localrag.parsing.source import Source
from localrag.types import Page, ParsedDocument

MEDIA_TYPE = "application/vnd.oasis.opendocument.spreadsheet"

# The largest sheet that LibreOffice and Excel know; empty cells and rows are repeated up to its edge.
_MAX_ROWS = 1_048_576
_MAX_COLUMNS = 16_384
_CELL, _COVERED = f"{TABLE}table-cell", f"{TABLE}covered-table-cell"
_TABLE, _ROW, _SHAPES = f"{TABLE}table", f"{TABLE}table-row", f"{TABLE}shapes"
_STYLE, _PARAGRAPH, _COMMENT = f"{STYLE}style", f"{TEXT}p", f"{OFFICE}annotation"
_VALUES = (f"{OFFICE}string-value", f"{OFFICE}value", f"{OFFICE}date-value", f"{OFFICE}boolean-value")


def read(source: Source) -> ParsedDocument:
    """The sheets in order, hidden ones included and marked; comments and text boxes after their sheet.

    Raises:
        EncryptedDocument, EmptyDocument, UnreadableDocument, DocumentTooLarge
    """
    with unreadable(source, "OpenDocument spreadsheet"), open_odf(source) as package:
        title = package.title()
        hidden: list[str] = []
        pages = tuple(_pages(package, source, hidden))
    if not pages:
        raise EmptyDocument(f"{source.name} has no cell with text.", path=source.name, hint="Nothing to index.")
    return ParsedDocument(media_type=MEDIA_TYPE, pages=pages, title=title, warnings=hidden_warnings(hidden))


def _pages(package: OdfPackage, source: Source, hidden: list[str]) -> Iterator[Page]:
    """The pages of all sheets; names of hidden ones that hold any are put into `hidden`."""
    reader = _ContentReader(package, source)
    ordinal = 1
    for sheet in reader.sheets():
        for page in sheet_pages(sheet.name, reader.rows(sheet), first_ordinal=ordinal, hidden=sheet.hidden):
            yield page
            ordinal = page.ordinal + 1
            hidden += [sheet.name] if sheet.hidden else []
        if sheet.remarks:
            yield remarks_page(sheet.name, sheet.remarks, ordinal=ordinal, hidden=sheet.hidden)
            ordinal += 1


@dataclass(slots=True)
class _Sheet:
    name: str
    hidden: bool
    remarks: list[str] = field(default_factory=list)


class _ContentReader:
    """Reads the content once, a row at a time, so that memory stays bounded."""

    def __init__(self, package: OdfPackage, source: Source) -> None:
        self._source = source
        self._file = package.open_content()
        self._events: Iterator[tuple[str, Any]] = iter(
            etree.iterparse(
                self._file,
                events=("start", "end"),
                tag=(_TABLE, _ROW, _SHAPES, _STYLE),
                resolve_entities=False,
                no_network=True,
                load_dtd=False,
            )
        )
        self._hidden_styles: set[str] = set()
        self._text = TextReader(Styles(package.styles()), PageCollector())
        self._characters = 0

    def sheets(self) -> Iterator[_Sheet]:
        """The sheets; the rows of each are to be read before the next is asked for."""
        with self._file:
            for event, node in self._events:
                if event == "end" and node.tag == _STYLE:
                    self._note_style(node)
                elif event == "start" and node.getparent().tag == f"{OFFICE}spreadsheet":
                    hidden = node.get(f"{TABLE}style-name", "") in self._hidden_styles
                    yield _Sheet(name=node.get(f"{TABLE}name", ""), hidden=hidden)

    def rows(self, sheet: _Sheet) -> Iterator[Row]:
        """The rows of the sheet that hold text; remarks are added to the sheet on the way."""
        number, depth = 1, 1
        covered: dict[int, int] = {}  # column -> the last row that a cell above covers
        above: tuple[str, ...] = ()
        for event, node in self._events:
            if node.tag == _TABLE:
                depth += 1 if event == "start" else -1
                if depth == 0:
                    _forget(node)
                    return
            elif event == "end" and node.tag == _SHAPES:
                self._note_boxes(node, sheet)
            elif event == "end" and node.tag == _ROW and depth == 1:
                going_down = [column for column, last in covered.items() if last >= number]
                cells, spans = self._cells(node, number, sheet, covered)
                count = repeated(node, ROWS_REPEATED, _MAX_ROWS)
                continue_down(cells, above, going_down)
                above = tuple(cells)
                for at in range(number, min(number + count, _MAX_ROWS + 1) if any(cells) else number):
                    self._count(cells)
                    yield Row(at, above, spans)
                number += count
                _forget(node)

    def _cells(
        self, row: Any, number: int, sheet: _Sheet, covered: dict[int, int]
    ) -> tuple[list[str], tuple[tuple[int, int], ...]]:
        """The texts of a row and its merged ranges; what goes on in rows below is noted in `covered`."""
        cells: list[str] = []
        spans: list[tuple[int, int]] = []
        waiting = 0  # empty cells, which only count when one with text follows
        for cell in row.iterchildren(_CELL, _COVERED):
            count = repeated(cell, COLUMNS_REPEATED, _MAX_COLUMNS)
            column = len(cells) + waiting
            text = "" if cell.tag == _COVERED else self._cell_text(cell, column, number, sheet)
            columns = repeated(cell, COLUMNS_SPANNED, _MAX_COLUMNS)
            rows = repeated(cell, ROWS_SPANNED, _MAX_ROWS)
            if columns > 1:
                spans.append((column, column + columns))
            elif rows > 1:
                covered[column] = number + rows - 1
            if text and column + count <= _MAX_COLUMNS:
                cells.extend([*[""] * waiting, *[text] * count])
                waiting = 0
            else:
                waiting += count
        return cells, tuple(spans)

    def _cell_text(self, cell: Any, column: int, number: int, sheet: _Sheet) -> str:
        """The cell as shown, its value where it shows none; what hangs on it is added to the sheet's remarks."""
        lines: list[str] = []
        for node in cell:
            if node.tag == _PARAGRAPH:
                # Nearly all cells are plain: one paragraph without anything in it.
                line = self._text.paragraph_text(node) if len(node) else (node.text or "").strip()
                if line:
                    lines.append(line)
            elif node.tag == _COMMENT:
                if text := self._text.plain(node):
                    sheet.remarks.append(f"{column_letter(column)}{number}: {text}")
            elif is_drawing(node):
                self._note_boxes(node, sheet)
        return " ".join(lines) or next((value for name in _VALUES if (value := cell.get(name))), "")

    def _note_boxes(self, node: Any, sheet: _Sheet) -> None:
        if text := self._text.plain(node):
            sheet.remarks.append(text)

    def _note_style(self, node: Any) -> None:
        if node.get(f"{STYLE}family") == "table" and any(
            properties.get(f"{TABLE}display") == "false" for properties in node.iter(f"{STYLE}table-properties")
        ):
            self._hidden_styles.add(node.get(f"{STYLE}name", ""))
        node.clear()

    def _count(self, cells: list[str]) -> None:
        self._characters += sum(len(text) for text in cells)
        if self._characters > self._source.limits.output_chars:
            raise DocumentTooLarge(
                f"{self._source.name} holds more than {self._source.limits.output_chars:,} characters of text.",
                path=self._source.name,
                hint="Split it into smaller files.",
            )


def _forget(node: Any) -> None:
    """Empties an element and drops those before it, which would add up to a tree of the whole content."""
    node.clear()
    while node.getprevious() is not None:
        del node.getparent()[0]
