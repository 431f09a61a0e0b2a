"""The PDF reader on PDFs drawn here, so that every expected word and cell is known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pymupdf
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from localrag.errors import (
    EmptyDocument,
    EncryptedDocument,
    NeedsOcr,
    UnreadableDocument,
    UnsupportedDocument,
)
from localrag.parsing import pdf
from localrag.parsing.source import Source
from localrag.types import Page, ParsedDocument

LINES = [
    "The committee met again in the spring and agreed on the terms of the new contract,",
    "which had been discussed at length by all members during the winter.",
]
PROSE = " ".join(LINES)


def no_child(_: bytes, name: str) -> ParsedDocument:
    raise UnsupportedDocument(f"No reader for {name}.", path=name)


def read(path: Path, child: Callable[[bytes, str], ParsedDocument] = no_child) -> ParsedDocument:
    return pdf.read(Source(path=path, name=path.name, read_child=child))


def save(document: Any, tmp_path: Path, name: str = "test.pdf", **options: Any) -> Path:
    path = tmp_path / name
    document.save(path, **options)
    document.close()
    return path


def write(page: Any, x: float, y: float, text: str, *, size: float = 10, font: str = "helv") -> None:
    page.insert_text((x, y), text, fontsize=size, fontname=font)


def write_lines(page: Any, x: float, y: float, lines: Sequence[str], *, pitch: float = 12, **style: Any) -> None:
    for i, line in enumerate(lines):
        write(page, x, y + i * pitch, line, **style)


def write_right(page: Any, right: float, y: float, text: str, *, size: float = 10, font: str = "helv") -> None:
    write(page, right - pymupdf.get_text_length(text, fontname=font, fontsize=size), y, text, size=size, font=font)


def picture(page: Any) -> None:
    pixmap = pymupdf.Pixmap(pymupdf.csRGB, (0, 0, 40, 40))
    pixmap.clear_with(90)
    page.insert_image(pymupdf.Rect(100, 100, 300, 300), pixmap=pixmap)


def tables(markdown: str) -> list[list[list[str]]]:
    """The Markdown's tables as rows of cells, the line of dashes left out."""
    found: list[list[list[str]]] = []
    inside = False
    for line in markdown.splitlines():
        if not line.startswith("|"):
            inside = False
            continue
        if not inside:
            found.append([])
            inside = True
        if not line.startswith("| ---"):
            found[-1].append([cell.strip() for cell in line.strip("|").split("|")])
    return found


def test_headings_are_told_by_size_and_by_weight(tmp_path: Path) -> None:
    document = pymupdf.open()
    page = document.new_page()
    write(page, 72, 80, "Annual Report", size=24)
    write(page, 72, 120, "Outlook", size=16)
    write_lines(page, 72, 150, LINES)
    write(page, 72, 200, "Risks", font="hebo")
    write_lines(page, 72, 220, LINES)
    markdown = read(save(document, tmp_path)).pages[0].markdown
    assert markdown.split("\n\n") == [
        "# Annual Report",
        "## Outlook",
        PROSE,
        "### Risks",
        PROSE,
    ]


def test_bookmarks_set_the_level_of_their_heading(tmp_path: Path) -> None:
    document = pymupdf.open()
    page = document.new_page()
    write(page, 72, 80, "1.2  Scope", size=10)
    write_lines(page, 72, 120, LINES)
    document.set_toc([[1, "Part", 1], [2, "1.2 Scope", 1]])
    assert read(save(document, tmp_path)).pages[0].markdown.startswith("## 1.2 Scope\n")


def test_lists_keep_one_item_a_line(tmp_path: Path) -> None:
    document = pymupdf.open()
    page = document.new_page()
    write_lines(page, 72, 80, ["• first point, which", "goes on", "• second point", "1. one", "2. two"])
    assert read(save(document, tmp_path)).pages[0].markdown.split("\n\n") == [
        "- first point, which goes on\n- second point",
        "1. one",
        "2. two",
    ]


def test_text_that_looks_like_markdown_is_no_heading(tmp_path: Path) -> None:
    document = pymupdf.open()
    write(document.new_page(), 72, 80, "# of units sold: 5")
    assert read(save(document, tmp_path)).pages[0].markdown == "\\# of units sold: 5"


