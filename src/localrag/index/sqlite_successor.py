"""Another index beside the one in use, in a file of its own, and the switch from one to the other.

`library.db.next` is a whole index with other parameters. The switch copies its pages over those of `library.db` with
SQLite's backup, which is one transaction of that file: readers see the old index or the new one, and a kill at any
moment leaves the old one. No file is renamed, so processes that have it open notice, and none goes on with a file that
is gone.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from localrag.errors import BackendTimeout, IndexCorruptError, IndexMismatchError, StorageFullError
from localrag.index.content import REBUILD_LEASE, rebuild_hint, unfinished_rebuild
from localrag.index.sqlite_database import Database, stored_bytes
from localrag.index.sqlite_schema import change_count, get_meta, is_empty, set_meta, stored_header
from localrag.types import Check, IndexHeader

ENDING = ".next"
_FILES = ("-wal", "-shm", "")  # the log first: what is left without it is an older state, never a mixed one
_STEP_PAGES = 4096  # 16 MiB
_TRIES = 50
_WAIT_S = 10.0
_KEPT = ("conversations", "failures")


class _Changed(Exception):
    """Something was written between the copy of what is kept and the lock."""


class Successor:
    """The index that is being built beside this one, if there is any."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.path = database.path.with_name(database.path.name + ENDING)

    def header(self) -> IndexHeader | None:
        """What it is built with; None when there is none, or what is there cannot be used."""
        if not self.path.is_file() or not self.path.stat().st_size:
            return None
        database = Database(self.path)
        try:
            with database.reading() as connection:
                return None if is_empty(connection) else stored_header(connection, str(self.path))
        except (IndexCorruptError, IndexMismatchError, StorageFullError):
            return None  # damaged, of another release, or being removed right now
        finally:
            database.close()

    def checks(self) -> list[Check]:
        """What the health page says of it; nothing when there is none."""
        if self.header() is None:
            return []
        return [unfinished_rebuild(f"{self.path.name}, {stored_bytes(self.path) / 1e6:.1f} MB")]

    def drop(self) -> None:
        """Removes it, and what a kill left of it."""
        for ending in _FILES:
            try:
                self.path.with_name(self.path.name + ending).unlink(missing_ok=True)
            except OSError as error:
                raise StorageFullError(
                    f"The unfinished index {self.path} cannot be removed ({error.strerror}).",
                    hint="Correct the permissions of its folder, and end the rebuild that has it open.",
                ) from error

    def drop_if_used(self, header: IndexHeader) -> None:
        """Removes it when the index in use is of the same parameters: its pages are there, or nobody needs them.

        One without a header stays: another process may be making it right now.
        """
        if self.header() == header:
            self.drop()

    def hint(self, connection: sqlite3.Connection, wanted: IndexHeader) -> str:
        """What to do about an index of other parameters than `wanted`."""
        begun = self.header() == wanted
        lease = "SELECT 1 FROM leases WHERE name = ? AND expires_at > ?"
        running = begun and connection.execute(lease, (REBUILD_LEASE, time.time())).fetchone() is not None
        return rebuild_hint(begun=begun, running=running)

    def promote(self, seen: int, require_header: Callable[[sqlite3.Connection], None]) -> bool:
        """Puts it in the place of the index in use, whose conversations and failures stay; then it is gone.

        Args:
            seen: the change counter up to which it follows the index in use.
            require_header: raises when the index in use is another one by now.

        Returns:
            False when the content has changed since `seen`, or this has other documents; nothing is changed then.
        """
        following = Database(self.path)
        try:
            for _ in range(_TRIES):
                with suppress(_Changed):
                    promoted = self._try_to_promote(following, seen, require_header)
                    break
            else:
                raise self._busy()
        finally:
            following.close()
        if promoted:
            self.drop()
        return promoted

    def _try_to_promote(
        self, following: Database, seen: int, require_header: Callable[[sqlite3.Connection], None]
    ) -> bool:
        with self._database.bare() as reader, self._database.bare() as target, following.bare() as source:
            version = _data_version(reader)
            require_header(reader)
            stored_header(source, str(self.path))  # raises unless it is one of ours, and whole
            if change_count(reader) != seen or _versions(source) != _versions(reader):
                return False
            _bring_along(reader, source)
            self._copy(source, target, unchanged=lambda: _data_version(reader) == version)
        return True

    def _copy(self, source: sqlite3.Connection, target: sqlite3.Connection, *, unchanged: Callable[[], bool]) -> None:
        """The pages of `source` in `target`, in one transaction, if `unchanged` holds once the lock is taken."""
        pages = source.execute("PRAGMA page_count").fetchone()[0]
        deadline = time.monotonic() + _WAIT_S
        locked = False

        def progress(status: int, remaining: int, total: int) -> None:
            nonlocal locked
            if status in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                if time.monotonic() > deadline:
                    raise self._busy()
            elif not locked:  # the first step took the only write lock, and all steps to the end keep it
                locked = True
                if not unchanged():
                    raise _Changed

        # At least two steps, so that the check comes before the last one, which commits.
        source.backup(target, pages=max(1, min(_STEP_PAGES, pages // 2)), progress=progress, sleep=0.02)

    def _busy(self) -> BackendTimeout:
        return BackendTimeout(
            f"The index {self._database.path} stayed locked by another process; the new one is ready beside it.",
            service="index",
            url=str(self._database.path),
            hint="Run `localrag embed --rebuild` again.",
        )


def _data_version(connection: sqlite3.Connection) -> int:
    """A number that differs after every commit of another connection."""
    return int(connection.execute("PRAGMA data_version").fetchone()[0])


def _versions(connection: sqlite3.Connection) -> set[tuple[str, str]]:
    """Which version of which document there is."""
    return set(connection.execute("SELECT id, content_hash FROM documents"))


def _bring_along(old: sqlite3.Connection, new: sqlite3.Connection) -> None:
    """Conversations and failures as they are in `old`, and counters that go on from there."""
    rows = {table: old.execute(f"SELECT * FROM {table}").fetchall() for table in _KEPT}
    counters = {key: max(int(get_meta(old, key)), int(get_meta(new, key))) + 1 for key in ("changes", "generation")}
    new.execute("BEGIN IMMEDIATE")
    for table, kept in rows.items():
        new.execute(f"DELETE FROM {table}")
        if kept:
            new.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(kept[0]))})", kept)
    new.execute("DELETE FROM leases")
    for key, value in counters.items():
        set_meta(new, key, value)
    # What was in the old pages is in the log until that is emptied.
    set_meta(new, "purge_due", 1)
    new.execute("COMMIT")


def files_beside(path: Path) -> list[Path]:
    """The files that the index at this path and its successor may consist of."""
    return [
        path.with_name(path.name + middle + ending)
        for middle in ("", ENDING)
        for ending in ("", "-wal", "-shm", "-journal")
    ]
