"""An e-book -> the documents of its spine in reading order, as pages labelled `chapter N: Title`.

N counts the entries of the spine from 1, those without text (covers, pictures) included, so that it names the same
place in every reader. Titles come from the book's table of contents, else from a chapter's first heading.
"""

from __future__ import annotations

import posixpath
import re
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from localrag.errors import EmptyDocument, EncryptedDocument, UnreadableDocument
from localrag.parsing.archive import inflate_member, open_zip_safely
from localrag.parsing.encoding import decode_text
from localrag.parsing.html import read_text
from localrag.parsing.html_blocks import Block
from localrag.parsing.html_pages import numbered, sections
from localrag.parsing.html_tree import declared_encoding
from localrag.parsing.malformed import unreadable
from localrag.parsing.source import Source
from localrag.types import Page, ParsedDocument

MEDIA_TYPE = "application/epub+zip"
_CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
# These two scramble fonts only and are open to anyone; any other method locks the text.
_FONT_METHODS = ("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC")
_DOCUMENT_TYPES = ("application/xhtml+xml", "text/html", "application/x-dtbook+xml", "text/x-oeb1-document")
_MAX_LABEL = 80  # characters of a title that a label shows


@dataclass(frozen=True, slots=True)
class _Item:
    """A file of the book by its path in the archive."""

    path: str
    media_type: str
    properties: str


@dataclass(slots=True)
class _Book:
    """The open archive and what its package file says. Paths are those of archive members."""

    archive: zipfile.ZipFile
    source: Source
    title: str | None
    items: Mapping[str, _Item]
    spine: list[_Item | None]
    ncx: str | None

    def data(self, path: str) -> bytes | None:
        """The member's bytes; None when the archive has no such member."""
        return _member(self.archive, path, self.source)


def read(source: Source) -> ParsedDocument:
    """The book's text, chapter by chapter.

    Raises:
        EncryptedDocument: the text is locked to a reader or a shop.
        UnreadableDocument: no zip, or no e-book inside.
        EmptyDocument: no chapter holds text.
    """
    with unreadable(source, "e-book"), open_zip_safely(source) as archive:
        book = _open(archive, source)
        _check_locks(book)
        titles = _contents(book)
        warnings: list[str] = []
        pages: list[Page] = []
        for number, item in enumerate(book.spine, 1):
            pages += _chapter(book, number, item, titles, len(pages), warnings)
    if not pages:
        raise EmptyDocument(
            f"{source.name} holds no text in any of its {len(book.spine)} parts.",
            path=source.name,
            hint="A book of pictures needs text recognition (OCR), which is not available.",
        )
    return ParsedDocument(media_type=MEDIA_TYPE, pages=tuple(pages), title=book.title, warnings=tuple(warnings))


def _open(archive: zipfile.ZipFile, source: Source) -> _Book:
    container = _xml(_member(archive, _CONTAINER, source))
    rootfile = next(_named(container, "rootfile"), None)
    package_path = posixpath.normpath(unquote(rootfile.get("full-path") or "")) if rootfile is not None else ""
    package = _xml(_member(archive, package_path, source))
    if package is None:
        raise UnreadableDocument(
            f"{source.name} is not a readable e-book: its package file is missing or damaged.",
            path=source.name,
            hint="Fetch it again, or convert it to EPUB once more.",
        )
    folder = posixpath.dirname(package_path)
    items = {}
    for element in _named(package, "item"):
        path = _resolved(folder, element.get("href") or "")
        media_type = (element.get("media-type") or "").lower()
        items[element.get("id") or path] = _Item(path, media_type, element.get("properties") or "")
    spine_element = next(_named(package, "spine"), None)
    ncx = items.get(spine_element.get("toc") or "") if spine_element is not None else None
    spine = [items.get(reference.get("idref") or "") for reference in _named(package, "itemref")]
    name = next((text for element in _named(package, "title") if (text := _text(element))), None)
    return _Book(archive, source, name, items, spine, ncx.path if ncx else None)


def _member(archive: zipfile.ZipFile, path: str, source: Source) -> bytes | None:
    try:
        info = archive.getinfo(path)
    except KeyError:
        return None
    return inflate_member(archive, info, source)


