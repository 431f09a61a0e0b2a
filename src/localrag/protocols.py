"""What the core needs from the outside, in the core's words. Adapters implement these; `app` picks them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from localrag.filters import Filter
from localrag.types import (
    Check,
    Chunk,
    ChunkId,
    Document,
    DocumentId,
    EmbeddingModel,
    Failure,
    IndexHeader,
    IndexStats,
    LegResults,
    Message,
    Page,
    ParsedDocument,
    PendingText,
)

Vectors: TypeAlias = npt.NDArray[np.float32]


class Parser(Protocol):
    """Bytes to pages. The default runs in a child process with limits and no network."""

    def parse(self, path: Path, *, name: str) -> ParsedDocument:
        """The document's pages; at least one holds text.

        Args:
            path: the file to read; its name on disk may be a content hash.
            name: the display name, whose extension is the second opinion on the format.

        Raises:
            DocumentError: of the subclass that says what is wrong with this file.
        """
        ...

    def close(self) -> None:
        """Ends the child processes."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PagePicture:
    """A rendered page. `found` says whether the quote was found and marked; nothing is marked otherwise."""

    png: bytes
    found: bool


class PageRenderer(Protocol):
    """A picture of a page of a PDF."""

    def render(self, path: Path, *, name: str, page: int, quote: str, dpi: int = 110) -> PagePicture:
        """The page (from 1) as PNG with the quote highlighted; errors call the file by `name`.

        Raises:
            DocumentError: the file is gone, is no PDF, or has no such page.
        """
        ...


class Tokenizer(Protocol):
    """The embedding model's own tokenizer: the only ruler for chunk sizes."""

    @property
    def max_tokens(self) -> int:
        """The model's limit, special tokens included."""
        ...

    def count(self, text: str) -> int:
        """Tokens in the text, special tokens not included."""
        ...

    def offsets(self, text: str) -> Sequence[tuple[int, int]]:
        """Half-open character offsets of every token, in order, special tokens not included."""
        ...


class Embedder(Protocol):
    """Text to unit vectors. The same text gives the same vector whatever is embedded beside it."""

    @property
    def model(self) -> EmbeddingModel: ...

    @property
    def tokenizer(self) -> Tokenizer: ...

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """`(len(texts), dimension)` float32, rows of unit length, in the order given."""
        ...

    def embed_query(self, text: str) -> Vectors:
        """`(dimension,)` float32 of unit length; the model's query prefix is added here and only here."""
        ...


class SearchIndex(Protocol):
    """Catalog, text, vectors and the embedding queue of one library.

    Contract (tests/contract runs it over every backend):
    - `replace_document` is atomic: a reader sees the old version or the new one, whole.
    - Ids are compared exactly: deleting `a` never touches `a-chunk-1`.
    - Vectors are addressed by (model, text hash): chunks with equal embedding text share one vector, and a text
      that is already embedded is not pending again. Vectors no chunk refers to are gone.
    - Order within a leg is score descending, then chunk id ascending.
    - Safe for several threads and several processes at once.
    """

    def replace_document(
        self, document: Document, pages: Sequence[Page], chunks: Sequence[Chunk], vectors: Mapping[str, Vectors] = {}
    ) -> None:
        """Stores the document under its id, in place of any version there; clears its failure record.

        Args:
            vectors: by text hash those of its texts that are known already, as for `add_vectors` but in one step.

        Raises:
            StorageFullError: nothing was changed.
            ValueError: nothing was changed; what was given does not fit together.
        """
        ...

    def update_document(self, document: Document) -> None:
        """Changes name, uri, tags, collection, readable_by of a stored document; its text stays.

        Raises:
            NotFoundError: no such document.
        """
        ...

    def delete_document(self, document_id: DocumentId) -> int:
        """Removes all trace of the document and returns how many chunks it had.

        Raises:
            NotFoundError: no such document.
        """
        ...

    def clear(self) -> None:
        """Removes all documents, failures and vectors; conversations stay."""
        ...

    def get_document(self, document_id: DocumentId) -> Document | None: ...

    def find_by_hash(self, content_hash: str) -> Document | None:
        """A document with these bytes, whatever its name (the first by id)."""
        ...

    def documents(self) -> list[Document]:
        """All documents, by name then id."""
        ...

    def pages(self, document_id: DocumentId) -> list[Page]:
        """The document's pages in order; empty when there is no such document."""
        ...

    def page(self, document_id: DocumentId, ordinal: int) -> Page | None: ...

    def chunks(self, chunk_ids: Sequence[ChunkId]) -> list[Chunk]:
        """Those of the chunks that exist, in the order asked."""
        ...

    def document_chunks(self, document_id: DocumentId) -> list[Chunk]:
        """All chunks of the document by index."""
        ...

    def search_legs(
        self,
        text: str | None,
        vector: Vectors | None,
        *,
        limit: int,
        where: Filter | None = None,
    ) -> LegResults:
        """Both legs over one snapshot, in one round trip. A leg whose input is None is not run (None).

        Args:
            text: the query for BM25; analysed by the backend, never parsed as a query language.
            vector: `(dimension,)` float32 of unit length, for cosine similarity.
            limit: how many candidates each leg returns at most.
            where: applied inside both legs, before `limit`.
        """
        ...

    def record_failure(self, failure: Failure) -> None:
        """Keeps the failure under its uri, replacing an earlier one."""
        ...

    def failures(self) -> list[Failure]: ...

    def clear_failure(self, uri: str) -> None: ...

    def pending_texts(self, limit: int) -> list[PendingText]:
        """Distinct texts without a vector, oldest document first."""
        ...

    def pending_count(self) -> int:
        """How many distinct texts have no vector yet."""
        ...

    def add_vectors(self, vectors: Mapping[str, Vectors]) -> int:
        """Stores vectors by text hash; those no chunk refers to any more are ignored. Returns how many were kept.

        Raises:
            ValueError: a vector is not finite, not of unit length, or of the wrong dimension.
        """
        ...

    def acquire_lease(self, name: str, holder: str, ttl_s: float) -> bool:
        """True when `holder` now has the lease (new, renewed or expired elsewhere)."""
        ...

    def release_lease(self, name: str, holder: str) -> None: ...

    def stats(self) -> IndexStats: ...

    def change_counter(self) -> int:
        """Grows with every change that a search could notice; equal values mean equal contents."""
        ...

    def check(self, *, deep: bool = False) -> list[Check]:
        """Integrity and agreement of counts; `deep` also runs the engine's own slow checks."""
        ...

    def close(self) -> None: ...


