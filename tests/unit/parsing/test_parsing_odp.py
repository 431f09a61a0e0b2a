"""OpenDocument presentations: a page for each slide."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from localrag.errors import EmptyDocument
from localrag.parsing import odp
from localrag.parsing.source import Source
from localrag.types import ParsedDocument

Zipped = Callable[[str, Mapping[str, str | bytes]], Path]
Read = Callable[..., ParsedDocument]

_OASIS = "urn:oasis:names:tc:opendocument:xmlns"
NAMESPACES = (
    " ".join(f'xmlns:{name}="{_OASIS}:{name}:1.0"' for name in ("office", "text", "table", "style", "presentation"))
    + f' xmlns:draw="{_OASIS}:drawing:1.0" xmlns:svg="{_OASIS}:svg-compatible:1.0"'
    + ' xmlns:dc="http://purl.org/dc/elements/1.1/"'
)
HIDDEN = (
    '<style:style style:name="dp2" style:family="drawing-page">'
    '<style:drawing-page-properties presentation:visibility="hidden"/></style:style>'
)


def content(slides: str, kind: str = "presentation") -> str:
    return (
        f"<office:document-content {NAMESPACES}><office:automatic-styles>{HIDDEN}</office:automatic-styles>"
        f"<office:body><office:{kind}>{slides}</office:{kind}></office:body></office:document-content>"
    )


def slide(*shapes: str, style: str = "dp1") -> str:
    return f'<draw:page draw:style-name="{style}">{"".join(shapes)}</draw:page>'


def frame(text: str, kind: str = "", at: str = "") -> str:
    inner = text if text.startswith("<") else f"<text:p>{text}</text:p>"
    return f'<draw:frame presentation:class="{kind}" {at}><draw:text-box>{inner}</draw:text-box></draw:frame>'


@pytest.fixture
def read(source: Callable[..., Source], zipped: Zipped) -> Read:
    """Reads a presentation of the slides."""

    def run(*slides: str, kind: str = "presentation") -> ParsedDocument:
        return odp.read(source(zipped("a.odp", {"content.xml": content("".join(slides), kind)})))

    return run


def test_slides_are_numbered_and_begin_with_their_title(read: Read) -> None:
    items = "".join(f"<text:list-item><text:p>{word}</text:p></text:list-item>" for word in ("flat", "garage"))

    document = read(
        slide(frame(f"<text:list>{items}</text:list>", "outline"), frame("Our rents", "title")),
        slide(frame("", "title")),
        slide(frame("secret", "subtitle"), style="dp2"),
    )

    assert document.title == "Our rents"
    assert [(page.ordinal, page.number, page.label, page.markdown) for page in document.pages] == [
        (1, 1, None, "# Our rents\n\n- flat\n- garage"),
        (2, 3, "hidden slide", "secret"),
    ]


def test_shapes_are_read_row_by_row_and_groups_too(read: Read) -> None:
    low = '<draw:custom-shape svg:x="1cm" svg:y="9cm"><text:p>low</text:p></draw:custom-shape>'
    right = frame("right", at='svg:x="5in" svg:y="21mm"')
    left = frame("left", at='svg:x="1in" svg:y="20mm"')
    group = '<draw:g><draw:rect svg:x="1cm" svg:y="1cm"><text:p>in a group</text:p></draw:rect></draw:g>'

    assert read(slide(low, right, left, group)).pages[0].markdown == "in a group\n\nleft\n\nright\n\nlow"


def test_tables_notes_and_comments(read: Read) -> None:
    rows = "".join(
        "<table:table-row>" + "".join(f"<table:table-cell><text:p>{c}</text:p></table:table-cell>" for c in cells)
        + "</table:table-row>"
        for cells in ("AB", "12")
    )  # fmt: skip
    notes = f"<presentation:notes>{frame('1', 'page-number')}{frame('Say hello.', 'notes')}</presentation:notes>"
    comment = "<office:annotation><dc:creator>Ann</dc:creator><text:p>Nicer.</text:p></office:annotation>"

    document = read(slide(comment, f"<draw:frame><table:table>{rows}</table:table></draw:frame>", notes))

    assert document.pages[0].markdown == (
        "| A | B |\n| --- | --- |\n| 1 | 2 |\n\nNotes:\n\nSay hello.\n\n> Comment by Ann: Nicer."
    )


def test_footers_come_once_and_numbers_never(read: Read) -> None:
    running = frame("ACME", "footer") + frame("7", "page-number") + frame("May", "date-time")

    document = read(slide(frame("one"), running), slide(frame("two"), running))

    assert [page.markdown for page in document.pages] == ["one\n\nACME", "two"]


def test_drawings_are_read_as_slides(read: Read) -> None:
    assert read(slide(frame("A plan")), kind="drawing").pages[0].number == 1


def test_without_text_it_is_empty(read: Read) -> None:
    with pytest.raises(EmptyDocument):
        read(slide(frame("")))


def test_damaged_files_are_refused_in_our_words(
    failures_when_damaged: Callable[[object, Path], int], zipped: Zipped
) -> None:
    slides = "".join(slide(frame(f"Part {i}", "title"), frame("word " * i)) for i in range(30))

    assert failures_when_damaged(odp.read, zipped("whole.odp", {"content.xml": content(slides)})) >= 45
