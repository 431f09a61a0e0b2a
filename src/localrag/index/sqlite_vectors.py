"""The vector leg: exact nearest neighbours in one matrix, kept in step with the file by its change counter."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from localrag.index.content import SCORE_DIGITS
from localrag.index.sqlite_chunks import ChunkTable, Keys, Mask, best_rows
from localrag.index.sqlite_schema import count_change
from localrag.protocols import Vectors
from localrag.types import PendingText

_STORED = np.dtype("<f4")
_READ_ROWS = 4096
# Rows of deleted texts stay in the matrix until it is more than twice what is needed; then it is read anew.
_MAX_GROWTH = 2


@dataclass(frozen=True, slots=True)
class Matrix:
    """The vectors at one change counter.

    buffer: `(capacity, dimension)` float32, rows of unit length; rows from `rows` on belong to later matrices.
    text_keys: the text of each row. chunk_rows: the row of each chunk of the table, or -1 while it is pending.
    """

    counter: int
    buffer: Vectors
    rows: int
    text_keys: Keys
    chunk_rows: Keys


def empty_matrix(dimension: int) -> Matrix:
    """A matrix that no file has the counter of."""
    none = np.empty(0, dtype=np.int64)
    return Matrix(-1, np.empty((0, dimension), dtype=np.float32), 0, none, none)


def matrix_of(connection: sqlite3.Connection, table: ChunkTable, matrix: Matrix) -> Matrix:
    """The matrix of the table's change counter, from an older one and the vectors stored since."""
    if matrix.counter == table.counter:
        return matrix
    grown = _grown(connection, table, matrix)
    needed = np.zeros(grown.rows, dtype=np.bool_)
    needed[grown.chunk_rows[grown.chunk_rows >= 0]] = True
    if grown.rows > _MAX_GROWTH * int(needed.sum()) + _READ_ROWS:
        grown = _grown(connection, table, empty_matrix(matrix.buffer.shape[1]))
    return grown


def search_vectors(
    matrix: Matrix, vector: Vectors, *, table: ChunkTable, passing: Mask, limit: int
) -> list[tuple[int, float]]:
    """(chunk key, cosine) of the best `limit` passing chunks and of all that tie with the last, in no order."""
    chosen = np.flatnonzero(passing & (matrix.chunk_rows >= 0))
    if not chosen.size:
        return []
    cosines = matrix.buffer[: matrix.rows] @ vector
    scores: npt.NDArray[np.float64] = cosines[matrix.chunk_rows[chosen]].astype(np.float64).round(SCORE_DIGITS)
    best = best_rows(scores, limit)
    return list(zip(table.keys[chosen[best]].tolist(), scores[best].tolist(), strict=True))


def store_vectors(connection: sqlite3.Connection, vectors: Mapping[str, Vectors]) -> int:
    """Stores the vectors whose texts are still there and returns how many; documents' counts follow."""
    keys = dict(
        connection.execute(
            "SELECT hash, key FROM texts WHERE hash IN (SELECT value FROM json_each(?))", (json.dumps(list(vectors)),)
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
        connection, "SELECT document_key FROM chunks WHERE text_key IN (SELECT value FROM json_each(?))", (touched,)
    )
    return len(keys)


def pending(connection: sqlite3.Connection, limit: int) -> list[PendingText]:
    """Texts without a vector in the order they came."""
    rows = connection.execute(
        "SELECT t.hash, c.prefix, c.text FROM texts t "
        "JOIN chunks c ON c.key = (SELECT min(key) FROM chunks WHERE text_key = t.key) "
        "WHERE t.embedded_change IS NULL ORDER BY t.key LIMIT ?",
        (max(limit, 0),),
    )
    return [PendingText(text_hash=name, text=f"{prefix}\n\n{text}" if prefix else text) for name, prefix, text in rows]


def count_pending(connection: sqlite3.Connection) -> int:
    """How many texts have no vector."""
    return int(connection.execute("SELECT count(*) FROM texts WHERE embedded_change IS NULL").fetchone()[0])


def read_vectors(connection: sqlite3.Connection, document_id: str) -> dict[str, Vectors]:
    """By text hash the vectors of the document's texts."""
    rows = connection.execute(
        "SELECT DISTINCT t.hash, v.vector FROM documents d JOIN chunks c ON c.document_key = d.key "
        "JOIN texts t ON t.key = c.text_key JOIN vectors v ON v.text_key = t.key WHERE d.id = ?",
        (document_id,),
    )
    return {name: np.frombuffer(vector, dtype=_STORED).astype(np.float32) for name, vector in rows}


def recount_embedded(connection: sqlite3.Connection, documents: str, values: tuple[str | int, ...] = ()) -> None:
    """Sets `embedded_count` of the documents whose keys the query gives to what their chunks say."""
    connection.execute(
        "UPDATE documents SET embedded_count = (SELECT count(*) FROM chunks c JOIN texts t ON t.key = c.text_key "
        f"WHERE c.document_key = documents.key AND t.embedded_change IS NOT NULL) WHERE key IN ({documents})",
        values,
    )


def _grown(connection: sqlite3.Connection, table: ChunkTable, matrix: Matrix) -> Matrix:
    """The matrix with the vectors stored since appended."""
    since = "FROM vectors v"
    values: tuple[int, ...] = ()
    if matrix.rows:
        since = "FROM texts t JOIN vectors v ON v.text_key = t.key WHERE t.embedded_change > ?"
        values = (matrix.counter,)
    count = connection.execute(f"SELECT count(*) {since}", values).fetchone()[0]
    buffer = _with_room(matrix.buffer, matrix.rows, count)
    keys = np.empty(count, dtype=np.int64)
    cursor = connection.execute(f"SELECT v.text_key, v.vector {since}", values)
    done = 0
    while batch := cursor.fetchmany(_READ_ROWS):
        block = np.frombuffer(b"".join(row[1] for row in batch), dtype=_STORED)
        start = matrix.rows + done
        buffer[start : start + len(batch)] = block.reshape(len(batch), -1)
        keys[done : done + len(batch)] = [row[0] for row in batch]
        done += len(batch)
    text_keys = np.concatenate([matrix.text_keys, keys])
    return Matrix(table.counter, buffer, text_keys.size, text_keys, _rows_of(text_keys, table.text_keys))


def _with_room(buffer: Vectors, used: int, more: int) -> Vectors:
    """The same buffer when `more` rows fit after `used`, else a copy that has room to grow."""
    if used + more <= buffer.shape[0]:
        return buffer
    room = used + more + (used // 4 if used else 0)
    grown = np.empty((room, buffer.shape[1]), dtype=np.float32)
    grown[:used] = buffer[:used]
    return grown


def _rows_of(text_keys: Keys, wanted: Keys) -> Keys:
    """For each wanted text the last row that holds it, or -1."""
    if not text_keys.size:
        return np.full(wanted.shape, -1, dtype=np.int64)
    order = np.argsort(text_keys, kind="stable")
    places = np.searchsorted(text_keys[order], wanted, side="right") - 1
    rows = order[np.maximum(places, 0)]
    return np.where((places >= 0) & (text_keys[rows] == wanted), rows, -1)