def test_code_keeps_its_lines_and_indents(tmp_path: Path) -> None:
    document = pymupdf.open()
    page = document.new_page()
    write_lines(page, 72, 80, LINES)
    write(page, 72, 130, "for x in xs:", font="cour")
    write(page, 72 + 4 * 6, 142, "print(x)", font="cour")  # a Courier glyph is 0.6 of 10 points wide
    assert "```\nfor x in xs:\n    print(x)\n```" in read(save(document, tmp_path)).pages[0].markdown


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["The com-", "puter works."], "The computer works."),
        (["A well-known and well-", "known fact."], "A well-known and well-known fact."),
        (["Mr Smith-", "Jones came."], "Mr Smith-Jones came."),
        (["From 1914-", "1918 on."], "From 1914-1918 on."),
        (["Aus\u00ad", "nahme gemacht."], "Ausnahme gemacht."),
        (["See https://example.com/annual-", "report/2023 now."], "See https://example.com/annual-report/2023 now."),
        (["See https://example.com/plans/", "land-use.pdf now."], "See https://example.com/plans/land-use.pdf now."),
        (["See https://example.com/", "for the plans."], "See https://example.com/ for the plans."),
        (["Write to jo@north-", "west.example soon."], "Write to jo@north-west.example soon."),
        (["On forms 333-", "175609 and more."], "On forms 333-175609 and more."),
        (["Both short-", "and long-term debt."], "Both short- and long-term debt."),
    ],
)
def test_words_divided_at_a_line_end_are_whole_again(lines: list[str], expected: str, tmp_path: Path) -> None:
    document = pymupdf.open()
    write_lines(document.new_page(), 72, 80, lines)
    assert read(save(document, tmp_path)).pages[0].markdown == expected


@pytest.mark.parametrize("columns", [2, 3])
def test_columns_are_read_one_after_the_other(columns: int, tmp_path: Path) -> None:
    document = pymupdf.open()
    page = document.new_page()
    write(page, 72, 60, "A heading that runs over the whole width of the page, in large type", size=14)
    width = 480 / columns
    fill = 24 if columns == 3 else 38
    for column in range(columns):
        for line in range(12):
            text = f"col{column}line{line:02} " + "word " * 20
            write(page, 60 + column * width, 100 + 12 * line, text[:fill])
    words = read(save(document, tmp_path)).pages[0].markdown.split()
    order = [word for word in words if word.startswith("col")]
    assert order == [f"col{column}line{line:02}" for column in range(columns) for line in range(12)]


def test_a_table_above_two_columns_does_not_mix_them(tmp_path: Path) -> None:
    document = pymupdf.open()
    page = document.new_page()
    for row, (label, *values) in enumerate(
        [("Item", "2023", "2024"), ("Apples", "1,200", "1,300"), ("Pears", "7", "8")]
    ):
        write(page, 60, 60 + 12 * row, label)
        for i, value in enumerate(values):
            write_right(page, 350 + 100 * i, 60 + 12 * row, value)
    for column in range(2):
        for line in range(12):
            write(page, 60 + column * 240, 130 + 12 * line, f"col{column}line{line:02} and some more words to fill")
    markdown = read(save(document, tmp_path)).pages[0].markdown
    assert tables(markdown) == [[["Item", "2023", "2024"], ["Apples", "1,200", "1,300"], ["Pears", "7", "8"]]]
    order = [word for word in markdown.split() if word.startswith("col")]
    assert order == [f"col{column}line{line:02}" for column in range(2) for line in range(12)]


