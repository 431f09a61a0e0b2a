import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pptx as python_pptx
import pytest
from lxml import etree
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.util import Inches

from localrag.errors import EmptyDocument, EncryptedDocument
from localrag.parsing import pptx
from localrag.parsing.source import Source
from localrag.types import ParsedDocument

Build = Callable[[Any], None]
Read = Callable[[Build], ParsedDocument]
_TITLE_AND_CONTENT, _BLANK = 1, 6


@pytest.fixture
def read(source: Callable[..., Source], tmp_path: Path) -> Read:
    """Reads the presentation that a function builds."""
    return lambda build: pptx.read(source(write(tmp_path, build)))


def write(tmp_path: Path, build: Build) -> Path:
    deck = python_pptx.Presentation()
    build(deck)
    path = tmp_path / "deck.pptx"
    deck.save(path)
    return path


def blank(deck: Any) -> Any:
    return deck.slides.add_slide(deck.slide_layouts[_BLANK])


def text_box(slide: Any, text: str, left: float, top: float) -> Any:
    box = slide.shapes.add_textbox(Inches(left), Inches(top), Inches(3), Inches(1))
    box.text_frame.text = text
    return box


def test_a_slide_is_a_page_with_its_title_bullets_and_notes(read: Read) -> None:
    def build(deck: Any) -> None:
        blank(deck)  # a slide without text is no page, but counts
        slide = deck.slides.add_slide(deck.slide_layouts[_TITLE_AND_CONTENT])
        slide.shapes.title.text = "Aims"
        frame = slide.placeholders[1].text_frame
        frame.text = "first"
        for text, level in (("inner", 1), ("second", 0)):
            paragraph = frame.add_paragraph()
            paragraph.text, paragraph.level = text, level
        slide.notes_slide.notes_text_frame.text = "Say hello."

    pages = read(build).pages

    assert [(page.ordinal, page.number, page.label) for page in pages] == [(1, 2, None)]
    assert pages[0].markdown == "# Aims\n\n- first\n   - inner\n- second\n\nNotes:\n\nSay hello."


def test_shapes_are_read_by_rows_from_left_to_right(read: Read) -> None:
    def build(deck: Any) -> None:
        slide = blank(deck)
        text_box(slide, "below", 1, 4)
        text_box(slide, "right", 5, 1)
        text_box(slide, "left", 1, 1.1)  # a little lower than its neighbour, and still in its row

    assert read(build).pages[0].markdown == "left\n\nright\n\nbelow"


def test_a_group_is_read_as_one(read: Read) -> None:
    def build(deck: Any) -> None:
        slide = blank(deck)
        text_box(slide, "between", 1, 2)
        group = slide.shapes.add_group_shape()
        for text, top in (("second", 3), ("first", 1)):
            box = group.shapes.add_textbox(Inches(1), Inches(top), Inches(1), Inches(1))
            box.text_frame.text = text
        text_box(slide, "last", 1, 6)

    assert read(build).pages[0].markdown == "first\n\nsecond\n\nbetween\n\nlast"


def test_tables_expand_merged_cells(read: Read) -> None:
    def build(deck: Any) -> None:
        table = blank(deck).shapes.add_table(3, 3, Inches(1), Inches(1), Inches(6), Inches(2)).table
        for y, row in enumerate((("", "Class", ""), ("Row", "a|b", "c"), ("", "d", "e"))):
            for x, text in enumerate(row):
                table.cell(y, x).text = text
        table.cell(0, 1).merge(table.cell(0, 2))
        table.cell(1, 0).merge(table.cell(2, 0))

    assert read(build).pages[0].markdown.splitlines() == [
        "|  | Class | Class |",
        "| --- | --- | --- |",
        "| Row | a\\|b | c |",
        "| Row | d | e |",
    ]


def test_groups_of_columns_and_the_names_below_them_are_one_header(read: Read) -> None:
    def build(deck: Any) -> None:
        table = blank(deck).shapes.add_table(4, 3, Inches(1), Inches(1), Inches(6), Inches(2)).table
        for y, row in enumerate((("", "Sales", ""), ("Town", "2023", "2024"), ("Bern", "5", "6"), ("Rome", "7", "8"))):
            for x, text in enumerate(row):
                table.cell(y, x).text = text
        table.cell(0, 1).merge(table.cell(0, 2))

    assert read(build).pages[0].markdown.splitlines() == [
        "| Town | Sales / 2023 | Sales / 2024 |",
        "| --- | --- | --- |",
        "| Bern | 5 | 6 |",
        "| Rome | 7 | 8 |",
    ]


