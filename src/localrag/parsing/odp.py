"""OpenDocument presentations and drawings (odp, otp, odg): one page per slide, notes and comments included."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from localrag.errors import EmptyDocument
from localrag.parsing.malformed import unreadable
from localrag.parsing.odf import DRAW, OFFICE, PRESENTATION, SVG, open_odf
from localrag.parsing.odf_styles import Styles
from localrag.parsing.odf_text import TextReader, is_drawing
from localrag.parsing.printed_pages import PageCollector
from localrag.parsing.source import Source
from localrag.types import Page, ParsedDocument

MEDIA_TYPE = "application/vnd.oasis.opendocument.presentation"

_CLASS = f"{PRESENTATION}class"
# What the master page repeats on every slide.
_RUNNING = frozenset({"header", "footer"})
_COUNTING = frozenset({"page-number", "date-time"})
_LENGTH = re.compile(r"(-?[\d.]+)(cm|mm|in|pt|pc|px)?")
_POINTS = {"cm": 28.35, "mm": 2.835, "in": 72.0, "pt": 1.0, "pc": 12.0, "px": 0.75}
# Shapes whose tops differ less than this stand side by side.
_SAME_LINE_POINTS = 10


def read(source: Source) -> ParsedDocument:
    """The slides in order, numbered as in the presentation; hidden ones are labelled so.

    Raises:
        EncryptedDocument, EmptyDocument, UnreadableDocument, DocumentTooLarge
    """
    with unreadable(source, "OpenDocument presentation"), open_odf(source) as package:
        body = package.content()
        deck = _Deck(Styles(package.styles(), body.getroottree().getroot()))
        slides = [deck.slide(node, number) for number, node in enumerate(body.iterchildren(f"{DRAW}page"), start=1)]
        title = package.title() or deck.first_title
    pages = tuple(page for page in _numbered(slides))
    if not pages:
        raise EmptyDocument(
            f"{source.name} holds no text.", path=source.name, hint="Slides that are pictures need text recognition."
        )
    return ParsedDocument(media_type=source.media_type or MEDIA_TYPE, pages=pages, title=title)


def _numbered(slides: Iterable[tuple[int, str | None, str]]) -> Iterator[Page]:
    filled = (slide for slide in slides if slide[2])
    for ordinal, (number, label, markdown) in enumerate(filled, start=1):
        yield Page(ordinal=ordinal, number=number, label=label, markdown=markdown)


class _Deck:
    def __init__(self, styles: Styles) -> None:
        self._styles = styles
        self._running: set[str] = set()
        self.first_title: str | None = None

    def slide(self, node: Any, number: int) -> tuple[int, str | None, str]:
        """The slide's number, its label when it is hidden, and its Markdown."""
        properties = self._styles.drawing_page(node.get(f"{DRAW}style-name", ""))
        hidden = properties is not None and properties.get(f"{PRESENTATION}visibility") == "hidden"
        blocks = [block for block in self._blocks(node) if block]
        return number, "hidden slide" if hidden else None, "\n\n".join(blocks)

    def _blocks(self, node: Any) -> Iterator[str]:
        shapes = sorted((child for child in node if is_drawing(child)), key=_place)
        titles = [shape for shape in shapes if shape.get(_CLASS) == "title"]
        for shape in titles:
            title = " ".join(self._markdown([shape]).split()).lstrip("#- ")
            self.first_title = self.first_title or title or None
            yield f"# {title}" if title else ""
        for shape in shapes:
            if shape in titles or shape.get(_CLASS) in _COUNTING:
                continue
            text = self._markdown([shape])
            if shape.get(_CLASS) in _RUNNING:
                text = "" if text in self._running else text
                self._running.add(text)
            yield text
        yield from self._remarks(node)

    def _remarks(self, node: Any) -> Iterator[str]:
        notes = (
            self._markdown([frame])
            for part in node.iterchildren(f"{PRESENTATION}notes")
            for frame in part.iter(f"{DRAW}frame")
            if frame.get(_CLASS) == "notes"
        )
        if text := "\n\n".join(filter(None, notes)):
            yield f"Notes:\n\n{text}"
        reader = TextReader(self._styles, PageCollector())
        yield from (reader.comment(comment) for comment in node.iterchildren(f"{OFFICE}annotation"))

    def _markdown(self, shapes: Iterable[Any]) -> str:
        """The text of the shapes; page breaks in it mean nothing on a slide."""
        collector = PageCollector()
        TextReader(self._styles, collector).read(shapes)
        return "\n\n".join(page.markdown for page in collector.printed_pages())


def _place(shape: Any) -> tuple[float, float]:
    """Where a shape stands, to be read row by row; a group stands where the first shape in it does."""
    placed = next((one for one in shape.iter() if isinstance(one.tag, str) and one.get(f"{SVG}y")), shape)
    top, left = (_points(placed.get(f"{SVG}{name}", "")) for name in ("y", "x"))
    return top // _SAME_LINE_POINTS, left


def _points(length: str) -> float:
    match = _LENGTH.fullmatch(length)
    try:
        return float(match[1]) * _POINTS.get(match[2] or "pt", 1.0) if match else 0.0
    except ValueError:
        return 0.0
