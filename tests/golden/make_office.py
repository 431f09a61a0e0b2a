"""The generated Word, PowerPoint and Excel files of the golden corpus, written with the usual libraries."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import docx
import pptx
import xlsxwriter
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.util import Inches

_FOOTNOTES = (
    f"<w:footnotes {nsdecls('w')}><w:footnote w:type='separator' w:id='-1'><w:p/></w:footnote>"
    "<w:footnote w:id='2'><w:p><w:r><w:t>Measured at low water.</w:t></w:r></w:p></w:footnote></w:footnotes>"
)
_FOOTNOTES_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml.footnotes+xml"
_RELATION = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/footnotes"


def write_docx(path: Path) -> None:
    """Headings, lists, merged cells, a footnote, a comment, changes, a header, and two rendered page breaks."""
    document = docx.Document()
    document.sections[0].header.paragraphs[0].text = "Harbour Office, internal"
    document.add_heading("Quay survey", 1)
    paragraph = document.add_paragraph("The quay is 214 metres long")
    paragraph._p.append(parse_xml(f"<w:r {nsdecls('w')}><w:footnoteReference w:id='2'/></w:r>"))
    paragraph.add_run(".")
    document.add_comment(paragraph.runs[0], text="Check this length.", author="Bo Ray", initials="BR")
    changed = document.add_paragraph("The north pier is ")
    for kind, text, word in (("del", "w:delText", "sound"), ("ins", "w:t", "cracked")):
        changed._p.append(
            parse_xml(f"<w:{kind} {nsdecls('w')} w:id='9' w:author='A'><w:r><{text}>{word}</{text}></w:r></w:{kind}>")
        )
    changed.add_run(" and needs work.")
    for style, text in (
        ("List Bullet", "Drain the dock"),
        ("List Bullet 2", "Close the gate"),
        ("List Number", "Inspect"),
    ):
        document.add_paragraph(text, style=style)
    _page_break(document.add_heading("Costs", 2))
    table: Any = document.add_table(rows=4, cols=3)
    for y, cells in enumerate(
        (("Part", "Cost", ""), ("", "Plan", "Actual"), ("Pier", "100", "140"), ("Dock", "80", "75"))
    ):
        for x, text in enumerate(cells):
            table.cell(y, x).text = text
    table.cell(0, 1).merge(table.cell(0, 2))
    table.cell(0, 0).merge(table.cell(1, 0))
    _page_break(document.add_paragraph("The work ends in May."))
    document.save(str(path))
    _add_part(path, "word/footnotes.xml", _FOOTNOTES, _FOOTNOTES_TYPE, "word/_rels/document.xml.rels", _RELATION)


def _page_break(paragraph: Any) -> None:
    paragraph.runs[0]._r.insert(0, parse_xml(f"<w:lastRenderedPageBreak {nsdecls('w')}/>"))


def _add_part(path: Path, part: str, xml: str, media_type: str, relations: str, kind: str) -> None:
    """Adds a part that the library has no call for."""
    with zipfile.ZipFile(path) as archive:
        members = {info.filename: archive.read(info) for info in archive.infolist()}
    override = f'<Override PartName="/{part}" ContentType="{media_type}"/></Types>'.encode()
    members["[Content_Types].xml"] = members["[Content_Types].xml"].replace(b"</Types>", override)
    relation = f'<Relationship Id="rId900" Type="{kind}" Target="{Path(part).name}"/></Relationships>'.encode()
    members[relations] = members[relations].replace(b"</Relationships>", relation)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in {**members, part: xml.encode()}.items():
            archive.writestr(name, data)


def write_pptx(path: Path) -> None:
    """Titles, bullets, notes, a merged table, a chart, a group of shapes, a hidden slide."""
    deck: Any = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[1])
    slide.shapes.title.text = "Harbour in figures"
    slide.placeholders[1].text = "214 berths\nTwo piers"
    slide.notes_slide.notes_text_frame.text = "Mention the new lamp."
    slide = deck.slides.add_slide(deck.slide_layouts[5])
    slide.shapes.title.text = "Traffic"
    table = slide.shapes.add_table(4, 3, Inches(1), Inches(1.5), Inches(7), Inches(1)).table
    for y, cells in enumerate(
        (("Month", "Boats", ""), ("", "In", "Out"), ("May", "310", "295"), ("June", "402", "390"))
    ):
        for x, text in enumerate(cells):
            table.cell(y, x).text = text
    table.cell(0, 1).merge(table.cell(0, 2))
    data = CategoryChartData()
    data.categories = ["2024", "2025"]
    data.add_series("Visitors", (1200, 1534))
    slide.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, Inches(1), Inches(4), Inches(5), Inches(2), data)
    slide = deck.slides.add_slide(deck.slide_layouts[6])
    group = slide.shapes.add_group_shape()
    for at, text in enumerate(("Pilot", "Tug")):
        group.shapes.add_textbox(Inches(1 + 2 * at), Inches(1), Inches(1), Inches(1)).text_frame.text = text
    slide = deck.slides.add_slide(deck.slide_layouts[6])
    slide.shapes.add_textbox(Inches(1), Inches(1), Inches(5), Inches(1)).text_frame.text = "Backup slide on tides"
    slide._element.set("show", "0")
    deck.save(str(path))


def write_xlsx(path: Path) -> None:
    """Dates and figures as shown, a formula's value, merged header cells, a comment, a hidden sheet."""
    book = xlsxwriter.Workbook(path)
    date, money, share = (book.add_format({"num_format": code}) for code in ("dd.mm.yyyy", '#,##0.00 "EUR"', "0.0%"))
    sheet = book.add_worksheet("Q3")
    sheet.write("A1", "Fees of the third quarter")
    sheet.merge_range("B3:C3", "Amount")
    sheet.write_row("A4", ["Day", "Fee", "Share"])
    for row, (serial, fee) in enumerate(((46204, 1234.5), (46205, 99)), start=4):
        sheet.write(row, 0, serial, date)
        sheet.write(row, 1, fee, money)
        sheet.write_formula(row, 2, f"=B{row + 1}/B7", share, fee / 1333.5)
    sheet.write("A7", "Total")
    sheet.write_formula("B7", "=SUM(B5:B6)", money, 1333.5)
    sheet.write_comment("B5", "Paid late.")
    hidden = book.add_worksheet("Old")
    hidden.write_row("A1", ["Boat", "Debt"])
    hidden.write_row("A2", ["Yacht", 12])
    hidden.hide()
    book.close()
    _forget_time(path)


def _forget_time(path: Path) -> None:
    with zipfile.ZipFile(path) as archive:
        members = {info.filename: archive.read(info) for info in archive.infolist()}
    core = members["docProps/core.xml"]
    members["docProps/core.xml"] = re.sub(rb"20\d\d-\d\d-\d\dT[\d:]+Z", b"2026-01-02T03:04:05Z", core)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name, (2026, 1, 2, 3, 4, 6)), data, zipfile.ZIP_DEFLATED)


WRITERS: dict[str, Callable[[Path], None]] = {
    "quay.docx": write_docx,
    "harbour.pptx": write_pptx,
    "fees.xlsx": write_xlsx,
}