class ConversationStore(Protocol):
    """Conversations that outlive the browser tab. Turns are JSON the caller understands."""

    def save_conversation(self, conversation_id: str, turns_json: str) -> None: ...

    def load_conversation(self, conversation_id: str) -> str | None: ...

    def delete_conversation(self, conversation_id: str) -> None: ...

    def conversation_ids(self) -> list[str]:
        """The ids of all conversations, in order."""
        ...


class AnswerStore(Protocol):
    """Answers by the exact inputs they came from, dropped by every change that a search could notice."""

    def save_answer(self, key: str, answer_json: str, *, change: int) -> None:
        """Keeps the answer; the oldest go beyond 500 answers or 20 MB.

        Args:
            key: a hash of all that the answer depends on, but for the contents of the index.
            change: the change counter before the search for this answer; an answer to older contents is not kept.
        """
        ...

    def load_answer(self, key: str) -> str | None: ...


class Library(SearchIndex, ConversationStore, AnswerStore, Protocol):
    """What the app keeps everything in: search, conversations and upkeep."""

    def document_vectors(self, document_id: DocumentId) -> dict[str, Vectors]:
        """The vectors of the document's texts by text hash, `(dimension,)` float32 each; those made so far."""
        ...

    def purge(self) -> bool:
        """Does away with what is left of deleted text; False when some of it has to wait."""
        ...

    def rebuild_derived(self) -> None:
        """Builds anew what can be derived from the stored text: the keyword index and the counts."""
        ...

    def latest_change(self) -> int:
        """The change counter as it is stored now, where `change_counter` may be a moment behind.

        Raises:
            IndexMismatchError: another index has taken this one's place.
        """
        ...

    def open_successor(self, header: IndexHeader) -> Library:
        """The index of these parameters that is being built beside this one, made when there is none.

        It holds what earlier runs put there; one of other parameters is dropped first. This index goes on answering,
        and what is deleted from it goes from the successor too.

        Raises:
            IndexMismatchError: another index has taken this one's place.
        """
        ...

    def promote_successor(self, *, seen: int) -> bool:
        """Puts the successor, which is to be closed before, in this index's place in one step, or does nothing.

        Conversations and failures stay. Who has this index open gets IndexMismatchError from then on.

        Args:
            seen: what `latest_change` gave before the successor was brought up to date.

        Returns:
            False when there was a change since, or the successor has not the same documents, as one that another
            rebuild has begun anew; nothing is changed then.

        Raises:
            IndexMismatchError: another index has taken this one's place.
        """
        ...

    def drop_successor(self) -> None:
        """Does away with the index that is being built beside this one, if there is any."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
    """How to generate. `context_tokens` is sent as num_ctx; the caller has made the prompt fit."""

    context_tokens: int
    max_tokens: int = 512
    temperature: float = 0.0


class LLM(Protocol):
    """A chat model that streams. Its thinking never reaches the caller."""

    @property
    def name(self) -> str: ...

    def stream(self, messages: Sequence[Message], generation: Generation) -> Iterator[str]:
        """Pieces of the reply as they come, `<think>` blocks left out.

        Raises:
            BackendUnavailable, BackendTimeout, ModelMissing, BackendError: what came so far stays valid.
        """
        ...

    def check(self) -> list[Check]:
        """Whether the service answers and has the model, with what to do if not."""
        ...


class TokenCounter(Protocol):
    """Counts prompt tokens for the generator's context window."""

    def count(self, text: str) -> int: ...


class Reranker(Protocol):
    """Judges passages against a query. Cheap to make; what it needs is loaded at the first call."""

    @property
    def name(self) -> str: ...

    @property
    def share(self) -> float:
        """How much its scores count against those of the search, in (0, 1]: 1 sets the order alone."""
        ...

    def score(self, query: str, passages: Sequence[str]) -> Sequence[float | None]:
        """How well each passage answers the query, higher is better, in the order given; None is not judged.

        Raises:
            ModelError, BackendError: nothing could be judged, and what to do.
        """
        ...

    def check(self) -> list[Check]:
        """Whether it can be used now, and what to do if not."""
        ...
