"""An embedder that remembers on disk, so that a benchmark run again embeds only what is new."""

from __future__ import annotations

import hashlib
import sqlite3
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from localrag.embedding.registry import create_embedder
from localrag.protocols import Embedder, Tokenizer, Vectors
from localrag.settings import Settings
from localrag.types import EmbeddingModel

CACHE = Path(tempfile.gettempdir()) / "localrag-bench" / "vectors.db"


def remembered(settings: Settings, path: Path = CACHE) -> CachedEmbedder:
    """The embedder that the settings name, over the cache at this path."""
    models = settings.data_dir / "models"
    return CachedEmbedder(create_embedder(settings.embedding_model, models_dir=models), path)


class CachedEmbedder:
    """The same vectors as the embedder's, from the file where they are there. Keyed by model, role and text."""

    def __init__(self, embedder: Embedder, path: Path) -> None:
        self._embedder = embedder
        path.parent.mkdir(parents=True, exist_ok=True)
        self._database = sqlite3.connect(path, timeout=60)
        self._database.execute("PRAGMA journal_mode = WAL")
        self._database.execute("PRAGMA synchronous = OFF")  # lost rows are made anew
        self._database.execute("CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB) WITHOUT ROWID")

    @property
    def model(self) -> EmbeddingModel:
        return self._embedder.model

    @property
    def tokenizer(self) -> Tokenizer:
        return self._embedder.tokenizer

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        keys = [self._key("document", text) for text in texts]
        known = [self._read(key) for key in keys]
        missing = [row for row, vector in enumerate(known) if vector is None]
        if missing:
            made = self._embedder.embed_documents([texts[row] for row in missing])
            for row, vector in zip(missing, made, strict=True):
                known[row] = vector
            self._write({keys[row]: vector for row, vector in zip(missing, made, strict=True)})
        return np.stack([vector for vector in known if vector is not None])

    def embed_query(self, text: str) -> Vectors:
        key = self._key("query", text)
        vector = self._read(key)
        if vector is None:
            vector = self._embedder.embed_query(text)
            self._write({key: vector})
        return vector

    def close(self) -> None:
        self._database.close()

    def _key(self, role: str, text: str) -> bytes:
        model = self._embedder.model
        return hashlib.sha256(repr((model.name, model.revision, role, text)).encode()).digest()

    def _read(self, key: bytes) -> Vectors | None:
        row = self._database.execute("SELECT vector FROM vectors WHERE key = ?", (key,)).fetchone()
        return None if row is None else np.frombuffer(row[0], dtype=np.float32)

    def _write(self, vectors: dict[bytes, Vectors]) -> None:
        with self._database:
            self._database.executemany(
                "INSERT OR REPLACE INTO vectors VALUES (?, ?)",
                [(key, vector.astype(np.float32).tobytes()) for key, vector in vectors.items()],
            )
