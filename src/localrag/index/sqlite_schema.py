"""The tables of the embedded index, and the header that says what it was built with."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable

from localrag.errors import IndexMismatchError
from localrag.index.analysis import analysis_version
from localrag.index.content import REINGEST_HINT, header_from_json, header_json, require_same_header
from localrag.types import IndexHeader

APPLICATION_ID = 0x4C526167  # "LRag", so that a file of another program is never written to
SCHEMA_VERSION = 1

# Keys are AUTOINCREMENT: a key is never used twice, so what a process remembers by key is never mistaken for newer.
# A text stands for all chunks whose embedding text is equal; its vector has a table of its own, so that counting
# texts does not read vectors.
_TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;

CREATE TABLE documents (
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    content_hash TEXT NOT NULL,
    name TEXT NOT NULL,
    uri TEXT NOT NULL,
    media_type TEXT NOT NULL,
    size_bytes INTEGER NOT NULL,
    page_count INTEGER NOT NULL,
    name_terms INTEGER NOT NULL,  -- terms of the name, which count to the length of every chunk
    chunk_count INTEGER NOT NULL,
    embedded_count INTEGER NOT NULL,
    collection TEXT,
    indexed_at INTEGER NOT NULL,  -- microseconds since 1970, UTC
    tags TEXT NOT NULL,           -- JSON, as is; the tables below repeat it for filters
    readable_by TEXT NOT NULL,
    warnings TEXT NOT NULL
);
CREATE INDEX documents_by_hash ON documents (content_hash);

CREATE TABLE tags (
    document_key INTEGER NOT NULL REFERENCES documents ON DELETE CASCADE,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (document_key, key)
) WITHOUT ROWID;

CREATE TABLE readers (
    document_key INTEGER NOT NULL REFERENCES documents ON DELETE CASCADE,
    principal TEXT NOT NULL,
    PRIMARY KEY (document_key, principal)
) WITHOUT ROWID;

CREATE TABLE pages (
    document_key INTEGER NOT NULL REFERENCES documents ON DELETE CASCADE,
    ordinal INTEGER NOT NULL,
    number INTEGER,
    label TEXT,
    markdown BLOB NOT NULL,  -- zlib
    verbatim INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (document_key, ordinal)
);

CREATE TABLE texts (
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    hash TEXT NOT NULL UNIQUE,
    embedded_change INTEGER  -- the change that stored its vector; NULL while it waits
);
CREATE INDEX texts_waiting ON texts (key) WHERE embedded_change IS NULL;
CREATE INDEX texts_by_change ON texts (embedded_change) WHERE embedded_change IS NOT NULL;

CREATE TABLE vectors (
    text_key INTEGER PRIMARY KEY REFERENCES texts ON DELETE CASCADE,
    vector BLOB NOT NULL  -- little-endian float32, unit length
);

CREATE TABLE chunks (
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    document_key INTEGER NOT NULL REFERENCES documents ON DELETE CASCADE,
    text_key INTEGER NOT NULL REFERENCES texts,
    id TEXT NOT NULL UNIQUE,
    position INTEGER NOT NULL,
    page_ordinal INTEGER NOT NULL,
    page INTEGER,
    label TEXT,
    heading_path TEXT NOT NULL,  -- JSON
    text TEXT NOT NULL,
    start INTEGER NOT NULL,
    stop INTEGER NOT NULL,
    token_count INTEGER NOT NULL,
    prefix TEXT NOT NULL,
    language TEXT NOT NULL,
    term_count INTEGER NOT NULL  -- of text and headings
);
CREATE UNIQUE INDEX chunks_by_document ON chunks (document_key, position);
CREATE INDEX chunks_by_text ON chunks (text_key);
CREATE INDEX chunks_by_language ON chunks (language);

CREATE TABLE failures (
    uri TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    kind TEXT NOT NULL,
    message TEXT NOT NULL,
    hint TEXT NOT NULL,
    failed_at INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE leases (name TEXT PRIMARY KEY, holder TEXT NOT NULL, expires_at REAL NOT NULL) WITHOUT ROWID;

CREATE TABLE conversations (id TEXT PRIMARY KEY, turns TEXT NOT NULL, saved_at REAL NOT NULL) WITHOUT ROWID;
"""
# Answers by what they came from. Every change empties the table, in its own transaction: an answer quotes documents.
_ANSWERS = "CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, answer TEXT NOT NULL, saved_at REAL NOT NULL)"


