"""Pictures of PDF pages: the quotation is found whatever Markdown made of it, and marked where it stands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pymupdf
import pytest

from localrag.errors import EncryptedDocument, UnreadableDocument
from localrag.parsing.render import render_page

Box = tuple[float, float, float, float]


def save(document: Any, tmp_path: Path, **options: Any) -> Path:
    path = tmp_path / "report.pdf"
    document.save(path, **options)
    document.close()
    return path


def write(page: Any, x: float, y: float, text: str) -> Box:
    """Writes in 12 points and returns the box of the text."""
    page.insert_text((x, y), text, fontsize=12)
    return x, y - 9, x + pymupdf.get_text_length(text, fontsize=12), y + 2


def yellow_share(png: bytes, box: Box, dpi: int = 72) -> float:
    """The share of the box's pixels that are yellowish: much less blue than red."""
    picture = pymupdf.Pixmap(png)
    scale = dpi / 72
    x0, y0, x1, y1 = (round(value * scale) for value in box)
    pixels = [picture.pixel(x, y) for x in range(x0, x1) for y in range(y0, y1)]
    return sum(red - blue > 40 for red, _, blue in pixels) / len(pixels)


def is_marked(png: bytes, box: Box) -> bool:
    share = yellow_share(png, box)
    assert share > 0.6 or share < 0.1
    return share > 0.6


@pytest.fixture
def page() -> Any:
    document = pymupdf.open()
    return document.new_page(width=400, height=400)


def test_the_quotation_is_marked_and_nothing_else(page: Any, tmp_path: Path) -> None:
    first = write(page, 50, 60, "The river rose three metres in")
    second = write(page, 50, 75, "one night and flooded the mill.")
    other = write(page, 50, 90, "Nobody was hurt on that occasion.")
    quote = "The river rose three metres in one night and flooded the mill."
    picture = render_page(save(page.parent, tmp_path), 1, quote, 72)
    assert picture.found
    assert [is_marked(picture.png, box) for box in (first, second, other)] == [True, True, False]


@pytest.mark.parametrize(
    ("lines", "quote"),
    [
        (["trace-based compi-", "lation of programs"], "trace-based compilation of programs"),
        (["Net sales   $ 34,229   $ 35,355"], "| Net sales | $34,229 | $35,355 |"),
        (["Risks and uncertainties"], "## **Risks and uncertainties**"),
        (["first point of the list"], "- first point of the list"),
        (["An efficient file format"], "An eﬃcient ﬁle format"),
        (["COSTS OF LIVING IN PARIS"], "Costs of living in Paris"),
    ],
)
def test_markdown_and_line_breaks_do_not_matter(page: Any, lines: list[str], quote: str, tmp_path: Path) -> None:
    boxes = [write(page, 50, 60 + 15 * i, line) for i, line in enumerate(lines)]
    picture = render_page(save(page.parent, tmp_path), 1, quote, 72)
    assert picture.found
    assert all(yellow_share(picture.png, box) > 0.5 for box in boxes)


def test_cells_in_other_places_are_found_too(page: Any, tmp_path: Path) -> None:
    header = write(page, 200, 60, "Reported revenue")
    between = write(page, 50, 90, "Something different altogether")
    value = write(page, 50, 120, "Northern hemisphere 12,345")
    picture = render_page(save(page.parent, tmp_path), 1, "| Reported revenue |\n| Northern hemisphere 12,345 |", 72)
    assert [is_marked(picture.png, box) for box in (header, between, value)] == [True, False, True]


@pytest.mark.parametrize("quote", ["", "***", "Words that stand nowhere on this page at all."])
def test_what_is_not_there_marks_nothing(page: Any, quote: str, tmp_path: Path) -> None:
    box = write(page, 50, 60, "The river rose three metres.")
    picture = render_page(save(page.parent, tmp_path), 1, quote, 72)
    assert not picture.found
    assert not is_marked(picture.png, box)


@pytest.mark.parametrize("rotation", [90, 180, 270])
def test_turned_pages_are_marked_where_the_words_show(page: Any, rotation: int, tmp_path: Path) -> None:
    upright = write(page, 50, 60, "The river rose three metres.")
    page.set_rotation(rotation)
    shown = pymupdf.Rect(upright) * page.rotation_matrix
    shown.normalize()
    picture = render_page(save(page.parent, tmp_path), 1, "The river rose three metres.", 72)
    assert picture.found
    assert is_marked(picture.png, tuple(shown))


def test_resolution_sets_the_size_and_posters_stay_bounded(tmp_path: Path) -> None:
    document = pymupdf.open()
    document.new_page(width=360, height=180)
    document.new_page(width=14_400, height=14_400)
    path = save(document, tmp_path)
    small = pymupdf.Pixmap(render_page(path, 1, "", 144).png)
    assert (small.width, small.height) == (720, 360)
    poster = pymupdf.Pixmap(render_page(path, 2, "", 110).png)
    assert poster.width * poster.height <= 25_100_000


def test_the_file_itself_is_not_changed(page: Any, tmp_path: Path) -> None:
    write(page, 50, 60, "The river rose three metres.")
    path = save(page.parent, tmp_path)
    before = path.read_bytes()
    render_page(path, 1, "The river rose three metres.", 72)
    assert path.read_bytes() == before


@pytest.mark.parametrize("number", [0, 2, -1])
def test_a_page_that_is_not_there_is_an_error(page: Any, number: int, tmp_path: Path) -> None:
    path = save(page.parent, tmp_path)
    with pytest.raises(UnreadableDocument, match=rf"report\.pdf has no page {number}: its pages are 1 to 1"):
        render_page(path, number, "", 72)


def test_a_file_that_is_gone_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UnreadableDocument, match="not there any more"):
        render_page(tmp_path / "gone.pdf", 1, "", 72)


@pytest.mark.parametrize("data", [b"", b"plain text"])
def test_what_is_no_pdf_is_an_error(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "notes.pdf"
    path.write_bytes(data)
    with pytest.raises(UnreadableDocument, match=r"notes\.pdf is not a readable PDF"):
        render_page(path, 1, "", 72)


def test_a_locked_file_is_an_error(page: Any, tmp_path: Path) -> None:
    path = save(page.parent, tmp_path, encryption=pymupdf.PDF_ENCRYPT_AES_256, user_pw="u", owner_pw="o")
    with pytest.raises(EncryptedDocument):
        render_page(path, 1, "", 72)
