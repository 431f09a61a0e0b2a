"""The composition root: Settings -> a wired RAG. The only package that picks implementations.

Names are loaded on first use, so that the command line can start loading the embedding model before all the rest.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from localrag.app.asking import Scope as Scope
    from localrag.app.rag import RAG as RAG
    from localrag.app.rag import IngestReport as IngestReport
    from localrag.app.wiring import supported_types as supported_types

_HOME = {
    "RAG": "localrag.app.rag",
    "IngestReport": "localrag.app.rag",
    "Scope": "localrag.app.asking",
    "supported_types": "localrag.app.wiring",
}

__all__ = ["RAG", "IngestReport", "Scope", "supported_types"]


def __getattr__(name: str) -> object:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
