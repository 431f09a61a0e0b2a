"""A CSV, TSV or semicolon file -> pages of rows, every row under its header.

Rows are records as a spreadsheet numbers them: the header is row 1, an empty line counts, a quoted line break does not.
Narrow rows stand in Markdown tables whose header is repeated on each page. Where header and row together are too long
for one chunk, each row is a list of `header: value` instead, so that no cell is ever cut off from its name.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain

from localrag.errors import EmptyDocument
from localrag.parsing.detect import extension
from localrag.parsing.encoding import decode_text
from localrag.parsing.sheet import PAGE_CHARS, WIDE_ROW_CHARS
from localrag.parsing.sheet_header import is_number
from localrag.parsing.source import Source
from localrag.parsing.tables import row_line, rule_line
from localrag.types import Page, ParsedDocument

# Where two delimiters cut the sample equally well, the rarer character in ordinary text is meant.
_DELIMITERS = ("\t", ";", "|", ",")
_SAMPLE_CHARS = 64 * 1024
_PAGES_A_GRANT = 3_000  # some 100,000 rows
_BLOCK_CHARS = 256 * 1024
_SEPARATOR_LINE = re.compile(r"sep=(.)\r?\n", re.IGNORECASE)
_YEAR = re.compile(r"(?:1[5-9]|20)\d\d")


@dataclass(frozen=True, slots=True)
class _Row:
    """One record that is not empty; `number` counts all records from 1."""

    number: int
    cells: tuple[str, ...]


def read(source: Source) -> ParsedDocument:
    """The rows in pages of about 3,000 characters, labelled `rows 2-41`.

    The file is gone through twice, once for its usual width and once for its pages, so that only text is kept in
    memory: a million rows as lists of strings would take ten times their size.
    """
    text, _ = decode_text(source.read_bytes())
    text = text.replace("\x00", "")
    table = _table(text, _delimiter(text, extension(source.name)))
    width = _usual_width(table)
    if not width:
        raise EmptyDocument(f"{source.name} holds no rows.", path=source.name, hint="Export the table again.")
    pages = tuple(_granted(source, _pages(*_parts(table.rows(), width))))
    return ParsedDocument(media_type=source.media_type or "text/csv", pages=pages, warnings=table.warnings)


def _granted(source: Source, pages: Iterator[Page]) -> Iterator[Page]:
    """The pages; a file that has come far is long and does not hang, and is given its time limit once more."""
    for page in pages:
        if page.ordinal % _PAGES_A_GRANT == 0:
            source.more_time(source.limits.timeout_s)
        yield page


@dataclass(frozen=True, slots=True)
class _Table:
    """How the text is to be cut into rows. `first` is the number of its first record."""

    text: str
    start: int
    first: int
    delimiter: str
    quoted: bool

    @property
    def warnings(self) -> tuple[str, ...]:
        return () if self.quoted else ("A quotation mark is never closed; quotation marks were read as text.",)

    def records(self) -> Iterator[list[str]]:
        """All records, empty ones too, their cells as they stand in the file."""
        lines = _lines(self.text, self.start)
        if self.quoted:
            return csv.reader(lines, delimiter=self.delimiter, skipinitialspace=True)
        return csv.reader(lines, delimiter=self.delimiter, quoting=csv.QUOTE_NONE)

    def rows(self) -> Iterator[_Row]:
        for number, cells in enumerate(self.records(), start=self.first):
            stripped = tuple([cell.strip() for cell in cells])
            if any(stripped):
                yield _Row(number, stripped)


def _lines(text: str, start: int) -> Iterator[str]:
    """The text's lines with their ends; io.StringIO would hold all of the text again, in four bytes a character."""
    while start < len(text):
        end = min(start + _BLOCK_CHARS, len(text))
        # Up to a line feed: CR LF must not be parted, and lines that end in CR alone are parted by the reader.
        end = text.find("\n", end) + 1 or len(text)
        yield from io.StringIO(text[start:end], newline="")
        start = end


def _table(text: str, delimiter: str) -> _Table:
    csv.field_size_limit(max(csv.field_size_limit(), len(text)))
    marked = _SEPARATOR_LINE.match(text)
    start = marked.end() if marked else 0
    # Read as quoted where a quotation mark is never closed, the rest of the file would become one cell.
    return _Table(text, start, 2 if marked else 1, delimiter, quoted=not _ends_inside_quotes(text, start, delimiter))


def _usual_width(table: _Table) -> int:
    """The commonest number of cells of rows that are not empty; 0 when there are none."""
    widths = Counter(
        len(cells) for cells in table.records() if cells and (cells[0].strip() or any(map(str.strip, cells)))
    )
    return widths.most_common(1)[0][0] if widths else 0


