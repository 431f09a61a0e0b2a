"""The embedder that the settings name; apart from the rest of the wiring, as it takes longest to load."""

from __future__ import annotations

from localrag.app.folders import DataFolders
from localrag.embedding.registry import create_embedder
from localrag.protocols import Embedder
from localrag.settings import Settings


def embedder(settings: Settings, *, preload: bool = False) -> Embedder:
    """The embedder of the model that the settings name.

    Args:
        preload: load its weights in the background from now on, for a text that is sure to come.

    Raises:
        ModelError: the model is not here.
    """
    return create_embedder(settings.embedding_model, models_dir=DataFolders.of(settings).models, preload=preload)
