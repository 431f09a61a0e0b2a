"""The keyword leg: BM25 over FTS5, given terms that are analysed already.

FTS5's own idf is ln((N - n + 0.5) / (n + 0.5)) with everything from half the chunks on flattened to 1e-6, so that
in a small library the words of the question count for nothing. Each term is therefore asked for on its own and its
score divided by FTS5's idf and multiplied by Lucene's, which leaves exactly Lucene's BM25; the forms of one word in
several languages share the idf of the word.
"""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from localrag.filters import Filter
from localrag.index import bm25
from localrag.index.analysis import query_groups
from localrag.index.content import SCORE_DIGITS, ChunkTerms, name_terms
from localrag.index.sqlite_filters import documents_passing

# `ascii` splits at ASCII separators only, and terms hold none; what it reads is what the analyser wrote.
KEYWORD_TABLES = (
    "CREATE VIRTUAL TABLE chunk_words USING fts5(body, heading, name, tokenize = 'ascii')",
    "CREATE VIRTUAL TABLE chunk_terms USING fts5vocab(chunk_words, row)",
)

# Rarest first; a pasted page adds no more after this, and SQLite takes at most 500 parts in one query.
_MAX_TERMS = 96
# Pages rewritten in one step of a merge: some 50 ms, the longest another writer waits for it.
_MERGE_PAGES = 512


@dataclass(frozen=True, slots=True)
class _Term:
    text: str
    factor: float
    holding: int