def test_a_table_without_rules_keeps_figures_under_their_headings(tmp_path: Path) -> None:
    document = pymupdf.open()
    page = document.new_page()
    write(page, 340, 88, "Year ended December 31,", font="hebo")  # in the middle of the three value columns
    rows = [
        ("(in millions)", "2022", "2021", "2020"),
        ("Net sales", "34,229", "35,355", "32,184"),
        ("Operating expenses", "", "", ""),
        ("Cost of sales", "19,232", "18,795", "16,605"),
        ("Gain on divestitures", "(2,724)", "-", "(389)"),
        ("Margin", "12.5%", "14.0%", "9.1%"),
    ]
    for row, (label, *values) in enumerate(rows):
        y = 104 + 14 * row
        write(page, 60, y, label)
        for i, value in enumerate(values):
            if value:
                write_right(page, 340 + 90 * i, y, value)
            if row == 1:
                write(page, 290 + 90 * i, y, "$")
    assert tables(read(save(document, tmp_path)).pages[0].markdown) == [
        [
            [
                "(in millions)",
                "Year ended December 31, 2022",
                "Year ended December 31, 2021",
                "Year ended December 31, 2020",
            ],
            ["Net sales", "$34,229", "$35,355", "$32,184"],
            ["Operating expenses", "", "", ""],
            ["Cost of sales", "19,232", "18,795", "16,605"],
            ["Gain on divestitures", "(2,724)", "-", "(389)"],
            ["Margin", "12.5%", "14.0%", "9.1%"],
        ]
    ]


def test_a_rule_below_a_heading_tells_which_columns_it_is_for(tmp_path: Path) -> None:
    document = pymupdf.open()
    page = document.new_page()
    for x, text in ((255, "Fair value"), (435, "Carrying amount")):
        write(page, x, 88, text)
        page.draw_line((x - 15, 91), (x + 95, 91), width=0.5)
    rows = [("", "2022", "2021", "2022", "2021"), ("Bonds", "10", "20", "30", "40"), ("Shares", "1", "2", "3", "4")]
    for row, (label, *values) in enumerate(rows):
        write(page, 60, 104 + 14 * row, label)
        for i, value in enumerate(values):
            write_right(page, 270 + 60 * i + 60 * (i > 1), 104 + 14 * row, value)
    assert tables(read(save(document, tmp_path)).pages[0].markdown) == [
        [
            ["", "Fair value 2022", "Fair value 2021", "Carrying amount 2022", "Carrying amount 2021"],
            ["Bonds", "10", "20", "30", "40"],
            ["Shares", "1", "2", "3", "4"],
        ]
    ]


def test_wrapped_labels_are_one_row(tmp_path: Path) -> None:
    document = pymupdf.open()
    page = document.new_page()
    rows = [("Item", "2022"), ("Selling, general and", ""), ("administrative expenses", "9,049"), ("Other", "12")]
    rows += [("Income from associates,", "77"), ("net of taxes", "")]
    for row, (label, value) in enumerate(rows):
        write(page, 60, 80 + 12 * row, label)
        if value:
            write_right(page, 400, 80 + 12 * row, value)
    assert tables(read(save(document, tmp_path)).pages[0].markdown) == [
        [
            ["Item", "2022"],
            ["Selling, general and administrative expenses", "9,049"],
            ["Other", "12"],
            ["Income from associates, net of taxes", "77"],
        ]
    ]


def test_two_tables_in_a_row_stay_two(tmp_path: Path) -> None:
    document = pymupdf.open()
    page = document.new_page()
    rows = [("Buildings", "2022", "2021"), ("Owned", "10", "11"), ("Rented", "12", "13")]
    for block, title in enumerate(("Buildings", "Land")):
        for row, (label, *values) in enumerate([(title, *rows[0][1:]), *rows[1:]]):
            y = 80 + 60 * block + 12 * row
            write(page, 60, y, label)
            for i, value in enumerate(values):
                write_right(page, 300 + 80 * i, y, value)
    write(page, 60, 128, "The land is shown below:")
    markdown = read(save(document, tmp_path)).pages[0].markdown
    assert [table[0] for table in tables(markdown)] == [["Buildings", "2022", "2021"], ["Land", "2022", "2021"]]
    assert "\n\nThe land is shown below:\n\n" in markdown


def grid(page: Any, xs: Sequence[float], ys: Sequence[float]) -> None:
    for x in xs:
        page.draw_line((x, ys[0]), (x, ys[-1]), width=0.5)
    for y in ys:
        page.draw_line((xs[0], y), (xs[-1], y), width=0.5)


