"""An OpenDocument package (odt, ods, odp): its parts, and what is wrong with it."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

from lxml import etree

from localrag.errors import EncryptedDocument, UnreadableDocument
from localrag.parsing.archive import inflate_member, open_zip_safely
from localrag.parsing.source import Source

_NAMESPACE = "{{urn:oasis:names:tc:opendocument:xmlns:{}:1.0}}"
OFFICE, TEXT, TABLE, DRAW, STYLE, META, PRESENTATION = (
    _NAMESPACE.format(name) for name in ("office", "text", "table", "drawing", "style", "meta", "presentation")
)
FO = _NAMESPACE.format("xsl-fo-compatible")
SVG = _NAMESPACE.format("svg-compatible")
DC = "{http://purl.org/dc/elements/1.1/}"

_CONTENT = "content.xml"
# A declaration of a document type, which can only be there to make a parser expand or fetch entities.
_DOCTYPE = re.compile(rb"<!DOCTYPE|<!ENTITY")
_PROLOG_BYTES = 64 * 1024


class OdfPackage:
    """The parts of an open package, parsed without entities, DTD or network."""

    def __init__(self, source: Source, archive: zipfile.ZipFile) -> None:
        self._source = source
        self._archive = archive
        self._names = set(archive.namelist())

    def content(self) -> Any:
        """The element below office:body that holds the document, with the whole part around it.

        Raises:
            UnreadableDocument: there is none.
        """
        body = self._part(_CONTENT).find(f"{OFFICE}body")
        if body is None or len(body) == 0:
            raise _no_content(self._source)
        return body[0]

    def open_content(self) -> IO[bytes]:
        """The content as a file, for sheets too large to hold as a tree."""
        if _CONTENT not in self._names:
            raise _no_content(self._source)
        with self._archive.open(_CONTENT) as file:
            self._refuse_doctype(file.read(_PROLOG_BYTES), _CONTENT)
        return self._archive.open(_CONTENT)

    def styles(self) -> Any | None:
        """The root of the styles part, None when there is none."""
        return self._part("styles.xml") if "styles.xml" in self._names else None

    def title(self) -> str | None:
        """The title in the document's properties, None when it has none."""
        meta = self._meta()
        title = meta.findtext(f".//{DC}title") if meta is not None else None
        return " ".join(title.split()) or None if title else None

    def noted_page_count(self) -> int:
        """How many pages the program counted when it saved the document; 0 when it did not say."""
        meta = self._meta()
        node = meta.find(f".//{META}document-statistic") if meta is not None else None
        return whole_number(node, f"{META}page-count", 0) if node is not None else 0

    def _meta(self) -> Any | None:
        return self._part("meta.xml") if "meta.xml" in self._names else None

    def _part(self, name: str) -> Any:
        if name not in self._names:
            raise _no_content(self._source)
        data = inflate_member(self._archive, self._archive.getinfo(name), self._source)
        self._refuse_doctype(data[:_PROLOG_BYTES], name)
        parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
        return etree.fromstring(data, parser)

    def _refuse_doctype(self, head: bytes, part: str) -> None:
        # UTF-16 markup is ASCII with NULs between.
        if _DOCTYPE.search(head.replace(b"\x00", b"")):
            raise UnreadableDocument(
                f"{self._source.name} declares a document type in {part}, which no office program writes.",
                path=self._source.name,
                hint="The file may be an attack on the reader; save it anew from the program.",
            )


def whole_number(node: Any, attribute: str, default: int) -> int:
    """The number in an attribute, the default where it holds none: a damaged file may say anything."""
    text = node.get(attribute, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else default


@contextmanager
def open_odf(source: Source) -> Iterator[OdfPackage]:
    """The package, once it is known to be unencrypted and no bomb."""
    with open_zip_safely(source) as archive:
        names = archive.namelist()
        manifest = "META-INF/manifest.xml"
        if manifest in names and b"encryption-data" in inflate_member(archive, archive.getinfo(manifest), source):
            raise EncryptedDocument(
                f"{source.name} is protected with a password.",
                path=source.name,
                hint="Save a copy without the password and add that.",
            )
        yield OdfPackage(source, archive)


def _no_content(source: Source) -> UnreadableDocument:
    return UnreadableDocument(
        f"{source.name} is damaged: it holds no document.",
        path=source.name,
        hint="Open it in the program that made it, save it again, and retry.",
    )
