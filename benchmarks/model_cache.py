"""A chat model that remembers its replies on disk, so that a changed check is measured without generating again."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from localrag.protocols import LLM, Generation
from localrag.types import Check, Message


class CachedLLM:
    """The same replies as the model's, from the file where they are there. Keyed by model, messages and options.

    Args:
        longest: no reply has more tokens than this.
        offline: raise LookupError instead of asking the model.
    """

    def __init__(self, llm: LLM, path: Path, *, longest: int, offline: bool = False) -> None:
        self._llm = llm
        self._longest = longest
        self._offline = offline
        path.parent.mkdir(parents=True, exist_ok=True)
        self._database = sqlite3.connect(path, timeout=60)
        self._database.execute("CREATE TABLE IF NOT EXISTS replies (key TEXT PRIMARY KEY, reply TEXT) WITHOUT ROWID")

    @property
    def name(self) -> str:
        return self._llm.name

    def stream(self, messages: Sequence[Message], generation: Generation) -> Iterator[str]:
        """The whole reply as one piece."""
        generation = replace(generation, max_tokens=min(generation.max_tokens, self._longest))
        key = self._key(messages, generation)
        row = self._database.execute("SELECT reply FROM replies WHERE key = ?", (key,)).fetchone()
        if row is None:
            if self._offline:
                raise LookupError("this reply has not been generated yet")
            reply = "".join(self._llm.stream(messages, generation))
            with self._database:
                self._database.execute("INSERT OR REPLACE INTO replies VALUES (?, ?)", (key, reply))
        else:
            reply = row[0]
        if reply:
            yield reply

    def check(self) -> list[Check]:
        return self._llm.check()

    def close(self) -> None:
        self._database.close()

    def _key(self, messages: Sequence[Message], generation: Generation) -> str:
        said = [(message.role, message.content) for message in messages]
        return hashlib.sha256(repr((self._llm.name, said, sorted(asdict(generation).items()))).encode()).hexdigest()
