"""A library of any size from a seed: documents of Zipf words, with vectors that lie as real ones do.

A document is made when it is asked for and depends on its number only: nothing large is kept in memory, a run that
was interrupted goes on where it was, and the exact neighbours of a query can be computed from the same vectors later.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from itertools import islice, product
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from localrag.protocols import Embedder, Vectors
from localrag.types import Chunk, Document, Page

_Item = TypeVar("_Item")

CHUNKS_PER_DOCUMENT = 500
CHUNKS_PER_PAGE = 4
# A chunk of at most 256 tokens holds about 180 English words; chunks end at headings, so most hold fewer.
WORDS_PER_CHUNK = 120
VOCABULARY = 50_000
_SYLLABLES = [f"{onset}{vowel}" for onset in "bdfgklmnprstvz" for vowel in "aeiou"]
# Frequent words are left out of questions, as stop words are.
_LEAST_RANK = 100
_WORDS_PER_QUESTION = 5
# How far a vector is from the real one it is made of: the cosine between both is about 0.9.
_DISTANCE = 0.4


@dataclass(frozen=True, slots=True)
class Part:
    """One document with its text and, a row for each chunk, its vectors: `(chunks, dimension)` float32, norm 1."""

    document: Document
    pages: list[Page]
    chunks: list[Chunk]
    vectors: Vectors


class SyntheticLibrary:
    """Documents, vectors and questions. `real`: `(n, dimension)` float32, norm 1, of real texts."""

    def __init__(self, chunks: int, real: Vectors, *, seed: int = 20_261_130) -> None:
        self.chunks = chunks
        self._real = real
        self._seed = seed

    def of_size(self, chunks: int) -> SyntheticLibrary:
        """The library that these first chunks are."""
        return SyntheticLibrary(chunks, self._real, seed=self._seed)

    @property
    def documents(self) -> int:
        """How many there are."""
        return -(-self.chunks // CHUNKS_PER_DOCUMENT)

    def identifier(self, number: int) -> str:
        """The document's id."""
        return f"doc-{number:06d}"

    def part(self, number: int) -> Part:
        """The document with this number, from 0."""
        count = self._count(number)
        texts = self._texts(self._rng("text", number), count, WORDS_PER_CHUNK)
        document_id = self.identifier(number)
        pages, chunks = [], []
        for ordinal, at in enumerate(range(0, count, CHUNKS_PER_PAGE), start=1):
            of_page = texts[at : at + CHUNKS_PER_PAGE]
            pages.append(Page(ordinal=ordinal, number=ordinal, markdown="\n\n".join(of_page)))
            start = 0
            for index, text in enumerate(of_page, start=at):
                chunks.append(_chunk(document_id, index, ordinal, text, start))
                start += len(text) + 2
        document = Document(
            id=document_id,
            content_hash=f"hash-{document_id}",
            name=f"{document_id}.txt",
            uri=f"file:///{document_id}.txt",
            media_type="text/plain",
            size_bytes=sum(len(text) for text in texts),
            page_count=len(pages),
            indexed_at=datetime(2026, 3, 1, tzinfo=UTC),
        )
        return Part(document, pages, chunks, self.vectors(number))

    def vectors(self, number: int) -> Vectors:
        """The vectors of that document's chunks."""
        return self._near_real(self._rng("vector", number), self._count(number))

    def questions(self, count: int) -> list[tuple[str, Vectors]]:
        """Distinct questions of words that are neither rare nor on every page, each with its vector."""
        rng = self._rng("question", 0)
        ranks = self._ranks(rng, (count, 40 * _WORDS_PER_QUESTION))
        texts = [" ".join(self._words[rank] for rank in row[row >= _LEAST_RANK][:_WORDS_PER_QUESTION]) for row in ranks]
        return list(zip(texts, self._near_real(rng, count), strict=True))

    def exact_neighbours(self, vectors: Vectors, k: int) -> list[list[str]]:
        """The ids of the k chunks nearest to each vector, compared with every chunk; a few blocks at a time."""
        best = np.full((len(vectors), k), -2.0, dtype=np.float32)
        ids = np.full((len(vectors), k), -1, dtype=np.int64)
        for numbers in _in_parts(range(self.documents), 20):
            block = np.vstack([self.vectors(number) for number in numbers])
            scores = np.hstack([best, vectors @ block.T])
            first = numbers[0] * CHUNKS_PER_DOCUMENT
            rows = np.broadcast_to(np.arange(first, first + len(block)), (len(vectors), len(block)))
            candidates = np.hstack([ids, rows])
            order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
            best, ids = np.take_along_axis(scores, order, axis=1), np.take_along_axis(candidates, order, axis=1)
        return [
            [chunk_id(self.identifier(at // CHUNKS_PER_DOCUMENT), at % CHUNKS_PER_DOCUMENT) for at in row]
            for row in ids
        ]

    def _count(self, number: int) -> int:
        return min(CHUNKS_PER_DOCUMENT, self.chunks - number * CHUNKS_PER_DOCUMENT)

    def _rng(self, what: str, number: int) -> np.random.Generator:
        return np.random.default_rng([self._seed, *what.encode(), number])

    def _texts(self, rng: np.random.Generator, count: int, words: int) -> list[str]:
        return [" ".join(self._words[rank] for rank in row) + "." for row in self._ranks(rng, (count, words))]

    def _ranks(self, rng: np.random.Generator, shape: tuple[int, int]) -> NDArray[np.int64]:
        return np.searchsorted(self._cumulated, rng.random(shape)).astype(np.int64)

    def _near_real(self, rng: np.random.Generator, count: int) -> Vectors:
        """Real vectors moved by the difference of two others: that keeps the directions in which real texts differ."""
        of, one, other = rng.integers(len(self._real), size=(3, count))
        moved = self._real[of] + _DISTANCE * (self._real[one] - self._real[other])
        made: Vectors = moved / np.linalg.norm(moved, axis=1, keepdims=True)
        return made.astype(np.float32)

    @cached_property
    def _cumulated(self) -> NDArray[np.float64]:
        """The share of all words that the words up to each rank make up."""
        shares = 1 / np.arange(1, VOCABULARY + 1)
        cumulated: NDArray[np.float64] = np.cumsum(shares) / shares.sum()
        cumulated[-1] = 1.0
        return cumulated

    @cached_property
    def _words(self) -> list[str]:
        """Distinct words, commonest first; in real text too those are the shortest."""
        return ["".join(word) for length in (2, 3) for word in islice(product(_SYLLABLES, repeat=length), VOCABULARY)][
            :VOCABULARY
        ]


def real_vectors(embedder: Embedder, texts: Sequence[str]) -> Vectors:
    """`(n, dimension)` float32, norm 1: what the model makes of these texts."""
    return np.vstack([embedder.embed_documents(part) for part in _in_parts(texts, 64)])


def chunk_id(document_id: str, index: int) -> str:
    """The id of the chunk at this place of the document."""
    return f"{document_id}-{index:04d}"


def _chunk(document_id: str, index: int, page: int, text: str, start: int) -> Chunk:
    return Chunk(
        id=chunk_id(document_id, index),
        document_id=document_id,
        index=index,
        page_ordinal=page,
        page=page,
        text=text,
        start=start,
        end=start + len(text),
        token_count=WORDS_PER_CHUNK,
    )


def _in_parts(values: Sequence[_Item], size: int) -> Iterator[Sequence[_Item]]:
    return (values[at : at + size] for at in range(0, len(values), size))
