"""Text -> unit vectors by sentence-transformers, for models without ONNX weights and for GPUs: `localrag[torch]`."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from localrag.embedding.spec import ModelSpec
from localrag.embedding.tokenizer import FileTokenizer
from localrag.errors import ModelError
from localrag.modelfiles.files import verify
from localrag.protocols import Vectors
from localrag.types import EmbeddingModel

# Texts a batch; padding makes longer ones slower on a processor, and a GPU is busy with this many passages.
_BATCH = 32


class SentenceTransformerEmbedder:
    """An Embedder over a safetensors model; cheap to construct, torch loads at first use. Safe for several threads.

    Args:
        spec: which model, from `registry.find_model`.
        load: gives the class `SentenceTransformer`; the default imports it.
    """

    def __init__(self, spec: ModelSpec, *, load: Callable[[], Any] | None = None) -> None:
        self._spec = spec
        self._load = load if load is not None else _import_class
        self._tokenizer = FileTokenizer(
            spec.tokenizer_path, max_tokens=spec.max_tokens, document_prefix=spec.document_prefix
        )
        self._lock = threading.Lock()
        self._loaded: Any = None

    @property
    def model(self) -> EmbeddingModel:
        return self._spec.identity

    @property
    def tokenizer(self) -> FileTokenizer:
        return self._tokenizer

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """`(len(texts), dimension)` float32, rows of unit length, in the order given."""
        if not texts:
            return np.empty((0, self._spec.dimension), dtype=np.float32)
        return self._embed([self._spec.document_prefix + text for text in texts])

    def embed_query(self, text: str) -> Vectors:
        """`(dimension,)` float32 of unit length; the model's query prefix is added here and only here."""
        vector: Vectors = self._embed([self._spec.query_prefix + text])[0]
        return vector

    def _embed(self, texts: list[str]) -> Vectors:
        # Prompts stored in the model are switched off (prompt=""): the prefixes above are the ones in the manifest.
        rows = np.asarray(
            self._model().encode(
                texts, batch_size=_BATCH, prompt="", normalize_embeddings=True, show_progress_bar=False
            ),
            dtype=np.float32,
        )
        if rows.shape != (len(texts), self._spec.dimension) or not np.isfinite(rows).all():
            raise ModelError(
                f"The model {self._spec.name} gave vectors of shape {rows.shape}, or not finite ones; "
                f"expected ({len(texts)}, {self._spec.dimension}).",
                hint=f"Fetch it again with `localrag models pull {self._spec.name}`, or choose another model.",
            )
        return rows

    def _model(self) -> Any:
        with self._lock:
            if self._loaded is None:
                verify(self._spec)
                # Both libraries read these when they are imported; the model is on disk and nothing else is asked for.
                os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_OFFLINE="1", HF_HUB_DISABLE_TELEMETRY="1")
                model = self._load()(
                    str(self._spec.folder),
                    trust_remote_code=False,
                    local_files_only=True,
                    model_kwargs={"use_safetensors": True},
                )
                model.max_seq_length = self._spec.max_tokens
                self._loaded = model
            return self._loaded


def _import_class() -> Any:
    try:
        from sentence_transformers import SentenceTransformer  # deferred: an optional extra, and torch takes seconds
    except ImportError as error:
        raise ModelError(
            "This embedding model needs torch, which is not installed.",
            hint='Run `pip install "localrag[torch]"`, or choose a model with ONNX weights.',
        ) from error
    return SentenceTransformer
