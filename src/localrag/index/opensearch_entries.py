"""Documents, pages and chunks as entries of the content index, and back."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from localrag.index.content import ChunkTerms, chunk_terms, text_hash
from localrag.index.filters import moment
from localrag.index.opensearch_filters import filter_fields
from localrag.index.opensearch_http import Action, Json
from localrag.protocols import Vectors
from localrag.types import Chunk, Document, Page

# An order number is the write's sequence number times this plus the place in the document.
_PLACES = 1_000_000


@dataclass(frozen=True, slots=True)
class KnownText:
    """What the library has of a text already: its place in the queue and its vector, if there is one."""

    order: int
    embedding: Sequence[float] | Vectors | None


@dataclass(frozen=True, slots=True)
class Stamp:
    """Which write an entry is of."""

    index: str
    epoch: str
    version: str
    sequence: int


def document_entry(document: Document, chunk_count: int) -> Json:
    """The catalog's entry."""
    return {
        **filter_fields(document),
        "kind": "document",
        "content_hash": document.content_hash,
        "chunk_count": chunk_count,
        "payload": {
            "name": document.name,
            "uri": document.uri,
            "media_type": document.media_type,
            "size_bytes": document.size_bytes,
            "page_count": document.page_count,
            "collection": document.collection,
            "tags": [[key, value] for key, value in document.tags.items()],
            "readable_by": sorted(document.readable_by),
            "warnings": list(document.warnings),
        },
    }


def document_of(source: Json, embedded: int) -> Document:
    """The document of a catalog entry."""
    payload = source["payload"]
    return Document(
        id=source["document"],
        content_hash=source["content_hash"],
        name=payload["name"],
        uri=payload["uri"],
        media_type=payload["media_type"],
        size_bytes=payload["size_bytes"],
        page_count=payload["page_count"],
        chunk_count=source["chunk_count"],
        embedded_count=embedded,
        tags=dict(payload["tags"]),
        collection=payload["collection"],
        readable_by=frozenset(payload["readable_by"]),
        indexed_at=moment(source["indexed_at"]),
        warnings=tuple(payload["warnings"]),
    )


def changed(stored: Document, given: Document) -> Document:
    """The stored document with what `update_document` may change."""
    return replace(
        stored,
        name=given.name,
        uri=given.uri,
        tags=dict(given.tags),
        collection=given.collection,
        readable_by=given.readable_by,
    )


def page_entry(document: Document, page: Page) -> Json:
    """A page. Compressed, as its bytes are: not every text a file holds is valid in JSON."""
    packed = base64.b64encode(zlib.compress(page.markdown.encode("utf-8", "surrogatepass"))).decode()
    return {
        "kind": "page",
        "document": document.id,
        "position": page.ordinal,
        "payload": {"number": page.number, "label": page.label, "markdown": packed, "verbatim": page.verbatim},
    }


def page_of(source: Json) -> Page:
    """The page of an entry."""
    payload = source["payload"]
    markdown = zlib.decompress(base64.b64decode(payload["markdown"])).decode("utf-8", "surrogatepass")
    return Page(
        ordinal=source["position"],
        number=payload["number"],
        label=payload["label"],
        markdown=markdown,
        verbatim=payload.get("verbatim", False),  # earlier releases did not keep it
    )


def chunk_entry(document: Document, chunk: Chunk, terms: ChunkTerms, known: KnownText) -> Json:
    """A chunk with all that a search asks for: its filters, terms and, once it is made, its vector."""
    entry = {
        **filter_fields(document),
        **term_fields(terms),
        "kind": "chunk",
        "id": chunk.id,
        "position": chunk.index,
        "text_hash": text_hash(chunk.embedding_text),
        "text_order": known.order,
        "embedded": known.embedding is not None,
        "payload": {
            "name": document.name,
            "page_ordinal": chunk.page_ordinal,
            "page": chunk.page,
            "label": chunk.label,
            "heading_path": list(chunk.heading_path),
            "text": chunk.text,
            "start": chunk.start,
            "end": chunk.end,
            "token_count": chunk.token_count,
            "prefix": chunk.prefix,
        },
    }
    if isinstance(known.embedding, np.ndarray):
        entry["embedding"] = numbers(known.embedding)
    elif known.embedding is not None:
        entry["embedding"] = known.embedding
    return entry


def term_fields(terms: ChunkTerms) -> Json:
    """What the analyser made of the chunk."""
    words = " ".join((*terms.body, *terms.heading, *terms.name))
    return {"language": terms.language, "length": terms.length, "terms": words}


def chunk_of(source: Json) -> Chunk:
    """The chunk of an entry."""
    payload = source["payload"]
    return Chunk(
        id=source["id"],
        document_id=source["document"],
        index=source["position"],
        page_ordinal=payload["page_ordinal"],
        page=payload["page"],
        label=payload["label"],
        heading_path=tuple(payload["heading_path"]),
        text=payload["text"],
        start=payload["start"],
        end=payload["end"],
        token_count=payload["token_count"],
        prefix=payload["prefix"],
    )


def renamed_chunk(document: Document, source: Json) -> Json:
    """The entry of a chunk after its document changed: other filters and name, the same text and vector."""
    chunk = chunk_of(source)
    embedding = source.get("embedding") if source["embedded"] else None
    known = KnownText(source["text_order"], embedding)
    return chunk_entry(document, chunk, chunk_terms(chunk, document.name), known)


def new_texts(
    chunks: Sequence[Chunk], known: Mapping[str, KnownText], vectors: Mapping[str, Vectors], sequence: int
) -> dict[str, KnownText]:
    """For each text of the chunks what is known of it; those that are new come after all others, in order."""
    texts: dict[str, KnownText] = {}
    for place, chunk in enumerate(chunks):
        key = text_hash(chunk.embedding_text)
        if key not in texts:
            there = known.get(key) or KnownText(sequence * _PLACES + place, None)
            texts[key] = KnownText(there.order, vectors.get(key, there.embedding))
    return texts


def write_actions(stamp: Stamp, document: str, entries: Iterator[Json]) -> Iterator[Action]:
    """The entries as actions of a bulk request, all routed to the document's shard."""
    for entry in entries:
        identifier = f"{stamp.version}-{entry['kind']}-{entry.get('position', 0)}"
        action = {"_index": stamp.index, "_id": identifier, "routing": routing(document)}
        yield {"index": action}, {**entry, "epoch": stamp.epoch, "version": stamp.version}


def routing(document_id: str) -> str:
    """What sends all entries of a document to one shard; an id may hold commas, which routing takes for a list."""
    return text_hash(document_id)[:16]


def numbers(vector: Vectors) -> list[float]:
    """`(dimension,)` float32 as numbers of nine digits, which are read back as the same float32."""
    wide = vector.astype(np.float64)
    with np.errstate(divide="ignore"):  # the logarithm of 0
        places = 8 - np.floor(np.log10(np.abs(wide)))
    # Powers of ten are exact up to 10^22; what is smaller than they reach keeps all its digits.
    scale = 10.0 ** np.clip(places, 0, 22)
    rounded: list[float] = np.where(places > 22, wide, np.rint(wide * scale) / scale).tolist()
    return rounded


def vector_of(embedding: Sequence[float]) -> Vectors:
    """`(dimension,)` float32."""
    return np.array(embedding, dtype=np.float32)


def source_fields(hit: Mapping[str, Any]) -> Json:
    """The entry that a search found."""
    source: Json = hit["_source"]
    return source