class AnotherProgramsFile(IndexMismatchError):
    """The file is a database, but not one of ours."""


def create_tables(connection: sqlite3.Connection, header: IndexHeader, *more: str) -> None:
    """All tables (and those `more` statements make) and the header, inside the caller's transaction."""
    for statement in (*_TABLES.split(";\n"), _ANSWERS, *more):
        connection.execute(statement)
    # Counting from the clock keeps counters of an index and of its successor under the same path apart.
    changes = time.time_ns() // 1_000_000
    facts = {
        "header": header_json(header),
        "analysis": analysis_version(),
        "changes": changes,
        "generation": 0,
        "purge_due": 0,
    }
    connection.executemany("INSERT INTO meta VALUES (?, ?)", facts.items())
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def lacks_columns(connection: sqlite3.Connection) -> bool:
    """Whether the file is of a release that kept less: not what is made of verbatim, or no answers."""
    return (
        _lacks_verbatim(connection)
        or connection.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'answers'").fetchone()
        is None
    )


def add_columns(connection: sqlite3.Connection) -> None:
    """Makes room for what earlier releases did not keep; those can read the file still."""
    if _lacks_verbatim(connection):
        connection.execute("ALTER TABLE pages ADD COLUMN verbatim INTEGER NOT NULL DEFAULT 0")
    connection.execute(_ANSWERS)


def _lacks_verbatim(connection: sqlite3.Connection) -> bool:
    return connection.execute("SELECT 1 FROM pragma_table_info('pages') WHERE name = 'verbatim'").fetchone() is None


def is_empty(connection: sqlite3.Connection) -> bool:
    """Whether nothing has been created in the file yet."""
    return connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone() is None


def stored_header(connection: sqlite3.Connection, path: str) -> IndexHeader:
    """The header in the file.

    Raises:
        IndexMismatchError: the file is another program's, or of another schema version.
    """
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    if application != APPLICATION_ID:
        raise AnotherProgramsFile(
            f"{path} is a database of another program and was left alone.",
            expected="a localrag index",
            found=f"an SQLite file with application id {application}",
            hint="Set LOCALRAG_DATA_DIR or LOCALRAG_INDEX_URL to another place.",
        )
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version != SCHEMA_VERSION:
        raise IndexMismatchError(
            f"{path} has index schema version {version}, this release reads version {SCHEMA_VERSION}.",
            expected=f"schema version {SCHEMA_VERSION}",
            found=f"schema version {version}",
            hint=f"Use the release that made it, or {REINGEST_HINT}.",
        )
    return header_from_json(get_meta(connection, "header"))


def require_header(connection: sqlite3.Connection, path: str, expected: IndexHeader, hint: Callable[[], str]) -> None:
    """Nothing, or IndexMismatchError naming every difference from the header in the file, and `hint`."""
    require_same_header(f"The index {path}", expected, stored_header(connection, path), hint)


def get_meta(connection: sqlite3.Connection, key: str) -> str:
    """The fact as text; every index has all of them."""
    return str(connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()[0])


def set_meta(connection: sqlite3.Connection, key: str, value: str | int) -> None:
    """Replaces the fact."""
    connection.execute("UPDATE meta SET value = ? WHERE key = ?", (value, key))


def change_count(connection: sqlite3.Connection) -> int:
    """The counter that every change of what a search could find makes grow."""
    return int(get_meta(connection, "changes"))


def count_change(connection: sqlite3.Connection) -> int:
    """The counter after counting one more change, which no answer outlives."""
    connection.execute("DELETE FROM answers")
    connection.execute("UPDATE meta SET value = value + 1 WHERE key = 'changes'")
    return change_count(connection)


def new_generation(connection: sqlite3.Connection) -> None:
    """Tells every process to forget what it remembers by key."""
    connection.execute("UPDATE meta SET value = value + 1 WHERE key = 'generation'")
    count_change(connection)


def replace_header(connection: sqlite3.Connection, header: IndexHeader) -> None:
    """From here on the index is built with this; other processes are refused from their next call on."""
    set_meta(connection, "header", header_json(header))
