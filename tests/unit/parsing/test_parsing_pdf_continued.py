"""Tables over several pages: every part stands under the header."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pymupdf

ReadPdf = Callable[[Any], list[str]]

X = (72, 250, 350)
HEADER = ("City", "Sales", "Costs")


def figures(first: int, count: int) -> list[tuple[str, ...]]:
    return [(f"City {n}", f"{1000 + n}", f"{500 + n}") for n in range(first, first + count)]


def draw(page: Any, rows: Sequence[Sequence[str]], *, ruled: bool = False, bold: bool = False, y: float = 80) -> None:
    """The rows from y on; with `bold` the first of them in bold."""
    for line, cells in enumerate(rows):
        for column, cell in enumerate(cells):
            x, base = X[column], y + 17 * line
            page.insert_text((x, base), cell, fontsize=10, fontname="hebo" if bold and not line else "helv")
            if ruled:
                page.draw_rect(pymupdf.Rect(x - 4, base - 12, (*X, 450)[column + 1] - 4, base + 5))


def tables(markdown: str) -> list[list[str]]:
    lines = [line for line in markdown.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if "---" not in line]


def test_columns_without_rules_go_on_under_their_header(read_pdf: ReadPdf) -> None:
    document = pymupdf.open()
    draw(document.new_page(), [HEADER, *figures(0, 40)])
    draw(document.new_page(), figures(40, 40))
    last = document.new_page()
    draw(last, figures(80, 5))
    last.insert_text((72, 300), "A sentence after the table closes the page.", fontsize=10)
    pages = read_pdf(document)
    assert [tables(page)[0] for page in pages] == [list(HEADER)] * 3
    assert tables(pages[1])[1:] == [list(row) for row in figures(40, 40)]
    assert pages[2].endswith("A sentence after the table closes the page.")


def test_a_grid_goes_on_under_its_header(read_pdf: ReadPdf) -> None:
    document = pymupdf.open()
    draw(document.new_page(), [HEADER, *figures(0, 40)], ruled=True)
    draw(document.new_page(), figures(40, 3), ruled=True)
    pages = read_pdf(document)
    assert tables(pages[1]) == [list(HEADER), *[list(row) for row in figures(40, 3)]]


def test_a_grid_of_words_goes_on_where_its_header_was_bold(read_pdf: ReadPdf) -> None:
    words = [(f"river {n}", f"bridge {n} stone", f"harbour {n} west") for n in range(6)]
    document = pymupdf.open()
    draw(document.new_page(), [("Name", "Crossing", "Port"), *words[:3]], ruled=True, bold=True)
    draw(document.new_page(), words[3:], ruled=True)
    assert tables(read_pdf(document)[1]) == [["Name", "Crossing", "Port"], *[list(row) for row in words[3:]]]


def test_a_header_that_is_repeated_stays_one(read_pdf: ReadPdf) -> None:
    document = pymupdf.open()
    draw(document.new_page(), [HEADER, *figures(0, 5)], ruled=True, bold=True)
    draw(document.new_page(), [HEADER, *figures(5, 5)], ruled=True, bold=True)
    assert tables(read_pdf(document)[1]) == [list(HEADER), *[list(row) for row in figures(5, 5)]]


def test_another_table_keeps_its_own_header(read_pdf: ReadPdf) -> None:
    document = pymupdf.open()
    draw(document.new_page(), [HEADER, *figures(0, 5)], ruled=True, bold=True)
    draw(document.new_page(), [("Town", "Births", "Deaths"), *figures(5, 5)], ruled=True, bold=True)
    assert tables(read_pdf(document)[1])[0] == ["Town", "Births", "Deaths"]


def test_text_between_two_tables_parts_them(read_pdf: ReadPdf) -> None:
    document = pymupdf.open()
    first = document.new_page()
    draw(first, [HEADER, *figures(0, 5)])
    first.insert_text((72, 300), "That was the table of cities, all of them.", fontsize=10)
    draw(document.new_page(), figures(5, 5))
    assert tables(read_pdf(document)[1])[0] == ["", "", ""]
