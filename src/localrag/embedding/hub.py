"""Embedding models brought from the hub, or from a folder on this machine."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from localrag.embedding.folder import describe, write_manifest
from localrag.embedding.onnx import OnnxEmbedder
from localrag.embedding.spec import SHIPPED, ModelSpec, is_shipped
from localrag.modelfiles.hub import Fetched, ModelSource, pull


def pull_model(name: str, models_dir: Path, *, source: ModelSource, revision: str | None = None) -> ModelSpec:
    """The model, fetched whole, tried out and put in place in one step; the shipped one is returned as it is.

    Raises:
        ModelError: no such model, no connection, or nothing in it that localrag loads.
        StorageFullError: the models folder cannot be written.
    """
    if is_shipped(name):
        return SHIPPED
    accepted: list[ModelSpec] = []
    target = pull(
        name, models_dir, source=source, accept=lambda fetched: accepted.append(accept(fetched)), revision=revision
    )
    return replace(accepted[0], folder=target)


def accept(fetched: Fetched) -> ModelSpec:
    """The model that has arrived, after it embedded one text; its SHA-256 sums are written down for every later load.

    Raises:
        ModelError: it does not work, and must not be put in place.
    """
    spec = describe(fetched.folder, fetched.name, fetched.files)
    if spec.runtime == "onnx":
        OnnxEmbedder(spec, threads=1).embed_query("A short text.")
    write_manifest(spec, source=fetched.source, commit=fetched.commit)
    return spec
