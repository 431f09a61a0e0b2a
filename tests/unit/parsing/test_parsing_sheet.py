from itertools import pairwise

from localrag.parsing.sheet import PAGE_CHARS, Block, column_letter, continue_down, row_blocks, sheet_pages
from localrag.parsing.sheet_header import Row


def rows(*lines: str, start: int = 1) -> list[Row]:
    """Rows from `a|b|c` lines; an empty line is an empty row."""
    return [Row(number, tuple(line.split("|"))) for number, line in enumerate(lines, start=start)]


def only(blocks: list[Block]) -> str:
    assert len(blocks) == 1
    return blocks[0].markdown


def test_title_rows_are_text_and_the_first_full_row_is_the_header() -> None:
    markdown = only(list(row_blocks(rows("Stanley Cups||", "Team|City|Cups", "Blues|STL|1", "Flyers|PHI|2"))))

    assert markdown == (
        "Stanley Cups\n\n| Team | City | Cups |\n| --- | --- | --- |\n| Blues | STL | 1 |\n| Flyers | PHI | 2 |"
    )


def test_rows_of_figures_without_a_header_get_column_letters() -> None:
    markdown = only(list(row_blocks(rows("1|2", "3|4"))))

    assert markdown == "| A | B |\n| --- | --- |\n| 1 | 2 |\n| 3 | 4 |"


def test_years_make_a_header() -> None:
    markdown = only(list(row_blocks(rows("Item|2022|2023", "Sales|10|20"))))

    assert markdown.startswith("| Item | 2022 | 2023 |\n")


def test_years_over_years_are_data() -> None:
    assert only(list(row_blocks(rows("Blues|1967", "Flyers|1974")))).splitlines()[0] == "| A | B |"


def test_header_rows_in_levels_are_joined_by_column() -> None:
    table = [
        Row(1, ("", "2023", "", "2022", ""), spans=((1, 3), (3, 5))),
        Row(2, ("Zone", "Sales", "Profit", "Sales", "Profit")),
        Row(3, ("NA", "10", "1", "9", "2")),
    ]

    header = only(list(row_blocks(table))).splitlines()[0]

    assert header == "| Zone | 2023 / Sales | 2023 / Profit | 2022 / Sales | 2022 / Profit |"


def test_unmerged_groups_over_repeated_names_are_spread() -> None:
    table = rows("Big||Small|", "City|People|City|People", "Shanghai|24|Pyongyang|2")

    header = only(list(row_blocks(table))).splitlines()[0]

    assert header == "| Big / City | Big / People | Small / City | Small / People |"


def test_groups_written_over_their_last_column_are_spread_to_the_left() -> None:
    table = rows("In millions||2023||2022", "|Sales|Profit|Sales|Profit", "Zone NA|10|1|9|2")

    header = only(list(row_blocks(table))).splitlines()[0]

    assert header == "| In millions | 2023 / Sales | 2023 / Profit | 2022 / Sales | 2022 / Profit |"


def test_a_second_table_brings_its_own_header() -> None:
    markdown = only(list(row_blocks(rows("Item|2023", "Tea|1", "", "Item|2022", "Tea|2"))))

    assert "| Item | 2023 |\n| --- | --- |\n| Tea | 1 |" in markdown
    assert "| Item | 2022 |\n| --- | --- |\n| Tea | 2 |" in markdown


def test_an_empty_row_does_not_end_a_table() -> None:
    markdown = only(list(row_blocks(rows("Item|Price", "Tea|1", "", "Coffee|2"))))

    assert markdown == "| Item | Price |\n| --- | --- |\n| Tea | 1 |\n| Coffee | 2 |"


def test_a_section_title_inside_a_table_stays_in_it() -> None:
    markdown = only(list(row_blocks(rows("Item|Price", "Tea|1", "", "Cold drinks|", "Lemonade|2"))))

    assert markdown.splitlines()[-2:] == ["| Cold drinks |  |", "| Lemonade | 2 |"]


def test_footnotes_under_a_table_are_text() -> None:
    note = "(a) Prices are those of the first of January and include the tax that was due."  # over 60 characters

    markdown = only(list(row_blocks(rows("Item|Price", "Tea|1", f"{note}|", "(b) Net.|"))))

    assert markdown.endswith(f"| Tea | 1 |\n\n{note}\n\n(b) Net.")


def test_empty_columns_are_left_out() -> None:
    markdown = only(list(row_blocks(rows("|Item||Price", "|Tea||1"))))

    assert markdown == "| Item | Price |\n| --- | --- |\n| Tea | 1 |"


def test_a_header_without_rows_is_kept() -> None:
    assert only(list(row_blocks(rows("Name|Age")))) == "| Name | Age |\n| --- | --- |"


def test_pipes_and_line_breaks_do_not_break_the_table() -> None:
    table = [Row(1, ("Item", "Note")), Row(2, ("Tea", "a|b\nc"))]

    assert only(list(row_blocks(table))).splitlines()[-1] == "| Tea | a\\|b c |"


def test_long_sheets_are_cut_into_blocks_under_the_same_header() -> None:
    table = [Row(1, ("Name", "Number"))]
    table += [Row(n, (f"name {n}", str(n))) for n in range(2, 1002)]

    blocks = list(row_blocks(table))

    assert blocks[0].first == 1
    assert blocks[-1].last == 1001
    assert all(after.first == before.last + 1 for before, after in pairwise(blocks))
    assert all(block.markdown.startswith("| Name | Number |\n| --- | --- |\n") for block in blocks)
    assert all(len(block.markdown) < 1.5 * PAGE_CHARS for block in blocks)
    lines = [line for block in blocks for line in block.markdown.splitlines()[2:]]
    assert lines == [f"| name {n} | {n} |" for n in range(2, 1002)]


def test_rows_too_wide_for_a_line_are_records() -> None:
    names = tuple(f"Column {i}" for i in range(100))  # 100 x about 12 characters: over WIDE_ROW_CHARS
    table = [Row(1, names), Row(2, tuple(f"v{i}" if i != 5 else "" for i in range(100)))]

    markdown = only(list(row_blocks(table)))

    assert markdown.startswith("Row 2\n\n- Column 0: v0\n- Column 1: v1\n")
    assert "- Column 99: v99" in markdown
    assert "Column 5:" not in markdown  # empty cells say nothing


def test_labels_give_sheet_and_rows() -> None:
    pages = list(sheet_pages("Q3\nnumbers", rows("Item|Price", "Tea|1", start=4), first_ordinal=7, hidden=True))

    assert [(page.ordinal, page.number, page.label) for page in pages] == [
        (7, None, "sheet Q3 numbers (hidden), rows 4-5")
    ]
    assert pages[0].markdown.startswith("## Q3 numbers (hidden)\n\n| Item")


def test_merged_labels_go_down_but_paragraphs_and_empty_rows_do_not() -> None:
    texts, empty = ["", "b", ""], ["", ""]

    continue_down(texts, ("label", "a", "x" * 101), [0, 2])
    continue_down(empty, ("label", "a"), [0])

    assert texts == ["label", "b", ""]
    assert empty == ["", ""]


def test_column_letters() -> None:
    assert [column_letter(i) for i in (0, 25, 26, 701, 702)] == ["A", "Z", "AA", "ZZ", "AAA"]
