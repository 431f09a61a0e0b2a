"""A stream read by another thread, so that the reader keeps control while nothing arrives."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from typing import Generic, TypeVar

T = TypeVar("T")

_TICK_S = 0.25


class _End:
    pass


class Pump(Generic[T]):
    """Iterates over the stream's items, with None whenever nothing came for a moment.

    A model may need half a minute for its first token. Reading it here would leave the page deaf: the stop button
    takes effect only when the script touches the page. Leaving the `with` block closes the stream.
    """

    def __init__(self, stream: Iterator[T], *, tick_s: float = _TICK_S) -> None:
        self._stream = stream
        self._tick_s = tick_s
        self._items: queue.Queue[T | _End | BaseException] = queue.Queue()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._read, name="answer", daemon=True)

    def __enter__(self) -> Iterator[T | None]:
        self._thread.start()
        return self._arrivals()

    def __exit__(self, *_: object) -> None:
        self._stopped.set()

    def _arrivals(self) -> Iterator[T | None]:
        while True:
            try:
                item = self._items.get(timeout=self._tick_s)
            except queue.Empty:
                yield None
                continue
            if isinstance(item, _End):
                return
            if isinstance(item, BaseException):
                raise item
            yield item

    def _read(self) -> None:
        try:
            for item in self._stream:
                if self._stopped.is_set():
                    break
                self._items.put(item)
            self._items.put(_End())
        except Exception as error:  # noqa: BLE001 - raised again in the thread that reads
            self._items.put(error)
        finally:
            close = getattr(self._stream, "close", None)
            if close is not None:
                close()
