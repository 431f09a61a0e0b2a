"""An evaluation ranks with the product's own retriever and reports what it found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import log2
from pathlib import Path

import numpy as np
import pytest

from localrag.errors import DatasetError
from localrag.evaluation.beir import BeirDataset, CorpusEntry, load_dataset
from localrag.evaluation.benchmark import Evaluation, Progress, evaluate
from localrag.index.memory import MemoryIndex
from localrag.protocols import Parser, Tokenizer, Vectors
from localrag.retrieval.hybrid import Retriever
from localrag.testing import PieceTokenizer
from localrag.types import (
    Answer,
    Chunk,
    Citation,
    EmbeddingModel,
    Hit,
    IndexHeader,
    Message,
    Page,
    ParsedDocument,
    Query,
    Timings,
)

MINI = Path(__file__).resolve().parents[2] / "data" / "beir-mini"

CONCEPTS = {
    "mooring": 0, "price": 1, "pay": 1, "costs": 1, "lifejacket": 2, "safety": 2,
    "ferry": 3, "sails": 4, "timetable": 4, "museum": 5,
}  # fmt: skip
MODEL = EmbeddingModel(name="concepts", revision="1", dimension=7, max_tokens=100)


class ConceptEmbedder:
    """Synonyms share a dimension; a text without a known word lies in one of its own."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    @property
    def model(self) -> EmbeddingModel:
        return MODEL

    @property
    def tokenizer(self) -> Tokenizer:
        return PieceTokenizer()

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        return np.stack([self._embed(text) for text in texts])

    def embed_query(self, text: str) -> Vectors:
        self.asked.append(text)
        return self._embed(text)

    def _embed(self, text: str) -> Vectors:
        words = set(text.lower().replace(",", " ").replace(".", " ").split())
        vector = np.zeros(7, np.float32)
        for concept in {CONCEPTS[word] for word in words & CONCEPTS.keys()} or {6}:
            vector[concept] = 1.0
        return vector / np.linalg.norm(vector)


class Paragraphs:
    """A chunk per paragraph; a heading goes to the path of those below it."""

    def chunk(self, document_id: str, pages: tuple[Page, ...]) -> list[Chunk]:
        chunks: list[Chunk] = []
        for page in pages:
            heading: tuple[str, ...] = ()
            for text in filter(None, page.markdown.split("\n\n")):
                if text.startswith("# "):
                    heading = (text[2:],)
                    continue
                start = page.markdown.index(text)
                chunks.append(
                    Chunk(
                        id=f"{document_id}_{len(chunks)}",
                        document_id=document_id,
                        index=len(chunks),
                        page_ordinal=page.ordinal,
                        page=page.number,
                        heading_path=heading,
                        text=text,
                        start=start,
                        end=start + len(text),
                        token_count=len(text.split()),
                        prefix=f"Section: {heading[0]}" if heading else "",
                    )
                )
        return chunks


class ScriptedParser:
    """Gives the same pages for every file, and counts how often it was asked."""

    def __init__(self, *pages: Page) -> None:
        self.pages = pages
        self.names: list[str] = []

    def parse(self, path: Path, *, name: str) -> ParsedDocument:
        self.names.append(name)
        return ParsedDocument(media_type="application/pdf", pages=self.pages)

    def close(self) -> None:
        raise AssertionError("the parser is the caller's to close")


def _index() -> MemoryIndex:
    return MemoryIndex(IndexHeader(model=MODEL, chunk_tokens=100, chunk_overlap_tokens=0))


def _evaluate(
    dataset: BeirDataset,
    *,
    index: MemoryIndex | None = None,
    parser: Parser | None = None,
    semantic: float = 0.5,
    titles: bool = True,
) -> Evaluation:
    return evaluate(
        dataset,
        index=index or _index(),
        embedder=ConceptEmbedder(),
        chunker=Paragraphs(),
        parser=parser or ScriptedParser(),
        semantic=semantic,
        titles=titles,
    )