def test_charts_give_their_figures(read: Read) -> None:
    def build(deck: Any) -> None:
        data = CategoryChartData(number_format="0%")
        data.categories = ["North", "South"]
        data.add_series("2022", (0.25, 0.5))
        data.add_series("2023", (0.75, None))
        shape = blank(deck).shapes.add_chart(
            XL_CHART_TYPE.COLUMN_CLUSTERED, Inches(1), Inches(1), Inches(5), Inches(4), data
        )
        shape.chart.has_title = True
        shape.chart.chart_title.text_frame.text = "Shares"

    assert read(build).pages[0].markdown == (
        "Chart: Shares\n\n|  | 2022 | 2023 |\n| --- | --- | --- |\n| North | 25% | 75% |\n| South | 50% |  |"
    )


def test_pictures_speak_by_their_alternative_text(read: Read, tmp_path: Path) -> None:
    pixel = tmp_path / "pixel.png"
    pixel.write_bytes(
        bytes.fromhex(
            "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154"
            "789c63606060f80f00010401005fe5c34b0000000049454e44ae426082"
        )
    )

    def build(deck: Any) -> None:
        slide = blank(deck)
        for top, description in ((1, "A red house"), (3, "pixel.png")):  # a mere file name says nothing
            picture = slide.shapes.add_picture(str(pixel), Inches(1), Inches(top))
            picture._element.nvPicPr.cNvPr.set("descr", description)

    assert read(build).pages[0].markdown == "[Picture: A red house]"


def test_hidden_slides_are_read_and_labelled(read: Read) -> None:
    def build(deck: Any) -> None:
        for text in ("shown", "hidden"):
            text_box(blank(deck), text, 1, 1)
        deck.slides[1]._element.set("show", "0")

    pages = read(build).pages

    assert [(page.number, page.label, page.markdown) for page in pages] == [
        (1, None, "shown"),
        (2, "hidden slide", "hidden"),
    ]


def test_footers_are_kept_once_and_slide_numbers_never(read: Read) -> None:
    def build(deck: Any) -> None:
        for number in (1, 2):
            slide = blank(deck)
            text_box(slide, f"slide {number}", 1, 1)
            for kind, text in (("ftr", "ACME Ltd"), ("sldNum", str(number))):
                shape = text_box(slide, text, 1, 6)
                shape._element.nvSpPr.nvPr.get_or_add_ph().set("type", kind)

    assert [page.markdown for page in read(build).pages] == ["slide 1\n\nACME Ltd", "slide 2"]


def test_numbered_lists_in_text_boxes(read: Read) -> None:
    def build(deck: Any) -> None:
        frame = text_box(blank(deck), "Steps", 1, 1).text_frame
        for text in ("one", "two"):
            paragraph = frame.add_paragraph()
            paragraph.text = text
            paragraph._p.get_or_add_pPr().insert(0, _element("buAutoNum", type="arabicPeriod"))

    assert read(build).pages[0].markdown == "Steps\n\n1. one\n2. two"


def test_the_title_is_that_of_the_first_slide_where_the_property_is_stock(read: Read) -> None:
    def build(deck: Any) -> None:
        deck.core_properties.title = "PowerPoint Presentation"
        deck.slides.add_slide(deck.slide_layouts[_TITLE_AND_CONTENT]).shapes.title.text = "Plans"

    assert read(build).title == "Plans"


def test_a_damaged_slide_gives_what_text_is_left(
    source: Callable[..., Source], zipped: Callable[..., Path], tmp_path: Path
) -> None:
    def build(deck: Any) -> None:
        for text in ("kept", "also kept"):
            text_box(blank(deck), text, 1, 1)

    with zipfile.ZipFile(write(tmp_path, build)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    cut = parts["ppt/slides/slide2.xml"].index(b"</a:t>")
    parts["ppt/slides/slide2.xml"] = parts["ppt/slides/slide2.xml"][:cut]

    document = pptx.read(source(zipped("damaged.pptx", parts)))

    assert [page.markdown for page in document.pages] == ["kept", "also kept"]
    assert len(document.warnings) == 1
    assert document.warnings[0].startswith("Slide 2 is damaged")


def test_a_presentation_without_text_is_empty(read: Read) -> None:
    with pytest.raises(EmptyDocument):
        read(blank)


def test_a_password_is_asked_for(source: Callable[..., Source], tmp_path: Path) -> None:
    encrypted = Path(__file__).resolve().parents[2] / "data/office/testWORD_protected_passtika.docx"
    path = tmp_path / "deck.pptx"
    path.write_bytes(encrypted.read_bytes())  # the container is the same for all Office formats

    with pytest.raises(EncryptedDocument, match="password"):
        pptx.read(source(path))


def test_damaged_files_are_refused_in_our_words(
    failures_when_damaged: Callable[[object, Path], int], tmp_path: Path
) -> None:
    def build(deck: Any) -> None:
        for number in range(5):
            text_box(blank(deck), f"slide {number}", 1, 1)

    assert failures_when_damaged(pptx.read, write(tmp_path, build)) >= 30  # at least the 30 copies cut off


def _element(name: str, **attributes: str) -> Any:
    node = etree.Element(f"{{http://schemas.openxmlformats.org/drawingml/2006/main}}{name}")
    node.attrib.update(attributes)
    return node
