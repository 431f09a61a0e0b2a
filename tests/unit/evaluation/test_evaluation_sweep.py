"""The slider's curve comes from one search of both legs a question, and is what real searches give."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from localrag.chunking.split import Chunker
from localrag.evaluation.beir import BeirDataset, CorpusEntry
from localrag.evaluation.benchmark import SWEEP, SWEPT, Evaluation, evaluate
from localrag.evaluation.one_pass import one_pass
from localrag.index.memory import MemoryIndex
from localrag.protocols import Vectors
from localrag.retrieval.fusion import Fusion
from localrag.retrieval.hybrid import Retriever
from localrag.testing import HashEmbedder, store_texts
from localrag.types import IndexHeader, LegResults, ParsedDocument, Query

WORDS = [
    "harbour", "ferry", "museum", "mooring", "price", "euro", "night", "dog", "soup", "quay", "fuel", "light", "boat",
    "noon", "bread", "sail",
]  # fmt: skip


def made_up_set(queries: int = 12, entries: int = 60) -> BeirDataset:
    """Texts of random words, and queries of words from two entries, which are the relevant ones."""
    chance = np.random.default_rng(7)
    corpus = [CorpusEntry(id=f"e{number}", text=" ".join(chance.choice(WORDS, size=6))) for number in range(entries)]
    asked, qrels = {}, {}
    for number in range(queries):
        one, two = chance.choice(entries, size=2, replace=False)
        words = [*chance.choice(corpus[one].text.split(), size=2), *chance.choice(corpus[two].text.split(), size=2)]
        asked[f"q{number}"] = " ".join(words)
        qrels[f"q{number}"] = {corpus[one].id: 2, corpus[two].id: 1}
    return BeirDataset(name="made-up", corpus=tuple(corpus), queries=asked, qrels=qrels)


class CountingIndex(MemoryIndex):
    """Notes which legs each search ran."""

    searches: list[tuple[bool, bool]]

    def search_legs(self, text: str | None, vector: Vectors | None, **options: object) -> LegResults:  # type: ignore[override]
        self.searches.append((text is not None, vector is not None))
        return super().search_legs(text, vector, **options)  # type: ignore[arg-type]


class NoParser:
    def parse(self, path: Path, *, name: str) -> ParsedDocument:
        raise AssertionError("there are no files")

    def close(self) -> None:
        raise AssertionError("the parser is the caller's to close")


def new_index(embedder: HashEmbedder) -> CountingIndex:
    index = CountingIndex(IndexHeader(model=embedder.model, chunk_tokens=100, chunk_overlap_tokens=0))
    index.searches = []
    return index


def run(dataset: BeirDataset, *, semantic: float, fusion: Fusion, sweep: bool) -> tuple[Evaluation, CountingIndex]:
    embedder = HashEmbedder(dimension=16)
    index = new_index(embedder)
    chunker = Chunker(embedder.tokenizer, 100, 0)
    found = evaluate(
        dataset, index=index, embedder=embedder, chunker=chunker, parser=NoParser(), semantic=semantic, fusion=fusion,
        sweep=sweep,
    )  # fmt: skip
    return found, index


@pytest.mark.parametrize("fusion", ["rrf", "blend"])
def test_every_point_is_what_an_evaluation_at_that_place_gives(fusion: Fusion) -> None:
    dataset = made_up_set()
    curve, _ = run(dataset, semantic=0.3, fusion=fusion, sweep=True)

    assert [point.semantic for point in curve.sweep] == list(SWEEP)
    for point in curve.sweep:
        alone, _ = run(dataset, semantic=point.semantic, fusion=fusion, sweep=False)
        assert point.measures == {measure: alone.metrics[measure] for measure in SWEPT}
    assert len({point.measures["ndcg@10"] for point in curve.sweep}) > 3  # else the set could not tell them apart


def test_the_curve_ends_in_the_legs_and_passes_through_hybrid() -> None:
    found, _ = run(made_up_set(), semantic=0.3, fusion="rrf", sweep=True)
    at = {point.semantic: point.measures["ndcg@10"] for point in found.sweep}

    assert at[0.0] == found.by_mode["lexical"]["ndcg@10"]
    assert at[0.3] == found.by_mode["hybrid"]["ndcg@10"]
    assert at[1.0] == found.by_mode["vector"]["ndcg@10"]


def test_a_question_is_searched_once_for_all_points() -> None:
    dataset = made_up_set()
    _, index = run(dataset, semantic=0.5, fusion="rrf", sweep=True)

    assert index.searches == [(True, True)] * len(dataset.queries)


def test_without_a_sweep_there_is_no_curve() -> None:
    assert run(made_up_set(queries=1), semantic=0.5, fusion="rrf", sweep=False)[0].sweep == ()


def test_a_remembered_search_is_the_search_itself() -> None:
    """Asked in any order, each combination of legs is what a fresh index gives."""
    embedder = HashEmbedder()
    index = new_index(embedder)
    texts = [f"ferry {word}" for word in WORDS]
    for number, text in enumerate(texts):
        store_texts(index, f"d{number}", text)
    index.add_vectors({pending.text_hash: embedder.embed_query(pending.text) for pending in index.pending_texts(99)})
    remembered = one_pass(index)
    for text, semantic in [("ferry quay", 1.0), ("ferry quay", 0.0), ("ferry dog", 0.5), ("ferry quay", 0.5)]:
        query = Query(text=text, semantic=semantic)
        again, fresh = (Retriever(index=one, embedder=embedder).search(query).hits for one in (remembered, index))
        assert again == fresh


def test_what_is_no_search_is_passed_on() -> None:
    index = new_index(HashEmbedder())
    store_texts(index, "d", "a text")

    assert [document.id for document in one_pass(index).documents()] == ["d"]


def test_only_the_last_questions_are_remembered() -> None:
    index = new_index(HashEmbedder())
    store_texts(index, "d", "a text")
    remembered = one_pass(index)
    asked: Sequence[str] = [f"text {number}" for number in range(200)]
    for text in asked:
        remembered.search_legs(text, None, limit=5)
    remembered.search_legs(asked[-1], None, limit=5)
    assert len(index.searches) == 200
    remembered.search_legs(asked[0], None, limit=5)
    assert len(index.searches) == 201
