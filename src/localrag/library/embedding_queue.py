"""The durable queue: texts without a vector, embedded in small committed steps."""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass

from localrag.protocols import Embedder, SearchIndex

logger = logging.getLogger(__name__)

_LEASE = "embedding"
_LEASE_TTL_S = 10.0
"""Longer than a batch takes, so short that a killed worker keeps others waiting only briefly; a batch that is embedded
twice because its worker was slow costs time and changes nothing."""
_POLL_S = 0.5
_BATCH_TEXTS = 16
"""A commit every few seconds on a slow machine: what a kill loses, and how often progress moves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedProgress:
    """How far the queue is. `rate` is texts a second of this run; `seconds_left` is None until it is known."""

    done: int
    total: int
    rate: float
    seconds_left: float | None
    elsewhere: bool = False
    cancelled: bool = False

    @property
    def finished(self) -> bool:
        return self.done >= self.total


class EmbeddingQueue:
    """Drains the index's pending texts; a lease in the index keeps it to one worker at a time."""

    def __init__(
        self,
        *,
        index: SearchIndex,
        embedder: Embedder,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._index = index
        self._embedder = embedder
        self._clock = clock
        self._sleep = sleep

    def drain(
        self,
        *,
        progress: Callable[[EmbedProgress], None] = lambda _: None,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> EmbedProgress:
        """Embeds until nothing is pending or the caller cancels; what is done stays done.

        While another process holds the lease this one waits and reports that worker's progress
        (`elsewhere`), and takes over when it ends or dies.
        """
        holder = uuid.uuid4().hex
        meter = _Meter(self._index.pending_count(), self._clock)
        try:
            while True:
                if cancelled():
                    return meter.report(self._index.pending_count(), cancelled=True)
                if not self._index.acquire_lease(_LEASE, holder, _LEASE_TTL_S):
                    waiting = meter.report(self._index.pending_count(), elsewhere=True)
                    progress(waiting)
                    if waiting.finished:
                        return waiting
                    self._sleep(_POLL_S)
                    continue
                if not self._step():
                    final = meter.report(0)
                    progress(final)
                    return final
                progress(meter.report(self._index.pending_count()))
        finally:
            self._index.release_lease(_LEASE, holder)

    def _step(self) -> bool:
        """Embeds one batch; false when there was nothing to do."""
        batch = self._index.pending_texts(_BATCH_TEXTS)
        if not batch:
            return False
        vectors = self._embedder.embed_documents([item.text for item in batch])
        self._index.add_vectors({item.text_hash: vector for item, vector in zip(batch, vectors, strict=True)})
        logger.debug("embedded %d texts", len(batch))
        return True


class _Meter:
    """Turns counts of what is pending into progress; texts that arrive meanwhile raise the total."""

    def __init__(self, pending: int, clock: Callable[[], float]) -> None:
        self._most = pending
        self._clock = clock
        self._started = clock()

    def report(self, pending: int, *, elsewhere: bool = False, cancelled: bool = False) -> EmbedProgress:
        self._most = max(self._most, pending)
        done = self._most - pending
        elapsed = self._clock() - self._started
        rate = done / elapsed if elapsed > 0 else 0.0
        return EmbedProgress(
            done=done,
            total=self._most,
            rate=rate,
            seconds_left=pending / rate if rate > 0 else None,
            elsewhere=elsewhere,
            cancelled=cancelled,
        )
