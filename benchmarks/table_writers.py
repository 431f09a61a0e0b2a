"""Random tables, and files that hold them: what benchmarks/table_fidelity.py measures on."""

from __future__ import annotations

import html
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import docx
import openpyxl
import pptx
import pymupdf
from docx.oxml import OxmlElement
from openpyxl.styles import Alignment
from pptx.util import Inches, Pt

_WORDS = """
    harbour lantern meadow quartz ribbon saddle timber violet walnut anchor barley candle drawer ember falcon
    garnet hazel island jasmine kettle linen marble nectar orchid pepper quiver raven silver thistle umber
    velvet willow amber birch cedar dune elder fern grove heron iris juniper kelp larch moss nettle oak pine
    quince reed sage tulip
""".split()  # noqa: SIM905 - as text they are easier to read
_NAMES = """
    Region Revenue Units Margin Owner Status Quarter Budget Forecast Remarks Country Partner Product Channel
    Discount Weight Length Height Supplier Category Delivery Contract Currency Balance Interest Premium
    Account Branch
""".split()  # noqa: SIM905 - as text they are easier to read
_GROUPS = """
    Domestic Foreign Planned Actual Northern Southern Current Previous
""".split()  # noqa: SIM905 - as text they are easier to read


@dataclass(frozen=True, slots=True)
class Table:
    """`header[column]` is the column's name. groups: (first column, last column + 1, name) above some of them."""

    header: tuple[str, ...]
    groups: tuple[tuple[int, int, str], ...]
    rows: tuple[tuple[str, ...], ...]

    def names(self, column: int) -> tuple[str, ...]:
        """What must stand above the column: its own name, and its group's."""
        return (*(name for first, last, name in self.groups if first <= column < last), self.header[column])


def random_table(chance: random.Random, *, long: bool) -> Table:
    """3 to 12 columns, 3 to 25 rows, or 60 to 120 when long; the first cell of each row is unique."""
    width = chance.randint(3, 12)
    header = tuple(_unique(chance, _NAMES, width))
    groups: list[tuple[int, int, str]] = []
    if chance.random() < 0.35:
        names = _unique(chance, _GROUPS, len(_GROUPS))
        at = 1
        while at + 2 <= width:
            last = min(width, at + chance.randint(2, 3))
            groups.append((at, last, names.pop()))
            at = last
            if chance.random() < 0.3 or not names:
                break
    kinds = [chance.choice((_words, _words, _whole, _amount, _percent, _date)) for _ in range(width)]
    count = chance.randint(60, 120) if long else chance.randint(3, 25)
    rows = tuple(
        (f"{chance.choice(_WORDS)} {number:03}", *(_cell(chance, kind) for kind in kinds[1:]))
        for number in range(1, count + 1)
    )
    return Table(header, tuple(groups), rows)


def _unique(chance: random.Random, words: Sequence[str], count: int) -> list[str]:
    chosen = chance.sample(list(words), count)
    return [f"{name} {chance.choice(_WORDS)}" if chance.random() < 0.3 else name for name in chosen]


def _cell(chance: random.Random, kind: Callable[[random.Random], str]) -> str:
    draw = chance.random()
    if draw < 0.1:
        return ""
    text = kind(chance)
    if kind is _words and draw < 0.16:
        return f"{text}\n{_words(chance)}"
    return f"{text} | {chance.choice(_WORDS)}" if kind is _words and draw < 0.2 else text


def _words(chance: random.Random) -> str:
    return " ".join(chance.choice(_WORDS) for _ in range(chance.randint(1, 3)))


def _whole(chance: random.Random) -> str:
    return f"{chance.randint(-9_000, 90_000):,}"


def _amount(chance: random.Random) -> str:
    return f"${chance.uniform(1, 9_000):,.2f}"


def _percent(chance: random.Random) -> str:
    return f"{chance.uniform(0, 100):.1f}%"


def _date(chance: random.Random) -> str:
    return f"{chance.randint(2015, 2026)}-{chance.randint(1, 12):02}-{chance.randint(1, 28):02}"


def write_docx(table: Table, path: Path, chance: random.Random) -> None:
    """A Word document: text, the table, text. Some mark their header rows as such, some do not."""
    document = docx.Document()
    document.add_heading("Quarterly figures", 1)
    document.add_paragraph("The table below was made for this test. It has no meaning.")
    heads = 2 if table.groups else 1
    made: Any = document.add_table(rows=heads + len(table.rows), cols=len(table.header))
    grid = [list(row.cells) for row in made.rows]
    for column, name in enumerate(table.header):
        grid[heads - 1][column].text = name
    for first, last, name in table.groups:
        grid[0][first].merge(grid[0][last - 1]).text = name
    for column in range(len(table.header)) if table.groups and chance.random() < 0.5 else ():
        if not any(first <= column < last for first, last, _ in table.groups):
            grid[0][column].merge(grid[1][column]).text = table.header[column]
    if chance.random() < 0.5:
        for row in made.rows[:heads]:
            row._tr.get_or_add_trPr().append(OxmlElement("w:tblHeader"))
    for cells, texts in zip(grid[heads:], table.rows, strict=True):
        for cell, text in zip(cells, texts, strict=True):
            cell.text = text  # a line break in the text becomes a <w:br/>
    document.add_paragraph("Here the text goes on.")
    document.save(str(path))


