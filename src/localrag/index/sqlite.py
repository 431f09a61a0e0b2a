"""The embedded index: one SQLite file with catalog, text, keyword index, vectors, queue and conversations.

Every change is one transaction with the file's only write lock, so a kill at any moment leaves the state before
or after it. What takes time (analysing, compressing) is done before the lock is taken.
"""

from __future__ import annotations

import json
import logging
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from localrag.errors import IndexCorruptError, IndexMismatchError, LocalRagError, NotFoundError, StorageFullError
from localrag.filters import Filter
from localrag.index import sqlite_catalog as catalog
from localrag.index import sqlite_notes as notes
from localrag.index.analysis import analysis_version
from localrag.index.content import checked_vector, checked_vectors, chunk_terms, require_consistent
from localrag.index.sqlite_checks import run_checks
from localrag.index.sqlite_database import Database, move_aside, stored_bytes
from localrag.index.sqlite_lexical import KEYWORD_TABLES, LexicalLeg, keyword_row
from localrag.index.sqlite_mirror import Mirror
from localrag.index.sqlite_purge import Purge
from localrag.index.sqlite_repair import rebuild
from localrag.index.sqlite_schema import (
    AnotherProgramsFile,
    add_columns,
    change_count,
    count_change,
    create_tables,
    get_meta,
    is_empty,
    lacks_columns,
    new_generation,
    replace_header,
    require_header,
    set_meta,
    stored_header,
)
from localrag.index.sqlite_successor import Successor
from localrag.index.sqlite_vectors import (
    count_pending,
    pending,
    read_vectors,
    recount_embedded,
    search_vectors,
    store_vectors,
)
from localrag.protocols import Library, Vectors
from localrag.types import (
    Check,
    Chunk,
    ChunkId,
    Document,
    DocumentId,
    IndexHeader,
    IndexStats,
    LegResults,
    Page,
    PendingText,
)

_LOG = logging.getLogger(__name__)