def test_ruled_cells_keep_wrapped_text_together(tmp_path: Path) -> None:
    document = pymupdf.open()
    page = document.new_page()
    grid(page, [60, 160, 360, 520], [80, 100, 140, 180])
    write(page, 64, 94, "Name")
    write(page, 164, 94, "Description")
    write(page, 364, 94, "Owner")
    write_lines(page, 164, 114, ["A pump that moves", "water up | down"])
    write(page, 64, 114, "Pump")
    write(page, 364, 114, "Ada")
    write(page, 64, 154, "Valve")
    write_lines(page, 364, 154, ["Grace and her", "team"])
    assert read(save(document, tmp_path)).pages[0].markdown == (
        "| Name | Description | Owner |\n| --- | --- | --- |\n"
        "| Pump | A pump that moves water up \\| down | Ada |\n"
        "| Valve |  | Grace and her team |"
    )


def test_ten_narrow_ruled_columns_keep_every_cell(tmp_path: Path) -> None:
    document = pymupdf.open()
    page = document.new_page()
    xs = [40 + 52 * i for i in range(11)]
    grid(page, xs, [80 + 16 * i for i in range(6)])
    expected = [[f"head {i}" for i in range(10)]] + [[f"r{row}c{i}" for i in range(10)] for row in range(4)]
    for row, cells in enumerate(expected):
        for x, cell in zip(xs, cells, strict=False):
            write(page, x + 2, 91 + 16 * row, cell)
    assert tables(read(save(document, tmp_path)).pages[0].markdown) == [expected]


def test_a_merged_heading_stands_over_each_of_its_columns(tmp_path: Path) -> None:
    document = pymupdf.open()
    page = document.new_page()
    grid(page, [60, 160, 260, 360], [100, 120, 140])
    for x0, x1 in ((60, 60), (160, 160), (360, 360)):
        page.draw_line((x0, 80), (x1, 100), width=0.5)
    page.draw_line((60, 80), (360, 80), width=0.5)
    write(page, 64, 94, "Region")
    write(page, 240, 94, "Sales")
    for x, text in ((164, "2022"), (264, "2021")):
        write(page, x, 114, text)
    for x, text in ((64, "North"), (164, "1"), (264, "2")):
        write(page, x, 134, text)
    assert tables(read(save(document, tmp_path)).pages[0].markdown) == [
        [["Region", "Sales 2022", "Sales 2021"], ["North", "1", "2"]]
    ]


def test_running_lines_are_kept_once_and_page_numbers_never(tmp_path: Path) -> None:
    document = pymupdf.open()
    for number in range(1, 6):
        page = document.new_page()
        write(page, 72, 40, "Acme Corporation handbook", size=8)
        write(page, 300, 820, f"Page {number + 10} of 30", size=8)
        write_lines(page, 72, 100, [f"Chapter {number} begins.", "Table 3 is the same on every page."])
    pages = read(save(document, tmp_path)).pages
    assert ["Acme" in page.markdown for page in pages] == [True, False, False, False, False]
    assert not any("of 30" in page.markdown for page in pages)
    assert all(f"Chapter {page.number} begins." in page.markdown for page in pages)
    assert all("Table 3 is the same" in page.markdown for page in pages)


@pytest.mark.parametrize("first", ["ABC-000123", "DEF10234", "000123", "0099"])
def test_numbers_stamped_on_the_pages_of_a_case_stay(first: str, tmp_path: Path) -> None:
    prefix = first.rstrip("0123456789")
    digits = first.removeprefix(prefix)
    stamps = [f"{prefix}{int(digits) + at:0{len(digits)}}" for at in range(6)]
    document = pymupdf.open()
    for number, stamp in enumerate(stamps, 1):
        page = document.new_page()
        write(page, 72, 100, f"Deposition of day {number}.")
        write(page, 300, 800, str(number + 10), size=8)
        write(page, 480, 820, stamp, size=8)
    pages = read(save(document, tmp_path)).pages
    assert [page.markdown.split() for page in pages] == [
        [*f"Deposition of day {number}.".split(), stamp] for number, stamp in enumerate(stamps, 1)
    ]


def test_a_margin_line_that_differs_stays(tmp_path: Path) -> None:
    document = pymupdf.open()
    for amount in (170, 250, 310, 420):
        page = document.new_page()
        write(page, 72, 40, f"Total due: {amount}")
        write(page, 72, 400, "Thank you for your order.")
    assert [
        f"Total due: {n}" in p.markdown
        for n, p in zip((170, 250, 310, 420), read(save(document, tmp_path)).pages, strict=True)
    ] == [True] * 4