def write_pptx(table: Table, path: Path, _: random.Random) -> None:
    """Slides of up to 14 rows, each with the header, as people divide a table that is too long."""
    deck = pptx.Presentation()
    for start in range(0, len(table.rows), 14):
        rows = table.rows[start : start + 14]
        slide = deck.slides.add_slide(deck.slide_layouts[5])
        slide.shapes.title.text = "Quarterly figures"
        heads = 2 if table.groups else 1
        shape = slide.shapes.add_table(heads + len(rows), len(table.header), Inches(0.5), Inches(1.5), Inches(9), 1)
        for column, name in enumerate(table.header):
            shape.table.cell(heads - 1, column).text = name
        for first, last, name in table.groups:
            shape.table.cell(0, first).merge(shape.table.cell(0, last - 1))
            shape.table.cell(0, first).text = name
        for at, texts in enumerate(rows, start=heads):
            for column, text in enumerate(texts):
                shape.table.cell(at, column).text = text
                for paragraph in shape.table.cell(at, column).text_frame.paragraphs:
                    paragraph.font.size = Pt(9)
    deck.save(str(path))


def write_xlsx(table: Table, path: Path, chance: random.Random) -> None:
    """A sheet with figures as figures and their formats; some have a title above the table, some a second table."""
    book = openpyxl.Workbook()
    sheet: Any = book.active
    top = 1
    if chance.random() < 0.5:
        sheet["A1"] = "Quarterly figures"
        top = 3
    if table.groups:
        for first, last, name in table.groups:
            sheet.cell(top, first + 1, name).alignment = Alignment(horizontal="center")
            sheet.merge_cells(start_row=top, end_row=top, start_column=first + 1, end_column=last)
        top += 1
    for column, name in enumerate(table.header, start=1):
        sheet.cell(top, column, name)
    for at, texts in enumerate(table.rows, start=top + 1):
        for column, text in enumerate(texts, start=1):
            _put(sheet.cell(at, column), text)
    book.save(path)


def _put(cell: Any, text: str) -> None:
    """The text as Excel keeps it: a figure and its format where it is one."""
    plain = text.replace(",", "")
    if text.startswith("$"):
        cell.value, cell.number_format = float(plain[1:]), '"$"#,##0.00'
    elif text.endswith("%"):
        cell.value, cell.number_format = float(plain[:-1]) / 100, "0.0%"
    elif plain.lstrip("-").isdigit():
        cell.value, cell.number_format = int(plain), "#,##0"
    elif text:
        cell.value = text


def write_html(table: Table, path: Path, chance: random.Random) -> None:
    """A page with navigation; the header in <thead>, as <th> in the first row, or as bold <td>."""
    style = chance.choice(("thead", "th", "td")) if not table.groups else chance.choice(("thead", "th"))
    tag = "td" if style == "td" else "th"
    head = "".join(f"<{tag}>{html.escape(name)}</{tag}>" for name in table.header)
    above = _html_groups(table) if table.groups else ""
    rows = [f"<tr>{above}</tr>", f"<tr>{head}</tr>"] if above else [f"<tr>{head}</tr>"]
    top = "".join(rows)
    top = f"<thead>{top}</thead>" if style == "thead" else top
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(text).replace(chr(10), '<br>')}</td>" for text in row) + "</tr>\n"
        for row in table.rows
    )
    text = "<p>The table below was made for this test. It has no meaning.</p>"
    path.write_text(
        f"<!doctype html><meta charset=utf-8><title>Figures</title><nav><a href=/>Home</a></nav><main>"
        f"<h1>Quarterly figures</h1>{text}<table>{top}<tbody>{body}</tbody></table><p>The text goes on.</p></main>",
        encoding="utf-8",
    )


def _html_groups(table: Table) -> str:
    cells, at = [], 0
    for first, last, name in table.groups:
        cells += ["<th></th>"] * (first - at) + [f"<th colspan={last - first}>{html.escape(name)}</th>"]
        at = last
    return "".join(cells + ["<th></th>"] * (len(table.header) - at))


_SIZE = 8.0
_LEADING = 10.0
_PAD = 4.0
_MARGIN = 50.0


