"""The vector leg: exact nearest neighbours in one matrix, kept in step with the file by its change counter."""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from localrag.filters import Filter
from localrag.index.content import SCORE_DIGITS
from localrag.index.sqlite_filters import documents_passing
from localrag.index.sqlite_schema import change_count, count_change
from localrag.protocols import Vectors
from localrag.types import PendingText

_Keys = npt.NDArray[np.int64]
_STORED = np.dtype("<f4")
_READ_ROWS = 4096
# Rows of vectors that were deleted stay in the matrix until they are this many, then it is read anew.
_MAX_WASTE = 0.5


@dataclass(frozen=True, slots=True)
class _State:
    """What one change counter stands for. Rows of `buffer` from `rows` on belong to later states.

    buffer: `(capacity, dimension)` float32, rows of unit length. The other arrays are aligned with each other:
    `chunk_rows[i]` is the row in `buffer` of chunk `chunk_keys[i]`, or -1 while its vector is pending.
    """

    counter: int
    buffer: Vectors
    rows: int
    text_keys: _Keys
    documents: _Keys
    chunk_keys: _Keys
    chunk_documents: _Keys
    chunk_texts: _Keys
    chunk_rows: _Keys


class VectorLeg:
    """Vectors and the embedding queue inside the caller's transactions; searches in memory."""

    def __init__(self, dimension: int) -> None:
        self._dimension = dimension
        self._lock = threading.Lock()
        self._pid = os.getpid()
        self._state: _State | None = None

    def search(
        self, connection: sqlite3.Connection, vector: Vectors, *, limit: int, where: Filter | None
    ) -> list[tuple[int, float]]:
        """(chunk key, cosine) of the best `limit` chunks and of all that tie with the last, in no order.

        Must be the first read of its transaction, so that snapshot and matrix are of the same moment.
        """
        state = self._in_step(connection)
        usable = state.chunk_rows >= 0
        if where is not None:
            passing = documents_passing(where)
            keys = _key_array(connection.execute(passing.text, passing.values))
            usable &= np.isin(state.chunk_documents, keys)
        chosen = np.flatnonzero(usable)
        if limit < 1 or not chosen.size:
            return []
        cosines = state.buffer[: state.rows] @ vector
        scores = np.round(cosines[state.chunk_rows[chosen]].astype(np.float64), SCORE_DIGITS)
        if chosen.size > limit:
            last = np.partition(scores, chosen.size - limit)[chosen.size - limit]
            best = np.flatnonzero(scores >= last)
            chosen, scores = chosen[best], scores[best]
        return list(zip(state.chunk_keys[chosen].tolist(), scores.tolist(), strict=True))

    def add(self, connection: sqlite3.Connection, vectors: Mapping[str, Vectors]) -> int:
        """Stores the vectors whose texts are still there and returns how many; documents' counts follow."""
        keys = dict(
            connection.execute(
                "SELECT hash, key FROM texts WHERE hash IN (SELECT value FROM json_each(?))",
                (json.dumps(list(vectors)),),
            ).fetchall()
        )
        if not keys:
            return 0
        connection.executemany(
            "INSERT OR REPLACE INTO vectors (text_key, vector) VALUES (?, ?)",
            ((key, vectors[name].astype(_STORED).tobytes()) for name, key in keys.items()),
        )
        touched = json.dumps(list(keys.values()))
        connection.execute(
            "UPDATE texts SET embedded_change = ? WHERE key IN (SELECT value FROM json_each(?))",
            (count_change(connection), touched),
        )
        recount_embedded(
            connection,
            "SELECT document_key FROM chunks WHERE text_key IN (SELECT value FROM json_each(?))",
            (touched,),
        )
        return len(keys)

    def pending(self, connection: sqlite3.Connection, limit: int) -> list[PendingText]:
        """Texts without a vector in the order they came."""
        rows = connection.execute(
            "SELECT t.hash, c.prefix, c.text FROM texts t "
            "JOIN chunks c ON c.key = (SELECT min(key) FROM chunks WHERE text_key = t.key) "
            "WHERE t.embedded_change IS NULL ORDER BY t.key LIMIT ?",
            (max(limit, 0),),
        )
        return [
            PendingText(text_hash=name, text=f"{prefix}\n\n{text}" if prefix else text) for name, prefix, text in rows
        ]

    def pending_count(self, connection: sqlite3.Connection) -> int:
        """How many texts have no vector."""
        return int(connection.execute("SELECT count(*) FROM texts WHERE embedded_change IS NULL").fetchone()[0])

    def _in_step(self, connection: sqlite3.Connection) -> _State:
        if os.getpid() != self._pid:  # forked: another thread of the parent may have held the lock
            self._lock, self._pid = threading.Lock(), os.getpid()
        # The snapshot is taken inside the lock, so it is never older than the state it meets.
        with self._lock:
            counter = change_count(connection)
            state = self._state
            if state is not None and state.counter != counter:
                state = _advanced(connection, state, counter)
            if state is None or state.rows > _needed(state) / (1 - _MAX_WASTE) + _READ_ROWS:
                state = _advanced(connection, _empty(self._dimension), counter)
            self._state = state
            return state


