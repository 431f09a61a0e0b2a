"""The asking half of a library: questions in, rankings and cited answers out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from localrag.app import wiring
from localrag.filters import DocumentIn, Filter, InCollection, TagIs, all_of
from localrag.library.catalog import Catalog
from localrag.library.labels import checked_collection, checked_tags
from localrag.protocols import LLM, Embedder, Library
from localrag.retrieval.hybrid import Retriever
from localrag.settings import Settings
from localrag.types import Answer, Message, Query, Ranking

if TYPE_CHECKING:
    from localrag.answering.answer import Answerer


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What a search may look at. Names and ids may be mixed; an empty scope is the whole library."""

    documents: Sequence[str] = ()
    tags: Mapping[str, str] | None = None
    collection: str | None = None


class Asking:
    """Searches and answers over one index with the defaults of the settings. See `RAG`, whose methods these are."""

    def __init__(
        self, settings: Settings, *, index: Library, embedder: Embedder, llm: LLM | None, catalog: Catalog
    ) -> None:
        self._settings = settings
        self._index = index
        self._embedder = embedder
        self._llm = llm
        self._catalog = catalog

    def search(self, query: str, *, top_k: int | None, semantic: float | None, scope: Scope | None) -> Ranking:
        """The best chunks for the query."""
        return self._retriever.search(self._query(query, top_k, semantic), where=self._where(scope))

    def stream(
        self,
        question: str,
        *,
        history: Sequence[Message],
        top_k: int | None,
        semantic: float | None,
        scope: Scope | None,
        use_llm: bool,
    ) -> Iterator[str | Answer]:
        """Pieces of the answer as they come, then the whole checked Answer as the last item."""
        where = self._where(scope)  # here, so that an unknown name fails before the first piece
        return self._answerer.stream(
            question,
            search=lambda text: self._retriever.search(self._query(text, top_k, semantic), where=where),
            history=history,
            use_llm=use_llm,
        )

    @cached_property
    def _retriever(self) -> Retriever:
        return Retriever(index=self._index, embedder=self._embedder, fusion=self._settings.fusion)

    @cached_property
    def _answerer(self) -> Answerer:
        from localrag.answering.answer import Answerer  # deferred: 0.1 s that a search need not wait for

        return Answerer(
            llm=self._llm,
            counter=wiring.token_counter(),
            page=self._index.page,
            context_tokens=self._settings.context_tokens,
            history_turns=self._settings.history_turns,
        )

    def _query(self, text: str, top_k: int | None, semantic: float | None) -> Query:
        return Query(
            text=text,
            top_k=self._settings.top_k if top_k is None else top_k,
            semantic=self._settings.semantic if semantic is None else semantic,
        )

    def _where(self, scope: Scope | None) -> Filter | None:
        if scope is None:
            return None
        parts: list[Filter | None] = [TagIs(key, value) for key, value in checked_tags(scope.tags or {}).items()]
        if scope.collection is not None:
            parts.append(InCollection(checked_collection(scope.collection)))
        if scope.documents:
            parts.append(DocumentIn(self._catalog.ids(scope.documents)))
        return all_of(parts)
