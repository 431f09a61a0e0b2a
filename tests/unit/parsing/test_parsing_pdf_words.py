"""Tables without rules whose rows hold words: what is a header, and what is a row that only lacks its figures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pymupdf

ReadPdf = Callable[[Any], list[str]]

X = (72, 160, 260, 400)
HEADER = ("City", "River", "Sales", "Keeper")
FIRST = [("Bern", "Aare", "1,200", "north mill"), ("Basel", "Rhine", "1,340", "old bridge")]
BARE = ("Olten", "Aare", "", "south gate")  # no figure in it
LAST = [("Thun", "Aare", "910", "lake side"), ("Chur", "Plessur", "455", "high road")]
STEP = 14


def draw(page: Any, rows: Sequence[Sequence[str]], *, bold: int = 0, y: float = 80, x: Sequence[float] = X) -> float:
    """The rows from y on, the first `bold` of them in bold; where the next one would stand."""
    for line, cells in enumerate(rows):
        for left, cell in zip(x, cells, strict=False):
            page.insert_text((left, y), cell, fontsize=9, fontname="hebo" if line < bold else "helv")
        y += STEP
    return y


def tables(markdown: str) -> list[list[list[str]]]:
    """The tables of a page, each as rows of cells, the header first."""
    result: list[list[list[str]]] = [[]]
    for line in markdown.splitlines():
        if not line.startswith("|"):
            result.append([])
        elif "---" not in line:
            result[-1].append([cell.strip() for cell in line.strip("|").split("|")])
    return [table for table in result if table]


def as_lists(*rows: Sequence[str]) -> list[list[str]]:
    return [list(row) for row in rows]


def test_a_row_without_figures_does_not_part_a_table(read_pdf: ReadPdf) -> None:
    document = pymupdf.open()
    draw(document.new_page(), [HEADER, *FIRST, BARE, *LAST], bold=1)
    assert tables(read_pdf(document)[0]) == [as_lists(HEADER, *FIRST, BARE, *LAST)]


def test_bold_words_below_figures_begin_another_table(read_pdf: ReadPdf) -> None:
    document = pymupdf.open()
    page = document.new_page()
    y = draw(page, [HEADER, *FIRST], bold=1)
    draw(page, [("Town", "Stream", "", "Warden"), *LAST], bold=1, y=y)
    assert [table[0][0] for table in tables(read_pdf(document)[0])] == ["City", "Town"]


def test_a_first_row_without_figures_is_no_second_line_of_the_bold_header(read_pdf: ReadPdf) -> None:
    document = pymupdf.open()
    draw(document.new_page(), [HEADER, BARE, *FIRST], bold=1)
    assert tables(read_pdf(document)[0]) == [as_lists(HEADER, BARE, *FIRST)]


def test_a_group_stands_over_its_columns_of_words(read_pdf: ReadPdf) -> None:
    """`Waters` is set in the middle between the left edge of River (160) and the right end of Lake (about 300)."""
    rows = [("Bern", "Aare", "Wohlensee"), ("Thun", "Kander", "Thunersee"), ("Biel", "Schuess", "Bielersee")]
    for bold in (0, 2):
        document = pymupdf.open()
        page = document.new_page()
        x = (72, 160, 250)
        middle = 230 - pymupdf.get_text_length("Waters", fontsize=9) / 2
        page.insert_text((middle, 80), "Waters", fontsize=9, fontname="hebo" if bold else "helv")
        page.draw_line((160, 82), (300, 82))
        y = draw(page, [("City", "River", "Lake")], bold=bold, y=80 + STEP, x=x)
        draw(page, rows, y=y, x=x)
        assert tables(read_pdf(document)[0]) == [as_lists(("City", "Waters River", "Waters Lake"), *rows)]


def test_the_second_line_of_the_last_row_s_cell_stays_in_it(read_pdf: ReadPdf) -> None:
    document = pymupdf.open()
    page = document.new_page()
    y = draw(page, [HEADER, *FIRST, LAST[0]], bold=1)
    page.insert_text((X[3], y - 3), "with harbour", fontsize=9)  # 11 points below its first line
    page.insert_text((X[0], y + 30), "The text goes on below the table.", fontsize=9)
    markdown = read_pdf(document)[0]
    assert tables(markdown) == [as_lists(HEADER, *FIRST, ("Thun", "Aare", "910", "lake side with harbour"))]
    assert markdown.endswith("\n\nThe text goes on below the table.")


def test_a_page_that_begins_with_a_row_without_figures_goes_on_under_the_header(read_pdf: ReadPdf) -> None:
    document = pymupdf.open()
    draw(document.new_page(), [HEADER, *FIRST, *FIRST], bold=1)
    draw(document.new_page(), [BARE, *LAST])
    assert tables(read_pdf(document)[1]) == [as_lists(HEADER, BARE, *LAST)]


def test_a_page_of_words_goes_on_under_a_bold_header_only(read_pdf: ReadPdf) -> None:
    names, rows = ("City", "River"), [("Bern", "Aare"), ("Basel", "Rhine"), ("Chur", "Plessur"), ("Thun", "Kander")]
    for bold, first in ((1, names), (0, rows[0])):
        document = pymupdf.open()
        draw(document.new_page(), [names, *rows], bold=bold)
        draw(document.new_page(), rows)
        assert tables(read_pdf(document)[1])[0][0] == list(first)


def test_group_names_that_run_over_all_pages_stand_on_each(read_pdf: ReadPdf) -> None:
    """The upper row of the header ends in the margin (12% of 842 points: 101) of all pages: it is a running line."""
    document = pymupdf.open()
    for number in range(5):
        page = document.new_page()
        page.insert_text((210, 95), "Waters", fontsize=9, fontname="hebo")
        page.draw_line((160, 98), (300, 98))
        y = draw(page, [("City", "Length", "Depth")], bold=1, y=95 + STEP)
        draw(page, [(f"City {number}{row}", f"1,{number}0{row}", f"4{row}{number}") for row in range(40)], y=y)
    headers = [tables(page)[0][0] for page in read_pdf(document)]
    assert headers == as_lists(*[("City", "Waters Length", "Waters Depth")] * 5)


def test_columns_of_dates_are_no_columns_of_text(read_pdf: ReadPdf) -> None:
    header = ("Owner", "Delivery", "Premium", "Interest")
    rows = [(f"harbour {n}", f"2015-12-0{n}", f"2016-04-0{n}", f"2026-05-0{n}") for n in range(1, 9)]
    document = pymupdf.open()
    draw(document.new_page(), [header, *rows], bold=1, x=(54, 106, 164, 222))
    assert tables(read_pdf(document)[0]) == [as_lists(header, *rows)]


def test_years_alone_take_no_group_from_the_page_before(read_pdf: ReadPdf) -> None:
    rows = [(f"City {n}", f"1,{n}00", f"{n}45") for n in range(1, 6)]
    document = pymupdf.open()
    first = document.new_page()
    first.insert_text((180, 80), "Half a year ended", fontsize=9)
    first.draw_line((160, 83), (290, 83))
    draw(first, [("", "2025", "2024"), *rows], y=80 + STEP)
    draw(document.new_page(), [("", "2025", "2024"), *rows])
    headers = [tables(page)[0][0] for page in read_pdf(document)]
    assert headers == [["", "Half a year ended 2025", "Half a year ended 2024"], ["", "2025", "2024"]]


def test_a_small_table_of_close_columns_is_not_read_as_columns_of_text(read_pdf: ReadPdf) -> None:
    """The third column is set to the right edge at 229; two columns each fill 3/4 of a half as lines of text would."""
    document = pymupdf.open()
    page = document.new_page()
    page.insert_text((50, 50), "Quarterly figures", fontsize=14)
    page.insert_text((50, 72), "The table below was made for this test. It has no meaning.", fontsize=10)
    page.insert_text((50, 182), "Here the text goes on below the table.", fontsize=10)
    page.insert_text((135, 98), "Northern umber", fontsize=8, fontname="hebo")
    page.draw_line((105, 100), (229, 100))
    rows = [
        ("Margin", "Owner thistle", "Branch", "Premium"),
        ("raven 001", "silver kelp", "6.1%", "drawer hazel"),
        ("barley 002", "", "82.1%", "raven raven"),
        ("moss 003", "thistle ribbon kelp, reed", "", "linen"),
    ]
    for line, cells in enumerate(rows):
        font = "helv" if line else "hebo"
        third = 229 - pymupdf.get_text_length(cells[2], fontname=font, fontsize=8)
        for x, cell in zip((54, 101, third, 237), cells, strict=True):
            page.insert_text((x, 112 + STEP * line), cell, fontsize=8, fontname=font)
    header = ("Margin", "Northern umber Owner thistle", "Northern umber Branch", "Premium")
    assert tables(read_pdf(document)[0]) == [as_lists(header, *rows[1:])]
