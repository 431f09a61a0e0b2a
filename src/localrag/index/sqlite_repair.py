"""Building anew what can be derived from the stored chunks and vectors."""

from __future__ import annotations

import sqlite3

from localrag.index.analysis import analysis_version
from localrag.index.content import chunk_terms, name_terms
from localrag.index.sqlite_catalog import read_chunks
from localrag.index.sqlite_lexical import LexicalLeg, keyword_row
from localrag.index.sqlite_schema import count_change, new_generation, set_meta
from localrag.index.sqlite_vectors import recount_embedded

_STATEMENTS = (
    "DELETE FROM texts WHERE key NOT IN (SELECT text_key FROM chunks)",
    "DELETE FROM vectors WHERE text_key NOT IN (SELECT key FROM texts)",
    "UPDATE texts SET embedded_change = NULL WHERE key NOT IN (SELECT text_key FROM vectors)",
    "UPDATE documents SET chunk_count = (SELECT count(*) FROM chunks c WHERE c.document_key = documents.key)",
)


def rebuild(connection: sqlite3.Connection, lexical: LexicalLeg) -> None:
    """Keyword index, counts and marks as the stored chunks and vectors say; orphans are gone."""
    lexical.recreate(connection)
    chunks = read_chunks(connection, "ORDER BY c.key", ())
    terms = [(key, keyword_row(chunk_terms(chunk, name))) for key, name, chunk in chunks]
    lexical.add(connection, terms)
    connection.executemany(
        "UPDATE chunks SET language = ?, term_count = ? WHERE key = ?",
        ((each.language, each.own_length, key) for key, each in terms),
    )
    names = [(len(name_terms(name)), key) for key, name in connection.execute("SELECT key, name FROM documents")]
    connection.executemany("UPDATE documents SET name_terms = ? WHERE key = ?", names)
    for statement in _STATEMENTS:
        connection.execute(statement)
    connection.execute(
        "UPDATE texts SET embedded_change = ? WHERE embedded_change IS NULL AND key IN (SELECT text_key FROM vectors)",
        (count_change(connection),),
    )
    recount_embedded(connection, "SELECT key FROM documents")
    new_generation(connection)
    set_meta(connection, "analysis", analysis_version())
    set_meta(connection, "purge_due", 1)
