"""The documents of the library by id or name, where their bytes are, and how one is removed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from localrag.errors import NotFoundError
from localrag.library.files import printable, source_path
from localrag.library.markdown_files import MarkdownFiles
from localrag.protocols import SearchIndex
from localrag.types import Document, DocumentId


@dataclass(frozen=True, slots=True, kw_only=True)
class Deletion:
    """One document removed, and how many chunks went with it."""

    id: DocumentId
    name: str
    chunks: int


class Catalog:
    """Finds and removes documents."""

    def __init__(self, *, index: SearchIndex, markdown: MarkdownFiles, uploads: Path) -> None:
        self._index = index
        self._markdown = markdown
        self._uploads = uploads

    def find(self, id_or_name: str) -> list[Document]:
        """The document with this id, or else all with this name, as it is on disk or as it is shown."""
        if not id_or_name.strip():
            return []
        shown = printable(id_or_name)  # what a document is called here, and free of bytes that no index takes
        by_id = self._index.get_document(shown)
        if by_id is not None:
            return [by_id]
        return [document for document in self._index.documents() if document.name == shown]

    def ids(self, ids_or_names: Iterable[str]) -> frozenset[DocumentId]:
        """The ids of all documents with these ids or names.

        Raises:
            NotFoundError: one of them names no document.
        """
        found: set[DocumentId] = set()
        for id_or_name in ids_or_names:
            documents = self.find(id_or_name)
            if not documents:
                raise _unknown(id_or_name)
            found.update(document.id for document in documents)
        return frozenset(found)

    def get(self, id_or_name: str) -> Document:
        """The one document with this id or name.

        Raises:
            NotFoundError: there is none, or several share the name (their ids are in the hint).
        """
        found = self.find(id_or_name)
        if len(found) == 1:
            return found[0]
        if not found:
            raise _unknown(id_or_name)
        listed = ", ".join(f"{document.id} ({document.uri})" for document in found)
        raise NotFoundError(
            f"{len(found)} documents are called {printable(id_or_name)}.", hint=f"Name one by its id: {listed}."
        )

    def delete(self, id_or_name: str) -> Deletion:
        """Removes the document, its text, vectors, Markdown and uploaded bytes; the user's own file stays.

        Raises:
            NotFoundError: there is no such document, or the name is ambiguous.
        """
        document = self.get(id_or_name)
        self._markdown.remove(document.content_hash)
        chunks = self._index.delete_document(document.id)
        self.drop_unused_uploads({document.content_hash})
        return Deletion(id=document.id, name=document.name, chunks=chunks)

    def drop_unused_uploads(self, candidates: Iterable[str]) -> None:
        """Removes the kept bytes of those content hashes that no document has any more."""
        for content_hash in candidates:
            if self._index.find_by_hash(content_hash) is None:
                (self._uploads / content_hash).unlink(missing_ok=True)

    def source(self, document: Document) -> Path:
        """Where the bytes of the indexed version are.

        Raises:
            NotFoundError: the file is gone, or has changed since it was indexed.
        """
        path = source_path(document, self._uploads)
        try:
            size = path.stat().st_size
        except OSError as error:
            raise NotFoundError(
                f"The file of {document.name} is gone, so its pages cannot be shown.",
                hint=f"It was at {printable(str(path))}; the indexed text is still here.",
            ) from error
        if size != document.size_bytes:
            raise NotFoundError(
                f"{document.name} has changed since it was indexed.", hint="Ingest it again to see its pages."
            )
        return path


def _unknown(id_or_name: str) -> NotFoundError:
    return NotFoundError(f"No document is called {printable(id_or_name)}.", hint="`localrag documents` lists them.")
