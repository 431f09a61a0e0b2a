"""localrag: private question answering over your own documents, every claim cited to its page.

    from localrag import RAG

    with RAG.open() as rag:
        rag.ingest("contracts/")
        print(rag.ask("When does the lease end?").text)

Names are loaded on first use, so that `localrag --help` starts quickly.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from localrag.app import RAG as RAG
    from localrag.errors import LocalRagError as LocalRagError
    from localrag.settings import Settings as Settings
    from localrag.settings import load_settings as load_settings
    from localrag.types import Answer as Answer
    from localrag.types import Chunk as Chunk
    from localrag.types import Citation as Citation
    from localrag.types import Document as Document
    from localrag.types import Hit as Hit
    from localrag.types import Page as Page
    from localrag.types import Ranking as Ranking

__version__ = "0.1.0"

_HOME = {
    "RAG": "localrag.app",
    "Settings": "localrag.settings",
    "load_settings": "localrag.settings",
    "LocalRagError": "localrag.errors",
    "Answer": "localrag.types",
    "Chunk": "localrag.types",
    "Citation": "localrag.types",
    "Document": "localrag.types",
    "Hit": "localrag.types",
    "Page": "localrag.types",
    "Ranking": "localrag.types",
}

__all__ = [*sorted(_HOME), "__version__"]


def __getattr__(name: str) -> object:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
