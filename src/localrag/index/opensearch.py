"""The library in OpenSearch: the same behaviour as the embedded index, on one node or a cluster.

How a change is atomic is told in `opensearch_state`, how a search is scored in `opensearch_search`.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from localrag.errors import BackendError, BackendTimeout, BackendUnavailable, LocalRagError, NotFoundError
from localrag.filters import Filter
from localrag.index.analysis import analysis_version
from localrag.index.answer_memory import AnswersInMemory
from localrag.index.content import REBUILD_LEASE, catalogued, checked_vector, checked_vectors, rebuild_hint
from localrag.index.opensearch_checks import rewrite_terms, run_checks
from localrag.index.opensearch_errors import Missing
from localrag.index.opensearch_http import Http, connect
from localrag.index.opensearch_notes import Kept, Notes
from localrag.index.opensearch_reads import Reads
from localrag.index.opensearch_schema import (
    Copies,
    Names,
    create_content,
    create_state,
    drop_library,
    drop_next,
    drop_unused,
    mark_analysis,
    point_content_at,
    require_header,
    require_opensearch,
    stored_analysis,
    stored_header,
)
from localrag.index.opensearch_search import Legs
from localrag.index.opensearch_state import GRACE_S, LibraryState, State
from localrag.index.opensearch_successor import create_next, switch
from localrag.index.opensearch_writes import Writes
from localrag.protocols import Library, Vectors
from localrag.types import (
    Check,
    Chunk,
    ChunkId,
    Document,
    DocumentId,
    IndexHeader,
    IndexStats,
    LegResults,
    Page,
    PendingText,
)

_LOG = logging.getLogger(__name__)

# A search brings the change counter along; for so long it need not be asked for again.
_COUNTER_FRESH_S = 1.0


class OpenSearchIndex(Kept, AnswersInMemory):
    """SearchIndex and ConversationStore in OpenSearch; made by `open`."""

    def __init__(
        self, http: Http, names: Names, header: IndexHeader, copies: Copies, *, clock: Callable[[], float]
    ) -> None:
        self._http = http
        self._names = names
        self._header = header
        self._copies = copies
        self._state = State(http, names)
        Kept.__init__(self, Notes(http, names, self._state.settled), clock)
        AnswersInMemory.__init__(self)
        self._reads = Reads(http, names, self._state)
        self._writes = Writes(
            http, names, self._state, self._reads, published=self._published, require_epoch=self._require_epoch
        )
        self._legs = Legs(http, names, self._state)
        self._lock = threading.Lock()
        self._counter = (-1, 0.0)
        self._epoch = ""
        self._borrowed = False  # the connections are another index's, which closes them

    @classmethod
    def open(
        cls,
        url: str,
        name: str,
        header: IndexHeader,
        *,
        user: str = "",
        password: str = "",
        ca_file: str = "",
        copies: Copies | None = None,
        timeout_s: float = 60.0,
        clock: Callable[[], float] = time.time,
    ) -> OpenSearchIndex:
        """The library of this name, created when there is none.

        Args:
            url: one address, or several of one cluster separated by commas.
            name: what its indices' names begin with.
            header: what the settings ask for.
            user, password: both empty when the cluster asks for none.
            ca_file: certificate authorities to trust in place of the system's.
            copies: shards and replicas of an index that is created.
            timeout_s: how long one request may take.
            clock: seconds since 1970, for leases.

        Raises:
            IndexMismatchError: the library was built with something else, or the index is another program's.
            SettingsError: no opensearch-py, wrong user, certificate or version, or no k-NN plugin.
            BackendUnavailable, BackendTimeout: nothing answers there.
            StorageFullError: it takes no writes.
        """
        transport = connect(url, user=user, password=password, ca_file=ca_file, timeout_s=timeout_s)
        index = cls(Http(transport, url), Names(name), header, copies or Copies(), clock=clock)
        try:
            index._create_or_verify()
        except BaseException:
            index._http.close()
            raise
        return index

    @classmethod
    def reset(
        cls,
        url: str,
        name: str,
        header: IndexHeader,
        *,
        user: str = "",
        password: str = "",
        ca_file: str = "",
        copies: Copies | None = None,
    ) -> OpenSearchIndex:
        """An empty library with this header in place of the present one, whatever that was built with.

        Conversations stay. Processes that have it open with another header get IndexMismatchError from then on.

        Raises:
            IndexMismatchError: it is another program's index, or of another schema version, and was left alone.
        """
        present = cls.read_header(url, name, user=user, password=password, ca_file=ca_file)
        index = cls.open(url, name, present or header, user=user, password=password, ca_file=ca_file, copies=copies)
        index._header = header
        index.clear()
        return index

    @staticmethod
    def read_header(
        url: str, name: str, *, user: str = "", password: str = "", ca_file: str = ""
    ) -> IndexHeader | None:
        """What the library was built with; None when there is none yet. Changes nothing."""
        http = Http(connect(url, user=user, password=password, ca_file=ca_file), url)
        try:
            require_opensearch(http)
            return stored_header(http, Names(name))
        finally:
            http.close()

    @staticmethod
    def drop(url: str, name: str, *, user: str = "", password: str = "", ca_file: str = "") -> None:
        """Deletes the whole library, conversations and all."""
        http = Http(connect(url, user=user, password=password, ca_file=ca_file), url)
        try:
            drop_library(http, Names(name))
        finally:
            http.close()

    @property
    def header(self) -> IndexHeader:
        """What the index was built with."""
        return self._header

    def replace_document(
        self, document: Document, pages: Sequence[Page], chunks: Sequence[Chunk], vectors: Mapping[str, Vectors] = {}
    ) -> None:
        self._writes.replace(document, pages, chunks, checked_vectors(vectors, self._header.model.dimension))
        self._notes.delete_failure(document.uri)

    def update_document(self, document: Document) -> None:
        self._writes.update(document)

    def delete_document(self, document_id: DocumentId) -> int:
        count = self._writes.delete(document_id)
        if (successor := self._present_successor()) is not None:
            with suppress(NotFoundError, Missing):  # or it has taken this one's place by now
                successor.delete_document(document_id)
        return count

    def clear(self) -> None:
        self.drop_successor()
        drop_unused(self._http, self._names)
        number = 1 + int(self._state.read().epoch)
        fresh = create_content(self._http, self._names, self._header, self._copies, number)
        # From here on nothing is seen of what was there; then it goes, index and all.
        state = self._state.new_epoch(str(number))
        self._epoch = state.epoch
        point_content_at(self._http, self._names, fresh)
        self._notes.delete_failures()
        self._published(state)

    def get_document(self, document_id: DocumentId) -> Document | None:
        return next(iter(self._reads.documents({"term": {"document": document_id}})), None)

    def find_by_hash(self, content_hash: str) -> Document | None:
        found = self._reads.documents({"term": {"content_hash": content_hash}})
        return min(found, key=lambda document: document.id, default=None)

    def documents(self) -> list[Document]:
        return self._reads.documents()

    def pages(self, document_id: DocumentId) -> list[Page]:
        return self._reads.pages(document_id)

    def page(self, document_id: DocumentId, ordinal: int) -> Page | None:
        return next(iter(self._reads.pages(document_id, ordinal)), None)

    def chunks(self, chunk_ids: Sequence[ChunkId]) -> list[Chunk]:
        return self._reads.chunks(chunk_ids)

    def document_chunks(self, document_id: DocumentId) -> list[Chunk]:
        return self._reads.document_chunks(document_id)

    def search_legs(
        self, text: str | None, vector: Vectors | None, *, limit: int, where: Filter | None = None
    ) -> LegResults:
        query = None if vector is None else checked_vector(vector, self._header.model.dimension)
        started = time.monotonic()
        try:
            legs, totals = self._legs.search(text, query, limit=limit, where=where)
        except (BackendUnavailable, BackendTimeout):
            raise
        except BackendError:  # such as a vector of another dimension
            self._require_epoch(self._state.read().epoch)
            raise
        # Its parts may have met either index if one takes the other's place right now, or took it during a slow search.
        doubtful = totals.switching or time.monotonic() - started > GRACE_S
        self._require_epoch(self._state.read().epoch if doubtful else totals.epoch)
        self._seen(totals.changes)
        return legs

    def pending_texts(self, limit: int) -> list[PendingText]:
        return self._reads.pending(limit)

    def pending_count(self) -> int:
        return self._reads.pending_count()

    def add_vectors(self, vectors: Mapping[str, Vectors]) -> int:
        rows = checked_vectors(vectors, self._header.model.dimension)
        self._require_epoch(self._state.read().epoch)
        return self._writes.add_vectors(rows)

    def document_vectors(self, document_id: DocumentId) -> dict[str, Vectors]:
        return self._reads.document_vectors(document_id)

    def stats(self) -> IndexStats:
        totals = self._legs.totals()
        told = self._http.call("GET", f"/{self._names.content},{self._names.state}/_stats/store")
        return IndexStats(
            documents=self._reads.count({"term": {"kind": "document"}}),
            chunks=totals.chunks,
            embedded=totals.embedded,
            size_bytes=int(told["_all"]["total"]["store"]["size_in_bytes"]),
        )

    def change_counter(self) -> int:
        """Grows with every change; a change made by another process is told within a second."""
        counter, at = self._counter
        if time.monotonic() - at > _COUNTER_FRESH_S:
            counter = self._state.read().changes
            self._seen(counter)
        return max(counter, self._counter[0])

    def check(self, *, deep: bool = False) -> list[Check]:
        return run_checks(self._http, self._names, self._state, self._reads, deep=deep)

    def rebuild_derived(self) -> None:
        """Writes the terms of every chunk anew, marks what has no vector as waiting, and deletes what is hidden."""
        rewrite_terms(self._http, self._names, self._reads)
        self._http.call(
            "POST",
            f"/{self._names.content}/_update_by_query",
            params={"conflicts": "proceed", "refresh": "true"},
            body={
                "script": {"source": "ctx._source.embedded = false", "lang": "painless"},
                "query": {
                    "bool": {
                        "filter": [{"term": {"embedded": True}}],
                        "must_not": [{"exists": {"field": "embedding"}}],
                    }
                },
            },
        )
        mark_analysis(self._http, self._names, self._header)
        self._published(self._state.count_change())
        self.purge()

    def purge(self) -> bool:
        """Deletes what is hidden, and has segments merged in which a tenth or more is deleted text."""
        swept = self._writes.sweep_due(wait=True)
        strays = {"bool": {"must_not": [{"term": {"epoch": self._state.read().epoch}}]}}
        content = f"/{self._names.content}"
        if self._http.call("POST", f"{content}/_count", body={"query": strays})["count"]:
            refreshed = {"conflicts": "proceed", "refresh": "true"}
            self._http.call("POST", f"{content}/_delete_by_query", params=refreshed, body={"query": strays})
        self._http.call("POST", f"{content}/_forcemerge", params={"only_expunge_deletes": "true"}, timeout_s=3_600.0)
        return swept

    def latest_change(self) -> int:
        state = self._state.read()
        self._require_epoch(state.epoch)
        return state.changes

    def open_successor(self, header: IndexHeader) -> Library:
        self.latest_change()
        if stored_header(self._http, self._names.next) != header:
            drop_next(self._http, self._names)
            drop_unused(self._http, self._names)
            create_next(self._http, self._names, header, self._copies, self._state)
        return self._successor(header)

    def promote_successor(self, *, seen: int) -> bool:
        self._require_epoch(self._state.read().epoch)
        successor = self._present_successor()
        if successor is None or catalogued(successor.documents()) != catalogued(self.documents()):
            return False
        return switch(self._http, self._names, self._state, self._notes, seen)

    def drop_successor(self) -> None:
        drop_next(self._http, self._names)

    def close(self) -> None:
        """Deletes what is hidden long enough, then closes the connections."""
        try:
            self._writes.sweep_due()
        except LocalRagError as error:
            # A server that is gone must not keep the program from ending; the next writer sweeps.
            _LOG.warning("Replaced text is not deleted yet: %s", error)
        finally:
            if not self._borrowed:
                self._http.close()

    def _create_or_verify(self) -> None:
        require_opensearch(self._http)
        found = stored_header(self._http, self._names)
        if found is None:
            create_state(self._http, self._names, self._copies)
            self._state.create()
            number = int(self._state.read().epoch)
            fresh = create_content(self._http, self._names, self._header, self._copies, number)
            point_content_at(self._http, self._names, fresh)
        self._require_header()
        self._epoch = self._state.read().epoch
        if stored_header(self._http, self._names.next) == self._header:
            self.drop_successor()  # nobody needs it: the index was reset to its parameters
        if stored_analysis(self._http, self._names) != analysis_version():
            self.rebuild_derived()

    def _require_epoch(self, epoch: str) -> None:
        """Nothing, or IndexMismatchError when another process has reset the library to other settings."""
        if epoch != self._epoch:
            self._require_header()
            self._epoch = epoch

    def _require_header(self) -> None:
        def hint() -> str:
            begun = stored_header(self._http, self._names.next) == self._header
            running = begun and self._notes.lease_is_held(REBUILD_LEASE, self._clock())
            return rebuild_hint(begun=begun, running=running)

        require_header(self._http, self._names, self._header, hint)

    def _present_successor(self) -> OpenSearchIndex | None:
        """The index that is being built beside this one."""
        header = stored_header(self._http, self._names.next)
        return None if header is None else self._successor(header)

    def _successor(self, header: IndexHeader) -> OpenSearchIndex:
        made = OpenSearchIndex(self._http, self._names.next, header, self._copies, clock=self._clock)
        made._borrowed = True
        made._epoch = made._state.read().epoch
        return made

    def _published(self, state: LibraryState) -> None:
        self._seen(state.changes)

    def _seen(self, changes: int) -> None:
        with self._lock:
            if changes >= self._counter[0]:
                self._counter = (changes, time.monotonic())
