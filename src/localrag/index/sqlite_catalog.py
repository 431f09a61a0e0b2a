"""Documents, pages, chunks and their rows, inside the caller's transactions."""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from localrag.errors import NotFoundError
from localrag.index.content import name_terms, text_hash
from localrag.index.filters import microseconds, moment
from localrag.index.sqlite_lexical import KeywordRow
from localrag.types import Chunk, Document, DocumentId, Page, ScoredChunk

PageRow: TypeAlias = tuple[int, int | None, str | None, bytes, bool]

_DOCUMENT = (
    "SELECT d.id, d.content_hash, d.name, d.uri, d.media_type, d.size_bytes, d.page_count, d.chunk_count, "
    "d.embedded_count, d.collection, d.indexed_at, d.tags, d.readable_by, d.warnings FROM documents d"
)
_CHUNK = (
    "SELECT d.name, d.id, c.id, c.position, c.page_ordinal, c.page, c.label, c.heading_path, c.text, c.start, c.stop, "
    "c.token_count, c.prefix, c.key FROM chunks c JOIN documents d ON d.key = c.document_key"
)


def document_key(connection: sqlite3.Connection, document_id: DocumentId) -> int | None:
    """The document's key, which changes with every version of it."""
    row = connection.execute("SELECT key FROM documents WHERE id = ?", (document_id,)).fetchone()
    return None if row is None else int(row[0])


def existing_key(connection: sqlite3.Connection, document_id: DocumentId) -> int:
    """The document's key, or NotFoundError."""
    key = document_key(connection, document_id)
    if key is None:
        raise NotFoundError(
            f"No document has the id {document_id!r}.", hint="`localrag documents` lists what there is."
        )
    return key


def insert_document(connection: sqlite3.Connection, document: Document, chunk_count: int) -> int:
    """The key of the new row. Its `embedded_count` is 0 until it is counted."""
    cursor = connection.execute(
        "INSERT INTO documents (id, content_hash, name, uri, media_type, size_bytes, page_count, "
        "name_terms, chunk_count, embedded_count, collection, indexed_at, tags, readable_by, warnings) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?, ?, ?)",
        (
            document.id,
            document.content_hash,
            document.name,
            document.uri,
            document.media_type,
            document.size_bytes,
            document.page_count,
            len(name_terms(document.name)),
            chunk_count,
            document.collection,
            microseconds(document.indexed_at),
            json.dumps(dict(document.tags)),
            json.dumps(sorted(document.readable_by)),
            json.dumps(document.warnings),
        ),
    )
    key = int(cursor.lastrowid or 0)
    _insert_tags_and_readers(connection, key, document)
    return key


def change_document(connection: sqlite3.Connection, key: int, document: Document) -> None:
    """Name, uri, tags, collection and readers as given; the rest stays."""
    connection.execute(
        "UPDATE documents SET name = ?, name_terms = ?, uri = ?, collection = ?, tags = ?, readable_by = ? "
        "WHERE key = ?",
        (
            document.name,
            len(name_terms(document.name)),
            document.uri,
            document.collection,
            json.dumps(dict(document.tags)),
            json.dumps(sorted(document.readable_by)),
            key,
        ),
    )
    connection.execute("DELETE FROM tags WHERE document_key = ?", (key,))
    connection.execute("DELETE FROM readers WHERE document_key = ?", (key,))
    _insert_tags_and_readers(connection, key, document)


def compressed(pages: Iterable[Page]) -> list[PageRow]:
    """Rows for `insert_pages`; made before the transaction, since it takes time."""
    return [
        (
            page.ordinal,
            page.number,
            page.label,
            zlib.compress(page.markdown.encode("utf-8", "surrogatepass")),
            page.verbatim,
        )
        for page in pages
    ]


def insert_pages(connection: sqlite3.Connection, key: int, rows: Iterable[PageRow]) -> None:
    """Stores the pages of the document with this key."""
    connection.executemany(
        "INSERT INTO pages (document_key, ordinal, number, label, markdown, verbatim) VALUES (?, ?, ?, ?, ?, ?)",
        ((key, *row) for row in rows),
    )


def insert_chunks(
    connection: sqlite3.Connection, key: int, chunks: Sequence[Chunk], terms: Sequence[KeywordRow]
) -> list[int]:
    """The keys of the chunks, in order; equal embedding texts share one row of `texts`."""
    hashes = [text_hash(chunk.embedding_text) for chunk in chunks]
    connection.executemany("INSERT OR IGNORE INTO texts (hash) VALUES (?)", ((name,) for name in hashes))
    keys = []
    for chunk, name, words in zip(chunks, hashes, terms, strict=True):
        cursor = connection.execute(
            "INSERT INTO chunks (document_key, text_key, id, position, page_ordinal, page, label, heading_path, text, "
            "start, stop, token_count, prefix, language, term_count) "
            "VALUES (?, (SELECT key FROM texts WHERE hash = ?), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                key,
                name,
                chunk.id,
                chunk.index,
                chunk.page_ordinal,
                chunk.page,
                chunk.label,
                json.dumps(chunk.heading_path),
                chunk.text,
                chunk.start,
                chunk.end,
                chunk.token_count,
                chunk.prefix,
                words.language,
                words.own_length,
            ),
        )
        keys.append(int(cursor.lastrowid or 0))
    return keys


