"""Overwriting what deletes and replacements leave behind: a deleted word is in no file.

SQLite zeroes deleted rows (`secure_delete`), but FTS5 marks postings as deleted and keeps them, and the log holds
pages as they were. A merge of all postings drops the former, a truncating checkpoint the latter. FTS5's own
`secure-delete` option is not used: it came with SQLite 3.42, and older releases cannot open a file it was used on.
"""

from __future__ import annotations

import threading
import time

from localrag.index.sqlite_database import Database
from localrag.index.sqlite_lexical import LexicalLeg
from localrag.index.sqlite_schema import change_count, get_meta, set_meta

# Each run rewrites the keyword index; after one, deletes share the next until this many times its length has passed,
# so that deleting a whole folder spends a tenth of its time on it.
_PAUSE = 10.0


class Purge:
    """Runs when something is due, which the file itself records: a kill forgets nothing."""

    def __init__(self, database: Database, lexical: LexicalLeg) -> None:
        self._database = database
        self._lexical = lexical
        self._lock = threading.Lock()
        self._not_before = 0.0

    def run(self) -> bool:
        """Overwrites in short steps, so that other writers get in between.

        Returns:
            Whether nothing is left; False while another process reads an older state or has deleted meanwhile.
        """
        with self._lock:
            with self._database.reading() as connection:
                if get_meta(connection, "purge_due") == "0":
                    return True
                changes = change_count(connection)
            more, first = True, True
            while more:
                with self._database.writing() as connection:
                    more, first = self._lexical.merge_step(connection, first=first), False
            with self._database.bare() as connection:
                busy = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
            with self._database.writing() as connection:
                done = not busy and change_count(connection) == changes
                if done:
                    set_meta(connection, "purge_due", 0)
            return done

    def run_now_and_then(self) -> None:
        """Runs unless the last run was a short while ago; then a later delete or `close` does it."""
        started = time.monotonic()
        if started >= self._not_before:
            self.run()
            ended = time.monotonic()
            self._not_before = ended + _PAUSE * (ended - started)