def _ends_inside_quotes(text: str, start: int, delimiter: str) -> bool:
    if '"' not in text:
        return False
    try:
        for _ in csv.reader(_lines(text, start), delimiter=delimiter, skipinitialspace=True, strict=True):
            pass
    except csv.Error as error:
        return "unexpected end" in str(error)
    return False


def _delimiter(text: str, ending: str) -> str:
    """The character that cuts most of the sampled lines into the same number (at least 2) of cells."""
    marked = _SEPARATOR_LINE.match(text)
    if marked:
        return marked[1]
    if ending in ("tsv", "tab"):
        return "\t"
    sample = text[:_SAMPLE_CHARS]
    if len(sample) < len(text):
        sample = sample[: sample.rfind("\n") + 1] or sample
    return max(_DELIMITERS, key=lambda delimiter: _agreement(sample, delimiter))


def _agreement(sample: str, delimiter: str) -> float:
    """The share of rows that have the commonest number of cells; 0 when that number is 1."""
    reader = csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter, skipinitialspace=True)
    widths = Counter(len(cells) for cells in reader if cells)
    if not widths:
        return 0.0
    width, count = max(widths.items(), key=lambda item: (item[1], item[0]))
    return count / widths.total() if width > 1 else 0.0


def _parts(rows: Iterator[_Row], width: int) -> tuple[Sequence[_Row], _Row | None, Iterator[_Row]]:
    """Title lines, the header if there is one, and the rows below.

    Title lines are rows with a single cell above a table of several. The first row of the table is its header unless
    half of it are numbers; years are no numbers here, since they head columns.
    """
    titles: list[_Row] = []
    first = next(rows)
    while width > 1 and sum(1 for cell in first.cells if cell) == 1 and (below := next(rows, None)) is not None:
        titles.append(first)
        first = below
    filled = [cell for cell in first.cells if cell]
    numbers = sum(1 for cell in filled if is_number(cell) and not _YEAR.fullmatch(cell))
    if 2 * numbers >= len(filled):
        return titles, None, chain([first], rows)
    return titles, first, rows


@dataclass(slots=True)
class _Block:
    """Rows of one page."""

    names: Sequence[str]
    first: int
    rows: list[_Row] = field(default_factory=list)
    chars: int = 0
    wide: bool = False

    def add(self, row: _Row, chars: int, wide: bool) -> None:
        self.rows.append(row)
        self.chars += chars
        self.wide = self.wide or wide

    def markdown(self) -> str:
        """A table, or a list for each row where the table's lines would be too long."""
        if self.wide:
            return "\n\n".join(_record(row, self.names) for row in self.rows)
        width = max([len(self.names), *(len(row.cells) for row in self.rows)])
        lines = [row_line([_name(self.names, i) for i in range(width)], width), rule_line(width)]
        return "\n".join([*lines, *(row_line(row.cells, width) for row in self.rows)])


def _pages(titles: Sequence[_Row], header: _Row | None, body: Iterator[_Row]) -> Iterator[Page]:
    names = header.cells if header else ()
    intro = "\n\n".join(" ".join(next(cell for cell in row.cells if cell).split()) for row in titles)
    above = [*titles, *([header] if header else [])]
    if not above:
        top = next(body)
        body = chain([top], body)
    first = above[0].number if above else top.number
    for ordinal, block in enumerate(_blocks(names, first, body), start=1):
        last = block.rows[-1].number if block.rows else (header or titles[-1]).number
        label = f"row {block.first}" if block.first == last else f"rows {block.first}-{last}"
        opening = f"{intro}\n\n" if intro and ordinal == 1 else ""
        yield Page(ordinal=ordinal, label=label, markdown=opening + block.markdown())


def _blocks(names: Sequence[str], first: int, body: Iterable[_Row]) -> Iterator[_Block]:
    header_chars = sum(len(name) + 3 for name in names)
    block = _Block(names=names, first=first)
    for row in body:
        line_chars = sum(len(cell) + 3 for cell in row.cells)
        wide = header_chars + line_chars > WIDE_ROW_CHARS
        chars = len(_record(row, names)) if wide else line_chars
        if block.rows and block.chars + chars > PAGE_CHARS:
            yield block
            block = _Block(names=names, first=row.number)
        block.add(row, chars, wide)
    yield block


def _record(row: _Row, names: Sequence[str]) -> str:
    lines = [f"- {_name(names, i)}: {' '.join(cell.split())}" for i, cell in enumerate(row.cells) if cell]
    return "\n".join([f"Row {row.number}", "", *lines])


def _name(names: Sequence[str], column: int) -> str:
    return (names[column] if column < len(names) else "") or f"column {column + 1}"
