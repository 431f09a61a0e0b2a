"""What one embedding model needs to be used as it was trained, and the one that ships in the package."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from localrag.modelfiles.files import Runtime
from localrag.types import EmbeddingModel

Pooling: TypeAlias = Literal["cls", "mean"]

DEFAULT_MODEL = "bge-small-en-v1.5"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSpec:
    """One embedding model on disk.

    files: SHA-256 by path below `folder` of everything that shapes the vectors; checked when the model is loaded.
        The first 12 digits of the weights' are the revision of the vectors.
    max_tokens: of the model, special tokens included. pooling: how token states become one vector.
    query_prefix, document_prefix: what the model was trained to see before each kind of text.
    runtime: `onnx` runs with what localrag installs; `torch` (safetensors) needs the extra `localrag[torch]`.
    """

    name: str
    folder: Path
    model_file: str
    files: Mapping[str, str]
    dimension: int
    max_tokens: int
    pooling: Pooling = "cls"
    query_prefix: str = ""
    document_prefix: str = ""
    runtime: Runtime = "onnx"

    @property
    def model_path(self) -> Path:
        return self.folder / self.model_file

    @property
    def tokenizer_path(self) -> Path:
        return self.folder / "tokenizer.json"

    @property
    def mend(self) -> str:
        """What to do about files that are damaged."""
        if self.folder == SHIPPED.folder:
            return "Reinstall localrag, or restore the file from the repository."
        return f"Fetch it again with `localrag models pull {self.name}`."

    @property
    def identity(self) -> EmbeddingModel:
        """What an index remembers of the model that made its vectors."""
        sums = [self.files[name] for name in sorted(self.files) if _is_weights(name, self.model_file)]
        # Large models keep their weights in several files, any of which can change.
        revision = sums[0] if len(sums) == 1 else hashlib.sha256("".join(sums).encode()).hexdigest()
        return EmbeddingModel(
            name=self.name,
            revision=revision[:12],
            dimension=self.dimension,
            max_tokens=self.max_tokens,
        )


SHIPPED = ModelSpec(
    name=DEFAULT_MODEL,
    folder=Path(__file__).parent / "models" / DEFAULT_MODEL,
    model_file="model.onnx",
    files={
        "model.onnx": "6c9c6101a956d62dfb5e7190c538226c0c5bb9cb27b651234b6df063ee7dbfe4",
        "tokenizer.json": "ffb28886478b9b17a8c06f4fe6741b970d5dd3de13330ccc3b9f686df8a0545a",
    },
    dimension=384,
    max_tokens=512,
    pooling="cls",
    query_prefix="Represent this sentence for searching relevant passages: ",
)

_SHIPPED_NAMES = (DEFAULT_MODEL, f"BAAI/{DEFAULT_MODEL}")


def is_shipped(name: str) -> bool:
    """True for the names of the model that comes with the package."""
    return name.lower() in {shipped.lower() for shipped in _SHIPPED_NAMES}


def _is_weights(name: str, model_file: str) -> bool:
    return name.startswith(model_file) or name.endswith(".safetensors")