def test_each_mode_scores_what_its_legs_find() -> None:
    found = _evaluate(load_dataset(MINI))

    # Keyword: q1 mooring -> d1, q2 ferry -> d3 (twice in it) before d4 (once), q3 nothing, q4 museum -> d5.
    assert found.by_query["lexical"]["ndcg@10"] == {"q1": 1.0, "q2": 1.0, "q3": 0.0, "q4": 1.0}
    # Meaning: q1 is {mooring, price}; d1 is the same set and d4 only {ferry, price}. q2 is {ferry, time} = d3.
    assert found.by_query["vector"]["ndcg@10"] == {"q1": 1.0, "q2": 1.0, "q3": 1.0, "q4": 1.0}
    assert found.by_mode["lexical"]["ndcg@10"] == 0.75
    assert found.by_mode["vector"]["ndcg@10"] == 1.0
    assert found.metrics == found.by_mode["hybrid"]
    assert found.metrics["ndcg@10"] == 1.0


def test_the_counts_are_those_of_the_set() -> None:
    found = _evaluate(load_dataset(MINI))

    assert (found.dataset, found.documents, found.queries) == ("beir-mini", 8, 4)
    assert found.chunks == 7  # d8 is empty
    assert found.seconds > 0


def test_hybrid_is_compared_with_the_better_leg() -> None:
    comparison = _evaluate(load_dataset(MINI)).comparison

    assert (comparison.leg, comparison.difference, comparison.p_value) == ("vector", 0.0, 1.0)


def test_the_slider_decides_what_hybrid_is() -> None:
    found = _evaluate(load_dataset(MINI), semantic=0.0)

    assert found.by_query["hybrid"] == found.by_query["lexical"]
    assert (found.comparison.leg, found.comparison.difference) == ("vector", -0.25)


def test_titles_can_be_left_out() -> None:
    """Without its title d4 does not speak of the ferry, so q2 finds d3 (2) only: 2 / (2 + 1 / log2 3)."""
    found = _evaluate(load_dataset(MINI), titles=False)

    assert found.by_query["lexical"]["ndcg@10"]["q2"] == pytest.approx(2 / (2 + 1 / log2(3)))


def test_a_question_is_embedded_once_for_all_modes() -> None:
    embedder = ConceptEmbedder()
    dataset = load_dataset(MINI)
    evaluate(dataset, index=_index(), embedder=embedder, chunker=Paragraphs(), parser=ScriptedParser(), semantic=0.5)

    assert embedder.asked == list(dataset.queries.values())


def test_progress_ends_each_stage_at_its_total() -> None:
    seen: list[Progress] = []
    evaluate(
        load_dataset(MINI),
        index=_index(),
        embedder=ConceptEmbedder(),
        chunker=Paragraphs(),
        parser=ScriptedParser(),
        semantic=0.5,
        on_progress=seen.append,
    )
    last = {progress.stage: (progress.done, progress.total) for progress in seen}

    assert last == {"index": (8, 8), "embed": (7, 7), "search": (4, 4)}


def test_an_entry_of_many_chunks_crowds_nothing_out() -> None:
    """30 paragraphs of one entry lead; the relevant entry is the tenth distinct one, far down the chunks."""
    long = "\n\n".join(f"ferry ferry ferry{' boat' * number}" for number in range(30))
    others = [CorpusEntry(id=f"o{number}", text="ferry" + " word" * (100 + number)) for number in range(9)]
    dataset = BeirDataset(
        name="crowded",
        corpus=(CorpusEntry(id="long", text=long), *others),
        queries={"q": "ferry"},
        qrels={"q": {"o8": 1}},
    )

    found = _evaluate(dataset)

    assert found.by_mode["lexical"]["recall@10"] == 1.0
    assert found.by_mode["lexical"]["mrr@10"] == pytest.approx(1 / 10)


def test_an_entry_is_a_title_when_it_has_no_text() -> None:
    dataset = BeirDataset(
        name="titles",
        corpus=(CorpusEntry(id="d", title="Ferry\n times"),),
        queries={"q": "ferry times"},
        qrels={"q": {"d": 1}},
    )
    index = _index()

    found = _evaluate(dataset, index=index)

    assert found.by_mode["lexical"]["hit@1"] == 1.0
    assert [page.markdown for document in index.documents() for page in index.pages(document.id)] == ["Ferry times"]


def test_file_names_say_nothing() -> None:
    """Names are searched as well, so an id such as `Normans#3` would give the title away."""
    index = _index()
    _evaluate(load_dataset(MINI), index=index)

    assert {document.name for document in index.documents()} == {f"{item.id}.md" for item in index.documents()}


