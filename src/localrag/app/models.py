"""Embedding models: those here, and another one pulled when the user asks for it."""

from __future__ import annotations

from dataclasses import dataclass

from localrag.app.folders import DataFolders
from localrag.embedding.hub import choose_source, pull_model
from localrag.embedding.registry import list_models
from localrag.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelInfo:
    """One model that can be used. `active` is the one that the settings name."""

    name: str
    revision: str
    dimension: int
    max_tokens: int
    active: bool


def models(settings: Settings) -> list[ModelInfo]:
    """The models that can be used now, the shipped one first."""
    return [
        ModelInfo(
            name=spec.name,
            revision=spec.identity.revision,
            dimension=spec.dimension,
            max_tokens=spec.max_tokens,
            active=spec.name == settings.embedding_model,
        )
        for spec in list_models(DataFolders.of(settings).models)
    ]


def pull(settings: Settings, name_or_folder: str) -> str:
    """Brings a model from the hub, or from a folder on this machine, and returns its name.

    This is the only call in localrag that goes out to the internet, and only when the user runs it.

    Raises:
        ModelError: no such model, no connection, or nothing in it that localrag loads.
        StorageFullError: the models folder cannot be written.
    """
    name, source = choose_source(name_or_folder)
    return pull_model(name, DataFolders.of(settings).models, source=source).name
