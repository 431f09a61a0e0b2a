"""Long PDFs read by several processes: the same result to the byte as by one, whatever goes over the seams."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pymupdf
import pytest

from localrag.parsing import pdf
from localrag.parsing.crew import CrewFailed
from localrag.parsing.pdf_crew import read_side_by_side
from localrag.parsing.source import Limits, Source, Tools
from localrag.types import ParsedDocument

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="files are read side by side on Linux only")

PAGES = 64
MakeSource = Callable[..., Source]


def _with(source: Source, processors: int) -> Source:
    return replace(source, limits=Limits(processors=processors), tools=Tools(ocr="off"))


def _book(path: Path) -> Path:
    """64 pages: parts of two (32, 33) and of three (21, 22 and 42, 43) meet within tables."""
    with pymupdf.open() as book:
        for number in range(1, PAGES + 1):
            page = book.new_page()
            page.insert_text((72, 30), f"Annual Report of the Harbour {2020 + number // 40}", fontsize=8)
            page.insert_text((280, 820), f"Page {number} of {PAGES}", fontsize=8)
            if number % 10 == 1:
                page.insert_text((72, 80), f"Chapter {number // 10 + 1}", fontsize=20)
            if number in (22, 33, 34, 43):
                _rows(page, header=False)
                continue
            page.insert_text((72, 110), f"Bold section {number}", fontname="hebo", fontsize=10)
            page.insert_text((72, 130), f"The har-\nbour had a busy sea-\nson number {number}.", fontsize=10)
            if number in (21, 32, 42):
                _rows(page, header=True)
            elif number == 50:
                page.draw_rect(pymupdf.Rect(50, 50, 500, 700))  # nothing but a drawing
            elif number % 7 == 0:
                page.insert_text((500, 400), "turned note", rotate=90, fontsize=9)
        book.set_toc([[1, f"Bold section {number}", number] for number in (5, 31, 60)])
        book.save(path)
    return path


def _rows(page: Any, *, header: bool) -> None:
    """Rows down to the end of the page, from its top unless they have a header; the same columns everywhere."""
    top = 300 if header else 80
    if header:
        for x, name in zip((80, 230, 380), ("Quay", "Ships", "Tonnes"), strict=True):
            page.insert_text((x, top - 5), name, fontname="hebo", fontsize=10)
    for row in range((780 - top) // 20):
        y = top + 20 * row
        for x, cell in zip((80, 230, 380), (f"Quay {row}", f"{row * 37 + 1}", f"{row * 1001 + 7:,}"), strict=True):
            page.insert_text((x, y + 15), cell, fontsize=10)
    for x in (72, 222, 372, 522):
        page.draw_line((x, top - 20 if header else top), (x, 780))
    for y in range(top - 20 if header else top, 781, 20):
        page.draw_line((72, y), (522, y))


def _read(source: Source) -> ParsedDocument:
    return pdf.read(source)


@pytest.mark.parametrize("processors", [2, 3])
def test_a_book_reads_the_same_by_several_processes(source: MakeSource, tmp_path: Path, processors: int) -> None:
    base = source(_book(tmp_path / "book.pdf"))
    alone = _read(_with(base, 1))
    assert _read(_with(base, processors)) == alone
    pages = {page.ordinal: page.markdown for page in alone.pages}
    # The test would be empty without what it is about: running lines gone, a table continued, a bookmark's heading.
    assert not any("Page 30 of" in text for text in pages.values())
    assert "| Quay | Ships | Tonnes |" in pages[33]
    assert pages[31].startswith("# Chapter 4\n\n# Bold section 31")


def test_it_was_read_side_by_side(source: MakeSource, tmp_path: Path) -> None:
    base = _with(source(_book(tmp_path / "book.pdf")), 3)
    told: list[int] = []
    with pymupdf.open(base.path) as book:
        text = read_side_by_side(book, dict, base, lambda: told.append(1))
    assert text is not None
    assert len(text.markdowns) == PAGES
    assert len(told) == 3 * 20  # copies tell of ten pages at a time: of 21, 21 and 22 twice ten each


def test_a_short_file_is_read_alone(source: MakeSource, tmp_path: Path) -> None:
    with pymupdf.open() as book:
        for _ in range(30):
            book.new_page().insert_text((72, 72), "short")
        book.save(tmp_path / "short.pdf")
    base = _with(source(tmp_path / "short.pdf"), 2)
    with pymupdf.open(base.path) as book:
        assert read_side_by_side(book, dict, base, lambda: None) is None
    assert len(_read(base).pages) == 30


@pytest.mark.parametrize("at", [0.2, 0.5, 0.8])
def test_a_damaged_file_reads_as_it_does_alone(source: MakeSource, tmp_path: Path, at: float) -> None:
    path = _book(tmp_path / "book.pdf")
    data = bytearray(path.read_bytes())
    start = int(len(data) * at)
    data[start : start + 400] = bytes(400)
    path.write_bytes(data)
    base = source(path)
    assert _read(_with(base, 2)) == _read(_with(base, 1))


def test_a_file_repaired_while_it_is_read_is_left_to_one_process(source: MakeSource, tmp_path: Path) -> None:
    path = _book(tmp_path / "book.pdf")
    data = path.read_bytes()
    # The text of page 60 gets a number that the table of objects does not promise: met when the page is loaded.
    with pymupdf.open(path) as book:
        number = book[59].get_contents()[0]
    assert data.count(b"\n%d 0 obj" % number) == 1
    path.write_bytes(data.replace(b"\n%d 0 obj" % number, b"\n%d 0 obj" % int("9" * len(str(number)))))
    base = source(path)
    with pymupdf.open(path) as book:
        assert not book.is_repaired
        with pytest.raises(CrewFailed):
            read_side_by_side(book, dict, _with(base, 2), lambda: None)
    assert _read(_with(base, 2)) == _read(_with(base, 1))


def test_pages_that_are_pictures_are_named(source: MakeSource, tmp_path: Path) -> None:
    path = _book(tmp_path / "book.pdf")
    with pymupdf.open(path) as book:
        for number in (3, 40, 64):
            page = book[number - 1]
            picture = pymupdf.Pixmap(pymupdf.csRGB, pymupdf.IRect(0, 0, 40, 40))
            picture.clear_with(120)
            page.clean_contents()
            book.update_stream(page.get_contents()[0], b" ")
            page.insert_image(page.rect, pixmap=picture)
        book.save(tmp_path / "scans.pdf")
    base = source(tmp_path / "scans.pdf")
    read = _read(_with(base, 2))
    assert read == _read(_with(base, 1))
    assert any("Pages 3, 40, 64 have no text, only pictures" in warning for warning in read.warnings)