class SqliteIndex(notes.Notes):
    """SearchIndex and ConversationStore in one file; made by `open`."""

    def __init__(self, database: Database, header: IndexHeader, *, clock: Callable[[], float]) -> None:
        super().__init__(database, clock)
        self._header = header
        self._successor = Successor(database)
        self._lexical = LexicalLeg()
        self._mirror = Mirror(header.model.dimension, self._require_header)
        self._purge = Purge(database, self._lexical)

    @classmethod
    def open(
        cls,
        path: Path,
        header: IndexHeader,
        *,
        busy_timeout_s: float = 10.0,
        clock: Callable[[], float] = time.time,
    ) -> SqliteIndex:
        """The index in this file, created with its folders when there is none.

        Args:
            path: the file; `-wal` and `-shm` files appear beside it while it is open.
            header: what the settings ask for.
            busy_timeout_s: how long to wait for another process's write.
            clock: seconds since 1970, for leases.

        Raises:
            IndexMismatchError: the index was built with something else; the file is unchanged.
            IndexCorruptError: the file is no SQLite file, or damaged.
            StorageFullError: the file cannot be created or written.
            BackendTimeout: another process kept it locked.
        """
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StorageFullError(
                f"The folder {path.parent} cannot be created ({error.strerror}).",
                hint="Correct its permissions, or set LOCALRAG_DATA_DIR to another place.",
            ) from error
        database = Database(path, busy_timeout_s=busy_timeout_s)
        index = cls(database, header, clock=clock)
        try:
            index._create_or_verify()
        except BaseException:
            database.close()
            raise
        return index

    @classmethod
    def reset(cls, path: Path, header: IndexHeader, *, busy_timeout_s: float = 10.0) -> SqliteIndex:
        """An empty index with this header in place of the present one, whatever that was built with.

        Conversations stay, unless the file is damaged or of another schema version: it is then moved aside, to the
        same name with `.old`. Processes that have it open with another header get IndexMismatchError from then on.

        Raises:
            IndexMismatchError: it is another program's file, and was left alone.
            StorageFullError: the file cannot be written.
            BackendTimeout: another process kept it locked.
        """
        present: IndexHeader | None = None
        try:
            present = cls.read_header(path)
        except AnotherProgramsFile:
            raise
        except (IndexCorruptError, IndexMismatchError):
            move_aside(path)
        index = cls.open(path, present or header, busy_timeout_s=busy_timeout_s)
        index.clear()
        if present in (None, header):
            return index
        with index._database.writing() as connection:
            replace_header(connection, header)
            new_generation(connection)
        index._database.close()
        return cls.open(path, header, busy_timeout_s=busy_timeout_s)

    @staticmethod
    def read_header(path: Path) -> IndexHeader | None:
        """What the index in this file was built with; None when there is no index yet. Changes nothing.

        Raises:
            IndexMismatchError: it is another program's file, or of another schema version.
            IndexCorruptError: the file is no SQLite file, or damaged.
        """
        if not path.is_file() or not path.stat().st_size:
            return None
        database = Database(path)
        try:
            with database.reading() as connection:
                return None if is_empty(connection) else stored_header(connection, str(path))
        finally:
            database.close()

    @property
    def header(self) -> IndexHeader:
        """What the index was built with."""
        return self._header

    @property
    def path(self) -> Path:
        """The file."""
        return self._database.path

    def replace_document(
        self, document: Document, pages: Sequence[Page], chunks: Sequence[Chunk], vectors: Mapping[str, Vectors] = {}
    ) -> None:
        require_consistent(document, pages, chunks)
        rows = checked_vectors(vectors, self._header.model.dimension)
        ordered = sorted(chunks, key=lambda chunk: chunk.index)
        terms = [keyword_row(chunk_terms(chunk, document.name)) for chunk in ordered]
        page_rows = catalog.compressed(pages)
        with self._writing() as connection:
            old = catalog.document_key(connection, document.id)
            old_texts = [] if old is None else catalog.text_keys(connection, old)
            if old is not None:
                self._lexical.remove_document(connection, old)
                catalog.delete_row(connection, old)
                set_meta(connection, "purge_due", 1)
            key = catalog.insert_document(connection, document, len(ordered))
            catalog.insert_pages(connection, key, page_rows)
            keys = catalog.insert_chunks(connection, key, ordered, terms)
            self._lexical.add(connection, zip(keys, terms, strict=True))
            catalog.delete_orphans(connection, old_texts)
            recount_embedded(connection, "?", (key,))
            store_vectors(connection, rows)
            notes.delete_failure(connection, document.uri)
            count_change(connection)

    def update_document(self, document: Document) -> None:
        with self._writing() as connection:
            key = catalog.existing_key(connection, document.id)
            catalog.change_document(connection, key, document)
            self._lexical.rename_document(connection, key, document.name)
            set_meta(connection, "purge_due", 1)
            count_change(connection)

    def delete_document(self, document_id: DocumentId) -> int:
        with self._writing() as connection:
            key = catalog.existing_key(connection, document_id)
            texts = catalog.text_keys(connection, key)
            self._lexical.remove_document(connection, key)
            count = connection.execute("SELECT count(*) FROM chunks WHERE document_key = ?", (key,)).fetchone()[0]
            catalog.delete_row(connection, key)
            catalog.delete_orphans(connection, texts)
            set_meta(connection, "purge_due", 1)
            count_change(connection)
        self._forget_in_successor(document_id)
        self._purge.run_now_and_then()
        return int(count)

    def clear(self) -> None:
        with self._writing() as connection:
            self._lexical.recreate(connection)
            for table in ("documents", "texts", "failures"):
                connection.execute(f"DELETE FROM {table}")
            new_generation(connection)
            set_meta(connection, "purge_due", 1)
        self._successor.drop()
        self._purge.run()

    def get_document(self, document_id: DocumentId) -> Document | None:
        with self._database.reading() as connection:
            return next(iter(catalog.read_documents(connection, "WHERE d.id = ?", (document_id,))), None)

    def find_by_hash(self, content_hash: str) -> Document | None:
        with self._database.reading() as connection:
            found = catalog.read_documents(
                connection, "WHERE d.content_hash = ? ORDER BY d.id LIMIT 1", (content_hash,)
            )
            return next(iter(found), None)

    def documents(self) -> list[Document]:
        with self._database.reading() as connection:
            return catalog.read_documents(connection, "ORDER BY d.name, d.id")

    def pages(self, document_id: DocumentId) -> list[Page]:
        with self._database.reading() as connection:
            return catalog.read_pages(connection, document_id)

    def page(self, document_id: DocumentId, ordinal: int) -> Page | None:
        with self._database.reading() as connection:
            return next(iter(catalog.read_pages(connection, document_id, ordinal)), None)

    def chunks(self, chunk_ids: Sequence[ChunkId]) -> list[Chunk]:
        with self._database.reading() as connection:
            found = catalog.read_chunks(
                connection, "WHERE c.id IN (SELECT value FROM json_each(?))", (json.dumps(list(chunk_ids)),)
            )
        by_id = {chunk.id: chunk for _, _, chunk in found}
        return [by_id[chunk_id] for chunk_id in chunk_ids if chunk_id in by_id]

    def document_chunks(self, document_id: DocumentId) -> list[Chunk]:
        with self._database.reading() as connection:
            found = catalog.read_chunks(connection, "WHERE d.id = ? ORDER BY c.position", (document_id,))
            return [chunk for _, _, chunk in found]

    def search_legs(
        self, text: str | None, vector: Vectors | None, *, limit: int, where: Filter | None = None
    ) -> LegResults:
        query = None if vector is None else checked_vector(vector, self._header.model.dimension)
        with self._database.reading() as connection:
            # First of all: what it reads fixes the snapshot that everything after it sees.
            table, matrix = self._mirror.in_step(connection, vectors=query is not None)
            passing = table.passing(connection, where)
            keywords = nearest = None
            if text is not None:
                keywords = self._lexical.search(connection, text, table=table, passing=passing, limit=limit)
            if query is not None and matrix is not None:
                nearest = search_vectors(matrix, query, table=table, passing=passing, limit=limit)
            embedded, total = connection.execute(
                "SELECT ifnull(sum(embedded_count), 0), ifnull(sum(chunk_count), 0) FROM documents"
            ).fetchone()
            return LegResults(
                lexical=None if keywords is None else catalog.ranked(connection, keywords, limit),
                vector=None if nearest is None else catalog.ranked(connection, nearest, limit),
                vectors_ready=embedded / total if total else 1.0,
            )

    def pending_texts(self, limit: int) -> list[PendingText]:
        with self._database.reading() as connection:
            return pending(connection, limit)

    def pending_count(self) -> int:
        with self._database.reading() as connection:
            return count_pending(connection)

    def add_vectors(self, vectors: Mapping[str, Vectors]) -> int:
        rows = checked_vectors(vectors, self._header.model.dimension)
        with self._writing() as connection:
            return store_vectors(connection, rows)

    def document_vectors(self, document_id: DocumentId) -> dict[str, Vectors]:
        with self._database.reading() as connection:
            return read_vectors(connection, document_id)

    def stats(self) -> IndexStats:
        with self._database.reading() as connection:
            documents, chunks, embedded = connection.execute(
                "SELECT count(*), ifnull(sum(chunk_count), 0), ifnull(sum(embedded_count), 0) FROM documents"
            ).fetchone()
        return IndexStats(documents=documents, chunks=chunks, embedded=embedded, size_bytes=stored_bytes(self.path))

    def change_counter(self) -> int:
        with self._database.reading() as connection:
            return change_count(connection)

    def check(self, *, deep: bool = False) -> list[Check]:
        return run_checks(self._database, self._lexical, deep=deep) + self._successor.checks()

    def rebuild_derived(self) -> None:
        """Builds the keyword index anew from the stored chunks, drops orphans and counts again.

        Holds the write lock until it is done: searches go on, other writers wait or time out.
        """
        with self._database.writing() as connection:
            rebuild(connection, self._lexical)

    def purge(self) -> bool:
        """Overwrites what is left of deleted text; False while a reader of an older state keeps it from that."""
        return self._purge.run()

    def latest_change(self) -> int:
        with self._database.reading() as connection:
            self._require_header(connection)
            return change_count(connection)

    def open_successor(self, header: IndexHeader) -> Library:
        self.latest_change()
        if self._successor.header() != header:
            self._successor.drop()
        return SqliteIndex.open(self._successor.path, header, clock=self._clock)

    def promote_successor(self, *, seen: int) -> bool:
        return self._successor.promote(seen, self._require_header)

    def drop_successor(self) -> None:
        self._successor.drop()

    def close(self) -> None:
        """Overwrites deleted text that is still there, then closes the file."""
        if self._database.closed:
            return
        try:
            self._purge.run()
        except LocalRagError as error:
            # A full disk or a lock elsewhere must not keep the program from ending; it stays due in the file.
            _LOG.warning("Deleted text is not overwritten yet: %s", error)
        finally:
            self._database.close()

    def _create_or_verify(self) -> None:
        with self._database.reading() as connection:
            new = is_empty(connection)
            if not new:
                self._require_header(connection)
            incomplete = new or lacks_columns(connection)
        self._database.use_wal()
        if incomplete:
            with self._database.writing() as connection:
                if is_empty(connection):  # another process may have been faster
                    create_tables(connection, self._header, *KEYWORD_TABLES)
                else:
                    self._require_header(connection)
                    add_columns(connection)
        with self._database.reading() as connection:
            current = get_meta(connection, "analysis") == analysis_version()
        if not current:
            self.rebuild_derived()
        self._successor.drop_if_used(self._header)

    def _forget_in_successor(self, document_id: DocumentId) -> None:
        """A document that is deleted leaves no trace in an index that is being built, were it never finished."""
        if (header := self._successor.header()) is not None:
            with closing(SqliteIndex.open(self._successor.path, header)) as successor, suppress(NotFoundError):
                successor.delete_document(document_id)

    def _require_header(self, connection: sqlite3.Connection) -> None:
        require_header(connection, str(self.path), self._header, lambda: self._successor.hint(connection, self._header))

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction on the content, refused when another process has reset the index to other settings."""
        with self._database.writing() as connection:
            self._require_header(connection)
            yield connection
