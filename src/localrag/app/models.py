"""Embedding models and rerankers: those here, and another one pulled when the user asks for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from localrag.app.folders import DataFolders
from localrag.embedding import hub as embedding
from localrag.embedding.registry import list_models
from localrag.embedding.spec import SHIPPED, is_shipped
from localrag.modelfiles.files import scores_pairs
from localrag.modelfiles.hub import Fetched, choose_source
from localrag.modelfiles.hub import pull as fetch
from localrag.reranking import registry as reranking
from localrag.settings import Settings

Kind: TypeAlias = Literal["embedding", "reranker"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelInfo:
    """One model that can be used. `active` is the one that the settings name; a reranker has no dimension."""

    name: str
    kind: Kind
    revision: str
    dimension: int | None
    max_tokens: int
    active: bool


def models(settings: Settings) -> list[ModelInfo]:
    """The models that can be used now: those that embed, the shipped one first, then the rerankers."""
    folder = DataFolders.of(settings).models
    embedders = [
        ModelInfo(
            name=spec.name,
            kind="embedding",
            revision=spec.identity.revision,
            dimension=spec.dimension,
            max_tokens=spec.max_tokens,
            active=spec.name == settings.embedding_model,
        )
        for spec in list_models(folder)
    ]
    rerankers = [
        ModelInfo(
            name=spec.name,
            kind="reranker",
            revision=spec.files[spec.model_file][:12],
            dimension=None,
            max_tokens=spec.max_tokens,
            active=spec.name in (settings.reranker, reranking.full_name(settings.reranker)),
        )
        for spec in reranking.list_rerankers(folder)
    ]
    return embedders + rerankers


def pull(settings: Settings, name_or_folder: str) -> tuple[str, Kind]:
    """Brings a model from the hub, or from a folder on this machine, and returns its name and what it is.

    This is the only call in localrag that goes out to the internet, and only when the user runs it.

    Raises:
        ModelError: no such model, no connection, or nothing in it that localrag loads.
        StorageFullError: the models folder cannot be written.
    """
    name, source = choose_source(name_or_folder)
    if name == name_or_folder:  # not a folder's own name
        name = reranking.full_name(name)
    if is_shipped(name):
        return SHIPPED.name, "embedding"
    kinds: list[Kind] = []

    def accept(fetched: Fetched) -> None:
        if scores_pairs(fetched.folder):
            reranking.accept(fetched)
            kinds.append("reranker")
        else:
            embedding.accept(fetched)
            kinds.append("embedding")

    fetch(name, DataFolders.of(settings).models, source=source, accept=accept)
    return name, kinds[0]
