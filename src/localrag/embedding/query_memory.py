"""The vectors of the latest questions, so that one asked again, or asked with another slider, is not embedded again."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence

from localrag.protocols import Embedder, Tokenizer, Vectors
from localrag.types import EmbeddingModel

_MOST = 256  # of 384 numbers each 0.4 MB


class QueryMemory:
    """An Embedder that remembers its queries by exact text, in this process and of this one model."""

    def __init__(self, embedder: Embedder, *, most: int = _MOST) -> None:
        self._embedder = embedder
        self._most = most
        self._lock = threading.Lock()
        self._known: OrderedDict[str, Vectors] = OrderedDict()

    @property
    def model(self) -> EmbeddingModel:
        return self._embedder.model

    @property
    def tokenizer(self) -> Tokenizer:
        return self._embedder.tokenizer

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        return self._embedder.embed_documents(texts)

    def embed_query(self, text: str) -> Vectors:
        """`(dimension,)` float32 of unit length, read-only: it is handed out again."""
        with self._lock:
            if text in self._known:
                self._known.move_to_end(text)
                return self._known[text]
        vector = self._embedder.embed_query(text)
        vector.setflags(write=False)
        with self._lock:
            self._known[text] = vector
            if len(self._known) > self._most:
                self._known.popitem(last=False)
        return vector