def recount_embedded(connection: sqlite3.Connection, documents: str, values: tuple[str | int, ...] = ()) -> None:
    """Sets `embedded_count` of the documents whose keys the query gives to what their chunks say."""
    connection.execute(
        "UPDATE documents SET embedded_count = (SELECT count(*) FROM chunks c JOIN texts t ON t.key = c.text_key "
        f"WHERE c.document_key = documents.key AND t.embedded_change IS NOT NULL) WHERE key IN ({documents})",
        values,
    )


def _empty(dimension: int) -> _State:
    none = np.empty(0, dtype=np.int64)
    return _State(-1, np.empty((0, dimension), dtype=np.float32), 0, none, none, none, none, none, none)


def _needed(state: _State) -> int:
    return int(np.unique(state.chunk_rows[state.chunk_rows >= 0]).size)


def _advanced(connection: sqlite3.Connection, state: _State, counter: int) -> _State:
    """The state at `counter`: documents are told apart by keys that are never used twice."""
    documents = _key_array(connection.execute("SELECT key FROM documents"))
    kept = np.isin(state.chunk_documents, documents)
    new = _chunks_of(connection, np.setdiff1d(documents, state.documents), everything=not state.documents.size)
    chunk_keys, chunk_documents, chunk_texts = (
        np.concatenate([old[kept], added])
        for old, added in zip((state.chunk_keys, state.chunk_documents, state.chunk_texts), new, strict=True)
    )
    buffer, text_keys = _with_new_vectors(connection, state)
    return _State(
        counter=counter,
        buffer=buffer,
        rows=text_keys.size,
        text_keys=text_keys,
        documents=documents,
        chunk_keys=chunk_keys,
        chunk_documents=chunk_documents,
        chunk_texts=chunk_texts,
        chunk_rows=_rows_of(text_keys, chunk_texts),
    )


def _chunks_of(connection: sqlite3.Connection, documents: _Keys, *, everything: bool) -> tuple[_Keys, _Keys, _Keys]:
    """Chunk, document and text keys of all chunks of the documents, aligned."""
    query = "SELECT key, document_key, text_key FROM chunks"
    values: tuple[str, ...] = ()
    if not everything:
        query += " WHERE document_key IN (SELECT value FROM json_each(?))"
        values = (json.dumps(documents.tolist()),)
    table = np.array(connection.execute(query, values).fetchall(), dtype=np.int64).reshape(-1, 3)
    return table[:, 0], table[:, 1], table[:, 2]


def _with_new_vectors(connection: sqlite3.Connection, state: _State) -> tuple[Vectors, _Keys]:
    """The buffer with the vectors stored since `state` appended, and the text key of every row."""
    dimension = state.buffer.shape[1]
    since = "FROM vectors v"
    values: tuple[int, ...] = ()
    if state.rows:
        since = "FROM texts t JOIN vectors v ON v.text_key = t.key WHERE t.embedded_change > ?"
        values = (state.counter,)
    count = connection.execute(f"SELECT count(*) {since}", values).fetchone()[0]
    if not count:
        return state.buffer, state.text_keys
    buffer = _with_room(state.buffer, state.rows, count)
    keys = np.empty(count, dtype=np.int64)
    cursor = connection.execute(f"SELECT v.text_key, v.vector {since}", values)
    done = 0
    while batch := cursor.fetchmany(_READ_ROWS):
        block = np.frombuffer(b"".join(row[1] for row in batch), dtype=_STORED).reshape(len(batch), dimension)
        buffer[state.rows + done : state.rows + done + len(batch)] = block
        keys[done : done + len(batch)] = [row[0] for row in batch]
        done += len(batch)
    return buffer, np.concatenate([state.text_keys, keys])


def _with_room(buffer: Vectors, used: int, more: int) -> Vectors:
    """The same buffer when `more` rows fit after `used`, else a copy that has room to grow."""
    if used + more <= buffer.shape[0]:
        return buffer
    grown = np.empty((used + more + (used + more) // 8, buffer.shape[1]), dtype=np.float32)
    grown[:used] = buffer[:used]
    return grown


def _rows_of(text_keys: _Keys, wanted: _Keys) -> _Keys:
    """For each wanted text the last row that holds it, or -1."""
    if not text_keys.size:
        return np.full(wanted.shape, -1, dtype=np.int64)
    order = np.argsort(text_keys, kind="stable")
    places = np.searchsorted(text_keys[order], wanted, side="right") - 1
    rows = order[np.maximum(places, 0)]
    return np.where((places >= 0) & (text_keys[rows] == wanted), rows, -1)


def _key_array(rows: sqlite3.Cursor) -> _Keys:
    return np.fromiter((row[0] for row in rows), dtype=np.int64)
