"""One file into the library: read, chunked, committed. Idempotent by content hash."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Literal, Protocol, TypeAlias

from localrag.errors import DocumentError, DocumentTooLarge, EmptyDocument, UnreadableDocument
from localrag.library.files import document_id, hash_file, printable, source_path
from localrag.library.markdown_files import MarkdownFiles
from localrag.protocols import Parser, SearchIndex
from localrag.types import Chunk, Document, DocumentId, Failure, Page, ParsedDocument

logger = logging.getLogger(__name__)

_MEGABYTE = 1024 * 1024  # as LOCALRAG_MAX_FILE_MB counts

OutcomeStatus: TypeAlias = Literal["indexed", "skipped", "failed"]


class Chunks(Protocol):
    """Cuts the pages of a document into chunks."""

    def chunk(self, document_id: DocumentId, pages: tuple[Page, ...]) -> list[Chunk]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of one file. `note` says why it was skipped, or what it replaced."""

    document_id: DocumentId
    name: str
    uri: str
    status: OutcomeStatus
    pages: int = 0
    chunks: int = 0
    error: DocumentError | None = None
    note: str = ""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSource:
    """One file to ingest, whatever brought it: a folder, or an upload kept under its hash."""

    path: Path
    uri: str
    name: str
    tags: Mapping[str, str] | None = None
    collection: str | None = None


class Ingestor:
    """Takes files into the index, one at a time; safe to call from several threads."""

    def __init__(
        self,
        *,
        index: SearchIndex,
        parser: Parser,
        chunker: Chunks,
        markdown: MarkdownFiles,
        uploads: Path,
        max_file_bytes: int,
        now: Callable[[], datetime],
    ) -> None:
        self._index = index
        self._parser = parser
        self._chunker = chunker
        self._markdown = markdown
        self._uploads = uploads
        self._max_file_bytes = max_file_bytes
        self._now = now

    def ingest(self, source: FileSource, *, force: bool = False) -> Outcome:
        """Reads and commits the file unless its bytes are already indexed.

        A failure is an outcome, kept in the index's failures; the version indexed before it still answers.

        Raises:
            StorageFullError, BackendError: the index itself cannot be written; nothing was changed.
        """
        try:
            return self._ingest(source, force=force)
        except DocumentError as error:
            return self.fail(source, error)

    def fail(self, source: FileSource, error: DocumentError) -> Outcome:
        """Records that this file could not be read and returns the outcome."""
        logger.info("failed %s: %s", document_id(source.uri), error.kind)
        self._index.record_failure(
            Failure(
                uri=source.uri,
                name=source.name,
                kind=error.kind,
                message=error.message,
                hint=error.hint,
                failed_at=self._now(),
            )
        )
        return Outcome(
            document_id=document_id(source.uri), name=source.name, uri=source.uri, status="failed", error=error
        )

    def _ingest(self, source: FileSource, *, force: bool) -> Outcome:
        self._check_size(source)
        content_hash = hash_file(source.path)
        old = self._index.get_document(document_id(source.uri))
        if old is not None and old.content_hash == content_hash and not force:
            return self._unchanged(old, source)
        twin = self._index.find_by_hash(content_hash)
        if twin is not None and twin.id != document_id(source.uri):
            if self._still_there(twin, content_hash):
                return _skipped(twin, source, f"already indexed as {twin.name}")
            moved_from: Document | None = twin
        else:
            moved_from = None
        parsed = self._parse_stable(source, content_hash)
        outcome = self._commit(source, content_hash, parsed)
        if old is not None and old.content_hash != content_hash:
            self._markdown.remove(old.content_hash)
        if moved_from is not None:
            self._index.delete_document(moved_from.id)
            return replace(outcome, note=f"moved from {moved_from.name}")
        return outcome

    def _check_size(self, source: FileSource) -> None:
        """Looks before reading: a huge file must cost nothing."""
        try:
            size = source.path.stat().st_size
        except OSError as error:
            reason = (error.strerror or "cannot be opened").lower()
            raise UnreadableDocument(
                f"{source.name} cannot be opened: {reason}.", path=source.name, hint="Check the path and permissions."
            ) from error
        if size == 0:
            raise EmptyDocument(f"{source.name} is empty (0 bytes).", path=source.name, hint="Check the original.")
        if size > self._max_file_bytes:
            limit = self._max_file_bytes / _MEGABYTE
            raise DocumentTooLarge(
                f"{source.name} has {size / _MEGABYTE:,.0f} MB, over the limit of {limit:,.0f} MB.",
                path=source.name,
                hint="Split the file, or raise LOCALRAG_MAX_FILE_MB.",
            )

    def _unchanged(self, old: Document, source: FileSource) -> Outcome:
        tags = old.tags if source.tags is None else {**old.tags, **source.tags}
        collection = old.collection if source.collection is None else source.collection
        self._index.clear_failure(source.uri)
        if self._markdown.missing(old.content_hash):
            self._markdown.write(old.content_hash, self._index.pages(old.id))
        if (tags, collection) != (old.tags, old.collection):
            self._index.update_document(replace(old, tags=tags, collection=collection))
            return _skipped(old, source, "already indexed; tags updated")
        return _skipped(old, source, "already indexed")

    def _still_there(self, document: Document, content_hash: str) -> bool:
        """Whether the file this document came from still holds these bytes; if not, it was moved."""
        path = source_path(document, self._uploads)
        try:
            return path.stat().st_size == document.size_bytes and hash_file(path) == content_hash
        except (OSError, DocumentError):
            return False

    def _parse_stable(self, source: FileSource, content_hash: str) -> ParsedDocument:
        """The parsed file, provided that it did not change while it was read."""
        parsed = self._parser.parse(source.path, name=source.name)
        if hash_file(source.path) != content_hash:
            raise UnreadableDocument(
                f"{source.name} changed while it was read.",
                path=source.name,
                hint="Ingest it again once it is no longer being written.",
            )
        return parsed

    def _commit(self, source: FileSource, content_hash: str, parsed: ParsedDocument) -> Outcome:
        identity = document_id(source.uri)
        chunks = self._chunker.chunk(identity, parsed.pages)
        if not chunks:
            raise EmptyDocument(
                f"{source.name} holds no text.", path=source.name, hint="Nothing was indexed; check the original."
            )
        document = Document(
            id=identity,
            content_hash=content_hash,
            name=source.name,
            uri=source.uri,
            media_type=parsed.media_type,
            size_bytes=source.path.stat().st_size,
            page_count=len(parsed.pages),
            chunk_count=len(chunks),
            tags=dict(source.tags or {}),
            collection=source.collection,
            indexed_at=self._now(),
            warnings=parsed.warnings,
        )
        self._index.replace_document(document, parsed.pages, chunks)
        self._markdown.write(content_hash, parsed.pages)
        return Outcome(
            document_id=identity,
            name=source.name,
            uri=source.uri,
            status="indexed",
            pages=len(parsed.pages),
            chunks=len(chunks),
            warnings=parsed.warnings,
        )


def _skipped(document: Document, source: FileSource, note: str) -> Outcome:
    return Outcome(
        document_id=document.id,
        name=source.name,
        uri=source.uri,
        status="skipped",
        pages=document.page_count,
        chunks=document.chunk_count,
        note=note,
    )


def display_name(path: Path) -> str:
    """The file's name as shown: on one line, whatever bytes it is made of."""
    return printable(os.fspath(path.name))