@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
def test_turned_pages_read_like_upright_ones(rotation: int, tmp_path: Path) -> None:
    document = pymupdf.open()
    page = document.new_page()
    write(page, 72, 80, "Quarterly figures", size=20)
    write_lines(page, 72, 120, LINES)
    page.set_rotation(rotation)
    assert read(save(document, tmp_path)).pages[0].markdown == f"# Quarterly figures\n\n{PROSE}"


@pytest.mark.parametrize("angle", [90, 270])
def test_text_set_sideways_reads_in_order(angle: int, tmp_path: Path) -> None:
    document = pymupdf.open()
    page = document.new_page()
    for i, line in enumerate(["first line of text", "second line of text"]):
        x = 100 + 12 * i if angle == 90 else 300 - 12 * i
        page.insert_text((x, 400), line, fontsize=10, rotate=angle)
    assert read(save(document, tmp_path)).pages[0].markdown == "first line of text second line of text"


def test_lines_across_the_page_s_direction_come_last(tmp_path: Path) -> None:
    document = pymupdf.open()
    page = document.new_page()
    page.insert_text((20, 500), "arXiv:2004.04906v3", rotate=90)
    write_lines(page, 72, 80, LINES)
    assert read(save(document, tmp_path)).pages[0].markdown == f"{PROSE}\n\narXiv:2004.04906v3"


def test_chinese_lines_are_joined_without_spaces(tmp_path: Path) -> None:
    document = pymupdf.open()
    write_lines(document.new_page(), 72, 80, ["公司董事会于今年三月", "召开了会议。"], font="china-s")
    assert read(save(document, tmp_path)).pages[0].markdown == "公司董事会于今年三月召开了会议。"


def test_ligatures_are_letters() -> None:
    from localrag.parsing.pdf_lines import clean

    assert clean("eﬃcient ﬁles of the ﬂeet\u200b") == "efficient files of the fleet"


def test_overprinted_text_is_read_once(tmp_path: Path) -> None:
    document = pymupdf.open()
    page = document.new_page()
    write(page, 72, 80, "Balance sheet")
    write(page, 72.4, 80, "Balance sheet")
    assert read(save(document, tmp_path)).pages[0].markdown == "Balance sheet"


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.integers(0, 30), min_size=1, max_size=12))
def test_each_marker_is_on_its_own_page(tmp_path: Path, lengths: list[int]) -> None:
    document = pymupdf.open()
    for number, length in enumerate(lengths, 1):
        page = document.new_page()
        write(page, 72, 40, "The same header on every page")
        write(page, 72, 100, f"marker{number:04}")
        write_lines(page, 72, 130, LINES[:1] * length)
        write(page, 300, 820, str(number))
    pages = read(save(document, tmp_path)).pages
    assert [page.number for page in pages] == list(range(1, len(lengths) + 1))
    assert [[f"marker{i:04}" in page.markdown for i in range(1, len(lengths) + 1)] for page in pages] == [
        [i == page.number for i in range(1, len(lengths) + 1)] for page in pages
    ]


def test_a_password_is_asked_for(tmp_path: Path) -> None:
    document = pymupdf.open()
    write(document.new_page(), 72, 80, "secret")
    path = save(document, tmp_path, encryption=pymupdf.PDF_ENCRYPT_AES_256, user_pw="user", owner_pw="owner")
    with pytest.raises(EncryptedDocument, match=r"test\.pdf.*password") as caught:
        read(path)
    assert caught.value.hint
    assert caught.value.path == "test.pdf"


def test_an_owner_password_alone_is_no_hindrance(tmp_path: Path) -> None:
    document = pymupdf.open()
    write(document.new_page(), 72, 80, "readable")
    path = save(document, tmp_path, encryption=pymupdf.PDF_ENCRYPT_AES_256, owner_pw="owner")
    assert read(path).pages[0].markdown == "readable"


