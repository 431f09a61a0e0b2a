"""Whatever a document says, all of its sentences come back, each on its page: for any sentences, in twelve formats."""

from __future__ import annotations

import csv
import io
import json
import re
import zipfile
from collections.abc import Callable
from email.message import EmailMessage
from html import escape
from pathlib import Path
from typing import Any

import docx
import openpyxl
import pptx
import pymupdf
import pytest
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pptx.util import Inches

from localrag.parsing.dispatch import read_document
from localrag.parsing.source import Limits
from localrag.types import Page

# Pages of sentences. Where a format has no pages, they are chapters, cells, slides, sheets or rows.
Pages = list[list[str]]
Sits = Callable[[Page, int, int], bool]

_LATIN = "abcdefghijklmnopqrstuvwxyzäßéñø"
_ALL = f"{_LATIN}čжмя中文日本語한글אבגعرب"
# What has a meaning of its own in some format, and must be no more than text.
_MARKS = [
    "#",
    "*",
    "|",
    "&",
    "<b>",
    "1.",
    "-",
    "=",
    "_x_",
    "`",
    "$5",
    "50%",
    "(a)",
    '"',
    "'",
    ";",
    ",",
    "\\n",
    "{}",
    "~~~",
    "+",
]


def _named(number: int) -> str:
    """A word of its own for each sentence, without digits: pages that differ in a number only are numbered alike."""
    return "q" + "".join(_LATIN[int(digit)] for digit in f"{number:04}") + "z"


def _pages_of(alphabet: str, marks: list[str], most: int = 6) -> st.SearchStrategy[Pages]:
    word = st.one_of(st.text(alphabet, min_size=1, max_size=9), st.sampled_from(marks))
    words = st.tuples(st.lists(word, max_size=3), st.lists(word, max_size=12))

    def numbered(pages: list[list[tuple[list[str], list[str]]]]) -> Pages:
        return [
            [" ".join([*before, _named(page * 100 + at), *after]) + "." for at, (before, after) in enumerate(sentences)]
            for page, sentences in enumerate(pages)
        ]

    return st.lists(st.lists(words, min_size=1, max_size=5), min_size=1, max_size=most).map(numbered)


ANY = _pages_of(_ALL, _MARKS)
# The fonts that are in every PDF viewer are Latin; a star before a line is read as a bullet there.
PLAIN = _pages_of(_LATIN, ["#", "(a)", "$5", "50%", "&", "|"])


def bare(text: str) -> str:
    """What has to agree: neither white space nor the backslashes that keep Markdown from reading a character."""
    return re.sub(r"[\s\\]+", "", text)


def check(data: bytes, name: str, pages: Pages, sits: Sits, folder: Path) -> None:
    """Every sentence is read, whole, and on a page where it sits."""
    path = folder / "file"
    path.write_bytes(data)
    read = read_document(path, name, Limits()).pages
    texts = [bare(page.markdown) for page in read]
    for number, sentences in enumerate(pages):
        for at, sentence in enumerate(sentences):
            found = [page for page, text in zip(read, texts, strict=True) if bare(sentence) in text]
            assert found, f"{sentence!r} was lost"
            assert any(sits(page, number, at) for page in found), f"{sentence!r} is in {[p.label for p in found]}"


def _range(page: Page) -> range:
    """The lines or rows that the page's label names."""
    numbers = [int(number) for number in re.findall(r"\d+", (page.label or "").rpartition(", ")[2])]
    return range(numbers[0], numbers[-1] + 1)


def _flat(pages: Pages, number: int, at: int) -> int:
    """How many sentences stand before this one."""
    return sum(len(one) for one in pages[:number]) + at


any_document = given(pages=ANY)
# Without shrinking: the documents are small, and to shrink one takes minutes.
quick = settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    derandomize=True,
    database=None,
    phases=(Phase.explicit, Phase.generate),
)
# For what takes its time to write.
few = settings(quick, max_examples=10)


@quick
@any_document
@pytest.mark.parametrize(("name", "gap"), [("a.txt", "\n"), ("a.md", "\n\n")])
def test_text_and_markdown(pages: Pages, name: str, gap: str, tmp_path: Path) -> None:
    text = gap.join(sentence for page in pages for sentence in page)
    step = len(gap)
    check(text.encode(), name, pages, lambda page, p, s: 1 + step * _flat(pages, p, s) in _range(page), tmp_path)


@quick
@any_document
def test_csv(pages: Pages, tmp_path: Path) -> None:
    rows = [["Number", "Sentence"], *([str(p), s] for p, page in enumerate(pages) for s in page)]
    buffer = io.StringIO()
    csv.writer(buffer).writerows(rows)
    data = buffer.getvalue().encode()
    check(data, "a.csv", pages, lambda page, p, s: 2 + _flat(pages, p, s) in _range(page), tmp_path)


@quick
@any_document
def test_json(pages: Pages, tmp_path: Path) -> None:
    data = json.dumps({"book": [{"sentences": page} for page in pages]}).encode()

    def sits(page: Page, p: int, s: int) -> bool:
        """Whether the heading or the line names the element: all of a short file is one part without a heading."""
        return f"[{p}]" in page.markdown

    check(data, "a.json", pages, sits, tmp_path)


