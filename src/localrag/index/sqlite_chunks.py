"""The chunks' keys as arrays in memory, kept in step with the file by its change counter."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from localrag.filters import Filter
from localrag.index.sqlite_filters import documents_passing

Keys: TypeAlias = npt.NDArray[np.int64]
Mask: TypeAlias = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class ChunkTable:
    """All chunks at one change counter; the last four arrays are aligned and ordered by chunk key.

    A document's key is never used for another version of it, so a table is brought up to date by the keys that
    came and went. `generation` changes when that does not hold.
    """

    counter: int
    generation: int
    documents: Keys
    document_lengths: Keys
    keys: Keys
    document_keys: Keys
    text_keys: Keys
    own_lengths: Keys

    def lengths(self) -> npt.NDArray[np.float64]:
        """Terms of each chunk in all fields: its own and those of its document's name."""
        places = np.searchsorted(self.documents, self.document_keys)
        return (self.own_lengths + self.document_lengths[places]).astype(np.float64)

    def passing(self, connection: sqlite3.Connection, where: Filter | None) -> Mask:
        """Which chunks' documents pass the filter, which SQLite evaluates."""
        if where is None:
            return np.ones(self.keys.shape, dtype=np.bool_)
        query = documents_passing(where)
        rows = connection.execute(query.text, query.values)
        return np.isin(self.document_keys, np.fromiter((row[0] for row in rows), dtype=np.int64))


def empty_table() -> ChunkTable:
    """A table that no file has the counter of."""
    none = np.empty(0, dtype=np.int64)
    return ChunkTable(-1, -1, none, none, none, none, none, none)


def up_to_date(connection: sqlite3.Connection, table: ChunkTable) -> ChunkTable:
    """The table of the connection's snapshot; the same object when nothing has changed."""
    counter, generation = connection.execute(
        "SELECT (SELECT value FROM meta WHERE key = 'changes'), (SELECT value FROM meta WHERE key = 'generation')"
    ).fetchone()
    if counter == table.counter:
        return table
    if generation != table.generation:
        table = empty_table()
    documents = _table(connection.execute("SELECT key, name_terms FROM documents ORDER BY key"), 2)
    kept = np.isin(table.document_keys, documents[:, 0])
    # Keys are unique; told so, NumPy need not load its masked arrays (15 ms of every start) to find that out.
    added = np.setdiff1d(documents[:, 0], table.documents, assume_unique=True)
    new = _chunks_of(connection, added, everything=not table.documents.size)
    old = (table.keys, table.document_keys, table.text_keys, table.own_lengths)
    keys, document_keys, text_keys, lengths = (
        np.concatenate([column[kept], new[:, at]]) for at, column in enumerate(old)
    )
    return ChunkTable(
        counter=counter,
        generation=generation,
        documents=documents[:, 0],
        document_lengths=documents[:, 1],
        keys=keys,
        document_keys=document_keys,
        text_keys=text_keys,
        own_lengths=lengths,
    )


def best_rows(scores: npt.NDArray[np.float64], limit: int) -> npt.NDArray[np.intp]:
    """The places of the `limit` highest scores and of all that tie with the last of them."""
    if limit < 1 or not scores.size:
        return np.empty(0, dtype=np.intp)
    if scores.size <= limit:
        return np.arange(scores.size)
    last = np.partition(scores, scores.size - limit)[scores.size - limit]
    return np.flatnonzero(scores >= last)


def _chunks_of(connection: sqlite3.Connection, documents: Keys, *, everything: bool) -> Keys:
    """One row for each chunk of the documents: chunk, document and text key, and its own terms."""
    query = "SELECT key, document_key, text_key, term_count FROM chunks"
    values: tuple[str, ...] = ()
    if not everything:
        query += " WHERE document_key IN (SELECT value FROM json_each(?))"
        values = (json.dumps(documents.tolist()),)
    return _table(connection.execute(f"{query} ORDER BY key", values), 4)


def _table(rows: sqlite3.Cursor, columns: int) -> Keys:
    return np.array(rows.fetchall(), dtype=np.int64).reshape(-1, columns)