def delete_row(connection: sqlite3.Connection, key: int) -> None:
    """Removes the document with its pages and chunks; texts stay until `delete_orphans`."""
    connection.execute("DELETE FROM documents WHERE key = ?", (key,))


def text_keys(connection: sqlite3.Connection, key: int) -> list[int]:
    """The texts the document's chunks refer to."""
    rows = connection.execute("SELECT DISTINCT text_key FROM chunks WHERE document_key = ?", (key,))
    return [row[0] for row in rows]


def delete_orphans(connection: sqlite3.Connection, texts: Sequence[int]) -> None:
    """Removes those of the texts that no chunk refers to any more, and their vectors."""
    connection.execute(
        "DELETE FROM texts WHERE key IN (SELECT value FROM json_each(?)) "
        "AND NOT EXISTS (SELECT 1 FROM chunks WHERE text_key = texts.key)",
        (json.dumps(texts),),
    )


def read_documents(connection: sqlite3.Connection, rest: str, values: Sequence[str | int] = ()) -> list[Document]:
    """The documents that `rest` (WHERE, ORDER BY, LIMIT) selects."""
    return [_document(row) for row in connection.execute(f"{_DOCUMENT} {rest}", values)]


def read_pages(connection: sqlite3.Connection, document_id: DocumentId, ordinal: int | None = None) -> list[Page]:
    """The document's pages in order, or the one with this ordinal."""
    query = (
        "SELECT p.ordinal, p.number, p.label, p.markdown, p.verbatim "
        "FROM pages p JOIN documents d ON d.key = p.document_key "
        "WHERE d.id = ? AND p.ordinal = ifnull(?, p.ordinal) ORDER BY p.ordinal"
    )
    return [
        Page(
            ordinal=place,
            number=number,
            label=label,
            markdown=zlib.decompress(markdown).decode("utf-8", "surrogatepass"),
            verbatim=bool(verbatim),
        )
        for place, number, label, markdown, verbatim in connection.execute(query, (document_id, ordinal))
    ]


def read_chunks(connection: sqlite3.Connection, rest: str, values: Sequence[str | int]) -> list[tuple[int, str, Chunk]]:
    """(key, document name, chunk) of the chunks that `rest` selects."""
    return [(row[-1], row[0], _chunk(row)) for row in connection.execute(f"{_CHUNK} {rest}", values)]


def ranked(connection: sqlite3.Connection, found: Sequence[tuple[int, float]], limit: int) -> tuple[ScoredChunk, ...]:
    """The best `limit` by score, then chunk id; only those are read whole."""
    if len(found) > limit:
        ids = dict(
            connection.execute(
                "SELECT key, id FROM chunks WHERE key IN (SELECT value FROM json_each(?))",
                (json.dumps([key for key, _ in found]),),
            ).fetchall()
        )
        found = sorted(found, key=lambda hit: (-hit[1], ids[hit[0]]))[:limit]
    scores = dict(found)
    rows = read_chunks(connection, "WHERE c.key IN (SELECT value FROM json_each(?))", (json.dumps(list(scores)),))
    hits = [ScoredChunk(chunk=chunk, document=name, score=scores[key]) for key, name, chunk in rows]
    return tuple(sorted(hits, key=lambda hit: (-hit.score, hit.chunk.id)))


def _insert_tags_and_readers(connection: sqlite3.Connection, key: int, document: Document) -> None:
    tags = ((key, tag, value) for tag, value in document.tags.items())
    connection.executemany("INSERT INTO tags (document_key, key, value) VALUES (?, ?, ?)", tags)
    readers = ((key, principal) for principal in document.readable_by)
    connection.executemany("INSERT INTO readers (document_key, principal) VALUES (?, ?)", readers)


def _document(row: Sequence[Any]) -> Document:
    return Document(
        id=row[0],
        content_hash=row[1],
        name=row[2],
        uri=row[3],
        media_type=row[4],
        size_bytes=row[5],
        page_count=row[6],
        chunk_count=row[7],
        embedded_count=row[8],
        collection=row[9],
        indexed_at=moment(row[10]),
        tags=json.loads(row[11]),
        readable_by=frozenset(json.loads(row[12])),
        warnings=tuple(json.loads(row[13])),
    )


def _chunk(row: Sequence[Any]) -> Chunk:
    return Chunk(
        document_id=row[1],
        id=row[2],
        index=row[3],
        page_ordinal=row[4],
        page=row[5],
        label=row[6],
        heading_path=tuple(json.loads(row[7])),
        text=row[8],
        start=row[9],
        end=row[10],
        token_count=row[11],
        prefix=row[12],
    )
