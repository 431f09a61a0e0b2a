"""The asking half of a library: questions in, rankings and cited answers out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from localrag.app import wiring
from localrag.app.answer_cache import answer_key, recall, remembered
from localrag.embedding.query_memory import QueryMemory
from localrag.errors import SettingsError
from localrag.filters import DocumentIn, Filter, InCollection, TagIs, all_of
from localrag.index.filters import matches
from localrag.library.catalog import Catalog
from localrag.library.labels import checked_collection, checked_tags
from localrag.protocols import LLM, Embedder, Library, Reranker
from localrag.retrieval.hybrid import Retriever
from localrag.retrieval.planning import Plan, plan
from localrag.retrieval.reranking import reranked, reranked_k
from localrag.settings import Settings
from localrag.types import Answer, Document, Message, Query, Ranking

if TYPE_CHECKING:
    from localrag.answering.answer import Answerer
    from localrag.answering.special import SpecialQuestions


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What a search may look at. Names and ids may be mixed; an empty scope is the whole library."""

    documents: Sequence[str] = ()
    tags: Mapping[str, str] | None = None
    collection: str | None = None


class Asking:
    """Searches and answers over one index with the defaults of the settings. See `RAG`, whose methods these are."""

    def __init__(
        self,
        settings: Settings,
        *,
        index: Library,
        embedder: Embedder,
        llm: LLM | None,
        catalog: Catalog,
        reranker: Reranker | None = None,
    ) -> None:
        self._settings = settings
        self._index = index
        self._embedder = QueryMemory(embedder)
        self._llm = llm
        self._catalog = catalog
        self._reranker = reranker

    def search(
        self, query: str, *, top_k: int | None, semantic: float | None, scope: Scope | None, rerank: bool | None = None
    ) -> Ranking:
        """The best chunks for the query."""
        return self._ranked(self._query(query, top_k, semantic), self._where(scope), self._judge(rerank))

    def stream(
        self,
        question: str,
        *,
        history: Sequence[Message],
        top_k: int | None,
        semantic: float | None,
        scope: Scope | None,
        use_llm: bool,
        rerank: bool | None = None,
        fresh: bool = False,
    ) -> Iterator[str | Answer]:
        """Pieces of the answer as they come, then the whole checked Answer as the last item.

        Args:
            fresh: work it out even where the same question was answered before.
        """
        # Here, so that what is wrong fails before the first piece.
        where, judge, asked = self._where(scope), self._judge(rerank), self._query(question, top_k, semantic)
        writer = self._llm if use_llm else None
        special = self._special.stream(
            question, documents=lambda: self._documents(where), llm=writer, whole=where is None
        )
        if special is not None:
            return special
        if writer is None:  # quotes take no longer than looking them up
            return self._answers(asked, where, judge, history, use_llm=use_llm)
        names = (str(self._embedder.model), judge.name if judge else "", writer.name)
        key = answer_key(self._settings, asked, history=history, where=where, models=names)
        if not fresh and (kept := recall(self._index, key)):
            return iter((kept.text, kept))
        change = self._index.change_counter()
        return remembered(self._answers(asked, where, judge, history, use_llm=True), self._index, key, change=change)

    def _answers(
        self, asked: Query, where: Filter | None, judge: Reranker | None, history: Sequence[Message], *, use_llm: bool
    ) -> Iterator[str | Answer]:
        """The stream of an answer that is worked out."""
        found: list[Ranking] = []

        def search(text: str) -> Ranking:
            found.append(self._searched(plan(text, history), asked, where, judge))
            return found[-1]

        return _with_notices(self._answerer.stream(asked.text, search=search, history=history, use_llm=use_llm), found)

    def _searched(self, planned: Plan, query: Query, where: Filter | None, judge: Reranker | None) -> Ranking:
        """One ranking for all queries of the plan; for a single one, that of the query alone."""
        if len(planned.queries) == 1:
            return self._ranked(replace(query, text=planned.queries[0]), where, judge)
        kept = planned.kept(query.top_k)
        # Deeper than what is kept: a passage that two queries find low may stand above what one finds high.
        wide = max(2 * query.top_k, reranked_k(kept) if judge else kept)
        rankings = [
            self._retriever.search(replace(query, text=text, top_k=wide), where=where) for text in planned.queries
        ]
        merged = planned.merged(rankings, limit=wide if judge else kept)
        return merged if judge is None else reranked(merged, planned.standalone, judge, top_k=kept)

    def _ranked(self, query: Query, where: Filter | None, judge: Reranker | None) -> Ranking:
        """The query's ranking, read again by the judge if there is one."""
        if judge is None:
            return self._retriever.search(query, where=where)
        wide = self._retriever.search(replace(query, top_k=reranked_k(query.top_k)), where=where)
        return reranked(wide, query.text, judge, top_k=query.top_k)

    def _judge(self, rerank: bool | None) -> Reranker | None:
        """The reranker when this search is to be reranked."""
        if not (self._settings.rerank if rerank is None else rerank):
            return None
        if self._reranker is None:
            raise SettingsError(
                "No reranker is configured.",
                hint="Set LOCALRAG_RERANKER to late-interaction, ollama, or a cross-encoder of `localrag models list`.",
            )
        return self._reranker

    @cached_property
    def _retriever(self) -> Retriever:
        return Retriever(index=self._index, embedder=self._embedder, fusion=self._settings.fusion)

    @cached_property
    def _special(self) -> SpecialQuestions:
        from localrag.answering.special import SpecialQuestions  # deferred, as below

        return SpecialQuestions(
            self._index,
            counter=wiring.token_counter(),
            context_tokens=self._settings.context_tokens,
            failures=self._index.failures,
        )

    def _documents(self, where: Filter | None) -> list[Document]:
        """The documents that a question with this filter may be told of."""
        return [document for document in self._index.documents() if matches(where, document)]

    @cached_property
    def _answerer(self) -> Answerer:
        from localrag.answering.answer import Answerer  # deferred: 0.1 s that a search need not wait for

        return Answerer(
            llm=self._llm,
            counter=wiring.token_counter(),
            page=self._index.page,
            context_tokens=self._settings.context_tokens,
            history_turns=self._settings.history_turns,
            embedding_model=self._embedder.model.name,
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


def _with_notices(stream: Iterator[str | Answer], found: Sequence[Ranking]) -> Iterator[str | Answer]:
    """The stream; its answer also tells what its rankings have to tell."""
    for item in stream:
        if isinstance(item, Answer):
            notices = dict.fromkeys([*(ranking.notice for ranking in found), item.notice])
            item = replace(item, notice=" ".join(filter(None, notices)))
        yield item