def _check_locks(book: _Book) -> None:
    root = _xml(book.data(_ENCRYPTION))
    locked = set()
    for data in _named(root, "EncryptedData"):
        method = next((element.get("Algorithm") for element in _named(data, "EncryptionMethod")), None)
        if method not in _FONT_METHODS:
            locked |= {unquote(element.get("URI") or "") for element in _named(data, "CipherReference")}
    if any(item is not None and item.path in locked for item in book.spine):
        raise EncryptedDocument(
            f"{book.source.name} is locked by copy protection (DRM): its text cannot be read.",
            path=book.source.name,
            hint="Add a copy without copy protection.",
        )


def _chapter(
    book: _Book, number: int, item: _Item | None, titles: Mapping[str, str], before: int, warnings: list[str]
) -> Iterator[Page]:
    data = book.data(item.path) if item is not None else None
    if item is None or data is None:
        warnings.append(f"Chapter {number} is missing from the file.")
        return
    if item.media_type not in _DOCUMENT_TYPES:
        return
    text, _ = decode_text(data, declared_encoding(data))
    _, blocks, noted = read_text(text, whole=True)
    warnings += [f"Chapter {number}: {warning}" for warning in noted]
    parts = sections(blocks)
    name = titles.get(item.path) or _first_heading(blocks)
    # One file may hold many chapters: each of its pages is then named by the heading it stands under.
    labels = [_label(number, name if len(parts) == 1 else part.first or name) for part in parts]
    for i, (part, label) in enumerate(zip(parts, numbered(labels), strict=True), 1):
        yield Page(ordinal=before + i, label=label, markdown=part.markdown)


def _label(number: int, name: str | None) -> str:
    if not name:
        return f"chapter {number}"
    return f"chapter {number}: {name if len(name) <= _MAX_LABEL else f'{name[: _MAX_LABEL - 1].rstrip()}…'}"


def _first_heading(blocks: list[Block]) -> str | None:
    return next((block.markdown.lstrip("# ") for block in blocks if block.level), None)


def _contents(book: _Book) -> dict[str, str]:
    """Titles from the table of contents by member path; the first entry that names a file wins."""
    titles: dict[str, str] = {}
    for path, title in [*_navigation(book), *_ncx(book)]:
        titles.setdefault(path, title)
    return titles


def _navigation(book: _Book) -> Iterator[tuple[str, str]]:
    """Entries of the EPUB 3 navigation document."""
    item = next((item for item in book.items.values() if "nav" in item.properties.split()), None)
    root = _xml(book.data(item.path)) if item else None
    if item is None or root is None:
        return
    for nav in _named(root, "nav"):
        if "toc" in (nav.get("{http://www.idpf.org/2007/ops}type") or "").split():
            for link in _named(nav, "a"):
                if text := _text(link):
                    yield _resolved(posixpath.dirname(item.path), link.get("href") or ""), text


def _ncx(book: _Book) -> Iterator[tuple[str, str]]:
    """Entries of the EPUB 2 table of contents."""
    root = _xml(book.data(book.ncx)) if book.ncx else None
    if book.ncx is None:
        return
    for point in _named(root, "navPoint"):
        label = next((_text(element) for element in _named(point, "navLabel")), "")
        content = next(_named(point, "content"), None)
        if label and content is not None:
            yield _resolved(posixpath.dirname(book.ncx), content.get("src") or ""), label


def _resolved(folder: str, href: str) -> str:
    """The archive path that a link means, its fragment left out."""
    return posixpath.normpath(posixpath.join(folder, unquote(href.partition("#")[0])))


def _xml(data: bytes | None) -> Any:
    """The root of a small XML file, no entity expanded and nothing fetched; None when absent or hopeless."""
    from lxml import etree  # deferred: only HTML and e-books need it

    if not data:
        return None
    parser = etree.XMLParser(resolve_entities=False, load_dtd=False, no_network=True, huge_tree=False, recover=True)
    try:
        return etree.fromstring(data, parser)
    except etree.XMLSyntaxError:
        return None


def _named(root: Any, name: str) -> Iterator[Any]:
    """All elements of that local name, in whatever namespace."""
    return iter(()) if root is None else root.iter(f"{{*}}{name}")


def _text(element: Any) -> str:
    return re.sub(r"\s+", " ", "".join(element.itertext())).strip()
