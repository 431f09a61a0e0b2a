"""Answers kept in this process alone, for indexes that have no file of their own to keep them in."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod

MOST_ANSWERS = 500
MOST_ANSWER_BYTES = 20 * 1024 * 1024
"""An answer with its hits takes some 20 kB, so the number is what binds; the bytes are for very large chunks."""


class AnswersInMemory(ABC):
    """The part of an index that keeps answers until its contents change. Safe for several threads."""

    def __init__(self) -> None:
        self._answers: dict[str, str] = {}
        self._answers_of = -1
        self._answers_lock = threading.Lock()

    @abstractmethod
    def change_counter(self) -> int: ...

    def save_answer(self, key: str, answer_json: str, *, change: int) -> None:
        current = self.change_counter()
        with self._answers_lock:
            self._forget_older(current)
            if change != current:
                return
            self._answers.pop(key, None)
            self._answers[key] = answer_json
            size = sum(len(text.encode("utf-8", "surrogatepass")) for text in self._answers.values())
            while len(self._answers) > MOST_ANSWERS or size > MOST_ANSWER_BYTES:
                oldest = self._answers.pop(next(iter(self._answers)))
                size -= len(oldest.encode("utf-8", "surrogatepass"))

    def load_answer(self, key: str) -> str | None:
        current = self.change_counter()
        with self._answers_lock:
            self._forget_older(current)
            return self._answers.get(key)

    def _forget_older(self, current: int) -> None:
        if current != self._answers_of:
            self._answers.clear()
            self._answers_of = current