@quick
@any_document
def test_notebooks(pages: Pages, tmp_path: Path) -> None:
    cells: list[dict[str, Any]] = []
    for number, page in enumerate(pages):
        if number % 2:
            output = {"output_type": "stream", "name": "stdout", "text": page[1:]}
            cells.append({"cell_type": "code", "source": page[0], "outputs": [output], "metadata": {}})
        else:
            cells.append({"cell_type": "markdown", "source": "\n\n".join(page), "metadata": {}})
    data = json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells}).encode()
    check(data, "a.ipynb", pages, lambda page, p, _: (page.label or "").startswith(f"cell {p + 1} "), tmp_path)


def _section(number: int, page: list[str]) -> str:
    paragraphs = "".join(f"<p>{escape(sentence)}</p>" for sentence in page)
    return f"<h2>Part {_named(9_000 + number)}</h2>{paragraphs}"


@quick
@any_document
def test_html(pages: Pages, tmp_path: Path) -> None:
    body = "".join(_section(number, page) for number, page in enumerate(pages))
    data = f"<!doctype html><meta charset=utf-8><title>t</title><main>{body}</main>".encode()

    def sits(page: Page, p: int, s: int) -> bool:
        """Whether it stands below its heading and above the next."""
        text = page.markdown
        heading, after = (text.find(_named(9_000 + n)) for n in (p, p + 1))
        at = text.find(_named(p * 100 + s))
        return heading < at and (after < 0 or at < after)

    check(data, "a.html", pages, sits, tmp_path)


@quick
@any_document
def test_epub(pages: Pages, tmp_path: Path) -> None:
    opf = "".join(f'<item id="c{n}" href="{n}.xhtml" media-type="application/xhtml+xml"/>' for n in range(len(pages)))
    spine = "".join(f'<itemref idref="c{n}"/>' for n in range(len(pages)))
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("mimetype", "application/epub+zip")
        archive.writestr(
            "META-INF/container.xml",
            '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
            '<rootfile full-path="b.opf"/></rootfiles></container>',
        )
        archive.writestr(
            "b.opf",
            f'<package xmlns="http://www.idpf.org/2007/opf"><metadata/><manifest>{opf}</manifest>'
            f"<spine>{spine}</spine></package>",
        )
        for number, page in enumerate(pages):
            page_html = f'<html xmlns="http://www.w3.org/1999/xhtml"><body>{_section(number, page)}</body></html>'
            archive.writestr(f"{number}.xhtml", page_html)
    check(buffer.getvalue(), "a.epub", pages, lambda page, p, _: f"chapter {p + 1}:" in f"{page.label}:", tmp_path)


@quick
@any_document
def test_mail(pages: Pages, tmp_path: Path) -> None:
    message = EmailMessage()
    message["Subject"] = "Subject"
    message.set_content("\n\n".join(pages[0]), cte="base64")
    for number, page in enumerate(pages[1:], start=1):
        message.add_attachment("\n".join(page), filename=f"a{number}.txt", cte="base64")

    def sits(page: Page, p: int, _: int) -> bool:
        return (page.label or "").startswith(f"attachment a{p}.txt" if p else "message")

    check(bytes(message), "a.eml", pages, sits, tmp_path)


@few
@any_document
def test_word(pages: Pages, tmp_path: Path) -> None:
    document = docx.Document()
    for number, page in enumerate(pages):
        for at, sentence in enumerate(page):
            paragraph = document.add_paragraph(sentence)
            if number and not at:
                paragraph.runs[0]._r.insert(0, parse_xml(f"<w:lastRenderedPageBreak {nsdecls('w')}/>"))
    buffer = io.BytesIO()
    document.save(buffer)
    one_page = len(pages) == 1  # then the file records no page at all
    check(buffer.getvalue(), "a.docx", pages, lambda page, p, _: one_page or page.number == p + 1, tmp_path)


@few
@any_document
def test_slides(pages: Pages, tmp_path: Path) -> None:
    deck: Any = pptx.Presentation()
    for page in pages:
        slide = deck.slides.add_slide(deck.slide_layouts[6])
        for at, sentence in enumerate(page):
            slide.shapes.add_textbox(Inches(1), Inches(at), Inches(8), Inches(1)).text_frame.text = sentence
    buffer = io.BytesIO()
    deck.save(buffer)
    check(buffer.getvalue(), "a.pptx", pages, lambda page, p, _: page.number == p + 1, tmp_path)


@few
@any_document
def test_sheets(pages: Pages, tmp_path: Path) -> None:
    book: Any = openpyxl.Workbook()
    book.remove(book.active)
    for number, page in enumerate(pages):
        sheet = book.create_sheet(f"S{number}")
        sheet.append(["Number", "Sentence"])
        for at, sentence in enumerate(page):
            sheet.append([at])
            cell = sheet.cell(at + 2, 2, sentence)
            cell.data_type = "s"  # a text that begins with = is no formula
    buffer = io.BytesIO()
    book.save(buffer)

    def sits(page: Page, p: int, s: int) -> bool:
        return (page.label or "").startswith(f"sheet S{p}, ") and s + 2 in _range(page)

    check(buffer.getvalue(), "a.xlsx", pages, sits, tmp_path)


@quick
@given(pages=PLAIN)
def test_pdf(pages: Pages, tmp_path: Path) -> None:
    document = pymupdf.open()
    for page in pages:
        sheet = document.new_page()
        for at, sentence in enumerate(page):
            assert sheet.insert_textbox((72, 150 + 100 * at, 520, 245 + 100 * at), sentence) > 0
    check(document.tobytes(), "a.pdf", pages, lambda page, p, _: page.number == p + 1, tmp_path)
