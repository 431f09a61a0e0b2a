"""The models that are here, the shipped one and those in the user's models folder, and an embedder for each."""

from __future__ import annotations

from pathlib import Path

from localrag.embedding.folder import read_folder
from localrag.embedding.onnx import OnnxEmbedder
from localrag.embedding.sentence_transformer import SentenceTransformerEmbedder
from localrag.embedding.spec import SHIPPED, ModelSpec, is_shipped
from localrag.errors import ModelError
from localrag.modelfiles.files import model_folders, named_folder
from localrag.protocols import Embedder

__all__ = ["SHIPPED", "ModelSpec", "create_embedder", "find_model", "list_models"]


def create_embedder(name: str, *, models_dir: Path, threads: int | None = None, preload: bool = False) -> Embedder:
    """The embedder of that model; its weights load at the first text.

    Args:
        name: `bge-small-en-v1.5`, or what was pulled into `models_dir`.
        models_dir: the user's models folder; it need not exist.
        threads: texts embedded beside each other; by default one for each physical core.
        preload: load an ONNX model's weights in the background from now on.

    Raises:
        ModelError: the model is not here, or its folder holds nothing that localrag loads.
    """
    spec = find_model(name, models_dir)
    if spec.runtime != "onnx":
        return SentenceTransformerEmbedder(spec)
    made = OnnxEmbedder(spec, threads=threads)
    if preload:
        made.preload()
    return made


def list_models(models_dir: Path) -> list[ModelSpec]:
    """All models that can be used, the shipped one first, then by name; folders that cannot are left out."""
    found = [SHIPPED]
    for folder in sorted(model_folders(models_dir)):
        try:
            found.append(read_folder(folder, folder.name.replace("--", "/")))
        except ModelError:
            # `find_model` says what is wrong with it when it is asked for by name.
            continue
    return found


def find_model(name: str, models_dir: Path) -> ModelSpec:
    """The model of that name.

    Raises:
        ModelError: it is not here, or its folder holds nothing that localrag loads.
    """
    if is_shipped(name):
        return SHIPPED
    if folder := named_folder(models_dir, name):
        return read_folder(folder, name)
    here = ", ".join(spec.name for spec in list_models(models_dir))
    raise ModelError(
        f"The embedding model {name!r} is not here; there is: {here}.",
        hint=f"Run `localrag models pull {name}`, or set LOCALRAG_EMBEDDING_MODEL to one of `localrag models list`.",
    )
