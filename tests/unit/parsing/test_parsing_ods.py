"""OpenDocument spreadsheets: sheets, repeated and merged cells, hidden sheets, comments."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from localrag.errors import DocumentTooLarge, EmptyDocument, EncryptedDocument, UnreadableDocument
from localrag.parsing import ods
from localrag.parsing.source import Limits, Source
from localrag.types import ParsedDocument

Zipped = Callable[[str, Mapping[str, str | bytes]], Path]

_OASIS = "urn:oasis:names:tc:opendocument:xmlns"
NAMESPACES = (
    " ".join(f'xmlns:{name}="{_OASIS}:{name}:1.0"' for name in ("office", "text", "table", "style"))
    + f' xmlns:draw="{_OASIS}:drawing:1.0" xmlns:dc="http://purl.org/dc/elements/1.1/"'
)


def content(sheets: str) -> str:
    styles = "".join(
        f'<style:style style:name="{name}" style:family="table"><style:table-properties table:display="{shown}"/>'
        "</style:style>"
        for name, shown in (("ta1", "true"), ("ta2", "false"))
    )
    body = f"<office:body><office:spreadsheet>{sheets}</office:spreadsheet></office:body>"
    return (
        f"<office:document-content {NAMESPACES}><office:automatic-styles>{styles}</office:automatic-styles>{body}"
        "</office:document-content>"
    )


def cell(text: str = "", attributes: str = "", more: str = "") -> str:
    shown = f"<text:p>{text}</text:p>" if text else ""
    return f"<table:table-cell {attributes}>{shown}{more}</table:table-cell>"


def row(*texts: str, attributes: str = "") -> str:
    cells = "".join(text if text.startswith("<") else cell(text) for text in texts)
    return f"<table:table-row {attributes}>{cells}</table:table-row>"


def sheet(*rows: str, name: str = "Rents", style: str = "ta1") -> str:
    return f'<table:table table:name="{name}" table:style-name="{style}">{"".join(rows)}</table:table>'


@pytest.fixture
def read(source: Callable[..., Source], zipped: Zipped) -> Callable[..., ParsedDocument]:
    """Reads a workbook of the sheets."""

    def run(*sheets: str, limits: Limits | None = None) -> ParsedDocument:
        made = source(zipped("a.ods", {"content.xml": content("".join(sheets))}))
        return ods.read(replace(made, limits=limits or Limits()))

    return run


def test_rows_stand_under_their_header_and_are_numbered_as_in_the_sheet(read: Callable[..., ParsedDocument]) -> None:
    empty = row(cell(attributes='table:number-columns-repeated="1024"'), attributes='table:number-rows-repeated="2"')
    rest = row(
        cell(attributes='table:number-columns-repeated="16384"'), attributes='table:number-rows-repeated="1048571"'
    )

    document = read(sheet(empty, row("Name", "Rent"), row("Flat", "900.50 €"), row("Garage", "70"), rest))

    assert [(page.label, page.markdown) for page in document.pages] == [
        ("sheet Rents, rows 3-5", "## Rents\n\n| Name | Rent |\n| --- | --- |\n| Flat | 900.50 € |\n| Garage | 70 |")
    ]


def test_repeated_cells_and_rows_are_written_out(read: Callable[..., ParsedDocument]) -> None:
    same = row("x", cell("7", 'table:number-columns-repeated="2"'), attributes='table:number-rows-repeated="3"')
    gap = row("y", cell(attributes='table:number-columns-repeated="1"'), "8")

    lines = read(sheet(row("Name", "A", "B"), same, gap)).pages[0].markdown.splitlines()

    assert lines[4:] == ["| x | 7 | 7 |"] * 3 + ["| y |  | 8 |"]


def test_merged_cells_give_their_label_to_rows_and_columns(read: Callable[..., ParsedDocument]) -> None:
    group = row("", cell("2024", 'table:number-columns-spanned="2"'), "<table:covered-table-cell/>")
    north = row(cell("North", 'table:number-rows-spanned="2"'), "1", "2")
    below = row("<table:covered-table-cell/>", "3", "4")

    lines = read(sheet(group, row("Region", "May", "June"), north, below)).pages[0].markdown.splitlines()

    assert lines[2:] == [
        "| Region | 2024 / May | 2024 / June |",
        "| --- | --- | --- |",
        "| North | 1 | 2 |",
        "| North | 3 | 4 |",
    ]


def test_an_empty_merged_cell_takes_nothing_from_above(read: Callable[..., ParsedDocument]) -> None:
    north = row(cell("North"), "1")
    none = row(cell(attributes='table:number-rows-spanned="2"'), "2")
    below = row("<table:covered-table-cell/>", "3")

    lines = read(sheet(row("Region", "May"), north, none, below)).pages[0].markdown.splitlines()

    assert lines[4:] == ["| North | 1 |", "|  | 2 |", "|  | 3 |"]


def test_hidden_sheets_are_marked_and_comments_follow(read: Callable[..., ParsedDocument]) -> None:
    note = "<office:annotation><dc:creator>Ann</dc:creator><text:p>check</text:p></office:annotation>"
    box = (
        "<table:shapes><draw:frame><draw:text-box><text:p>in a box</text:p></draw:text-box></draw:frame></table:shapes>"
    )

    document = read(
        sheet(box, row("Name", "Rent"), row("Flat", cell("900", more=note))),
        sheet(row("a", "b"), row("c", "1"), name="Old", style="ta2"),
    )

    assert [(page.label, page.ordinal) for page in document.pages] == [
        ("sheet Rents, rows 1-2", 1),
        ("sheet Rents, comments", 2),
        ("sheet Old (hidden), rows 1-2", 3),
    ]
    assert document.pages[1].markdown == "## Rents\n\n- in a box\n- B2: check"


def test_text_in_cells_is_whole_and_values_stand_in_for_it(read: Callable[..., ParsedDocument]) -> None:
    rich = cell("one <text:span>two</text:span><text:s/>three", more="<text:p>four</text:p>")
    value = cell(attributes='office:value-type="float" office:value="3.5"')

    assert (
        read(sheet(row("A", "B"), row(rich, value))).pages[0].markdown.splitlines()[-1]
        == "| one two three four | 3.5 |"
    )


def test_grouped_rows_and_header_rows_are_rows(read: Callable[..., ParsedDocument]) -> None:
    grouped = f"<table:table-header-rows>{row('A', 'B')}</table:table-header-rows>"
    grouped += f"<table:table-row-group>{row('x', '1')}<table:table-row-group>{row('y', '2')}</table:table-row-group>"

    document = read(sheet(grouped + "</table:table-row-group>"))

    assert document.pages[0].label == "sheet Rents, rows 1-3"


def test_tables_of_links_are_no_sheets(read: Callable[..., ParsedDocument]) -> None:
    link = f"<table:dde-links><table:dde-link>{sheet(row('cached'), name='')}</table:dde-link></table:dde-links>"

    assert len(read(sheet(row("A", "B"), row("x", "1")), link).pages) == 1


def test_a_bomb_of_repeated_rows_is_refused(read: Callable[..., ParsedDocument]) -> None:
    bomb = row(
        cell("x" * 100, 'table:number-columns-repeated="16384"'), attributes='table:number-rows-repeated="1048576"'
    )

    with pytest.raises(DocumentTooLarge):
        read(sheet(bomb), limits=Limits(output_chars=10_000_000))


def test_without_text_it_is_empty(read: Callable[..., ParsedDocument]) -> None:
    with pytest.raises(EmptyDocument):
        read(sheet(row(cell())))


def test_an_encrypted_workbook_asks_for_its_password(source: Callable[..., Source], zipped: Zipped) -> None:
    manifest = "<manifest:manifest><manifest:encryption-data/></manifest:manifest>"

    with pytest.raises(EncryptedDocument):
        ods.read(source(zipped("a.ods", {"META-INF/manifest.xml": manifest, "content.xml": b"\x01"})))


def test_a_declared_document_type_is_refused(source: Callable[..., Source], zipped: Zipped) -> None:
    bomb = '<!DOCTYPE a [<!ENTITY b "c">]>' + content(sheet(row("a", "b")))

    with pytest.raises(UnreadableDocument, match="document type"):
        ods.read(source(zipped("a.ods", {"content.xml": bomb})))


def test_damaged_files_are_refused_in_our_words(
    failures_when_damaged: Callable[[object, Path], int], zipped: Zipped
) -> None:
    rows = [row("Name", "Rent"), *(row(f"Flat {i}", str(i * 17)) for i in range(200))]
    path = zipped("whole.ods", {"content.xml": content(sheet(*rows))})

    assert failures_when_damaged(ods.read, path) >= 45
