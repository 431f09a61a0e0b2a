"""Fakes that keep the protocols' promises: for the tests here, and for those of programs built on localrag."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import numpy as np

from localrag.protocols import Generation, SearchIndex, Vectors
from localrag.types import Check, Chunk, Document, EmbeddingModel, Message, Page

_WORD = re.compile(r"\w+|[^\w\s]")
_PIECE_CHARS = 6


class PieceTokenizer:
    """Words in pieces of at most six characters, and single marks: close to word pieces, workable by hand."""

    def __init__(self, max_tokens: int = 512) -> None:
        self._max_tokens = max_tokens

    @property
    def max_tokens(self) -> int:
        return self._max_tokens

    def count(self, text: str) -> int:
        return len(self.offsets(text))

    def offsets(self, text: str) -> list[tuple[int, int]]:
        return [
            (start, min(start + _PIECE_CHARS, match.end()))
            for match in _WORD.finditer(text)
            for start in range(match.start(), match.end(), _PIECE_CHARS)
        ]


class HashEmbedder:
    """Vectors from hashed words: texts that share words are near each other, and nothing has to be loaded.

    `embedded` lists every document text in the order it was embedded, to test caches and queues.
    """

    def __init__(self, *, dimension: int = 64, max_tokens: int = 512, revision: str = "1") -> None:
        self._model = EmbeddingModel(name="hash", revision=revision, dimension=dimension, max_tokens=max_tokens)
        self._tokenizer = PieceTokenizer(max_tokens)
        self.embedded: list[str] = []

    @property
    def model(self) -> EmbeddingModel:
        return self._model

    @property
    def tokenizer(self) -> PieceTokenizer:
        return self._tokenizer

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """`(len(texts), dimension)` float32, rows of unit length."""
        self.embedded.extend(texts)
        rows = np.zeros((len(texts), self._model.dimension), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            row[:] = self._vector(text)
        return rows

    def embed_query(self, text: str) -> Vectors:
        """`(dimension,)` float32 of unit length."""
        return self._vector(text)

    def _vector(self, text: str) -> Vectors:
        vector = np.zeros(self._model.dimension, dtype=np.float32)
        for word in re.findall(r"\w+", text.lower()):
            digest = int.from_bytes(hashlib.blake2b(word.encode("utf-8", "replace"), digest_size=8).digest(), "big")
            # The lowest bit gives the sign, so that words which share a place cancel out on average.
            vector[(digest >> 1) % self._model.dimension] += 1.0 if digest & 1 else -1.0
        norm = np.float32(np.linalg.norm(vector))
        if norm == 0:
            vector[0] = norm = np.float32(1.0)
        unit: Vectors = vector / norm
        return unit


class ScriptedLLM:
    """A chat model that says what it was told to, in pieces of four characters.

    Args:
        replies: one text for each call, in order; or a function of the messages.
        name: what `name` and `check` report.

    `calls` lists the messages and parameters of every call.
    """

    def __init__(self, replies: Sequence[str] | Callable[[Sequence[Message]], str], name: str = "scripted") -> None:
        self._reply = replies if callable(replies) else _in_order(replies)
        self._name = name
        self.calls: list[tuple[tuple[Message, ...], Generation]] = []

    @property
    def name(self) -> str:
        return self._name

    def stream(self, messages: Sequence[Message], generation: Generation) -> Iterator[str]:
        """The reply in pieces."""
        self.calls.append((tuple(messages), generation))
        reply = self._reply(messages)
        for start in range(0, len(reply), 4):
            yield reply[start : start + 4]

    def check(self) -> list[Check]:
        return [Check(name="model", ok=True, detail=f"{self._name} answers from its script")]


class WordCounter:
    """A TokenCounter for which a token is a word."""

    def count(self, text: str) -> int:
        return len(text.split())


def _in_order(replies: Sequence[str]) -> Callable[[Sequence[Message]], str]:
    left = iter(replies)

    def reply(messages: Sequence[Message]) -> str:
        for text in left:
            return text
        raise ValueError(f"the script holds {len(replies)} replies and one more was asked for")

    return reply


def store_texts(
    index: SearchIndex, identifier: str, *texts: str, vectors: Mapping[str, Vectors] = {}, **changes: Any
) -> None:
    """Puts a document of one page into the index, with a chunk for each text.

    Args:
        vectors: by text hash, stored with the texts.
        changes: fields of the document that are other than a plain text's of 1 March 2026.
    """
    document = Document(
        id=identifier,
        content_hash=f"hash-{identifier}",
        name=f"{identifier}.txt",
        uri=f"file:///{identifier}.txt",
        media_type="text/plain",
        size_bytes=10,
        page_count=1,
        indexed_at=datetime(2026, 3, 1, tzinfo=UTC),
    )
    chunks = [
        Chunk(
            id=f"{identifier}_{number}",
            document_id=identifier,
            index=number,
            page_ordinal=1,
            text=text,
            start=0,
            end=len(text),
            token_count=5,
        )
        for number, text in enumerate(texts)
    ]
    pages = [Page(ordinal=1, markdown="\n".join(texts))]
    index.replace_document(replace(document, **changes), pages, chunks, vectors)
