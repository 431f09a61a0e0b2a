"""The health of a library: what works, what does not, and mending it."""

from __future__ import annotations

from localrag.app import wiring
from localrag.parsing.tool_checks import tool_checks
from localrag.protocols import LLM, Embedder, Library, Reranker
from localrag.settings import Settings
from localrag.types import Check


class Upkeep:
    """Checks the parts that a library is made of. See `RAG`, whose methods these are."""

    def __init__(
        self, settings: Settings, *, index: Library, embedder: Embedder, llm: LLM | None, reranker: Reranker | None
    ) -> None:
        self.settings = settings
        self._index = index
        self._embedder = embedder
        self._llm = llm
        self._reranker = reranker

    def health(self, *, deep: bool = True) -> list[Check]:
        """What works, what does not, and what to do about it."""
        return [*self.library_checks(deep=deep), *self.reranker_checks(), *self.llm_checks()]

    def library_checks(self, *, deep: bool = True) -> list[Check]:
        """The part of `health` that asks no service: settings, index, embedding model, tools for reading, vectors."""
        model, pending = self._embedder.model, self._index.pending_count()
        made = f"{pending} texts wait for their vector" if pending else "all made"
        return [
            Check(name="settings", ok=True, detail=f"data in {self.settings.data_dir}"),
            *self._index.check(deep=deep),
            Check(name="embedding model", ok=True, detail=f"{model.name} ({model.dimension} dimensions)"),
            *tool_checks(wiring.tools(self.settings)),
            Check(name="vectors", ok=not pending, detail=made, hint="Run `localrag embed`." if pending else ""),
        ]

    def repair(self) -> None:
        """Rebuilds all that is derived from the documents' text: the keyword index and the counts."""
        self._index.rebuild_derived()

    def llm_checks(self) -> list[Check]:
        """Whether the answering model can be used now."""
        return self._llm.check() if self._llm is not None else []

    def reranker_checks(self) -> list[Check]:
        """Whether the reranker that the settings name can be used now; nothing when they name none."""
        return self._reranker.check() if self._reranker is not None else []
