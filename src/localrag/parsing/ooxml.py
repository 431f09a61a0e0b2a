"""An Office Open XML package (docx, pptx, xlsx): its parts, its relations, and what is wrong with it."""

from __future__ import annotations

import posixpath
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

import olefile
from lxml import etree

from localrag.errors import EncryptedDocument, UnreadableDocument
from localrag.parsing.archive import check_ooxml
from localrag.parsing.source import Source

_OLE_MAGIC = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
# Word, PowerPoint and Excel can save "strict" files whose namespaces differ from the usual ones in the host only.
_STRICT = b"http://purl.oclc.org/ooxml/"
_USUAL = {
    b"http://purl.oclc.org/ooxml/wordprocessingml/main": b"http://schemas.openxmlformats.org/wordprocessingml/2006/main",
    b"http://purl.oclc.org/ooxml/drawingml/main": b"http://schemas.openxmlformats.org/drawingml/2006/main",
    b"http://purl.oclc.org/ooxml/spreadsheetml/main": b"http://schemas.openxmlformats.org/spreadsheetml/2006/main",
    b"http://purl.oclc.org/ooxml/officeDocument/math": b"http://schemas.openxmlformats.org/officeDocument/2006/math",
    b"http://purl.oclc.org/ooxml/officeDocument/relationships": (
        b"http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    ),
}


def refuse_encrypted(source: Source) -> None:
    """Raises EncryptedDocument when the file is the OLE container that a password turns a package into.

    Raises:
        UnreadableDocument: it is an OLE container of another kind.
    """
    with source.path.open("rb") as file:
        if file.read(len(_OLE_MAGIC)) != _OLE_MAGIC:
            return
    with olefile.OleFileIO(source.path) as ole:
        encrypted = ole.exists("EncryptedPackage") or ole.exists("EncryptionInfo")
    if encrypted:
        raise EncryptedDocument(
            f"{source.name} is protected with a password.",
            path=source.name,
            hint="Save a copy without the password and add that.",
        )
    raise UnreadableDocument(
        f"{source.name} is a file of an older Office version under a newer extension.",
        path=source.name,
        hint="Save it in the current format and retry.",
    )


class Package:
    """The parts of an open package, parsed without entities, DTD or network."""

    def __init__(self, source: Source, archive: zipfile.ZipFile) -> None:
        self._source = source
        self._archive = archive
        self._names = {name.lower(): name for name in archive.namelist()}

    def has(self, part: str) -> bool:
        """Whether the package holds the part; names are compared without case, as the standard says."""
        return part.lower() in self._names

    def data(self, part: str) -> bytes:
        """The bytes of a part.

        Raises:
            KeyError: no such part.
        """
        return self._archive.read(self._names[part.lower()])

    def open(self, part: str) -> IO[bytes]:
        """The part as a file, for those too large to hold at once."""
        return self._archive.open(self._names[part.lower()])

    def stream(self, part: str, *tags: str) -> Iterator[Any]:
        """The elements of the given tags, one at a time: each is emptied once the next is asked for."""
        with self.open(part) as file:
            elements: Any = etree.iterparse(
                file, events=("end",), tag=tags, resolve_entities=False, no_network=True, load_dtd=False
            )
            for _, element in elements:
                yield element
                element.clear()
                # What is left of the elements before it would add up to a tree of the whole part.
                while element.getprevious() is not None:
                    del element.getparent()[0]

    def xml(self, part: str) -> Any:
        """The root element of a part.

        Raises:
            KeyError: no such part.
            UnreadableDocument: it declares a DTD, which no Office program writes.
        """
        return self.parse(self.data(part), part)

    def parse(self, data: bytes, part: str) -> Any:
        """The root element of the XML in `data`; `part` names it in errors."""
        if _STRICT in data:
            for strict, usual in _USUAL.items():
                data = data.replace(strict, usual)
        parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
        root = etree.fromstring(data, parser)
        docinfo: Any = root.getroottree().docinfo
        if docinfo.doctype:
            raise UnreadableDocument(
                f"{self._source.name} declares a document type in {part}, which no Office program writes.",
                path=self._source.name,
                hint="The file may be an attack on the reader; add it only if you know where it comes from.",
            )
        return root

    def related(self, part: str) -> dict[str, tuple[str, str]]:
        """Relations of a part to others of the package: id -> (last word of the type, target part)."""
        folder = posixpath.dirname(part)
        return {
            relation.get("Id", ""): (
                relation.get("Type", "").rsplit("/", 1)[-1],
                _resolve(folder, relation.get("Target")),
            )
            for relation in self._relations(part)
            if relation.get("TargetMode") != "External" and relation.get("Target")
        }

    def _relations(self, part: str) -> list[Any]:
        folder, name = posixpath.split(part)
        relations = f"{folder}/_rels/{name}.rels".lstrip("/")
        return list(self.xml(relations)) if self.has(relations) else []

    def main_part(self, default: str) -> str:
        """The part that holds the document itself; names other than the usual one are lawful."""
        targets = [path for kind, path in self.related("").values() if kind == "officeDocument"]
        return targets[0] if targets and self.has(targets[0]) else default

    def title(self) -> str | None:
        """The title in the document's properties, None when it has none."""
        for kind, part in self.related("").values():
            if kind == "core-properties" and self.has(part):
                title = self.xml(part).findtext("{http://purl.org/dc/elements/1.1/}title")
                return title.strip() or None if title else None
        return None


def _resolve(folder: str, target: str) -> str:
    return target.lstrip("/") if target.startswith("/") else posixpath.normpath(posixpath.join(folder, target))


@contextmanager
def open_package(source: Source) -> Iterator[Package]:
    """The package, once it is known to be unencrypted and no bomb."""
    refuse_encrypted(source)
    check_ooxml(source)
    with zipfile.ZipFile(source.path) as archive:
        yield Package(source, archive)
