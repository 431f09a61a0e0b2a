"""The library's index made anew for the settings, while the one there is goes on answering."""

from __future__ import annotations

import uuid
from collections.abc import Callable

from localrag.app import wiring
from localrag.errors import IndexMismatchError, NotFoundError, without_password
from localrag.library.embedding_queue import EmbeddingQueue
from localrag.library.rebuilding import LEASE, LEASE_TTL_S, Rebuild, Rebuilder, RebuildProgress
from localrag.protocols import Embedder, Library
from localrag.settings import Settings
from localrag.types import IndexHeader

_OTHERS = 10
"""Other rebuilds, to other settings, that may end while this one waits for its turn."""


def rebuild_library(
    settings: Settings,
    *,
    embedder: Embedder | None = None,
    on_progress: Callable[[RebuildProgress], None] = lambda _: None,
    cancelled: Callable[[], bool] = lambda: False,
) -> Rebuild:
    """Makes the index for the model and chunk size of the settings from the stored text, and puts it in place.

    When the index is of these settings already, what an unfinished rebuild to others left is dropped (one that runs
    goes on), and texts that wait for their vector get it. Cancelled or killed, the old index answers and the next call
    goes on.

    Args:
        embedder: used in place of the one that the settings name.
        on_progress: told how far it is.
        cancelled: asked between steps.

    Raises:
        NotFoundError: there is no library yet.
        IndexMismatchError: the index is another program's or another release's.
        ModelError, StorageFullError, BackendError: as their messages say; the old index still answers.
    """
    embedder = embedder or wiring.embedder(settings)
    wanted = wiring.header(settings, embedder)
    for _ in range(_OTHERS):
        present = wiring.stored_header(settings.resolved_index_url, settings)
        if present is None:
            raise NotFoundError(
                f"There is no library at {without_password(settings.resolved_index_url)}.",
                hint="Make one: `localrag ingest PATH...`.",
            )
        if present == wanted:
            return _finish(settings, wanted, embedder, on_progress, cancelled)
        try:
            return _rebuild(settings, present, wanted, embedder, on_progress, cancelled)
        except IndexMismatchError as error:
            mismatch = error  # another rebuild was faster: look at what there is now
    raise mismatch


def _rebuild(
    settings: Settings,
    present: IndexHeader,
    wanted: IndexHeader,
    embedder: Embedder,
    on_progress: Callable[[RebuildProgress], None],
    cancelled: Callable[[], bool],
) -> Rebuild:
    index = wiring.open_index(settings.resolved_index_url, settings, present)
    try:
        return Rebuilder(
            index=index,
            present=present,
            wanted=wanted,
            embedder=embedder,
            chunker=wiring.chunker(settings, embedder),
            progress=on_progress,
            cancelled=cancelled,
        ).run()
    finally:
        index.close()


def _drop_unfinished(index: Library) -> None:
    """Drops what an unfinished rebuild left; one that is running goes on."""
    holder = uuid.uuid4().hex
    if index.acquire_lease(LEASE, holder, LEASE_TTL_S):
        try:
            index.drop_successor()
        finally:
            index.release_lease(LEASE, holder)


def _finish(
    settings: Settings,
    wanted: IndexHeader,
    embedder: Embedder,
    on_progress: Callable[[RebuildProgress], None],
    cancelled: Callable[[], bool],
) -> Rebuild:
    index = wiring.open_index(settings.resolved_index_url, settings, wanted)
    try:
        _drop_unfinished(index)
        final = EmbeddingQueue(index=index, embedder=embedder).drain(
            progress=lambda state: on_progress(
                RebuildProgress(stage="embedding", done=state.done, total=state.total, seconds_left=state.seconds_left)
            ),
            cancelled=cancelled,
        )
        return Rebuild(switched=not final.cancelled, embedded=final.done)
    finally:
        index.close()
