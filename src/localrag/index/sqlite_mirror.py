"""What one process keeps in memory of the file: the chunk table and, once asked for, the vectors."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable

from localrag.index.sqlite_chunks import ChunkTable, empty_table, up_to_date
from localrag.index.sqlite_vectors import Matrix, empty_matrix, matrix_of


class Mirror:
    """Shared by all threads. Tables and matrices are never changed, only followed by newer ones."""

    def __init__(self, dimension: int, guard: Callable[[sqlite3.Connection], None]) -> None:
        """Vectors have this dimension; `guard` raises when the file is no longer to be read."""
        self._dimension = dimension
        self._guard = guard
        self._lock = threading.Lock()
        self._pid = os.getpid()
        self._table = empty_table()
        self._matrix = empty_matrix(dimension)

    def in_step(self, connection: sqlite3.Connection, *, vectors: bool) -> tuple[ChunkTable, Matrix | None]:
        """The table (and the matrix when asked for) of the connection's snapshot.

        Must be the first read of its transaction: the snapshot is then taken inside the lock, so it is never
        older than what another thread has already read.
        """
        if os.getpid() != self._pid:  # forked: another thread of the parent may have held the lock
            self._lock, self._pid = threading.Lock(), os.getpid()
        with self._lock:
            self._guard(connection)
            table = up_to_date(connection, self._table)
            if table.generation != self._table.generation:
                self._matrix = empty_matrix(self._dimension)
            self._table = table
            if not vectors:
                return table, None
            self._matrix = matrix_of(connection, table, self._matrix)
            return table, self._matrix