class _PdfTable:
    """Draws one table over as many pages as it takes, as a word processor would."""

    def __init__(self, table: Table, chance: random.Random, *, ruled: bool) -> None:
        self._table = table
        self._ruled = ruled
        self._file = pymupdf.open()
        self._repeats = chance.random() < 0.7
        self._rule_below_header = chance.random() < 0.5
        texts = [table.header, *table.rows]
        self._widths = [max(_needed(row[i]) for row in texts) + 2 * _PAD for i in range(len(table.header))]
        for first, last, name in table.groups:
            missing = _needed(name) + 2 * _PAD - sum(self._widths[first:last])
            self._widths[last - 1] += max(0.0, missing)
        across = sum(self._widths) + 2 * _MARGIN
        self._size = (max(595.0, across), 842.0) if across < 700 else (max(842.0, across), 595.0)
        figures = [
            all(not row[i] or row[i][0] in "-$0123456789" for row in table.rows) for i in range(len(self._widths))
        ]
        self._right = [is_figure and i > 0 for i, is_figure in enumerate(figures)]
        self._new_page()

    def save(self, path: Path) -> None:
        """Draws everything."""
        self._page.insert_text((_MARGIN, self._y), "Quarterly figures", fontsize=14, fontname="hebo")
        self._y += 22
        self._page.insert_text(
            (_MARGIN, self._y), "The table below was made for this test. It has no meaning.", fontsize=10
        )
        self._y += 16
        self._head()
        for row in self._table.rows:
            if self._y + self._height(row) > self._size[1] - _MARGIN:
                self._new_page()
                if self._repeats:
                    self._head()
            self._row(row, "helv")
        self._page.insert_text((_MARGIN, self._y + 24), "Here the text goes on below the table.", fontsize=10)
        self._file.save(path)

    def _new_page(self) -> None:
        self._page = self._file.new_page(width=self._size[0], height=self._size[1])
        self._y = _MARGIN

    def _height(self, row: Sequence[str]) -> float:
        return max(text.count("\n") + 1 for text in row) * _LEADING + _PAD

    def _head(self) -> None:
        if self._table.groups:
            left = [_MARGIN + sum(self._widths[:i]) for i in range(len(self._widths) + 1)]
            bottom = self._y + _LEADING + _PAD
            edges = {0, len(self._widths)}
            for first, last, name in self._table.groups:
                middle = (left[first] + left[last] - _needed(name)) / 2
                self._page.insert_text((middle, self._y + _SIZE + _PAD / 2), name, fontsize=_SIZE, fontname="hebo")
                edges |= {first, last}
                if not self._ruled:
                    self._page.draw_line((left[first] + _PAD, bottom), (left[last] - _PAD, bottom), width=0.5)
            grouped = {i for first, last, _ in self._table.groups for i in range(first, last)}
            edges |= {i for i in range(len(self._widths)) if i not in grouped}
            if self._ruled:
                for i in edges:
                    self._page.draw_line((left[i], self._y), (left[i], bottom), width=0.5)
                self._page.draw_line((left[0], self._y), (left[-1], self._y), width=0.5)
                self._page.draw_line((left[0], bottom), (left[-1], bottom), width=0.5)
            self._y = bottom
        self._row(self._table.header, "hebo")
        if not self._ruled and self._rule_below_header:
            self._page.draw_line((_MARGIN, self._y), (_MARGIN + sum(self._widths), self._y), width=0.5)

    def _row(self, row: Sequence[str], font: str) -> None:
        height = self._height(row)
        x = _MARGIN
        for text, width, right in zip(row, self._widths, self._right, strict=True):
            for at, line in enumerate(text.split("\n")):
                start = x + width - _PAD - _needed(line) if right else x + _PAD
                place = (start, self._y + _SIZE + _PAD / 2 + at * _LEADING)
                self._page.insert_text(place, line, fontsize=_SIZE, fontname=font)
            if self._ruled:
                self._page.draw_rect((x, self._y, x + width, self._y + height), width=0.5)
            x += width
        self._y += height


def _needed(text: str) -> float:
    """Points that the text takes in the bold font, the wider one."""
    return max(pymupdf.get_text_length(line, fontname="hebo", fontsize=_SIZE) for line in text.split("\n"))


def write_ruled_pdf(table: Table, path: Path, chance: random.Random) -> None:
    """A table with lines around every cell."""
    _PdfTable(table, chance, ruled=True).save(path)


def write_unruled_pdf(table: Table, path: Path, chance: random.Random) -> None:
    """A table without lines but below its header, and not there always."""
    _PdfTable(table, chance, ruled=False).save(path)


WRITERS: dict[str, Callable[[Table, Path, random.Random], None]] = {
    "pdf-ruled": write_ruled_pdf,
    "pdf-unruled": write_unruled_pdf,
    "docx": write_docx,
    "pptx": write_pptx,
    "xlsx": write_xlsx,
    "html": write_html,
}
