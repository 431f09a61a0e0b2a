import re
import zipfile
from collections.abc import Callable
from datetime import datetime, time
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from openpyxl.chart import BarChart, Reference
from openpyxl.comments import Comment

from localrag.errors import EmptyDocument
from localrag.parsing import xlsx
from localrag.parsing.source import Source
from localrag.types import ParsedDocument

Build = Callable[[Any], None]
Read = Callable[[Build], ParsedDocument]
Sources = Callable[..., Source]


@pytest.fixture
def read(source: Callable[..., Source], tmp_path: Path) -> Read:
    """Reads the workbook that a function builds."""
    return lambda build: xlsx.read(source(write(tmp_path, build)))


def write(tmp_path: Path, build: Build) -> Path:
    book = openpyxl.Workbook()
    build(book)
    path = tmp_path / "book.xlsx"
    book.save(path)
    return path


def test_every_sheet_is_read_and_hidden_ones_are_marked(read: Read) -> None:
    def build(book: Any) -> None:
        book.active.title = "Open"
        book.active.append(["Name", "Age"])
        book.active.append(["Ann", 31])
        for state in ("hidden", "veryHidden"):
            sheet = book.create_sheet(state)
            sheet.append([f"kept {state}"])
            sheet.sheet_state = state
        chart = BarChart()
        chart.add_data(Reference(book["Open"], min_col=2, min_row=1, max_row=2))
        book.create_chartsheet("Chart").add_chart(chart)

    pages = read(build).pages

    assert [page.label for page in pages] == [
        "sheet Open, rows 1-2",
        "sheet hidden (hidden), row 1",
        "sheet veryHidden (hidden), row 1",
    ]
    assert [page.ordinal for page in pages] == [1, 2, 3]
    assert pages[0].markdown == "## Open\n\n| Name | Age |\n| --- | --- |\n| Ann | 31 |"


def test_values_look_as_their_cells_do(read: Read) -> None:
    def build(book: Any) -> None:
        sheet = book.active
        sheet.append(["date", "moment", "time", "share", "price", "flag", "text"])
        sheet.append(
            [
                datetime.fromisoformat("2024-03-01"),
                datetime.fromisoformat("2024-03-01T09:05"),
                time(7, 30),
                0.125,
                1234.5,
                True,
                " a \n b ",
            ]
        )
        sheet["A2"].number_format = "dd/mm/yy"
        sheet["D2"].number_format = "0.0%"
        sheet["E2"].number_format = '#,##0.00\\ "€"'

    line = read(build).pages[0].markdown.splitlines()[-1]

    assert line == "| 2024-03-01 | 2024-03-01 09:05 | 07:30 | 12.5% | 1,234.50 € | TRUE | a b |"


def test_a_formula_without_a_cached_value_is_shown(read: Read) -> None:
    def build(book: Any) -> None:
        book.active.append(["Item", "Price"])
        book.active.append(["Tea", 2])
        book.active.append(["Total", "=SUM(B2:B2)"])  # openpyxl writes no value

    assert "| Total | =SUM(B2:B2) |" in read(build).pages[0].markdown


def test_merged_headers_are_repeated_and_merged_labels_go_down(read: Read) -> None:
    def build(book: Any) -> None:
        sheet = book.active
        for row in (["Region", "2023", ""], ["", "Sales", "Profit"], ["North", "10", 1], ["", "20", 2]):
            sheet.append(row)
        sheet.merge_cells("B1:C1")
        sheet.merge_cells("A1:A2")
        sheet.merge_cells("A3:A4")

    lines = read(build).pages[0].markdown.splitlines()

    assert lines[2] == "| Region | 2023 / Sales | 2023 / Profit |"
    assert lines[4:] == ["| North | 10 | 1 |", "| North | 20 | 2 |"]


def test_rows_keep_their_physical_numbers(read: Read) -> None:
    def build(book: Any) -> None:
        book.active["C10"] = "Name"
        book.active["D10"] = "Age"
        book.active["C12"] = "Ann"
        book.active["D12"] = 31

    page = read(build).pages[0]

    assert page.label == "sheet Sheet, rows 10-12"
    assert page.markdown.splitlines()[2] == "| Name | Age |"


def test_the_size_a_sheet_states_is_not_believed(source: Callable[..., Source], tmp_path: Path) -> None:
    def build(book: Any) -> None:
        for number in range(1, 4):
            book.active.append([f"line {number}"])

    path = write(tmp_path, build)
    rewrite(
        path, "xl/worksheets/sheet1.xml", lambda xml: xml.replace(b'<dimension ref="A1:A3"', b'<dimension ref="A1"')
    )

    assert "line 3" in xlsx.read(source(path)).pages[0].markdown


