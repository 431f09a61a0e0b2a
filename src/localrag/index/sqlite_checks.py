"""Whether the index agrees with itself."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from localrag.errors import IndexCorruptError
from localrag.index.content import REINGEST_HINT
from localrag.index.sqlite_database import Database
from localrag.index.sqlite_lexical import LexicalLeg
from localrag.index.sqlite_schema import get_meta
from localrag.types import Check

REPAIR_HINT = "Run `localrag health --repair`, which rebuilds what is derived from the stored text."

# name, how it is told, a query for the number of things that are wrong
_COUNTS = (
    (
        "chunk counts",
        "documents whose chunks are not all there",
        "SELECT count(*) FROM documents d "
        "WHERE d.chunk_count <> (SELECT count(*) FROM chunks c WHERE c.document_key = d.key)",
    ),
    (
        "embedding counts",
        "documents whose count of vectors is wrong",
        "SELECT count(*) FROM documents d WHERE d.embedded_count <> (SELECT count(*) FROM chunks c "
        "JOIN texts t ON t.key = c.text_key WHERE c.document_key = d.key AND t.embedded_change IS NOT NULL)",
    ),
    (
        "vectors",
        "texts or vectors that nothing refers to, or marked as embedded without a vector",
        "SELECT (SELECT count(*) FROM texts t WHERE NOT EXISTS (SELECT 1 FROM chunks c WHERE c.text_key = t.key)) "
        "+ (SELECT count(*) FROM vectors v LEFT JOIN texts t ON t.key = v.text_key WHERE t.embedded_change IS NULL) "
        "+ (SELECT count(*) FROM texts t LEFT JOIN vectors v ON v.text_key = t.key "
        "WHERE t.embedded_change IS NOT NULL AND v.text_key IS NULL)",
    ),
)


def run_checks(database: Database, lexical: LexicalLeg, *, deep: bool) -> list[Check]:
    """The checks that could be run; the first that finds the file itself damaged is the last."""
    checks: list[Check] = []
    try:
        with database.bare() as connection:
            checks.extend(_file_checks(connection, deep=deep))
            if not all(check.ok for check in checks):
                return checks
            checks.extend(_counts(connection, lexical))
        if deep:
            checks.append(_postings(database, lexical))
    except (sqlite3.Error, IndexCorruptError) as error:
        checks.append(_damaged(str(error)))
    return checks


def _file_checks(connection: sqlite3.Connection, *, deep: bool) -> Iterator[Check]:
    try:
        if deep:
            found = [row[0] for row in connection.execute("PRAGMA integrity_check(10)")]
            strangers = connection.execute("PRAGMA foreign_key_check").fetchall()
            problems = [text for text in found if text != "ok"] + [
                f"row without owner in {row[0]}" for row in strangers
            ]
        else:
            problems = [] if connection.execute("SELECT count(*) FROM meta").fetchone()[0] else ["the header is gone"]
    except sqlite3.DatabaseError as error:
        problems = [str(error)]
    if problems:
        yield _damaged("; ".join(problems[:10]))
        return
    documents, chunks = connection.execute("SELECT count(*), ifnull(sum(chunk_count), 0) FROM documents").fetchone()
    yield Check(name="index file", ok=True, detail=f"{documents} documents, {chunks} chunks")


def _counts(connection: sqlite3.Connection, lexical: LexicalLeg) -> Iterator[Check]:
    chunks = connection.execute("SELECT count(*) FROM chunks").fetchone()[0]
    findable = lexical.count(connection)
    same = chunks == findable
    detail = f"{findable} of {chunks} chunks findable by keyword"
    yield Check(name="keyword index", ok=same, detail=detail, hint="" if same else REPAIR_HINT)
    for name, wrong, query in _COUNTS:
        count = connection.execute(query).fetchone()[0]
        yield Check(name=name, ok=not count, detail=f"{count} {wrong}", hint=REPAIR_HINT if count else "")
    due = get_meta(connection, "purge_due") != "0"
    told = "words of deleted text wait to be overwritten" if due else "no trace of deleted text"
    # Not a fault: it is done by the next delete or when the index is closed.
    yield Check(name="deleted text", ok=True, detail=told)


def _postings(database: Database, lexical: LexicalLeg) -> Check:
    """FTS5's own check is written as an INSERT, so it needs the write lock; it changes nothing."""
    problem = ""
    with database.bare() as connection:
        try:
            lexical.verify(connection)
        except sqlite3.DatabaseError as error:
            problem = str(error)
    detail = problem or "postings agree with the stored terms"
    return Check(name="keyword postings", ok=not problem, detail=detail, hint=REPAIR_HINT if problem else "")


def _damaged(detail: str) -> Check:
    hint = f"Restore the file from a backup. Otherwise: {REINGEST_HINT}."
    return Check(name="index file", ok=False, detail=detail, hint=hint)
