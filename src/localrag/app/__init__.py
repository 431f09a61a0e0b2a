"""The composition root: Settings -> a wired RAG. The only package that picks implementations."""

from localrag.app.rag import RAG, IngestReport, Scope
from localrag.app.wiring import supported_types

__all__ = ["RAG", "IngestReport", "Scope", "supported_types"]