def test_a_formula_copied_down_is_shown_for_its_own_cell(source: Sources, tmp_path: Path) -> None:
    def build(book: Any) -> None:
        book.active.append(["Item", "Double"])
        for number in (1, 2):
            book.active.append([number, 0])

    path = write(tmp_path, build)

    def share(xml: bytes) -> bytes:
        first = b'<c r="B2"><f t="shared" ref="B2:B3" si="0">A2*2</f></c>'
        second = b'<c r="B3"><f t="shared" si="0"/></c>'
        return re.sub(rb'<c r="B3".*?</c>', second, re.sub(rb'<c r="B2".*?</c>', first, xml))

    rewrite(path, "xl/worksheets/sheet1.xml", share)

    assert xlsx.read(source(path)).pages[0].markdown.splitlines()[-2:] == ["| 1 | =A2*2 |", "| 2 | =A3*2 |"]


def test_comments_follow_their_sheet(read: Read) -> None:
    def build(book: Any) -> None:
        book.active.append(["Name", "Age"])
        book.active.append(["Ann", 31])
        book.active["B2"].comment = Comment("To be\nchecked", "Bob")

    pages = read(build).pages

    assert [(page.ordinal, page.label) for page in pages] == [
        (1, "sheet Sheet, rows 1-2"),
        (2, "sheet Sheet, comments"),
    ]
    assert pages[1].markdown == "## Sheet\n\n- B2: To be checked"


MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"


@pytest.mark.parametrize("namespace", [MAIN, "http://purl.oclc.org/ooxml/spreadsheetml/main"])
def test_cells_without_references_strict_files_and_all_kinds_of_strings(
    source: Sources, zipped: Callable[..., Path], namespace: str
) -> None:
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    relations = "http://schemas.openxmlformats.org/package/2006/relationships"
    runs = "<r><t>Ku</t></r><r><t>rz</t></r><rPh><t>reading</t></rPh>"
    strings = f"<si><t>Name</t></si><si>{runs}</si><si><t>a_x0009_b</t></si>"
    rows = (
        '<row><c t="s"><v>0</v></c><c t="inlineStr"><is><t>Inline</t></is></c><c/><c t="str"><v>Last</v></c></row>'
        '<row><c t="s"><v>1</v></c><c t="s"><v>2</v></c><c t="b"><v>1</v></c><c t="e"><v>#REF!</v></c></row>'
        '<row r="9"><c t="d"><v>2024-01-02T00:00:00</v></c></row>'
    )
    path = zipped(
        "odd.xlsx",
        {
            "xl/workbook.xml": f'<workbook xmlns="{namespace}" xmlns:r="{office}"><sheets>'
            '<sheet name="A" sheetId="1" r:id="a"/></sheets></workbook>',
            "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{relations}">'
            f'<Relationship Id="a" Type="{office}/worksheet" Target="/xl/one.xml"/>'
            f'<Relationship Id="b" Type="{office}/sharedStrings" Target="two.xml"/></Relationships>',
            "xl/one.xml": f'<worksheet xmlns="{namespace}"><sheetData>{rows}</sheetData></worksheet>',
            "xl/two.xml": f'<sst xmlns="{namespace}">{strings}</sst>',
        },
    )

    page = xlsx.read(source(path)).pages[0]

    assert page.label == "sheet A, rows 1-9"
    assert page.markdown.splitlines()[2:] == [
        "| Name | Inline |  | Last |",
        "| --- | --- | --- | --- |",
        "| Kurz | a b | TRUE | #REF! |",
        "",
        "2024-01-02",
    ]


def test_a_workbook_without_text_is_empty(read: Read) -> None:
    with pytest.raises(EmptyDocument):
        read(lambda book: None)


def test_damaged_files_are_refused_in_our_words(
    failures_when_damaged: Callable[[object, Path], int], tmp_path: Path
) -> None:
    def build(book: Any) -> None:
        book.active.append(["Name", "Age"])
        for number in range(50):
            book.active.append([f"name {number}", number / 7])
        book.active.merge_cells("A10:A12")

    assert failures_when_damaged(xlsx.read, write(tmp_path, build)) >= 30  # at least the 30 copies cut off


def rewrite(path: Path, part: str, change: Callable[[bytes], bytes]) -> None:
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    parts[part] = change(parts[part])
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
