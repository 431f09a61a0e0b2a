"""A judged data set -> how good retrieval is, by keyword, by meaning and by both; and how good the answers are.

What is measured is what a user gets: the corpus goes through the same chunker, index and retriever as files do.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Literal, TypeAlias

from localrag.evaluation.answers import Ask, JudgedAnswer, judge, questions, summarise
from localrag.evaluation.beir import BeirDataset, EntryId, QueryId
from localrag.evaluation.corpus import CorpusFile, corpus_files
from localrag.evaluation.metrics import DEPTH, Run, Scores, means, paired_p_value, score
from localrag.evaluation.one_pass import one_pass
from localrag.library.embedding_queue import EmbeddingQueue
from localrag.library.ingest import Chunks
from localrag.protocols import Embedder, Parser, SearchIndex, Tokenizer, Vectors
from localrag.retrieval.fusion import Fusion
from localrag.retrieval.hybrid import Retriever
from localrag.types import DocumentId, EmbeddingModel, Query

Mode: TypeAlias = Literal["lexical", "vector", "hybrid"]
Stage: TypeAlias = Literal["index", "embed", "search", "answer"]

MODES: tuple[Mode, ...] = ("lexical", "vector", "hybrid")
HEADLINE = "ndcg@10"
"""The measure that BEIR compares systems by, and the one whose significance is tested."""
SWEPT = ("ndcg@10", "recall@5")
"""What the slider's curve is drawn of."""
SWEEP = tuple(step / 10 for step in range(11))
"""Where on the slider: 0, .1 ... 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far an evaluation is: documents indexed, texts embedded, queries searched or questions answered."""

    stage: Stage
    done: int
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Hybrid against the better single leg on the headline measure.

    difference: hybrid minus that leg, positive when hybrid is better.
    p_value: see `paired_p_value`; below 0.05 the difference is usually called significant.
    """

    leg: Mode
    difference: float
    p_value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepPoint:
    """The means of SWEPT with the slider at `semantic`."""

    semantic: float
    measures: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """What `evaluate` found. `by_mode` holds the mean of each measure, `by_query` what it is the mean of.

    ranked: the entries that each mode found for each query, best first.
    sweep, answers: empty unless they were asked for.
    """

    dataset: str
    documents: int
    chunks: int
    queries: int
    by_mode: Mapping[Mode, Mapping[str, float]]
    by_query: Mapping[Mode, Scores]
    comparison: Comparison
    seconds: float
    ranked: Mapping[Mode, Mapping[QueryId, Sequence[EntryId]]]
    sweep: tuple[SweepPoint, ...] = ()
    answers: tuple[JudgedAnswer, ...] = ()

    @property
    def metrics(self) -> Mapping[str, float]:
        """The measures of hybrid search, which is what a user gets by default."""
        return self.by_mode["hybrid"]

    @property
    def answer_measures(self) -> Mapping[str, float | None]:
        """See `summarise`; empty when nothing was asked."""
        return summarise(self.answers) if self.answers else {}


def evaluate(
    dataset: BeirDataset,
    *,
    index: SearchIndex,
    embedder: Embedder,
    chunker: Chunks,
    parser: Parser,
    semantic: float,
    fusion: Fusion = "blend",
    titles: bool = True,
    sweep: bool = False,
    ask: Ask | None = None,
    limit: int | None = None,
    on_progress: Callable[[Progress], None] = lambda _: None,
) -> Evaluation:
    """The measures of the data set, averaged over its judged queries.

    Args:
        index: an empty one, which the caller removes afterwards.
        parser: reads the PDFs that corpus lines name; not called when there are none.
        fusion: how the two legs become one ranking.
        semantic: where the slider stands in hybrid mode; the other modes have it at 0 and 1.
        titles: put an entry's title above its text as a heading, as a document has it.
        sweep: measure the slider at every tenth too, from the same candidates.
        ask: answers from this index; None measures retrieval alone.
        limit: at most so many answerable questions are asked, and as many that are not; None asks all.
        on_progress: what it raises ends the evaluation.

    Raises:
        DocumentError: a PDF of the corpus cannot be read.
        ValueError: the index is not empty.
    """
    started = time.perf_counter()
    if index.stats().documents:
        raise ValueError("an evaluation needs an empty index of its own")
    origins = _fill(index, chunker, corpus_files(dataset, parser, titles=titles), len(dataset.corpus), on_progress)
    EmbeddingQueue(index=index, embedder=embedder).drain(
        progress=lambda queue: on_progress(Progress(stage="embed", done=queue.done, total=queue.total))
    )
    retriever = Retriever(index=one_pass(index), embedder=_RememberedQueries(embedder), fusion=fusion)
    modes: dict[Mode, float] = {"hybrid": semantic, "lexical": 0.0, "vector": 1.0}
    found = _search(dataset, retriever, origins, {*modes.values(), *(SWEEP if sweep else ())}, on_progress)
    ranked: dict[Mode, Run] = {mode: found[modes[mode]] for mode in MODES}
    by_query: dict[Mode, Scores] = {mode: score(run, dataset.qrels) for mode, run in ranked.items()}
    by_mode: dict[Mode, Mapping[str, float]] = {mode: means(scores) for mode, scores in by_query.items()}
    return Evaluation(
        dataset=dataset.name,
        documents=len(dataset.corpus),
        chunks=index.stats().chunks,
        queries=len(dataset.queries),
        by_mode=by_mode,
        by_query=by_query,
        comparison=compare_legs(by_query, by_mode),
        ranked=ranked,
        sweep=tuple(_point(dataset, at, found[at]) for at in SWEEP) if sweep else (),
        answers=_answers(dataset, ask, limit, origins, on_progress) if ask else (),
        seconds=time.perf_counter() - started,
    )


Origins: TypeAlias = Mapping[tuple[DocumentId, int], EntryId]
"""(document, page ordinal) -> the corpus entry that this page is."""


def _fill(
    index: SearchIndex,
    chunker: Chunks,
    files: Iterator[CorpusFile],
    entries: int,
    on_progress: Callable[[Progress], None],
) -> Origins:
    """Indexes the text of the corpus. An entry without text is never found, so there is nothing to index for it."""
    origins: dict[tuple[DocumentId, int], EntryId] = {}
    done = 0
    for file in files:
        chunks = chunker.chunk(file.document.id, file.pages)
        if chunks:
            index.replace_document(file.with_chunks(len(chunks)), file.pages, chunks)
        origins.update({(file.document.id, ordinal): entry for ordinal, entry in file.entries.items()})
        done += file.entry_count
        on_progress(Progress(stage="index", done=done, total=entries))
    return origins


def _search(
    dataset: BeirDataset,
    retriever: Retriever,
    origins: Origins,
    sliders: Set[float],
    on_progress: Callable[[Progress], None],
) -> dict[float, dict[QueryId, list[EntryId]]]:
    """The entries found for each query, best first, at each place of the slider.

    Places between the ends come first: they need both legs, and what these found serves the ends as well.
    """
    found: dict[float, dict[QueryId, list[EntryId]]] = {semantic: {} for semantic in sliders}
    order = sorted(sliders, key=lambda semantic: (semantic in (0.0, 1.0), semantic))
    for done, (query, text) in enumerate(dataset.queries.items(), start=1):
        for semantic in order:
            found[semantic][query] = _entries(retriever, text, semantic, origins)
        on_progress(Progress(stage="search", done=done, total=len(dataset.queries)))
    return found


def _point(dataset: BeirDataset, semantic: float, run: Run) -> SweepPoint:
    return SweepPoint(semantic=semantic, measures=means(score(run, dataset.qrels, SWEPT)))


def _answers(
    dataset: BeirDataset, ask: Ask, limit: int | None, origins: Origins, on_progress: Callable[[Progress], None]
) -> tuple[JudgedAnswer, ...]:
    """The answers to the questions of the set, judged."""
    asked = questions(dataset, limit)
    judged: list[JudgedAnswer] = []
    for question in asked:
        answer = ask(question.text, question.history)
        judged.append(judge(question, answer, lambda document, page: origins.get((document, page))))
        on_progress(Progress(stage="answer", done=len(judged), total=len(asked)))
    return tuple(judged)


def _entries(retriever: Retriever, text: str, semantic: float, origins: Origins) -> list[EntryId]:
    """The first DEPTH distinct entries of the ranking: an entry stands where its best chunk stands.

    Several chunks of one entry can crowd the others out, so more chunks are asked for until there are enough; no
    more than that, because the number asked for also decides how many candidates are fused.
    """
    top_k = DEPTH
    while True:
        hits = retriever.search(Query(text=text, top_k=top_k, semantic=semantic)).hits
        entries = dict.fromkeys(origins[hit.chunk.document_id, hit.chunk.page_ordinal] for hit in hits)
        if len(entries) >= DEPTH or len(hits) < top_k:
            return list(entries)[:DEPTH]
        top_k *= 2


def compare_legs(by_query: Mapping[Mode, Scores], by_mode: Mapping[Mode, Mapping[str, float]]) -> Comparison:
    """Hybrid against the better leg of the same run."""
    legs: tuple[Mode, Mode] = ("lexical", "vector")
    leg = max(legs, key=lambda mode: by_mode[mode][HEADLINE])
    hybrid, single = by_query["hybrid"][HEADLINE], by_query[leg][HEADLINE]
    queries = list(hybrid)
    return Comparison(
        leg=leg,
        difference=by_mode["hybrid"][HEADLINE] - by_mode[leg][HEADLINE],
        p_value=paired_p_value([hybrid[query] for query in queries], [single[query] for query in queries]),
    )


class _RememberedQueries:
    """The embedder, embedding each question once however many modes ask it."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._last: tuple[str, Vectors] | None = None

    @property
    def model(self) -> EmbeddingModel:
        return self._embedder.model

    @property
    def tokenizer(self) -> Tokenizer:
        return self._embedder.tokenizer

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        return self._embedder.embed_documents(texts)

    def embed_query(self, text: str) -> Vectors:
        if self._last is None or self._last[0] != text:
            self._last = (text, self._embedder.embed_query(text))
        return self._last[1]
