"""OpenDocument texts (odt, ott): text with headings, lists, tables, notes and comments, by page where noted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from localrag.errors import EmptyDocument
from localrag.parsing.malformed import unreadable
from localrag.parsing.odf import STYLE, open_odf
from localrag.parsing.odf_styles import Styles
from localrag.parsing.odf_text import TextReader
from localrag.parsing.printed_pages import PageCollector, is_page_number
from localrag.parsing.source import Source
from localrag.types import ParsedDocument

MEDIA_TYPE = "application/vnd.oasis.opendocument.text"

_HEADERS = frozenset(f"{STYLE}{name}" for name in ("header", "header-left", "header-first"))
_FOOTERS = frozenset(f"{STYLE}{name}" for name in ("footer", "footer-left", "footer-first"))


def read(source: Source) -> ParsedDocument:
    """The document as its reader sees it with all changes accepted.

    Pages are the printed ones, numbered, where the file records them; otherwise they follow its sections.

    Raises:
        EncryptedDocument, EmptyDocument, UnreadableDocument, DocumentTooLarge
    """
    with unreadable(source, "OpenDocument text"), open_odf(source) as package:
        body, common = package.content(), package.styles()
        collector = PageCollector()
        reader = TextReader(Styles(common, body.getroottree().getroot()), collector)
        reader.read(body)
        if common is not None:
            headers, footers = (list(_running(common, tags, reader)) for tags in (_HEADERS, _FOOTERS))
            collector.add_to_first(headers, footers)
        pages = tuple(collector.pages(package.noted_page_count()))
        title = package.title() or reader.title
    if not pages:
        raise EmptyDocument(f"{source.name} holds no text.", path=source.name, hint="Nothing to index.")
    return ParsedDocument(media_type=MEDIA_TYPE, pages=pages, title=title)


def _running(styles: Any, tags: frozenset[str], reader: TextReader) -> Iterator[str]:
    """Texts of all headers (or footers), each once; page numbers alone say nothing."""
    seen = set()
    for node in styles.iter(*tags):
        text = reader.plain(node)
        if text and text not in seen and not is_page_number(text) and node.get(f"{STYLE}display") != "false":
            seen.add(text)
            yield text
