"""Form fields and comments of PDFs are read with their page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pymupdf

ReadPdf = Callable[[Any], list[str]]


def field(page: Any, name: str, kind: int, value: object, y: float, choices: list[str] | None = None) -> None:
    widget = pymupdf.Widget()
    widget.field_name, widget.field_type, widget.field_value = name, kind, value
    widget.rect = (
        pymupdf.Rect(180, y - 11, 330, y + 4) if isinstance(value, str) else pymupdf.Rect(180, y - 11, 195, y + 4)
    )
    if choices:
        widget.choice_values = choices
    page.add_widget(widget)


def test_filled_in_fields_stand_beside_their_labels(read_pdf: ReadPdf) -> None:
    document = pymupdf.open()
    page = document.new_page()
    for y, label in ((80, "Name of tenant:"), (110, "Pets allowed:"), (140, "Colour:")):
        page.insert_text((72, y), label, fontsize=11)
    field(page, "tenant", pymupdf.PDF_WIDGET_TYPE_TEXT, "Maria Lopez", 80)
    field(page, "pets", pymupdf.PDF_WIDGET_TYPE_CHECKBOX, True, 110)
    field(page, "colour", pymupdf.PDF_WIDGET_TYPE_COMBOBOX, "green", 140, ["red", "green"])
    words = read_pdf(document)[0].replace("|", " ").split()
    text = " ".join(words)
    assert "Name of tenant: Maria Lopez" in text
    assert "Pets allowed: ✓" in text
    assert "Colour: green" in text


def test_comments_follow_the_page_with_their_author(read_pdf: ReadPdf) -> None:
    document = pymupdf.open()
    page = document.new_page()
    page.insert_text((72, 80), "The deposit is two months of rent.", fontsize=11)
    note = page.add_text_annot((300, 300), "Ask legal before\nsigning.")
    note.set_info(title="Ana")
    mark = page.add_highlight_annot(pymupdf.Rect(72, 70, 200, 84))
    mark.set_info(content="Too high", title="")
    page.add_freetext_annot(pymupdf.Rect(72, 400, 300, 430), "Typed on the page")
    blocks = read_pdf(document)[0].split("\n\n")
    assert blocks == [
        "The deposit is two months of rent.",
        "Typed on the page",
        "Comment by Ana: Ask legal before signing.",
        "Comment: Too high",
    ]


def test_links_are_no_comments(read_pdf: ReadPdf) -> None:
    document = pymupdf.open()
    page = document.new_page()
    page.insert_text((72, 80), "See the plan.", fontsize=11)
    page.insert_link({"kind": pymupdf.LINK_URI, "from": pymupdf.Rect(72, 70, 130, 84), "uri": "https://a.example/"})
    assert read_pdf(document) == ["See the plan."]
