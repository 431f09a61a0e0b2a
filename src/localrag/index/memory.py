"""An exact index in plain Python data: what the contract tests compare every backend with, and handy for trials."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from localrag.errors import NotFoundError
from localrag.filters import Filter
from localrag.index import bm25
from localrag.index.analysis import query_groups
from localrag.index.answer_memory import AnswersInMemory
from localrag.index.content import (
    SCORE_DIGITS,
    ChunkTerms,
    catalogued,
    checked_vector,
    checked_vectors,
    chunk_terms,
    require_consistent,
    text_hash,
)
from localrag.index.filters import matches
from localrag.protocols import Library, Vectors
from localrag.types import (
    Check,
    Chunk,
    ChunkId,
    Document,
    DocumentId,
    Failure,
    IndexHeader,
    IndexStats,
    LegResults,
    Page,
    PendingText,
    ScoredChunk,
)


@dataclass(slots=True)
class _Entry:
    document: Document
    pages: list[Page]
    chunks: list[Chunk]
    hashes: list[str] = field(default_factory=list)
    terms: list[ChunkTerms] = field(default_factory=list)


class MemoryIndex(AnswersInMemory):
    """SearchIndex and ConversationStore that last as long as the object."""

    def __init__(self, header: IndexHeader, *, clock: Callable[[], float] = time.time) -> None:
        super().__init__()
        self._header = header
        self._clock = clock
        self._lock = threading.RLock()
        self._entries: dict[DocumentId, _Entry] = {}
        self._vectors: dict[str, Vectors] = {}
        self._texts: dict[str, str] = {}
        self._failures: dict[str, Failure] = {}
        self._leases: dict[str, tuple[str, float]] = {}
        self._conversations: dict[str, str] = {}
        self._changes = 0
        self._successor: MemoryIndex | None = None

    @property
    def header(self) -> IndexHeader:
        """What the index was built with."""
        return self._header

    def replace_document(
        self, document: Document, pages: Sequence[Page], chunks: Sequence[Chunk], vectors: Mapping[str, Vectors] = {}
    ) -> None:
        require_consistent(document, pages, chunks)
        rows = checked_vectors(vectors, self._header.model.dimension)
        ordered = sorted(chunks, key=lambda chunk: chunk.index)
        entry = _Entry(document, sorted(pages, key=lambda page: page.ordinal), ordered)
        entry.hashes = [text_hash(chunk.embedding_text) for chunk in ordered]
        entry.terms = [chunk_terms(chunk, document.name) for chunk in ordered]
        with self._lock:
            mine = {chunk.id for chunk in chunks}
            for other in self._entries.values():
                if other.document.id != document.id and any(chunk.id in mine for chunk in other.chunks):
                    raise ValueError(f"a chunk id of document {document.id!r} belongs to {other.document.id!r}")
            self._entries.pop(document.id, None)
            self._entries[document.id] = entry
            for key, chunk in zip(entry.hashes, ordered, strict=True):
                self._texts.setdefault(key, chunk.embedding_text)
            self._vectors.update({key: row.copy() for key, row in rows.items() if key in self._texts})
            self._failures.pop(document.uri, None)
            self._drop_orphans()
            self._changes += 1

    def update_document(self, document: Document) -> None:
        with self._lock:
            entry = self._entry(document.id)
            entry.document = replace(
                entry.document,
                name=document.name,
                uri=document.uri,
                tags=dict(document.tags),
                collection=document.collection,
                readable_by=document.readable_by,
            )
            entry.terms = [chunk_terms(chunk, document.name) for chunk in entry.chunks]
            self._changes += 1

    def delete_document(self, document_id: DocumentId) -> int:
        with self._lock:
            count = len(self._entry(document_id).chunks)
            del self._entries[document_id]
            self._drop_orphans()
            self._changes += 1
            if self._successor is not None and document_id in self._successor._entries:
                self._successor.delete_document(document_id)
            return count

    def clear(self) -> None:
        with self._lock:
            self._entries.clear()
            self._failures.clear()
            self._drop_orphans()
            self._changes += 1
            self._successor = None

    def get_document(self, document_id: DocumentId) -> Document | None:
        with self._lock:
            entry = self._entries.get(document_id)
            return None if entry is None else self._document(entry)

    def find_by_hash(self, content_hash: str) -> Document | None:
        found = [document for document in self.documents() if document.content_hash == content_hash]
        return min(found, key=lambda document: document.id, default=None)

    def documents(self) -> list[Document]:
        with self._lock:
            return sorted(
                map(self._document, self._entries.values()), key=lambda document: (document.name, document.id)
            )

    def pages(self, document_id: DocumentId) -> list[Page]:
        with self._lock:
            entry = self._entries.get(document_id)
            return [] if entry is None else list(entry.pages)

    def page(self, document_id: DocumentId, ordinal: int) -> Page | None:
        return next((page for page in self.pages(document_id) if page.ordinal == ordinal), None)

    def chunks(self, chunk_ids: Sequence[ChunkId]) -> list[Chunk]:
        with self._lock:
            by_id = {chunk.id: chunk for entry in self._entries.values() for chunk in entry.chunks}
        return [by_id[chunk_id] for chunk_id in chunk_ids if chunk_id in by_id]

    def document_chunks(self, document_id: DocumentId) -> list[Chunk]:
        with self._lock:
            entry = self._entries.get(document_id)
            return [] if entry is None else list(entry.chunks)

    def search_legs(
        self, text: str | None, vector: Vectors | None, *, limit: int, where: Filter | None = None
    ) -> LegResults:
        with self._lock:
            passing = [entry for entry in self._entries.values() if matches(where, self._document(entry))]
            stats = self.stats()
            return LegResults(
                lexical=None if text is None else _best(self._lexical(text, passing), limit),
                vector=None if vector is None else _best(self._nearest(vector, passing), limit),
                vectors_ready=stats.embedded / stats.chunks if stats.chunks else 1.0,
            )

    def record_failure(self, failure: Failure) -> None:
        with self._lock:
            self._failures[failure.uri] = failure

    def failures(self) -> list[Failure]:
        with self._lock:
            return sorted(self._failures.values(), key=lambda failure: (failure.name, failure.uri))

    def clear_failure(self, uri: str) -> None:
        with self._lock:
            self._failures.pop(uri, None)

    def pending_texts(self, limit: int) -> list[PendingText]:
        with self._lock:
            waiting = [(key, text) for key, text in self._texts.items() if key not in self._vectors]
            return [PendingText(text_hash=key, text=text) for key, text in waiting[: max(limit, 0)]]

    def pending_count(self) -> int:
        with self._lock:
            return len(self._texts.keys() - self._vectors.keys())

    def add_vectors(self, vectors: Mapping[str, Vectors]) -> int:
        rows = checked_vectors(vectors, self._header.model.dimension)
        with self._lock:
            kept = {key: row.copy() for key, row in rows.items() if key in self._texts}
            self._vectors.update(kept)
            self._changes += bool(kept)
            return len(kept)

    def acquire_lease(self, name: str, holder: str, ttl_s: float) -> bool:
        with self._lock:
            owner, until = self._leases.get(name, (holder, 0.0))
            if owner != holder and until > self._clock():
                return False
            self._leases[name] = (holder, self._clock() + ttl_s)
            return True

    def release_lease(self, name: str, holder: str) -> None:
        with self._lock:
            if self._leases.get(name, ("", 0.0))[0] == holder:
                del self._leases[name]

    def stats(self) -> IndexStats:
        with self._lock:
            documents = [self._document(entry) for entry in self._entries.values()]
            return IndexStats(
                documents=len(documents),
                chunks=sum(document.chunk_count for document in documents),
                embedded=sum(document.embedded_count for document in documents),
                size_bytes=sum(len(text) for text in self._texts.values()),
            )

    def change_counter(self) -> int:
        with self._lock:
            return self._changes

    def document_vectors(self, document_id: DocumentId) -> dict[str, Vectors]:
        with self._lock:
            entry = self._entries.get(document_id)
            hashes = [] if entry is None else entry.hashes
            return {key: self._vectors[key].copy() for key in hashes if key in self._vectors}

    def purge(self) -> bool:
        """Nothing is left of what was deleted."""
        return True

    def rebuild_derived(self) -> None:
        """Nothing is kept that is derived."""

    def latest_change(self) -> int:
        return self.change_counter()

    def open_successor(self, header: IndexHeader) -> Library:
        with self._lock:
            if self._successor is None or self._successor.header != header:
                self._successor = MemoryIndex(header, clock=self._clock)
            return self._successor

    def promote_successor(self, *, seen: int) -> bool:
        with self._lock:
            if self._successor is None or self._changes != seen:
                return False
            new = self._successor
            if catalogued(new.documents()) != catalogued(self.documents()):
                return False
            self._successor = None
            self._header, self._entries = new._header, new._entries
            self._vectors, self._texts = new._vectors, new._texts
            self._changes += 1
            return True

    def drop_successor(self) -> None:
        with self._lock:
            self._successor = None

    def check(self, *, deep: bool = False) -> list[Check]:
        del deep  # nothing here can be damaged
        stats = self.stats()
        return [Check(name="index", ok=True, detail=f"{stats.documents} documents, {stats.chunks} chunks in memory")]

    def close(self) -> None:
        """Nothing to close."""

    def save_conversation(self, conversation_id: str, turns_json: str) -> None:
        with self._lock:
            self._conversations[conversation_id] = turns_json

    def load_conversation(self, conversation_id: str) -> str | None:
        with self._lock:
            return self._conversations.get(conversation_id)

    def delete_conversation(self, conversation_id: str) -> None:
        with self._lock:
            self._conversations.pop(conversation_id, None)

    def conversation_ids(self) -> list[str]:
        with self._lock:
            return sorted(self._conversations)

    def _entry(self, document_id: DocumentId) -> _Entry:
        entry = self._entries.get(document_id)
        if entry is None:
            raise NotFoundError(
                f"No document has the id {document_id!r}.", hint="`localrag documents` lists what there is."
            )
        return entry

    def _document(self, entry: _Entry) -> Document:
        embedded = sum(key in self._vectors for key in entry.hashes)
        return replace(entry.document, chunk_count=len(entry.chunks), embedded_count=embedded)

    def _drop_orphans(self) -> None:
        used = {key for entry in self._entries.values() for key in entry.hashes}
        self._texts = {key: text for key, text in self._texts.items() if key in used}
        self._vectors = {key: row for key, row in self._vectors.items() if key in used}

    def _lexical(self, text: str, passing: Iterable[_Entry]) -> list[ScoredChunk]:
        everything = [terms for entry in self._entries.values() for terms in entry.terms]
        if not everything:
            return []
        groups = query_groups(text, {terms.language for terms in everything})
        counted = {id(terms): Counter((*terms.body, *terms.heading, *terms.name)) for terms in everything}
        holding = Counter(term for frequencies in counted.values() for term in frequencies)
        average = sum(terms.length for terms in everything) / len(everything)
        asked = set(bm25.rarest({term: holding[term] for group in groups for term in group}))
        weights: dict[str, float] = {}
        for group in groups:
            forms = [term for term in group if term in asked]
            in_group = min(len(everything), sum(holding[form] for form in forms))
            for form in forms:
                weights.setdefault(form, bm25.idf(len(everything), in_group))
        scored = []
        for entry in passing:
            for chunk, terms in zip(entry.chunks, entry.terms, strict=True):
                frequencies = counted[id(terms)]
                damping = bm25.K1 * (1 - bm25.B + bm25.B * terms.length / average)
                present = [(weight, frequencies[term]) for term, weight in weights.items() if term in frequencies]
                if present:
                    score = sum(weight * count / (count + damping) for weight, count in present)
                    scored.append(_scored(chunk, entry.document.name, score))
        return scored

    def _nearest(self, vector: Vectors, passing: Iterable[_Entry]) -> list[ScoredChunk]:
        query = checked_vector(vector, self._header.model.dimension)
        return [
            _scored(chunk, entry.document.name, float(self._vectors[key] @ query))
            for entry in passing
            for chunk, key in zip(entry.chunks, entry.hashes, strict=True)
            if key in self._vectors
        ]


def _scored(chunk: Chunk, document: str, score: float) -> ScoredChunk:
    return ScoredChunk(chunk=chunk, document=document, score=round(score, SCORE_DIGITS))


def _best(scored: list[ScoredChunk], limit: int) -> tuple[ScoredChunk, ...]:
    return tuple(sorted(scored, key=lambda hit: (-hit.score, hit.chunk.id))[: max(limit, 0)])
