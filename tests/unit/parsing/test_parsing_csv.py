"""Delimited files: every row under its header, with its own number."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from localrag.errors import EmptyDocument
from localrag.types import ParsedDocument

Read = Callable[[str | bytes, str], ParsedDocument]


def _pages(document: ParsedDocument) -> list[tuple[str | None, str]]:
    return [(page.label, page.markdown) for page in document.pages]


def test_rows_stand_in_a_table(read_content: Read) -> None:
    document = read_content("name,city\nAda,London\nBob,Paris\n", "a.csv")
    assert document.media_type == "text/csv"
    assert _pages(document) == [("rows 1-3", "| name | city |\n| --- | --- |\n| Ada | London |\n| Bob | Paris |")]


@pytest.mark.parametrize(
    ("content", "name"),
    [
        ("a;b\n1,5;2,5\n3,5;4,5\n", "x.csv"),  # decimal commas
        ("a\tb\n1,5\t2,5\n3,5\t4,5\n", "x.csv"),
        ("a|b\n1,5|2,5\n3,5|4,5\n", "x.csv"),
        ("a\tb\n1,5\t2,5\n3,5\t4,5\n", "x.tsv"),
        ('"a","b"\r\n"1,5","2,5"\r\n"3,5","4,5"\r\n', "x.csv"),
    ],
)
def test_the_delimiter_is_told_from_the_content(read_content: Read, content: str, name: str) -> None:
    assert read_content(content, name).pages[0].markdown == "| a | b |\n| --- | --- |\n| 1,5 | 2,5 |\n| 3,5 | 4,5 |"


def test_a_separator_line_of_excel_is_obeyed_and_counted(read_content: Read) -> None:
    document = read_content("sep=;\na;b\n1;2\n", "a.csv")
    assert _pages(document) == [("rows 2-3", "| a | b |\n| --- | --- |\n| 1 | 2 |")]


def test_quoted_line_breaks_and_pipes_stay_in_their_cell(read_content: Read) -> None:
    document = read_content('a,b\n"two\nlines","x | y"\nlast,z\n', "a.csv")
    assert _pages(document) == [("rows 1-3", "| a | b |\n| --- | --- |\n| two lines | x \\| y |\n| last | z |")]


def test_ragged_rows_lose_nothing(read_content: Read) -> None:
    document = read_content("a,b\n1\n1,2,3\n", "a.csv")
    assert document.pages[0].markdown == "| a | b | column 3 |\n| --- | --- | --- |\n| 1 |  |  |\n| 1 | 2 | 3 |"


def test_empty_lines_count_as_rows(read_content: Read) -> None:
    document = read_content("\na,b\n\n1,2\n,\n", "a.csv")
    assert _pages(document) == [("rows 2-4", "| a | b |\n| --- | --- |\n| 1 | 2 |")]


def test_numbers_are_no_header_but_years_are(read_content: Read) -> None:
    assert read_content("1,2.5\n3,4.5\n", "a.csv").pages[0].markdown.startswith("| column 1 | column 2 |")
    assert read_content("country,2019,2020\nA,1,2\n", "a.csv").pages[0].markdown.startswith("| country | 2019 | 2020 |")


def test_title_lines_stand_above_the_table(read_content: Read) -> None:
    document = read_content("Quarterly report,,\nunit,q1,q2\nx,1,2\n", "a.csv")
    assert _pages(document) == [
        ("rows 1-3", "Quarterly report\n\n| unit | q1 | q2 |\n| --- | --- | --- |\n| x | 1 | 2 |")
    ]


def test_long_files_repeat_the_header_and_number_their_rows(read_content: Read) -> None:
    # A row of 10 + 3 and 84 + 3 characters counts 100, so a page of 3,000 holds 30 rows.
    rows = [f"{number:010},{'x' * 84}" for number in range(2, 102)]
    document = read_content("\n".join(["id,text", *rows]), "a.csv")
    assert [page.label for page in document.pages] == ["rows 1-31", "rows 32-61", "rows 62-91", "rows 92-101"]
    for page in document.pages:
        assert page.markdown.startswith("| id | text |\n| --- | --- |\n| 00000")
    shown = [line[2:12] for page in document.pages for line in page.markdown.split("\n")[2:]]
    assert shown == [f"{number:010}" for number in range(2, 102)]


def test_wide_rows_name_every_cell(read_content: Read) -> None:
    names = [f"a rather long name of column {number}" for number in range(56)]
    rows = [[f"value {row}.{column}" if column % 2 else "" for column in range(56)] for row in range(3)]
    document = read_content("\n".join(",".join(line) for line in [names, *rows]), "a.csv")
    text = "\n".join(page.markdown for page in document.pages)
    for row in range(3):
        for column in range(1, 56, 2):
            assert f"- a rather long name of column {column}: value {row}.{column}\n" in text + "\n"
    assert "Row 2\n\n- " in text
    assert [page.label for page in document.pages] == ["rows 1-3", "row 4"]


def test_an_unclosed_quote_does_not_swallow_the_file(read_content: Read) -> None:
    document = read_content('size,name\n"5 inch,disk\n3,tape\n', "a.csv")
    assert document.pages[0].markdown == '| size | name |\n| --- | --- |\n| "5 inch | disk |\n| 3 | tape |'
    assert "never closed" in document.warnings[0]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-8-sig", "cp932", "gb18030"])
def test_any_encoding_is_read(read_content: Read, encoding: str) -> None:
    document = read_content("名前,都市\n田中,大阪\n".encode(encoding), "a.csv")
    assert document.pages[0].markdown == "| 名前 | 都市 |\n| --- | --- |\n| 田中 | 大阪 |"


def test_one_column_and_a_header_alone_are_tables_too(read_content: Read) -> None:
    assert _pages(read_content("name\nAda\n", "a.csv")) == [("rows 1-2", "| name |\n| --- |\n| Ada |")]
    assert _pages(read_content("name,city\n", "a.csv")) == [("row 1", "| name | city |\n| --- | --- |")]


def test_cells_beyond_the_default_limit_of_the_library_are_read(read_content: Read) -> None:
    document = read_content(f"a,b\n1,{'word ' * 40_000}\n", "a.csv")
    assert document.pages[0].markdown.count("word") == 40_000


def test_delimiters_alone_are_an_empty_document(read_content: Read) -> None:
    with pytest.raises(EmptyDocument):
        read_content(",,\n,,\n", "a.csv")
