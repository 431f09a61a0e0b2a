"""Connections and transactions on one SQLite file, for many threads and processes, with errors in our words."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from localrag.errors import BackendTimeout, IndexCorruptError, LocalRagError, StorageFullError
from localrag.index.content import REINGEST_HINT

_STORAGE_CODES = {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN}
_STORAGE_CODES |= {sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH}
_CORRUPT_CODES = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_BUSY_CODES = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL}


class Database:
    """A pool of connections: each transaction borrows one, so there are as many as run at once."""

    def __init__(self, path: Path, *, busy_timeout_s: float = 10.0) -> None:
        self.path = path
        self._busy_timeout_s = busy_timeout_s
        self._lock = threading.Lock()
        self._idle: list[sqlite3.Connection] = []
        self._abandoned: list[sqlite3.Connection] = []
        self._closed = False
        self._pid = os.getpid()

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A connection whose first read fixes what all later ones see."""
        with self._transaction("BEGIN") as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A connection that is the only writer; all it did is kept, or nothing of it when this raises."""
        with self._transaction("BEGIN IMMEDIATE") as connection:
            yield connection

    @contextmanager
    def bare(self) -> Iterator[sqlite3.Connection]:
        """A connection outside any transaction, for pragmas that must run there."""
        with translated(self.path):
            connection = self._borrow()
            try:
                yield connection
            finally:
                self._give_back(connection)

    def use_wal(self) -> None:
        """Turns on write-ahead logging, which stays on: readers and a writer never wait for each other."""
        deadline = time.monotonic() + self._busy_timeout_s
        with self.bare() as connection:
            while connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
                try:
                    connection.execute("PRAGMA journal_mode = WAL")
                except sqlite3.OperationalError as error:
                    # The busy timeout does not cover this pragma; another process may be creating the file right now.
                    if _primary_code(error) not in _BUSY_CODES or time.monotonic() > deadline:
                        raise
                    time.sleep(0.02)

    def close(self) -> None:
        """Closes the idle connections; those in use close when they are given back."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        if os.getpid() == self._pid:
            for connection in idle:
                connection.close()

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._closed

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[sqlite3.Connection]:
        with self.bare() as connection:
            connection.execute(begin)
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:  # a full disk may have rolled it back already
                    connection.execute("ROLLBACK")
                raise

    def _borrow(self) -> sqlite3.Connection:
        if os.getpid() != self._pid:
            self._leave_to_parent()
        with self._lock:
            if self._closed:
                raise ValueError(f"the index {self.path} is closed")
            if self._idle:
                return self._idle.pop()
        return self._connect()

    def _give_back(self, connection: sqlite3.Connection) -> None:
        with self._lock:
            if not self._closed:
                self._idle.append(connection)
                return
        connection.close()

    def _leave_to_parent(self) -> None:
        """After a fork: the connections are the parent's. Closing them here would drop the parent's file locks."""
        self._abandoned.extend(self._idle)
        self._idle = []
        self._lock = threading.Lock()  # another thread of the parent may have held it
        self._pid = os.getpid()

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self.path, timeout=self._busy_timeout_s, isolation_level=None, check_same_thread=False
        )
        try:
            for pragma in (
                "synchronous = FULL",
                "foreign_keys = ON",
                "secure_delete = ON",
                "temp_store = MEMORY",  # no copies of private text in temporary files
                "cache_size = -16384",  # 16 MiB
                "journal_size_limit = 67108864",  # 64 MiB; a bulk load leaves no larger log behind
            ):
                connection.execute(f"PRAGMA {pragma}")
        except BaseException:
            connection.close()
            raise
        return connection


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turns SQLite's errors into ours; `sqlite_errorcode` tells them apart, never the wording."""
    try:
        yield
    except sqlite3.IntegrityError as error:
        raise ValueError(f"the index {path} refused a value: {error}") from error
    except sqlite3.Error as error:
        ours = _our_error(path, error)
        if ours is None:
            raise
        raise ours from error


def _our_error(path: Path, error: sqlite3.Error) -> LocalRagError | None:
    code = _primary_code(error)
    if code in _CORRUPT_CODES:
        return IndexCorruptError(
            f"The index {path} is damaged or is no index ({error}).",
            hint=f"Restore it from a backup. Otherwise: {REINGEST_HINT}.",
        )
    if code in _STORAGE_CODES:
        return StorageFullError(
            f"The index {path} cannot be read or written ({error}); nothing was changed.",
            hint="Free disk space or correct the permissions of its folder, then try again.",
        )
    if code in _BUSY_CODES:
        return BackendTimeout(
            f"The index {path} stayed locked by another process ({error}); nothing was changed.",
            service="index",
            url=str(path),
            hint="Wait for the other ingest to end, or stop it, then try again.",
        )
    return None


def _primary_code(error: sqlite3.Error) -> int:
    code: int = getattr(error, "sqlite_errorcode", 0) or 0
    return code & 0xFF


def move_aside(path: Path) -> None:
    """Renames the file; its log means nothing without it."""
    try:
        path.replace(path.with_name(f"{path.name}.old"))
        for ending in ("-wal", "-shm"):
            path.with_name(path.name + ending).unlink(missing_ok=True)
    except OSError as error:
        raise StorageFullError(
            f"The index {path} cannot be moved aside ({error.strerror}).", hint="Correct the permissions of its folder."
        ) from error


def stored_bytes(path: Path) -> int:
    """Size of the file and its log, which another process may be removing right now."""
    total = 0
    for each in (path, path.with_name(f"{path.name}-wal")):
        with suppress(FileNotFoundError):
            total += each.stat().st_size
    return total
