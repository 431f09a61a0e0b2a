"""The composition root: Settings -> a wired RAG. The only package that picks implementations."""

from localrag.app.rag import RAG, IngestReport, Scope

__all__ = ["RAG", "IngestReport", "Scope"]
