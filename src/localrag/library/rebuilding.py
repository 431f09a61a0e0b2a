"""The library's index made anew for another model or chunk size, beside the one that answers meanwhile.

The stored pages are cut and embedded again into the index's successor; nothing is parsed. What other processes take in
or delete while this runs is caught up with before the switch, which is refused when something has changed since.
"""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from localrag.errors import BackendTimeout, LocalRagError
from localrag.library.embedding_queue import EmbeddingQueue, EmbedProgress
from localrag.library.ingest import Chunks
from localrag.protocols import Embedder, Library, Vectors
from localrag.types import Document, IndexHeader, ParsedDocument

logger = logging.getLogger(__name__)

LEASE = "rebuild"
LEASE_TTL_S = 10.0
"""So long a rebuild that was killed keeps the next one waiting. It is renewed by a thread of its own: one document may
take longer to cut."""
_RENEW_S = 3.0
_POLL_S = 0.5
_ROUNDS = 1_000
"""Each round but the first takes what changed during the one before: who outruns so many never pauses."""

Stage: TypeAlias = Literal["waiting", "cutting", "embedding", "switching"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RebuildProgress:
    """How far the stage is: documents when `cutting`, texts when `embedding`; `waiting`: another process rebuilds."""

    stage: Stage
    done: int = 0
    total: int = 0
    seconds_left: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebuild:
    """What was done. `switched`: the new index answers from now on; else the rebuild was cancelled and can go on.

    documents: that were cut now; those of an unfinished run were there. embedded: texts that got their vector now.
    """

    switched: bool
    documents: int = 0
    embedded: int = 0


class _Cancelled(Exception):
    """The caller wants no more; what is done stays."""


class Rebuilder:
    """Makes the successor of one index and puts it in its place; one at a time by a lease in the index."""

    def __init__(
        self,
        *,
        index: Library,
        present: IndexHeader,
        wanted: IndexHeader,
        embedder: Embedder,
        chunker: Chunks,
        progress: Callable[[RebuildProgress], None] = lambda _: None,
        cancelled: Callable[[], bool] = lambda: False,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """`index` is open with the header `present`; the embedder and the chunker are those of `wanted`."""
        self._index = index
        self._wanted = wanted
        self._same_model = present.model == wanted.model
        self._embedder = embedder
        self._chunker = chunker
        self._progress = progress
        self._cancelled = cancelled
        self._sleep = sleep
        self._cut = 0
        self._embedded = 0

    def run(self) -> Rebuild:
        """Builds, catches up, switches. Cancelled or killed, what is done stays and the next run goes on from there.

        Raises:
            IndexMismatchError: another process has put another index in this one's place.
            BackendTimeout: other writers never paused for long enough to switch.
        """
        try:
            with self._alone():
                for _ in range(_ROUNDS):
                    if self._round():
                        return Rebuild(switched=True, documents=self._cut, embedded=self._embedded)
        except _Cancelled:
            return Rebuild(switched=False, documents=self._cut, embedded=self._embedded)
        raise BackendTimeout(
            "Other writers kept changing the library; the new index is ready but for their last changes.",
            service="index",
            url="",
            hint="Run `localrag embed --rebuild` again when they are done.",
        )

    def _round(self) -> bool:
        """Brings the successor up to date and tries to switch; false when something changed meanwhile."""
        seen = self._index.latest_change()
        successor = self._index.open_successor(self._wanted)
        try:
            self._catch_up(successor)
            self._embed(successor)
        finally:
            successor.close()
        self._go_on_or_stop()
        self._progress(RebuildProgress(stage="switching"))
        return self._index.promote_successor(seen=seen)

    def _catch_up(self, successor: Library) -> None:
        """The same documents in the successor, cut for it."""
        wanted = {document.id: document for document in self._index.documents()}
        there = {document.id: document for document in successor.documents()}
        for gone in sorted(there.keys() - wanted.keys()):
            successor.delete_document(gone)
        missing = [document for document in wanted.values() if not _same(document, there.get(document.id))]
        meter = _Clock(len(missing))
        for number, document in enumerate(missing):
            self._go_on_or_stop()
            self._report_cutting(number, len(missing), len(wanted), meter)
            self._copy(document, successor)
        self._report_cutting(len(missing), len(missing), len(wanted), meter)

    def _copy(self, document: Document, successor: Library) -> None:
        pages = self._index.pages(document.id)
        if not pages:
            return  # deleted meanwhile; the switch is refused then, and the next round sees it
        verbatim = ParsedDocument(media_type=document.media_type, pages=tuple(pages)).is_verbatim
        to_cut = tuple(replace(page, verbatim=page.verbatim or verbatim) for page in pages)
        chunks = self._chunker.chunk(document.id, to_cut)
        # Of another size, but often the same text: a short page, a whole section.
        known: dict[str, Vectors] = self._index.document_vectors(document.id) if self._same_model else {}
        successor.replace_document(document, pages, chunks, known)
        self._cut += 1

    def _embed(self, successor: Library) -> None:
        def told(state: EmbedProgress) -> None:
            self._progress(
                RebuildProgress(stage="embedding", done=state.done, total=state.total, seconds_left=state.seconds_left)
            )

        queue = EmbeddingQueue(index=successor, embedder=self._embedder)
        self._embedded += queue.drain(progress=told, cancelled=self._cancelled).done

    def _report_cutting(self, number: int, missing: int, documents: int, meter: _Clock) -> None:
        done = documents - missing + number
        left = meter.seconds_left(number)
        self._progress(RebuildProgress(stage="cutting", done=done, total=documents, seconds_left=left))

    def _go_on_or_stop(self) -> None:
        if self._cancelled():
            raise _Cancelled

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """The lease, waited for and then renewed until the block ends."""
        holder, ended = uuid.uuid4().hex, threading.Event()
        while not self._index.acquire_lease(LEASE, holder, LEASE_TTL_S):
            self._go_on_or_stop()
            self._progress(RebuildProgress(stage="waiting"))
            self._sleep(_POLL_S)

        def renew() -> None:
            while not ended.wait(_RENEW_S):
                try:
                    self._index.acquire_lease(LEASE, holder, LEASE_TTL_S)
                except LocalRagError as error:  # a second rebuild is waste, not harm: the switch is checked again
                    logger.info("the lease could not be renewed: %s", error.kind)

        thread = threading.Thread(target=renew, name="rebuild-lease", daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()
            self._index.release_lease(LEASE, holder)


class _Clock:
    """When the rest will be done, by the pace so far."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._started = time.monotonic()

    def seconds_left(self, done: int) -> float | None:
        """None until the first is done."""
        return (time.monotonic() - self._started) / done * (self._total - done) if done else None


def _same(document: Document, there: Document | None) -> bool:
    """Whether the successor has this version of the document; how it is cut is its own affair."""
    if there is None:
        return False
    return replace(there, chunk_count=document.chunk_count, embedded_count=document.embedded_count) == document
