"""The nouns of localrag: frozen values without I/O. Imports nothing of ours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, TypeAlias

DocumentId: TypeAlias = str
ChunkId: TypeAlias = str

DocumentStatus: TypeAlias = Literal["queued", "indexed", "embedding", "failed"]
ScoreScale: TypeAlias = Literal["bm25", "cosine", "rrf", "blend", "cross_encoder"]
Confidence: TypeAlias = Literal["high", "medium", "low", "none"]
AnswerMode: TypeAlias = Literal["llm", "extractive"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One page of a document as Markdown.

    ordinal: position in the document, from 1, always present and unique within it.
    number: the physical page (PDF page, slide, rendered DOCX page) from 1; None where the format has none.
    label: what a reader would call the place where there is no page number, or which part of a container the
        page belongs to: `sheet Q3, rows 2-40`, `cell 4`, `chapter 3: The Storm`, `lines 1-80`, `docs/a.pdf`.
    verbatim: text as it stands in the file and no Markdown: a leading `#` is no heading. Told to whoever cuts the page
        into chunks; two pages that differ in it alone are equal.
    """

    ordinal: int
    number: int | None = None
    label: str | None = None
    markdown: str
    verbatim: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedDocument:
    """What a parser read: at least one page with text, or the parser raised a DocumentError."""

    media_type: str
    pages: tuple[Page, ...]
    title: str | None = None
    warnings: tuple[str, ...] = ()

    @property
    def is_verbatim(self) -> bool:
        """Whether all pages are; archives and mails hold files of both kinds, see `Page.verbatim`."""
        return is_verbatim(self.media_type)


def is_verbatim(media_type: str) -> bool:
    """Whether files of this type are kept as they stand: in them a leading `#` begins a comment and no heading."""
    return media_type == "text/plain" or media_type.startswith("text/x-")


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One source in the catalog. `id` is stable per source (a hash of `uri`); `content_hash` is the version."""

    id: DocumentId
    content_hash: str
    name: str
    uri: str
    media_type: str
    size_bytes: int
    page_count: int
    chunk_count: int = 0
    embedded_count: int = 0
    tags: Mapping[str, str] = field(default_factory=dict)
    collection: str | None = None
    readable_by: frozenset[str] = frozenset()
    indexed_at: datetime
    warnings: tuple[str, ...] = ()

    @property
    def status(self) -> DocumentStatus:
        """`indexed` once every chunk has its vector, else `embedding`: text is searchable in both."""
        return "indexed" if self.embedded_count >= self.chunk_count else "embedding"


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """The last failed attempt to read a source; the version indexed before it, if any, still answers."""

    uri: str
    name: str
    kind: str
    message: str
    hint: str
    failed_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """A passage: what is indexed, retrieved and cited.

    `page_ordinal` names the Page; `page` and `label` are that page's number and label, kept for citing.
    `start` and `end` are half-open character offsets: `page.markdown[start:end] == text`.
    `token_count` counts `embedding_text` with the embedder's tokenizer, special tokens included.
    """

    id: ChunkId
    document_id: DocumentId
    index: int
    page_ordinal: int
    page: int | None = None
    label: str | None = None
    heading_path: tuple[str, ...] = ()
    text: str
    start: int
    end: int
    token_count: int
    prefix: str = ""

    @property
    def embedding_text(self) -> str:
        """What the embedder sees: the prefix (`Section: A > B` and, for a split table, its header), then the text."""
        return f"{self.prefix}\n\n{self.text}" if self.prefix else self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredChunk:
    """A candidate from one search leg. `score` is higher-is-better on the leg's own scale."""

    chunk: Chunk
    document: str
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LegResults:
    """Both legs of one search, each ordered best first; None when the leg was not asked for."""

    lexical: tuple[ScoredChunk, ...] | None = None
    vector: tuple[ScoredChunk, ...] | None = None
    vectors_ready: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """One search to run. `semantic` in [0, 1]: 0 keyword only, 1 vectors only.

    Raises:
        ValueError: `top_k` is under 1 or no whole number.
    """

    text: str
    top_k: int = 8
    semantic: float = 0.5

    def __post_init__(self) -> None:
        if not isinstance(self.top_k, int) or self.top_k < 1:
            raise ValueError(f"top_k must be a whole number from 1, found {self.top_k!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A chunk in a ranking. Ranks count from 1; a leg that did not find the chunk has rank None.

    vector_score: the vector leg's own score, the cosine of question and chunk in [-1, 1]; None where it has no rank.
    """

    chunk: Chunk
    document: str
    rank: int
    score: float
    scale: ScoreScale
    lexical_rank: int | None = None
    vector_rank: int | None = None
    vector_score: float | None = None
    rerank_score: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """Ordered hits of one query. `vectors_ready` is the share in [0, 1] of chunks that have a vector.

    queries: the texts that were searched, where a question was searched by other texts than its own; else empty.
    notice: tells of a degraded path (a reranker that failed), else it is empty.
    """

    query: str
    semantic: float
    hits: tuple[Hit, ...]
    vectors_ready: float = 1.0
    milliseconds: float = 0.0
    queries: tuple[str, ...] = ()
    notice: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation:
    """One marker in an answer and the words that prove it.

    `quote` is verbatim: `page.markdown[start:end] == quote` on the page named by `page_ordinal`.
    `verified` is true when the sentence's words and figures were found in the cited passage.
    """

    marker: str
    chunk_id: ChunkId
    document_id: DocumentId
    document: str
    page: int | None
    label: str | None
    page_ordinal: int
    quote: str
    start: int
    end: int
    verified: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Timings:
    """Milliseconds since the question arrived. `first_token` is None when no model was called."""

    retrieval: float
    first_token: float | None
    total: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A cited answer. `notice` tells the reader of a degraded path (no model, timeout), else it is empty.

    wrong: for each of the `unsupported` sentences its figures and names, as written, that its sources do not have.
    cached: the same question was answered before, and nothing it depends on has changed since.
    computed: from the catalog or over all rows of a table, not from passages; nothing was searched, and no model asked.
    """

    question: str
    text: str
    citations: tuple[Citation, ...]
    confidence: Confidence
    refused: bool
    mode: AnswerMode
    model: str | None
    unsupported: tuple[str, ...]
    queries: tuple[str, ...]
    hits: tuple[Hit, ...]
    left_out: tuple[ChunkId, ...]
    timings: Timings
    notice: str = ""
    wrong: tuple[tuple[str, ...], ...] = ()
    cached: bool = False
    computed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One turn of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One line of a health report: what was checked, whether it holds, and what to do when it does not."""

    name: str
    ok: bool
    detail: str
    hint: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingModel:
    """Identity of an embedding space: vectors are comparable only when all of it is equal."""

    name: str
    revision: str
    dimension: int
    max_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexHeader:
    """What an index was built with; a difference is refused, never guessed around."""

    model: EmbeddingModel
    chunk_tokens: int
    chunk_overlap_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexStats:
    """Counts of what is there now."""

    documents: int
    chunks: int
    embedded: int
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingText:
    """A text that has no vector yet. Equal texts share one `text_hash` and are embedded once."""

    text_hash: str
    text: str


def cite(document: str, page: int | None, label: str | None) -> str:
    """The citation marker: `[handbook.pdf, p.4]`, `[book.xlsx, sheet Q3, rows 2-40]`, `[a.zip, docs/a.pdf, p.2]`."""
    parts = [document]
    if label:
        parts.append(label)
    if page is not None:
        parts.append(f"p.{page}")
    return f"[{', '.join(parts)}]"