def _pdf_set(tmp_path: Path, *entries: tuple[str, int]) -> BeirDataset:
    pdf = tmp_path / "report.pdf"
    pdf.write_bytes(b"%PDF-1.7")
    return BeirDataset(
        name="pages",
        corpus=tuple(CorpusEntry(id=identity, pdf=pdf, page=page) for identity, page in entries),
        queries={"q": "mooring"},
        qrels={"q": {"p3": 1}},
    )


def test_pages_of_a_pdf_are_read_by_the_parser(tmp_path: Path) -> None:
    parser = ScriptedParser(
        Page(ordinal=1, number=1, markdown="The ferry sails."),
        Page(ordinal=2, number=3, markdown="The mooring."),  # page 2 is blank
        Page(ordinal=3, number=4, markdown="Mooring mooring mooring, but no entry of the corpus."),
    )
    index = _index()

    found = _evaluate(_pdf_set(tmp_path, ("p1", 1), ("p2", 2), ("p3", 3)), index=index, parser=parser)

    assert parser.names == ["report.pdf"]
    assert (found.documents, found.chunks) == (3, 2)
    assert found.by_mode["lexical"]["hit@1"] == 1.0
    assert [document.name for document in index.documents()] == ["report.pdf"]


def test_two_entries_cannot_be_the_same_page(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"'p3' and 'twin' are both page 3 of .*report\.pdf"):
        _evaluate(_pdf_set(tmp_path, ("p3", 3), ("twin", 3)))


def test_an_index_in_use_is_not_touched() -> None:
    index = _index()
    _evaluate(load_dataset(MINI), index=index)

    with pytest.raises(ValueError, match="empty index"):
        _evaluate(load_dataset(MINI), index=index)
    assert index.stats().documents == 7


def test_the_questions_are_asked_with_their_history_and_judged() -> None:
    """The answer quotes the first hit's page: d1 for the mooring, which holds "nine euros"; u1 and u2 are refused."""
    dataset = replace(load_dataset(MINI), histories={"q1": (Message(role="user", content="before"),)})
    index = _index()
    asked: list[tuple[str, int]] = []

    def ask(question: str, history: Sequence[Message]) -> Answer:
        asked.append((question, len(history)))
        return _quoting(question, Retriever(index=index, embedder=ConceptEmbedder()).search(Query(text=question)).hits)

    seen: list[Progress] = []
    found = evaluate(
        dataset, index=index, embedder=ConceptEmbedder(), chunker=Paragraphs(), parser=ScriptedParser(), semantic=0.0,
        ask=ask, limit=2, on_progress=seen.append,
    )  # fmt: skip

    # Two of four, evenly: q1 and q3; both of those that have no answer.
    assert asked == [
        ("mooring price", 1), ("safety equipment", 0), ("who conducts the opera", 0),
        ("which railway reaches the island", 0),
    ]  # fmt: skip
    assert [(answer.query, answer.cited, answer.contained) for answer in found.answers] == [
        ("q1", ("d1",), True), ("q3", ("d2",), None), ("u1", (), None), ("u2", (), None)
    ]  # fmt: skip
    measures = found.answer_measures
    assert (measures["contained"], measures["citation_precision"], measures["refusal_f1"]) == (1.0, 1.0, 1.0)
    assert (seen[-1].stage, seen[-1].done, seen[-1].total) == ("answer", 4, 4)


def _quoting(question: str, hits: Sequence[Hit]) -> Answer:
    """The first hit, quoted; a refusal when the question is about something that no concept covers."""
    known = set(question.split()) & CONCEPTS.keys()
    first = hits[0].chunk
    quoted = Citation(
        marker="[x]", chunk_id=first.id, document_id=first.document_id, document="x", page=None, label=None,
        page_ordinal=first.page_ordinal, quote=first.text, start=first.start, end=first.end, verified=True,
    )  # fmt: skip
    return Answer(
        question=question, text=f"{first.text} [x]" if known else "no", citations=(quoted,) if known else (),
        confidence="low" if known else "none", refused=not known, mode="extractive", model=None, unsupported=(),
        queries=(question,), hits=tuple(hits), left_out=(), timings=Timings(retrieval=1, first_token=None, total=2),
    )  # fmt: skip


def test_what_progress_raises_ends_the_evaluation() -> None:
    def stop(progress: Progress) -> None:
        if progress.stage == "embed":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        evaluate(
            load_dataset(MINI), index=_index(), embedder=ConceptEmbedder(), chunker=Paragraphs(),
            parser=ScriptedParser(), semantic=0.5, on_progress=stop,
        )  # fmt: skip
