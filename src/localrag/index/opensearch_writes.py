"""Changes of the library: each is a new version that is published by one write of the state."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress

from localrag.errors import BackendError, LocalRagError
from localrag.index.content import ChunkTerms, chunk_terms, require_consistent, text_hash
from localrag.index.opensearch_entries import (
    KnownText,
    Stamp,
    changed,
    chunk_entry,
    document_entry,
    document_of,
    new_texts,
    numbers,
    page_entry,
    page_of,
    renamed_chunk,
    routing,
    write_actions,
)
from localrag.index.opensearch_errors import SERVICE, Conflict, kept_changing
from localrag.index.opensearch_filters import Query, any_value
from localrag.index.opensearch_http import Action, Http, Json
from localrag.index.opensearch_reads import Reads
from localrag.index.opensearch_schema import Names
from localrag.index.opensearch_state import GRACE_S, HEARTBEAT_S, LibraryState, State, no_such_document
from localrag.protocols import Vectors
from localrag.types import Chunk, Document, DocumentId, Page

Present = dict[str, int]

_RESTARTS = 10
_DELETE_ROUNDS = 20
_DELETE_TIMEOUT_S = 3_600.0
_VECTORS_BATCH = 500


class _Overtaken(Exception):
    """The version that was being written is not the one to publish; start anew from what is there now."""


class Writes:
    """Writers of one library.

    `published` is told every state that a change of ours led to; `require_epoch` raises when the library was reset
    to other settings in that epoch.
    """

    def __init__(
        self,
        http: Http,
        names: Names,
        state: State,
        reads: Reads,
        *,
        published: Callable[[LibraryState], None],
        require_epoch: Callable[[str], None],
    ) -> None:
        self._http = http
        self._index = names.content
        self._state = state
        self._reads = reads
        self._published = published
        self._require_epoch = require_epoch

    def replace(
        self, document: Document, pages: Sequence[Page], chunks: Sequence[Chunk], vectors: Mapping[str, Vectors]
    ) -> None:
        """Stores the document in place of any version there, with those of its vectors that are known."""
        require_consistent(document, pages, chunks)
        ordered = sorted(chunks, key=lambda chunk: chunk.index)
        terms = [chunk_terms(chunk, document.name) for chunk in ordered]
        elsewhere: dict[str, Vectors] = {}

        def write(stamp: Stamp, begun: LibraryState) -> tuple[Iterator[Json], Present]:
            ids = [chunk.id for chunk in ordered]
            hashes = list(dict.fromkeys(text_hash(chunk.embedding_text) for chunk in ordered))
            known = self._reads.survey(document.id, begun, chunk_ids=ids, hashes=hashes)
            if known.taken:
                chunk_id, owner = known.taken
                raise ValueError(f"chunk id {chunk_id!r} of document {document.id!r} belongs to {owner!r}")
            given = ((key, there, vectors[key]) for key, there in known.texts.items() if key in vectors)
            elsewhere.update({key: row for key, there, row in given if there.embedding != numbers(row)})
            texts = new_texts(ordered, known.texts, vectors, stamp.sequence)
            return _new_entries(document, pages, list(zip(ordered, terms, strict=True)), texts), known.present

        self._versioned(document.id, write, replaces=None)
        self.add_vectors(elsewhere)  # of texts that other documents have too

    def update(self, document: Document) -> None:
        """Changes the stored document's catalog entry, and with it what its chunks are found by."""
        for _ in range(_RESTARTS):
            stored = self._document_source(document.id)
            with suppress(_Overtaken):
                self._versioned(document.id, self._changing(stored, document), replaces=stored["version"])
                return
        raise kept_changing(self._http.url)

    def delete(self, document_id: DocumentId) -> int:
        """Removes all trace of the document and returns how many chunks it had."""
        gone: dict[str, int] = {}

        def decide(state: LibraryState) -> LibraryState:
            self._require_epoch(state.epoch)
            gone.clear()
            gone.update(self._reads.versions_of(document_id, state))
            if not gone:
                raise no_such_document(document_id)
            return self._state.change(state, hidden=list(gone))

        self._published(self._state.deciding(decide))
        self.sweep(list(gone))
        return sum(gone.values())

    def add_vectors(self, vectors: Mapping[str, Vectors]) -> int:
        """Gives every chunk of these texts its vector and returns how many texts there were."""
        rows = {key: numbers(row) for key, row in vectors.items()}
        touched: set[str] = set()
        clauses: list[Query] = [{"term": {"kind": "chunk"}}]
        keys = list(rows)
        for at in range(0, len(keys), _VECTORS_BATCH):
            part = [*clauses, any_value("text_hash", keys[at : at + _VECTORS_BATCH])]
            found = list(self._reads.entries(part, sort="id", fields=["version", "document", "position", "text_hash"]))
            self._http.bulk(
                (_vector_action(self._index, source, rows[source["text_hash"]]) for source in found),
                ignore=frozenset({404}),  # its document was replaced or deleted meanwhile
            )
            touched.update(source["text_hash"] for source in found)
        if touched:
            self._refresh()
            self._published(self._state.count_change())
        return len(touched)

    def sweep_due(self, *, wait: bool = False) -> bool:
        """Deletes what is hidden long enough; True when nothing hidden is left but what is being written.

        Args:
            wait: until the versions that were replaced a moment ago may go too.
        """
        state = self._state.read()
        replaced = [each for each in state.hidden if not each.writing]
        if wait and any(not each.due(time.time()) for each in replaced):
            time.sleep(GRACE_S)
        due = [each.version for each in state.hidden if each.due(time.time())]
        self.sweep(due)
        return len(due) >= len(replaced)

    def sweep(self, versions: Sequence[str]) -> None:
        """Deletes these hidden versions and proves that nothing of them is left."""
        if not versions:
            return
        query = {"query": any_value("version", versions)}
        self._refresh()
        for _ in range(_DELETE_ROUNDS):
            self._http.call(
                "POST",
                f"/{self._index}/_delete_by_query",
                params={"conflicts": "proceed", "refresh": "true", "timeout": "60s"},
                body=query,
                timeout_s=_DELETE_TIMEOUT_S,
            )
            left = self._http.call("POST", f"/{self._index}/_count", body=query)["count"]
            if not left:
                self._state.forget(versions)
                return
        raise BackendError(
            f"{left} entries of deleted documents are still in {self._index}; no search finds them.",
            service=SERVICE,
            url=self._http.url,
            hint="Delete again, or run `localrag health --repair`.",
        )

    def _versioned(
        self,
        document_id: DocumentId,
        write: Callable[[Stamp, LibraryState], tuple[Iterator[Json], Present]],
        *,
        replaces: str | None,
    ) -> None:
        """Writes a version of the document and publishes it, in place of `replaces` or of whatever is there."""
        for _ in range(_RESTARTS):
            version = uuid.uuid4().hex
            begun = self._state.begin(version)
            stamp = Stamp(self._index, begun.epoch, version, begun.sequence)
            try:
                self._require_epoch(begun.epoch)
                entries, present = write(stamp, begun)
                actions = write_actions(stamp, document_id, entries)
                self._http.bulk(actions, before_batch=self._heartbeats(version), refresh=True)
                state = self._publish(document_id, stamp, replaces, begun, present)
            except BaseException:
                # Whatever ends the write, its rest need not wait for being taken for abandoned.
                with suppress(LocalRagError):
                    self._state.abandon(version)
                raise
            if state is not None:
                self._published(state)
                self.sweep([each.version for each in state.hidden if each.due(time.time())])
                return
        raise kept_changing(self._http.url)

    def _publish(
        self, document_id: DocumentId, stamp: Stamp, replaces: str | None, begun: LibraryState, present: Present
    ) -> LibraryState | None:
        """The state with the version published; None when it is to be written anew."""
        if not begun.switching and (replaces is None or list(present) == [replaces]):
            with suppress(Conflict):  # most often nobody else has written since
                return self._state.change(begun, shown=[stamp.version], hidden=list(present))

        def decide(seen: LibraryState) -> LibraryState:
            present = self._reads.versions_of(document_id, seen)
            if stamp.version in present:
                return seen  # published by a request whose answer was lost
            if stamp.version not in seen.hidden_versions or seen.epoch != stamp.epoch:
                raise _Swept
            if replaces is not None and list(present) != [replaces]:
                raise _Overtaken
            return self._state.change(seen, shown=[stamp.version], hidden=list(present))

        try:
            return self._state.deciding(decide)
        except _Swept:
            return None

    def _heartbeats(self, version: str) -> Callable[[], None]:
        last = time.monotonic()

        def beat() -> None:
            nonlocal last
            if time.monotonic() - last > HEARTBEAT_S:
                self._state.heartbeat(version)
                last = time.monotonic()

        return beat

    def _changing(
        self, stored: Json, given: Document
    ) -> Callable[[Stamp, LibraryState], tuple[Iterator[Json], Present]]:
        """A write of the stored version with what `given` changes."""
        document = changed(document_of(stored, 0), given)
        of_version = {"term": {"version": stored["version"]}}

        def entries() -> Iterator[Json]:
            yield document_entry(document, stored["chunk_count"])
            pages = self._reads.entries([of_version, {"term": {"kind": "page"}}], sort="position")
            yield from (page_entry(document, page_of(source)) for source in pages)
            fields = ["id", "document", "position", "text_order", "embedded", "embedding", "payload"]
            of_chunks = [of_version, {"term": {"kind": "chunk"}}]
            chunks = self._reads.entries(of_chunks, sort="position", fields=fields, size=200)  # with their vectors
            yield from (renamed_chunk(document, source) for source in chunks)

        return lambda stamp, begun: (entries(), self._reads.versions_of(document.id, begun))

    def _document_source(self, document_id: DocumentId) -> Json:
        clauses: list[Query] = [{"term": {"kind": "document"}}, {"term": {"document": document_id}}]
        found = list(self._reads.entries(clauses, sort="document"))
        if not found:
            raise no_such_document(document_id)
        return found[0]

    def _refresh(self) -> None:
        self._http.call("POST", f"/{self._index}/_refresh")


def _new_entries(
    document: Document,
    pages: Sequence[Page],
    chunks: Sequence[tuple[Chunk, ChunkTerms]],
    texts: Mapping[str, KnownText],
) -> Iterator[Json]:
    yield document_entry(document, len(chunks))
    yield from (page_entry(document, page) for page in pages)
    for chunk, words in chunks:
        yield chunk_entry(document, chunk, words, texts[text_hash(chunk.embedding_text)])


class _Swept(Exception):
    """The version was taken for abandoned, or the library was emptied, before it could be published."""


def _vector_action(index: str, source: Json, row: list[float]) -> Action:
    identifier = f"{source['version']}-chunk-{source['position']}"
    action = {"_index": index, "_id": identifier, "routing": routing(source["document"]), "retry_on_conflict": 5}
    return {"update": action}, {"doc": {"embedding": row, "embedded": True}}