class LexicalLeg:
    """Keyword search inside the caller's transactions; knows chunks by their integer keys."""

    def add(self, connection: sqlite3.Connection, rows: Iterable[tuple[int, ChunkTerms]]) -> None:
        """Makes the chunks findable."""
        connection.executemany(
            "INSERT INTO chunk_words (rowid, body, heading, name) VALUES (?, ?, ?, ?)",
            ((key, " ".join(terms.body), " ".join(terms.heading), " ".join(terms.name)) for key, terms in rows),
        )

    def remove_document(self, connection: sqlite3.Connection, document_key: int) -> None:
        """Makes the document's chunks unfindable."""
        connection.execute(
            "DELETE FROM chunk_words WHERE rowid IN (SELECT key FROM chunks WHERE document_key = ?)", (document_key,)
        )

    def rename_document(self, connection: sqlite3.Connection, document_key: int, name: str) -> None:
        """Makes the document's chunks findable by the new name and no longer by the old."""
        connection.execute(
            "UPDATE chunk_words SET name = ? WHERE rowid IN (SELECT key FROM chunks WHERE document_key = ?)",
            (" ".join(name_terms(name)), document_key),
        )

    def recreate(self, connection: sqlite3.Connection) -> None:
        """An empty keyword index in place of the present one, whatever state that is in."""
        connection.execute("DROP TABLE IF EXISTS chunk_terms")
        connection.execute("DROP TABLE IF EXISTS chunk_words")
        for statement in KEYWORD_TABLES:
            connection.execute(statement)

    def count(self, connection: sqlite3.Connection) -> int:
        """How many chunks are in the keyword index."""
        return int(connection.execute("SELECT count(*) FROM chunk_words").fetchone()[0])

    def verify(self, connection: sqlite3.Connection) -> None:
        """Nothing, or sqlite3.DatabaseError when postings and content disagree."""
        connection.execute("INSERT INTO chunk_words (chunk_words) VALUES ('integrity-check')")

    def merge_step(self, connection: sqlite3.Connection, *, first: bool) -> bool:
        """Rewrites a part of the postings without what was deleted; False when all is rewritten."""
        before = connection.total_changes
        pages = -_MERGE_PAGES if first else _MERGE_PAGES
        connection.execute("INSERT INTO chunk_words (chunk_words, rank) VALUES ('merge', ?)", (pages,))
        return connection.total_changes - before >= 2  # fewer: there was nothing to do (FTS5 documentation, "merge")

    def search(
        self, connection: sqlite3.Connection, text: str, *, limit: int, where: Filter | None
    ) -> list[tuple[int, float]]:
        """(chunk key, score) of the best `limit` chunks and of all that tie with the last, in no order."""
        terms = self._terms(connection, text)
        if not terms or limit < 1:
            return []
        condition, bounds = "", ""
        filter_values: tuple[str | int, ...] = ()
        if where is not None:
            passing = documents_passing(where)
            span = connection.execute(
                f"SELECT min(key), max(key) FROM chunks WHERE document_key IN ({passing.text})", passing.values
            ).fetchone()
            if span[0] is None:
                return []
            # One document's chunks lie together: FTS5 skips to them instead of scoring the whole library.
            bounds = f" AND rowid BETWEEN {int(span[0])} AND {int(span[1])}"
            condition = f" WHERE chunk_key IN (SELECT c.key FROM chunks c WHERE c.document_key IN ({passing.text}))"
            filter_values = passing.values
        weights = f"{bm25.BODY_WEIGHT}, {bm25.HEADING_WEIGHT}, {bm25.NAME_WEIGHT}"
        one = (
            f"SELECT rowid AS chunk_key, bm25(chunk_words, {weights}) * ? AS score "
            f"FROM chunk_words WHERE chunk_words MATCH ?{bounds}"
        )
        query = (
            f"WITH parts AS ({' UNION ALL '.join([one] * len(terms))}), "
            f"hits AS MATERIALIZED (SELECT chunk_key, round(sum(score), {SCORE_DIGITS}) AS score "
            f"FROM parts{condition} GROUP BY chunk_key) "
            "SELECT chunk_key, score FROM hits "
            "WHERE score >= ifnull((SELECT score FROM hits ORDER BY score DESC LIMIT 1 OFFSET ?), -1)"
        )
        values = [value for term in terms for value in (term.factor, f'"{term.text}"')]
        return connection.execute(query, (*values, *filter_values, limit - 1)).fetchall()

    def _terms(self, connection: sqlite3.Connection, text: str) -> list[_Term]:
        """The terms that occur, with what turns FTS5's score of each into Lucene's."""
        groups = query_groups(text, _languages(connection))
        chunks = _chunk_count(connection)
        if not groups or not chunks:
            return []
        holding = self._holding(connection, {term for group in groups for term in group})
        terms: dict[str, _Term] = {}
        for group in groups:
            in_group = min(chunks, sum(holding.get(term, 0) for term in group))
            for term in group:
                if term in holding:
                    factor = _factor(chunks, holding[term], in_group)
                    terms[term] = _Term(term, factor, holding[term])
        rarest = sorted(terms.values(), key=lambda term: (term.holding, term.text))
        return rarest[:_MAX_TERMS]

    def _holding(self, connection: sqlite3.Connection, terms: set[str]) -> dict[str, int]:
        found = connection.execute(
            "SELECT term, doc FROM chunk_terms WHERE term IN (SELECT value FROM json_each(?))",
            (json.dumps(sorted(terms)),),
        )
        return dict(found.fetchall())


def _chunk_count(connection: sqlite3.Connection) -> int:
    """How many chunks there are, from the catalog's sums."""
    return int(connection.execute("SELECT ifnull(sum(chunk_count), 0) FROM documents").fetchone()[0])


def _factor(chunks: int, holding: int, in_group: int) -> float:
    """What FTS5's (negative) bm25() is multiplied with; 1 / (k1 + 1) drops its constant, as Lucene does."""
    fts5_idf = max(math.log((chunks - holding + 0.5) / (holding + 0.5)), 1e-6)
    return -bm25.idf(chunks, in_group) / (fts5_idf * (bm25.K1 + 1))


def _languages(connection: sqlite3.Connection) -> Sequence[str]:
    """The languages of the chunks, by one seek in the index for each."""
    return [
        row[0]
        for row in connection.execute(
            "WITH RECURSIVE found(language) AS (SELECT min(language) FROM chunks UNION ALL "
            "SELECT (SELECT min(language) FROM chunks WHERE language > found.language) FROM found "
            "WHERE found.language IS NOT NULL) SELECT language FROM found WHERE language IS NOT NULL"
        )
    ]
