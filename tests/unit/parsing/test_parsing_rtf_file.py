"""Rich text files: paragraphs, headings, lists, tables, notes, running text, pages."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from localrag.errors import EmptyDocument, UnreadableDocument
from localrag.parsing import rtf_file
from localrag.parsing.source import Source
from localrag.types import ParsedDocument

Read = Callable[[str | bytes, str], ParsedDocument]

STYLES = (
    r"{\stylesheet{\s0 Normal;}{\s1\outlinelevel0 Big;}{\s2 heading 2;}{\s3\outlinelevel9 Text;}"
    r"{\s4 \'dcberschrift 3;}{\*\cs10 heading 1;}}"
)


@pytest.fixture
def markdown(read_content: Read) -> Callable[[str], str]:
    """The one page of a document whose body is given."""

    def read(body: str) -> str:
        (page,) = read_content(f"{{\\rtf1\\ansi\\ansicpg1252{STYLES}{body}}}", "a.rtf").pages
        return page.markdown

    return read


def test_paragraphs_and_headings_by_style_or_level(markdown: Callable[[str], str]) -> None:
    body = (
        r"\pard\s1 One\par\pard\s2 Two\par\pard\s3 Text with {\b bold} in it.\par\pard\s4 Three\par"
        r"\pard\outlinelevel1 Level two\par\pard # not a heading\par"
    )

    assert markdown(body) == (
        "# One\n\n## Two\n\nText with bold in it.\n\n### Three\n\n## Level two\n\n\\# not a heading"
    )


def test_characters_in_code_pages_and_as_unicode(markdown: Callable[[str], str]) -> None:
    body = (
        r"{\fonttbl{\f0\fcharset0 A;}{\f1\fcharset204 B;}{\f2\fcharset128 C;}}"
        r"\f0 caf\'e9 {\f1 \'cc\'e8\'f0} {\f2 \'93\'fa\'96\'7b} \u8364? \u-10179?\u-8704?\par"
    )

    assert markdown(body) == "café Мир 日本 € \U0001f600"


@pytest.mark.parametrize(("word", "byte", "shown"), [("mac", "8a", "ä"), ("pc", "84", "ä"), ("pca", "d5", "ı")])
def test_old_code_pages(read_content: Read, word: str, byte: str, shown: str) -> None:
    assert read_content(f"{{\\rtf1\\{word} \\'{byte}}}", "a.rtf").pages[0].markdown == shown


def test_lists_keep_their_numbers_and_depth(markdown: Callable[[str], str]) -> None:
    body = (
        r"{\listtext\'b7\tab}\pard\ls1 bullet\par{\listtext o\tab}\pard\ls1\ilvl1 deeper\par"
        r"{\listtext 1.\tab}\pard\ls2 first\par{\pntext (a)\tab}\pard second\par"
        r"{\listtext 2.1\tab}\pard\s1 Numbered heading\par\pard after"
    )

    assert markdown(body) == ("- bullet\n   - deeper\n1. first\n- (a) second\n\n# 2.1 Numbered heading\n\nafter")


ROW = r"\trowd\cellx1\cellx2\pard\intbl {}\cell {}\cell\row"


def test_tables_with_every_cell_under_its_header(markdown: Callable[[str], str]) -> None:
    body = "Before\\par" + ROW.format("Name", "Rent") + ROW.format("Garage\\par B2", "70|80") + r"\pard After\par"

    assert markdown(body) == ("Before\n\n| Name | Rent |\n| --- | --- |\n| Garage B2 | 70\\|80 |\n\nAfter")


def test_merged_cells_repeat_their_label(markdown: Callable[[str], str]) -> None:
    first = r"\trowd\clvmgf\cellx1\cellx2\cellx3\pard\intbl North\cell 1\cell 2\cell\row"
    second = r"\trowd\clvmrg\cellx1\clmgf\cellx2\clmrg\cellx3\pard\intbl\cell both\cell\cell\row"
    header = r"\trowd\cellx1\cellx2\cellx3\pard\intbl Region\cell A\cell B\cell\row"

    assert markdown(header + first + second).splitlines()[2:] == ["| North | 1 | 2 |", "| North | both | both |"]


def test_a_title_row_and_a_one_column_table_are_text(markdown: Callable[[str], str]) -> None:
    title = r"\trowd\cellx2\pard\intbl Rents of 2024\cell\row"
    framed = r"\pard between\par\trowd\cellx1\pard\intbl A framed remark.\cell\row"

    text = markdown(title + ROW.format("Name", "Rent") + ROW.format("Flat", "900") + framed)

    assert text == ("Rents of 2024\n\n| Name | Rent |\n| --- | --- |\n| Flat | 900 |\n\nbetween\n\nA framed remark.")


def test_a_table_within_a_cell_stays_in_the_cell(markdown: Callable[[str], str]) -> None:
    inner = r"a\nestcell{\nonesttables\par}b\nestcell{\*\nesttableprops\trowd\nestrow}"

    assert "| Flat | a, b, |" in markdown(ROW.format("Name", "Parts") + ROW.format("Flat", inner))


def test_a_row_that_is_never_ended_is_not_lost(markdown: Callable[[str], str]) -> None:
    assert markdown(r"\pard\intbl one\cell two\par") == "one\n\ntwo"


def test_notes_stand_at_the_foot_and_comments_after_their_paragraph(markdown: Callable[[str], str]) -> None:
    body = (
        r"The rent is due{\super\chftn{\footnote\pard {\chftn} On the third day.}} monthly."
        r"{\*\atnid A}{\*\atnauthor Ann}\chatn{\*\annotation\pard Check this.}\par Next.\par"
    )

    assert markdown(body) == (
        "The rent is due[^1] monthly.\n\n> Comment by Ann: Check this.\n\nNext.\n\n[^1]: On the third day."
    )


def test_headers_and_footers_come_once_and_page_numbers_never(markdown: Callable[[str], str]) -> None:
    body = (
        r"{\headerl Lease}{\headerr Lease}{\footer Page {\field{\*\fldinst PAGE}{\fldrslt 3}}\par}{\footerf Draft}"
        r"Body.\par"
    )

    assert markdown(body) == "Lease\n\nBody.\n\nDraft"


def test_hidden_and_deleted_text_is_left_out_and_inserted_text_in(markdown: Callable[[str], str]) -> None:
    body = (
        r"The rent is {\deleted 800}{\revised 900}{\v secret} euros.{\xe{\v index}}{\field{\*\fldinst HYPERLINK x}"
        r"{\fldrslt  See there.}}{\*\bkmkstart b}{\*\unknown words}{\pict\bin5 }}}}}}\par"
    )

    assert markdown(body) == "The rent is 900 euros. See there."


def test_text_boxes_are_text(markdown: Callable[[str], str]) -> None:
    body = (
        r"{\shp{\*\shpinst\shpleft0{\sp{\sn wzName}{\sv Box}}{\shptxt\pard In the box.\par Line two.\par}}"
        r"{\shprslt{\*\do{\dptxbxtext In the box.}}}}Around it.\par"
    )

    assert markdown(body) == "In the box.\n\nLine two.\n\nAround it."


def test_pages_are_numbered_where_the_breaks_make_the_noted_count(read_content: Read) -> None:
    text = (
        r"{{\rtf1{{\info{{\title A lease}}{{\author Ann}}{{\nofpages{}}}}}One.\par\page Two.\par\pard\pagebb Three.\par"
    )
    text += r"\pard\sect\sectd\sbknone Still three.\sect\sectd Four.}}"

    numbered = read_content(text.format(4), "a.rtf")
    flowing = read_content(text.format(9), "a.rtf")

    assert numbered.title == "A lease"
    assert [(page.number, page.markdown) for page in numbered.pages] == [
        (1, "One."),
        (2, "Two."),
        (3, "Three.\n\nStill three."),
        (4, "Four."),
    ]
    assert [(page.number, page.label) for page in flowing.pages] == [(None, None)]


def test_characters_that_mark_pages_cannot_come_from_the_text(read_content: Read) -> None:
    assert len(read_content("{\\rtf1 a\\u11?b\\'0bc\x0cd\\u12?e}", "a.rtf").pages) == 1


def test_html_inside_rich_text_is_read_as_html(read_content: Read) -> None:
    text = r"{\rtf1\ansi\fromhtml1{\*\htmltag64 <h1>}Rent{\*\htmltag64 </h1>}\htmlrtf {\b\htmlrtf0 x}}"

    assert read_content(text, "a.rtf").pages[0].markdown == "# Rent\n\nx"


def test_a_long_table_is_cut_under_its_header(read_content: Read) -> None:
    rows = "".join(ROW.format(f"Flat {i}", "y" * 90) for i in range(200))  # 200 rows of some 100 characters

    pages = read_content("{\\rtf1 " + ROW.format("Name", "Rent") + rows + "}", "a.rtf").pages

    assert len(pages) >= 3
    assert all(page.markdown.startswith("| Name | Rent |") for page in pages)


def test_a_file_that_is_cut_off_says_so(read_content: Read) -> None:
    whole = r"{\rtf1 One.\par{\b Two.\par}}"

    assert read_content(whole, "a.rtf").warnings == ()
    assert "cut off" in read_content(whole[:-1], "a.rtf").warnings[0]


def test_a_group_that_swallows_the_text_is_damage(read_content: Read) -> None:
    with pytest.raises(UnreadableDocument, match="damaged"):
        read_content(r"{\rtf1{\fonttbl{\f0 Arial;} One.\par Two.\par}", "a.rtf")


def test_without_text_it_is_empty(read_content: Read) -> None:
    with pytest.raises(EmptyDocument):
        read_content(r"{\rtf1\ansi{\fonttbl{\f0 Arial;}}\par}", "a.rtf")


def test_another_file_is_unreadable(source: Callable[..., Source], tmp_path: Path) -> None:
    path = tmp_path / "a.rtf"
    path.write_text("words")

    with pytest.raises(UnreadableDocument):
        rtf_file.read(source(path))


def test_damaged_files_are_refused_in_our_words(
    failures_when_damaged: Callable[[object, Path], int], tmp_path: Path
) -> None:
    path = tmp_path / "whole.rtf"
    body = ROW.format("Name", "Rent") * 5 + r"\pard A note{\footnote here} and \u8364? {\listtext 1.\tab}\ls1 item\par"
    path.write_text(f"{{\\rtf1\\ansi{STYLES}{body * 5}}}")

    assert failures_when_damaged(rtf_file.read, path) <= 30  # the cuts before the first text, and damaged signatures
