"""What every backend checks and computes alike before it stores or searches anything."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache

import numpy as np

from localrag.errors import IndexMismatchError
from localrag.index.analysis import analyse
from localrag.protocols import Vectors
from localrag.types import Check, Chunk, Document, EmbeddingModel, IndexHeader, Page

# int8 and fp16 models give norms within 1e-3 of 1 after normalising in float32; a raw vector is off by far more.
NORM_TOLERANCE = 1e-2

# Scores closer than this are equal and ordered by chunk id: the same on every processor and in every backend,
# whose sums differ in the last digits of a float32.
SCORE_DIGITS = 5

# Who builds the next index holds this lease on the one in use.
REBUILD_LEASE = "rebuild"

REINGEST_HINT = "run `localrag ingest PATH... --reset --yes` to build the index anew"


@dataclass(frozen=True, slots=True)
class ChunkTerms:
    """The terms of one chunk by field."""

    language: str
    body: tuple[str, ...]
    heading: tuple[str, ...]
    name: tuple[str, ...]

    @property
    def length(self) -> int:
        """Terms in all fields: the length BM25 sees."""
        return self.own_length + len(self.name)

    @property
    def own_length(self) -> int:
        """Terms in text and headings, without the document's name."""
        return len(self.body) + len(self.heading)


def chunk_terms(chunk: Chunk, document_name: str) -> ChunkTerms:
    """The chunk's terms: text, heading path and the document's name, stemmed by the language of the text."""
    body = analyse(chunk.text)
    heading = analyse(" ".join(chunk.heading_path), language=body.language)
    return ChunkTerms(body.language, body.terms, heading.terms, name_terms(document_name))


@lru_cache(maxsize=256)  # the same for every chunk of a document
def name_terms(name: str) -> tuple[str, ...]:
    """The terms of a document's name, whole (`report_march.pdf` as one term) and in parts."""
    return analyse(name, language="english").terms


def text_hash(text: str) -> str:
    """The address of an embedded text: SHA-256 as 64 hexadecimal digits."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def require_consistent(document: Document, pages: Sequence[Page], chunks: Sequence[Chunk]) -> None:
    """Nothing, or ValueError naming what does not fit together."""
    if document.indexed_at.tzinfo is None:
        raise ValueError(f"indexed_at of document {document.id!r} has no time zone")
    for what, values in (
        ("chunk id", [chunk.id for chunk in chunks]),
        ("chunk index", [chunk.index for chunk in chunks]),
        ("page ordinal", [page.ordinal for page in pages]),
    ):
        twice = [value for value, count in Counter(values).items() if count > 1]
        if twice:
            raise ValueError(f"{what} {twice[0]!r} appears twice in document {document.id!r}")
    strangers = [chunk.id for chunk in chunks if chunk.document_id != document.id]
    if strangers:
        raise ValueError(f"chunk {strangers[0]!r} does not belong to document {document.id!r}")


def checked_vectors(vectors: Mapping[str, Vectors], dimension: int) -> dict[str, Vectors]:
    """The vectors as contiguous float32.

    Raises:
        ValueError: one is not finite, not of unit length, or of the wrong dimension.
    """
    return {key: checked_vector(vector, dimension) for key, vector in vectors.items()}


def checked_vector(vector: Vectors, dimension: int) -> Vectors:
    """`(dimension,)` float32 of unit length, or ValueError saying what it is instead."""
    row = np.ascontiguousarray(vector, dtype=np.float32)
    if row.shape != (dimension,):
        raise ValueError(f"expected a vector of shape ({dimension},), found {row.shape}")
    if not np.isfinite(row).all():
        raise ValueError("a vector holds values that are not finite")
    norm = float(np.linalg.norm(row))
    if abs(norm - 1) > NORM_TOLERANCE:
        raise ValueError(f"expected a vector of length 1, found {norm:.6g}")
    return row


def unfinished_rebuild(where: str) -> Check:
    """What the health page says of a successor, which takes space: it is no fault."""
    return Check(
        name="rebuild",
        ok=True,
        detail=f"an index for other settings is beside this one and not finished ({where})",
        hint="If none runs: `localrag embed --rebuild` with those settings finishes it, with these it removes it.",
    )


def catalogued(documents: Iterable[Document]) -> dict[str, str]:
    """Which version of which document there is, by id."""
    return {document.id: document.content_hash for document in documents}


def header_differences(expected: IndexHeader, found: IndexHeader) -> list[tuple[str, str, str]]:
    """What differs, as (name, expected, found); empty when the index can be used."""
    pairs = {
        "embedding model": (expected.model.name, found.model.name),
        "model revision": (expected.model.revision, found.model.revision),
        "vector dimension": (expected.model.dimension, found.model.dimension),
        "model token limit": (expected.model.max_tokens, found.model.max_tokens),
        "LOCALRAG_CHUNK_TOKENS": (expected.chunk_tokens, found.chunk_tokens),
        "LOCALRAG_CHUNK_OVERLAP_TOKENS": (expected.chunk_overlap_tokens, found.chunk_overlap_tokens),
    }
    return [(name, str(ours), str(theirs)) for name, (ours, theirs) in pairs.items() if ours != theirs]


def rebuild_hint(*, begun: bool = False, running: bool = False) -> str:
    """What to do about an index of other parameters; `begun`: one of the wanted is being built beside it."""
    if running:
        return (
            "`localrag embed --rebuild` is making the index for these settings now, and it takes over by itself; "
            "until then the old one answers to the old settings."
        )
    if begun:
        return (
            "`localrag embed --rebuild` was begun for these settings and has not ended: run it again to go on. "
            "Until then the old index answers to the old settings."
        )
    return (
        "Run `localrag embed --rebuild`, which makes the index for these settings from the stored text while the old "
        "one answers; or set the settings back."
    )


def require_same_header(
    index: str, expected: IndexHeader, found: IndexHeader, hint: Callable[[], str] = rebuild_hint
) -> None:
    """Nothing, or IndexMismatchError naming every difference from the header that the index has."""
    differences = header_differences(expected, found)
    if differences:
        told = "; ".join(f"{name}: the settings say {ours}, it has {theirs}" for name, ours, theirs in differences)
        raise IndexMismatchError(
            f"{index} was built with other settings ({told}).",
            expected=", ".join(f"{name} {ours}" for name, ours, _ in differences),
            found=", ".join(f"{name} {theirs}" for name, _, theirs in differences),
            hint=hint(),
            can_rebuild=True,
        )


def header_json(header: IndexHeader) -> str:
    """The header as text that `header_from_json` reads."""
    return json.dumps(asdict(header), sort_keys=True)


def header_from_json(text: str) -> IndexHeader:
    """The header that `header_json` wrote."""
    fields = json.loads(text)
    return IndexHeader(**{**fields, "model": EmbeddingModel(**fields["model"])})