@pytest.mark.parametrize(
    "data", [b"", b"not a PDF", b"%PDF-1.7\n", b"%PDF-1.4\n1 0 obj\n<<>>\nendobj\ntrailer <<>>\n%%EOF"]
)
def test_bytes_that_are_no_pdf_are_unreadable(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "broken.pdf"
    path.write_bytes(data)
    with pytest.raises(UnreadableDocument, match=r"broken\.pdf"):
        read(path)


def minimal_pdf(content: bytes) -> bytes:
    """A one-page PDF whose objects come in reading order, as most programs write them."""
    return (
        b"%%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n"
        b"2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n"
        b"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 5 0 R"
        b"/Resources<</Font<</F1 4 0 R>>>>>>endobj\n"
        b"4 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>endobj\n"
        b"5 0 obj<</Length %d>>stream\n%s\nendstream endobj\ntrailer<</Root 1 0 R>>\n%%%%EOF" % (len(content), content)
    )


def test_a_pdf_without_cross_references_is_repaired(tmp_path: Path) -> None:
    path = tmp_path / "bad.pdf"
    path.write_bytes(minimal_pdf(b"BT /F1 12 Tf 72 700 Td (Hello, world) Tj ET"))
    parsed = read(path)
    assert parsed.pages[0].markdown == "Hello, world"
    assert parsed.warnings == ("The file is damaged and was repaired: parts of it may be missing.",)


def test_a_pdf_cut_off_before_its_text_is_unreadable(tmp_path: Path) -> None:
    path = tmp_path / "cut.pdf"
    whole = minimal_pdf(b"BT /F1 12 Tf 72 700 Td (Hello, world) Tj ET")
    path.write_bytes(whole[: whole.index(b"4 0 obj")])
    with pytest.raises(UnreadableDocument, match=r"cut\.pdf is damaged"):
        read(path)


def test_pictures_only_need_ocr(tmp_path: Path) -> None:
    document = pymupdf.open()
    picture(document.new_page())
    picture(document.new_page())
    with pytest.raises(NeedsOcr, match="its 2 pages are pictures") as caught:
        read(save(document, tmp_path))
    assert "OCR" in caught.value.hint


def test_blank_pages_only_are_empty(tmp_path: Path) -> None:
    document = pymupdf.open()
    document.new_page()
    with pytest.raises(EmptyDocument):
        read(save(document, tmp_path))


def test_pages_without_text_are_named_and_keep_their_number(tmp_path: Path) -> None:
    document = pymupdf.open()
    for number in range(1, 6):
        page = document.new_page()
        if number in (2, 4):
            picture(page)
        elif number != 3:
            write(page, 72, 80, f"text {number}")
    parsed = read(save(document, tmp_path))
    assert [(page.number, page.markdown) for page in parsed.pages] == [
        (1, "text 1"),
        (2, ""),
        (3, ""),
        (4, ""),
        (5, "text 5"),
    ]
    assert parsed.warnings == ("Pages 2, 4 have no text, only pictures.",)


def test_attachments_follow_as_labelled_pages(tmp_path: Path) -> None:
    document = pymupdf.open()
    page = document.new_page()
    write(page, 72, 80, "cover letter")
    page.add_file_annot((300, 80), b"pinned text", "C:\\mail\\pin.txt")
    document.embfile_add("one", b"inner text", filename="notes.txt")
    document.embfile_add("two", b"\0", filename="tool.exe")

    def child(data: bytes, name: str) -> ParsedDocument:
        if name.endswith(".exe"):
            return no_child(data, name)
        page = Page(ordinal=1, label="lines 1-1", markdown=data.decode())
        return ParsedDocument(media_type="text/plain", pages=(page,))

    parsed = read(save(document, tmp_path), child)
    assert [(page.ordinal, page.number, page.label, page.markdown) for page in parsed.pages] == [
        (1, 1, None, "cover letter"),
        (2, None, "attachment notes.txt, lines 1-1", "inner text"),
        (3, None, "attachment pin.txt, lines 1-1", "pinned text"),
    ]
    assert parsed.warnings == ("Attachment tool.exe: No reader for tool.exe.",)


def test_the_title_is_the_file_s_own(tmp_path: Path) -> None:
    document = pymupdf.open()
    write(document.new_page(), 72, 80, "text")
    document.set_metadata({"title": "Employee Handbook"})
    assert read(save(document, tmp_path)).title == "Employee Handbook"


def write_table(page: Any, rows: Sequence[Sequence[str]], rights: Sequence[float], *, top: float = 80) -> None:
    """Rows 14 points apart: the label at the left, each value set to the right edge of its column."""
    for i, (label, *values) in enumerate(rows):
        write(page, 60, top + 14 * i, label)
        for right, value in zip(rights, values, strict=False):
            if value:
                write_right(page, right, top + 14 * i, value)


def test_a_table_goes_on_below_a_label_wider_than_its_column(tmp_path: Path) -> None:
    document = pymupdf.open()
    rows = [("Item", "2022", "2021"), ("Sales", "10", "11"), ("Costs", "(4)", "(5)")]
    rows += [("Shareholders' equity, at par, as approved by the meeting", "", "")]  # runs into the first column
    rows += [("Issued", "1", "2"), ("Retained", "(3)", "4")]
    write_table(document.new_page(), rows, (300, 380))
    assert tables(read(save(document, tmp_path)).pages[0].markdown) == [[list(row) for row in rows]]


def test_headings_in_the_middle_of_equal_shares_stand_over_each_column(tmp_path: Path) -> None:
    document = pymupdf.open()
    page = document.new_page()
    # Columns end at 250, 320, 400 and 470 and are 23 wide: the shares' middles are 273.5 and 423.5.
    for middle, text in ((273.5, "First half"), (423.5, "Second half")):
        write(page, middle - pymupdf.get_text_length(text, fontsize=10) / 2, 80, text)
    rows = [("", "2022", "2021", "2022", "2021"), ("North", "1,000", "2", "3", "4"), ("South", "5", "6", "7", "8")]
    write_table(page, rows, (250, 320, 400, 470), top=94)
    table = tables(read(save(document, tmp_path)).pages[0].markdown)[0]
    assert table[0] == ["", "First half 2022", "First half 2021", "Second half 2022", "Second half 2021"]
    assert table[1:] == [list(row) for row in rows[1:]]


def test_small_losses_are_figures_and_no_footnotes(tmp_path: Path) -> None:
    document = pymupdf.open()
    rows = [
        ("Item", "2022", "2021"),
        ("Sales", "10", "11"),
        ("Tax", "20", "21"),
        ("Credit", "(3)", "(2)"),
        ("Sum", "9", "8"),
    ]
    write_table(document.new_page(), rows, (300, 380))
    assert tables(read(save(document, tmp_path)).pages[0].markdown) == [[list(row) for row in rows]]


def test_dashes_stand_in_the_column_they_end_with(tmp_path: Path) -> None:
    document = pymupdf.open()
    rows = [("Item", "2022", "2021"), ("Sales", "10,000,000", "-"), ("Tax", "-", "21,000,000"), ("Sum", "9", "8")]
    write_table(document.new_page(), rows, (300, 380))
    assert tables(read(save(document, tmp_path)).pages[0].markdown) == [[list(row) for row in rows]]


def test_page_numbers_that_begin_anew_are_told_from_figures(tmp_path: Path) -> None:
    document = pymupdf.open()
    for number in [*range(1, 9), *range(1, 9)]:
        page = document.new_page()
        write_lines(page, 72, 100, LINES)
        write(page, 300, 400, str(number))  # right below a short text, not in the margin
    pages = read(save(document, tmp_path)).pages
    assert {page.markdown for page in pages} == {PROSE}


def test_drawings_with_thousands_of_lines_and_words_stay_within_reach(tmp_path: Path) -> None:
    document = pymupdf.open()
    page = document.new_page(width=2_000, height=2_000)
    shape = page.new_shape()
    for i in range(300):
        shape.draw_line((0, i * 6), (2_000, i * 6))
        shape.draw_line((i * 6, 0), (i * 6, 2_000))
    shape.finish()
    shape.commit()
    writer = pymupdf.TextWriter(page.rect)
    for i in range(3_000):
        writer.append((20 + 37 * i % 1_900, 20 + 53 * i % 1_901), "word", fontsize=4)
    writer.write_text(page)
    # Each step once took time with the square of what is drawn: minutes for this page, now about two seconds.
    assert read(save(document, tmp_path)).pages[0].markdown.count("word") == 3_000
