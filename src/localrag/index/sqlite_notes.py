"""What the index keeps beside documents: failures, leases, conversations and answers."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

from localrag.index.answer_memory import MOST_ANSWER_BYTES, MOST_ANSWERS
from localrag.index.filters import microseconds, moment
from localrag.index.sqlite_database import Database
from localrag.index.sqlite_schema import change_count
from localrag.types import Failure


def save_failure(connection: sqlite3.Connection, failure: Failure) -> None:
    """Keeps the failure in place of an earlier one of the same source."""
    connection.execute(
        "INSERT OR REPLACE INTO failures (uri, name, kind, message, hint, failed_at) VALUES (?, ?, ?, ?, ?, ?)",
        (failure.uri, failure.name, failure.kind, failure.message, failure.hint, microseconds(failure.failed_at)),
    )


def read_failures(connection: sqlite3.Connection) -> list[Failure]:
    """All failures by name, then uri."""
    rows = connection.execute("SELECT uri, name, kind, message, hint, failed_at FROM failures ORDER BY name, uri")
    return [
        Failure(uri=uri, name=name, kind=kind, message=message, hint=hint, failed_at=moment(failed_at))
        for uri, name, kind, message, hint, failed_at in rows
    ]


def delete_failure(connection: sqlite3.Connection, uri: str) -> None:
    """Forgets the failure of this source."""
    connection.execute("DELETE FROM failures WHERE uri = ?", (uri,))


def take_lease(connection: sqlite3.Connection, name: str, holder: str, *, now: float, ttl_s: float) -> bool:
    """Whether the holder has the lease now; one statement, so that no two processes can both be told yes."""
    cursor = connection.execute(
        "INSERT INTO leases (name, holder, expires_at) VALUES (?1, ?2, ?3) ON CONFLICT (name) DO UPDATE "
        "SET holder = ?2, expires_at = ?3 WHERE leases.holder = ?2 OR leases.expires_at <= ?4",
        (name, holder, now + ttl_s, now),
    )
    return cursor.rowcount == 1


def drop_lease(connection: sqlite3.Connection, name: str, holder: str) -> None:
    """Frees the lease if this holder has it."""
    connection.execute("DELETE FROM leases WHERE name = ? AND holder = ?", (name, holder))


def save_conversation(connection: sqlite3.Connection, conversation_id: str, turns_json: str, *, now: float) -> None:
    """Keeps the turns in place of earlier ones."""
    connection.execute("INSERT OR REPLACE INTO conversations VALUES (?, ?, ?)", (conversation_id, turns_json, now))


def load_conversation(connection: sqlite3.Connection, conversation_id: str) -> str | None:
    """The turns, or None."""
    row = connection.execute("SELECT turns FROM conversations WHERE id = ?", (conversation_id,)).fetchone()
    return None if row is None else str(row[0])


def conversation_ids(connection: sqlite3.Connection) -> list[str]:
    """The ids of all conversations, in order."""
    return [str(row[0]) for row in connection.execute("SELECT id FROM conversations ORDER BY id")]


def delete_conversation(connection: sqlite3.Connection, conversation_id: str) -> None:
    """Forgets the conversation."""
    connection.execute("DELETE FROM conversations WHERE id = ?", (conversation_id,))


def save_answer(connection: sqlite3.Connection, key: str, answer_json: str, *, now: float) -> None:
    """Keeps the answer, and of all of them the newest that are within the limits."""
    connection.execute("INSERT OR REPLACE INTO answers VALUES (?, ?, ?)", (key, answer_json, now))
    connection.execute(
        "DELETE FROM answers WHERE key IN (SELECT key FROM (SELECT key, row_number() OVER newest AS place, "
        "sum(length(CAST(answer AS BLOB))) OVER newest AS bytes FROM answers "
        "WINDOW newest AS (ORDER BY saved_at DESC, key ROWS UNBOUNDED PRECEDING)) WHERE place > ? OR bytes > ?)",
        (MOST_ANSWERS, MOST_ANSWER_BYTES),
    )


def load_answer(connection: sqlite3.Connection, key: str) -> str | None:
    """The answer, or None."""
    row = connection.execute("SELECT answer FROM answers WHERE key = ?", (key,)).fetchone()
    return None if row is None else str(row[0])


class Notes:
    """The part of the index that keeps them, each change in a transaction of its own."""

    def __init__(self, database: Database, clock: Callable[[], float]) -> None:
        self._database = database
        self._clock = clock

    def record_failure(self, failure: Failure) -> None:
        with self._database.writing() as connection:
            save_failure(connection, failure)

    def failures(self) -> list[Failure]:
        with self._database.reading() as connection:
            return read_failures(connection)

    def clear_failure(self, uri: str) -> None:
        with self._database.writing() as connection:
            delete_failure(connection, uri)

    def acquire_lease(self, name: str, holder: str, ttl_s: float) -> bool:
        with self._database.writing() as connection:
            return take_lease(connection, name, holder, now=self._clock(), ttl_s=ttl_s)

    def release_lease(self, name: str, holder: str) -> None:
        with self._database.writing() as connection:
            drop_lease(connection, name, holder)

    def save_conversation(self, conversation_id: str, turns_json: str) -> None:
        with self._database.writing() as connection:
            save_conversation(connection, conversation_id, turns_json, now=self._clock())

    def load_conversation(self, conversation_id: str) -> str | None:
        with self._database.reading() as connection:
            return load_conversation(connection, conversation_id)

    def delete_conversation(self, conversation_id: str) -> None:
        with self._database.writing() as connection:
            delete_conversation(connection, conversation_id)

    def conversation_ids(self) -> list[str]:
        with self._database.reading() as connection:
            return conversation_ids(connection)

    def save_answer(self, key: str, answer_json: str, *, change: int) -> None:
        with self._database.writing() as connection:
            if change_count(connection) == change:
                save_answer(connection, key, answer_json, now=self._clock())

    def load_answer(self, key: str) -> str | None:
        with self._database.reading() as connection:
            return load_answer(connection, key)
