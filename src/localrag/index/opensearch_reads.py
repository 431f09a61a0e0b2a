"""What the library holds: documents, pages, chunks and texts that wait, each as one state of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from localrag.index.opensearch_entries import KnownText, chunk_of, document_of, page_of, vector_of
from localrag.index.opensearch_errors import kept_changing
from localrag.index.opensearch_filters import Query, any_value
from localrag.index.opensearch_http import Http, Json
from localrag.index.opensearch_schema import Names
from localrag.index.opensearch_state import LibraryState, State
from localrag.protocols import Vectors
from localrag.types import Chunk, ChunkId, Document, DocumentId, Page, PendingText

_Found = TypeVar("_Found")

_PAGE = 1_000
_COUNTS_PAGE = 10_000
# Entries with vectors are some kilobytes each.
_VECTORS_PAGE = 200
_TRIES = 10
_EMBEDDED: list[Query] = [{"term": {"kind": "chunk"}}, {"term": {"embedded": True}}]
# Exact up to here, within some percent above (OpenSearch documentation, "Cardinality").
_PRECISE = 40_000


@dataclass(frozen=True, slots=True)
class Survey:
    """What a write has to know.

    taken: id and document of a chunk of another document that has one of the ids.
    texts: by hash what the library has of the texts.
    present: the versions of the document, with their chunks: one, or none.
    """

    taken: tuple[ChunkId, DocumentId] | None
    texts: dict[str, KnownText]
    present: dict[str, int]


class Reads:
    """Queries on the entries of one library that are to be seen."""

    def __init__(self, http: Http, names: Names, state: State) -> None:
        self._http = http
        self._index = names.content
        self._state = state

    def documents(self, *clauses: Query) -> list[Document]:
        """The documents that pass the clauses, by name then id."""

        def read() -> list[Document] | None:
            sources = list(self.entries([{"term": {"kind": "document"}}, *clauses], sort="document"))
            # Of all documents it is cheaper to count every version than to name them.
            versions = [any_value("version", {source["version"] for source in sources})] if clauses else []
            embedded = self.counts([*_EMBEDDED, *versions], "version") if sources else {}
            found = [document_of(source, embedded.get(source["version"], 0)) for source in sources]
            return found if len({each.id for each in found}) == len(found) else None

        return sorted(self._until_whole(read), key=lambda document: (document.name, document.id))

    def pages(self, document_id: DocumentId, ordinal: int | None = None) -> list[Page]:
        """The document's pages in order, or the one with this ordinal."""
        clauses: list[Query] = [{"term": {"kind": "page"}}, {"term": {"document": document_id}}]
        if ordinal is not None:
            clauses.append({"term": {"position": ordinal}})
        return [page_of(source) for source in self._of_one_version(clauses)]

    def document_chunks(self, document_id: DocumentId) -> list[Chunk]:
        """All chunks of the document by index."""
        clauses: list[Query] = [{"term": {"kind": "chunk"}}, {"term": {"document": document_id}}]
        return [chunk_of(source) for source in self._of_one_version(clauses)]

    def chunks(self, chunk_ids: Sequence[ChunkId]) -> list[Chunk]:
        """Those of the chunks that exist, in the order asked."""
        clauses: list[Query] = [{"term": {"kind": "chunk"}}, any_value("id", set(chunk_ids))]
        by_id = {source["id"]: chunk_of(source) for source in self.entries(clauses, sort="id")}
        return [by_id[chunk_id] for chunk_id in chunk_ids if chunk_id in by_id]

    def document_vectors(self, document_id: DocumentId) -> dict[str, Vectors]:
        """By text hash the vectors of the document's texts."""
        clauses: list[Query] = [*_EMBEDDED, {"term": {"document": document_id}}]
        fields = ["text_hash", "embedding"]
        sources = self.entries(clauses, sort="position", size=_VECTORS_PAGE, fields=fields)
        return {source["text_hash"]: vector_of(source["embedding"]) for source in sources}

    def pending(self, limit: int) -> list[PendingText]:
        """Distinct texts without a vector in the order they came."""
        found: dict[str, PendingText] = {}
        clauses: list[Query] = [{"term": {"kind": "chunk"}}, {"term": {"embedded": False}}]
        if limit > 0:
            size = min(limit, _PAGE)
            for source in self.entries(clauses, sort="text_order", collapse="text_order", size=size):
                text = chunk_of(source).embedding_text
                found.setdefault(source["text_hash"], PendingText(text_hash=source["text_hash"], text=text))
                if len(found) == limit:
                    break
        return list(found.values())

    def pending_count(self) -> int:
        """How many distinct texts have no vector: exact up to 40,000, close to it above."""
        clauses = [{"term": {"kind": "chunk"}}, {"term": {"embedded": False}}, *self._state.visible()]
        texts = {"cardinality": {"field": "text_hash", "precision_threshold": _PRECISE}}
        body = {"size": 0, "query": {"bool": {"filter": clauses}}, "aggs": {"texts": texts}}
        return int(self._http.search(self._index, body)["aggregations"]["texts"]["value"])

    def survey(
        self, document_id: DocumentId, state: LibraryState, *, chunk_ids: Sequence[ChunkId], hashes: Sequence[str]
    ) -> Survey:
        """What a write of this document has to know, as of that state where it matters."""
        first, *rest = [*_parts(hashes, _VECTORS_PAGE)] or [[]]
        asked = [self._owner_query(chunk_ids, document_id), self._texts_query(first)]
        asked.append(self.versions_query(document_id, self._state.visible_at(state)))
        owners, texts, versions = self._http.searches([(self._index, each) for each in asked])
        known = _known_texts(texts)
        for part in rest:
            known.update(_known_texts(self._http.search(self._index, self._texts_query(part))))
        owner = next((hit["_source"] for hit in owners["hits"]["hits"]), None)
        taken = None if owner is None else (owner["id"], owner["document"])
        return Survey(taken, known, versions_of(versions))

    def versions_of(self, document_id: DocumentId, state: LibraryState) -> dict[str, int]:
        """The versions of the document that are to be seen at that state, with their chunks: one, or none."""
        body = self.versions_query(document_id, self._state.visible_at(state))
        return versions_of(self._http.search(self._index, body))

    def versions_query(self, document_id: DocumentId, visible: Sequence[Query]) -> Json:
        """A search for `versions_of`."""
        clauses = [{"term": {"kind": "document"}}, {"term": {"document": document_id}}, *visible]
        query = {"bool": {"filter": clauses}}
        return {"query": query, "size": _PAGE, "track_total_hits": False, "_source": ["version", "chunk_count"]}

    def _owner_query(self, chunk_ids: Sequence[ChunkId], besides: DocumentId) -> Json:
        """A search for a chunk with one of these ids that another document has."""
        clauses = [any_value("id", chunk_ids), *self._state.visible()]
        query = {"bool": {"filter": clauses, "must_not": [{"term": {"document": besides}}]}}
        return {"query": query, "size": 1, "track_total_hits": False, "_source": ["id", "document"]}

    def _texts_query(self, hashes: Sequence[str]) -> Json:
        """A search for the place in the queue and the vector of each text that a chunk has already."""
        return {
            "query": {"bool": {"filter": [any_value("text_hash", hashes), *self._state.visible()]}},
            "collapse": {"field": "text_hash"},
            "sort": [{"embedded": "desc"}, {"text_order": "asc"}],
            "size": len(hashes),
            "track_total_hits": False,
            "_source": ["text_hash", "text_order", "embedded", "embedding"],
        }

    def entries(
        self,
        clauses: Sequence[Query],
        *,
        sort: str,
        collapse: str | None = None,
        size: int = _PAGE,
        fields: Sequence[str] | None = None,
        visible: Sequence[Query] | None = None,
    ) -> Iterator[Json]:
        """The sources of all entries that pass, a page at a time; `sort` is a field that tells them apart.

        Vectors and terms are left out unless `fields` names them.
        """
        seen = self._state.visible() if visible is None else visible
        body: Json = {
            "query": {"bool": {"filter": [*clauses, *seen]}},
            "size": size,
            "sort": [{sort: "asc"}],
            "track_total_hits": False,
            "_source": list(fields) if fields else {"excludes": ["embedding", "terms"]},
        }
        if collapse:
            body["collapse"] = {"field": collapse}
        while True:
            hits = self._http.search(self._index, body)["hits"]["hits"]
            yield from (hit["_source"] for hit in hits)
            if len(hits) < size:
                return
            body["search_after"] = hits[-1]["sort"]

    def counts(self, clauses: Sequence[Query], field: str) -> dict[str, int]:
        """How many entries pass, for each value of the field."""
        found: dict[str, int] = {}
        by_value: Json = {"size": _COUNTS_PAGE, "sources": [{"value": {"terms": {"field": field}}}]}
        query = {"bool": {"filter": [*clauses, *self._state.visible()]}}
        while True:
            body = {"size": 0, "query": query, "aggs": {"by_value": {"composite": by_value}}}
            answer = self._http.search(self._index, body)["aggregations"]["by_value"]
            found.update({bucket["key"]["value"]: bucket["doc_count"] for bucket in answer["buckets"]})
            if len(answer["buckets"]) < _COUNTS_PAGE:
                return found
            by_value["after"] = answer["after_key"]

    def count(self, *clauses: Query) -> int:
        """How many entries pass."""
        query = {"bool": {"filter": [*clauses, *self._state.visible()]}}
        body = {"size": 0, "track_total_hits": True, "query": query}
        return int(self._http.search(self._index, body)["hits"]["total"]["value"])

    def _of_one_version(self, clauses: Sequence[Query]) -> list[Json]:
        """All that pass, by position, of a document that may be replaced meanwhile."""

        def read() -> list[Json] | None:
            found = list(self.entries(clauses, sort="position"))
            return found if len({source["version"] for source in found}) <= 1 else None

        return self._until_whole(read)

    def _until_whole(self, read: Callable[[], list[_Found] | None]) -> list[_Found]:
        """What is read once no change comes in between."""
        for _ in range(_TRIES):
            found = read()
            if found is not None:
                return found
        raise kept_changing(self._http.url)


def versions_of(answer: Json) -> dict[str, int]:
    """By version how many chunks it has, of the answer to a `versions_query`."""
    sources = (hit["_source"] for hit in answer["hits"]["hits"])
    return {source["version"]: source["chunk_count"] for source in sources}


def _known_texts(answer: Json) -> dict[str, KnownText]:
    sources = (hit["_source"] for hit in answer["hits"]["hits"])
    return {
        source["text_hash"]: KnownText(source["text_order"], source["embedding"] if source["embedded"] else None)
        for source in sources
    }


def _parts(values: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    return (values[at : at + size] for at in range(0, len(values), size))
