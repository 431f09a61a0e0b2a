"""Checks that may be slow, asked in the background so that no page waits long for them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

from localrag.types import Check

_FRESH_S = 5.0
"""Long enough that a page with several reruns asks once, short enough to notice `ollama serve` at the next click."""
_WAIT_S = 1.5
"""What a page may wait; a server on this machine answers, or refuses, in milliseconds."""


class Probe:
    """The latest answer of some checks. Never blocks for longer than `wait_s`."""

    def __init__(
        self,
        ask: Callable[[], Sequence[Check]],
        *,
        name: str,
        fresh_s: float = _FRESH_S,
        wait_s: float = _WAIT_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._ask = ask
        self._name = name
        self._fresh_s = fresh_s
        self._wait_s = wait_s
        self._clock = clock
        self._lock = threading.Lock()
        self._known: tuple[Check, ...] | None = None
        self._asked_at = 0.0
        self._running: threading.Thread | None = None

    def checks(self) -> tuple[Check, ...]:
        """The checks, at most `fresh_s` old, or older ones while the service is slow to answer."""
        with self._lock:
            if self._known is not None and self._clock() - self._asked_at < self._fresh_s:
                return self._known
            if self._running is None:
                self._running = threading.Thread(target=self._run, name="probe", daemon=True)
                self._running.start()
            running = self._running
        running.join(self._wait_s)
        return self._known or (self._silent(),)

    def _run(self) -> None:
        try:
            known = tuple(self._ask())
        except Exception as error:  # noqa: BLE001 - whatever it is, the page shows it instead of hanging
            known = (Check(name=self._name, ok=False, detail=f"The check failed: {error}"),)
        with self._lock:
            self._known = known
            self._asked_at = self._clock()
            self._running = None

    def _silent(self) -> Check:
        return Check(
            name=self._name,
            ok=False,
            detail=f"{self._name} has not answered yet.",
            hint="Wait a moment and reload the page, or check OLLAMA_HOST.",
        )
