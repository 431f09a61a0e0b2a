"""Footnote marks, exponents and their like in PDFs: never digits glued to a word or to a figure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pymupdf
import pytest

from localrag.errors import UnsupportedDocument
from localrag.parsing import pdf
from localrag.parsing.pdf_lines import is_heading_number, is_number
from localrag.parsing.source import Source
from localrag.types import ParsedDocument


def no_child(_: bytes, name: str) -> ParsedDocument:
    raise UnsupportedDocument(f"No reader for {name}.", path=name)


def read(document: Any, tmp_path: Path) -> str:
    path = tmp_path / "test.pdf"
    document.save(path)
    document.close()
    return pdf.read(Source(path=path, name=path.name, read_child=no_child)).pages[0].markdown


def read_html(html: str, tmp_path: Path) -> str:
    document = pymupdf.open()
    document.new_page().insert_htmlbox(pymupdf.Rect(72, 60, 540, 400), html)
    return read(document, tmp_path)


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("Sales grew by 12%<sup>1</sup> in the year.", "Sales grew by 12%[^1] in the year."),
        ("Income<sup>2</sup> fell.", "Income[^2] fell."),
        ("Income fell.<sup>1,3</sup> It rose again.", "Income fell.[^1][^3] It rose again."),
        ("The margin<sup>a</sup> is fair.", "The margin[^a] is fair."),
        ("A price of 1,234<sup>4</sup> was paid.", "A price of 1,234[^4] was paid."),
        ("An area of 30 m<sup>2</sup> for 10<sup>6</sup> people.", "An area of 30 m² for 10⁶ people."),
        ("A speed of 5 m s<sup>-1</sup> is slow.", "A speed of 5 m s⁻¹ is slow."),
        ("A par value of 1<sup>2</sup>/3 cents is set.", "A par value of 1 2/3 cents is set."),
        ("The 1<sup>st</sup> of May is free.", "The 1st of May is free."),
        ("<sup>14</sup>C dating was done.", "14C dating was done."),
    ],
)
def test_a_raised_mark_is_told_from_the_word_it_stands_at(html: str, expected: str, tmp_path: Path) -> None:
    assert read_html(f"<p>{html}</p>", tmp_path) == expected


def test_a_footnote_is_a_paragraph_of_its_own(tmp_path: Path) -> None:
    html = (
        "<p>Sales<sup>1</sup> grew and income<sup>2</sup> fell over the whole of the last year.</p>"
        "<p style='font-size:8pt'><sup>1</sup> Restated for the merger.</p><p style='font-size:8pt'><sup>2</sup>Before"
        " tax.</p>"
    )
    blocks = read_html(html, tmp_path).split("\n\n")
    assert blocks[1:] == ["[^1]: Restated for the merger.", "[^2]: Before tax."]


def test_a_figure_with_a_mark_is_a_figure() -> None:
    assert is_number("1,234[^1]")
    assert is_number("(5.2)%[^1][^2]")
    assert is_heading_number("2023[^1]")
    assert not is_number("[^1]")


def test_a_table_keeps_its_columns_where_figures_have_marks(tmp_path: Path) -> None:
    rows = [
        ("Region", "2023", "2022"),
        ("North", "1,234", "1,100"),
        ("South", "2,345", "2,200"),
        ("West", "3,4", "3,3"),
    ]
    document = pymupdf.open()
    page = document.new_page()
    for line, cells in enumerate(rows):
        for x, cell in zip((72, 250, 350), cells, strict=True):
            left = x - pymupdf.get_text_length(cell, fontsize=10) if x > 72 else x
            page.insert_text((left, 100 + 14 * line), cell, fontsize=10)
    page.insert_text((250, 114 - 4), "1", fontsize=6)  # right after 1,234
    page.insert_text((350, 128 - 4), "2", fontsize=6)  # right after 2,200
    assert read(document, tmp_path).splitlines() == [
        "| Region | 2023 | 2022 |",
        "| --- | --- | --- |",
        "| North | 1,234[^1] | 1,100 |",
        "| South | 2,345 | 2,200[^2] |",
        "| West | 3,4 | 3,3 |",
    ]
