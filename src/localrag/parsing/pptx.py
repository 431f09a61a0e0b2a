"""PowerPoint presentations (pptx, ppsx, pptm): one page per slide, speaker notes and comments included."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from lxml import etree

from localrag.errors import EmptyDocument
from localrag.parsing.malformed import unreadable
from localrag.parsing.ooxml import Package, open_package
from localrag.parsing.pptx_shapes import (
    RUNNING,
    TITLES,
    A,
    P,
    Position,
    R,
    Shapes,
    paragraph_text,
    placeholder_positions,
    text_markdown,
)
from localrag.parsing.source import Source
from localrag.types import Page, ParsedDocument

MEDIA_TYPE = "application/vnd.openxmlformats-officedocument.presentationml.presentation"

# What programs put into the title property when nobody does.
_STOCK_TITLE = re.compile(r"(powerpoint[- ])?(presentation|präsentation|présentation)\d*|slide \d+", re.IGNORECASE)
_DEFAULT_HEIGHT = 6_858_000  # EMU, 7.5 inches


def read(source: Source) -> ParsedDocument:
    """The slides in order, numbered as in the presentation; hidden ones are labelled so.

    Raises:
        EncryptedDocument, EmptyDocument, UnreadableDocument, DocumentTooLarge
    """
    with unreadable(source, "PowerPoint presentation"), open_package(source) as package:
        deck = _Deck(package)
        pages = tuple(deck.pages())
        title = package.title()
        if title is None or _STOCK_TITLE.fullmatch(title):
            title = deck.first_title
    if not pages:
        raise EmptyDocument(
            f"{source.name} holds no text.", path=source.name, hint="Slides that are pictures need text recognition."
        )
    return ParsedDocument(media_type=MEDIA_TYPE, pages=pages, title=title, warnings=tuple(deck.warnings))


class _Deck:
    def __init__(self, package: Package) -> None:
        self._package = package
        self._part = package.main_part("ppt/presentation.xml")
        self._root = package.xml(self._part)
        size = self._root.find(f"{P}sldSz")
        self._height = int(size.get("cy", _DEFAULT_HEIGHT)) if size is not None else _DEFAULT_HEIGHT
        self._positions: dict[str, dict[str, Position]] = {}
        self._running: set[str] = set()
        self.first_title: str | None = None
        self.warnings: list[str] = []

    def pages(self) -> Iterator[Page]:
        """One Page for each slide that holds text."""
        related = self._package.related(self._part)
        ordinal = 0
        for number, entry in enumerate(self._root.iter(f"{P}sldId"), start=1):
            _, part = related.get(entry.get(f"{R}id", ""), ("", ""))
            if not self._package.has(part):
                self.warnings.append(f"Slide {number} is missing from the file.")
                continue
            markdown, hidden = self._slide(part, number)
            if markdown:
                ordinal += 1
                label = "hidden slide" if hidden else None
                yield Page(ordinal=ordinal, number=number, label=label, markdown=markdown)

    def _slide(self, part: str, number: int) -> tuple[str, bool]:
        """The slide's Markdown and whether it is hidden. Of a damaged slide, whatever text is left."""
        try:
            root = self._package.xml(part)
            return "\n\n".join(self._blocks(root, part, number)), root.get("show") in ("0", "false")
        except (etree.XMLSyntaxError, ValueError, KeyError) as error:
            self.warnings.append(f"Slide {number} is damaged ({error}); its text may be incomplete.")
            return self._rest_of_text(part), False

    def _rest_of_text(self, part: str) -> str:
        parser = etree.XMLParser(recover=True, resolve_entities=False, no_network=True, load_dtd=False)
        root: Any = etree.fromstring(self._package.data(part), parser)
        if root is None:
            return ""
        return "\n\n".join(text for node in root.iter(f"{A}p") if (text := paragraph_text(node)))

    def _blocks(self, root: Any, part: str, number: int) -> Iterator[str]:
        related = self._package.related(part)
        shapes = Shapes(self._package, related, self._inherited(related), self._height)
        tree = root.find(f"{P}cSld/{P}spTree")
        ordered = shapes.ordered(tree) if tree is not None else []
        for shape in ordered:
            if shape.kind in TITLES and (title := " ".join(shapes.markdown(shape).split())):
                if number == 1:
                    self.first_title = title
                yield f"# {title}"
        for shape in ordered:
            if shape.kind in TITLES or shape.kind == "sldNum":
                continue
            if markdown := shapes.markdown(shape):
                if shape.kind in RUNNING:
                    if markdown in self._running:
                        continue
                    self._running.add(markdown)
                yield markdown
        yield from self._remarks(related)

    def _remarks(self, related: dict[str, tuple[str, str]]) -> Iterator[str]:
        for kind, part in related.values():
            if not self._package.has(part):
                continue
            if kind == "notesSlide" and (notes := _notes(self._package.xml(part))):
                yield f"Notes:\n\n{notes}"
            elif kind == "comments":
                for text in _comments(self._package.xml(part)):
                    yield f"> Comment: {text}"

    def _inherited(self, related: dict[str, tuple[str, str]]) -> dict[str, Position]:
        """Where placeholders stand that say nothing themselves."""
        layout = next((part for kind, part in related.values() if kind == "slideLayout"), "")
        if layout not in self._positions:
            parts = [layout, *(part for kind, part in self._related(layout).values() if kind == "slideMaster")]
            trees = [self._package.xml(part) for part in parts if self._package.has(part)]
            self._positions[layout] = placeholder_positions(trees)
        return self._positions[layout]

    def _related(self, part: str) -> dict[str, tuple[str, str]]:
        return self._package.related(part) if self._package.has(part) else {}


def _notes(root: Any) -> str:
    """The speaker notes; the notes page also shows the slide and its number, which are left out."""
    bodies = (
        shape.find(f"{P}txBody")
        for shape in root.iter(f"{P}sp")
        for placeholder in shape.iter(f"{P}ph")
        if placeholder.get("type") == "body"
    )
    texts = (text_markdown(body, bulleted=False) for body in bodies if body is not None)
    return "\n\n".join(text for text in texts if text)


def _comments(root: Any) -> Iterator[str]:
    """Texts of old comments (p:text) and of threaded ones, replies included (a:t)."""
    for node in root.iter(f"{P}text", f"{A}p"):
        if text := " ".join((node.text or "").split()) or paragraph_text(node):
            yield text
