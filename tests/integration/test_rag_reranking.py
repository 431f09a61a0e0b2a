"""Reranking through the library and the command line, with a judge that likes the shortest passage best."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from typer.testing import CliRunner

from localrag import RAG, load_settings
from localrag.app import wiring
from localrag.cli.commands import app
from localrag.errors import ModelError, SettingsError
from localrag.testing import HashEmbedder, ScriptedLLM
from localrag.types import Answer, Check

NOTES = {
    "a.md": b"The garage, the garage, the garage: all about the garage of the house.\n",
    "b.md": b"A garage.\n",
    "c.md": b"The garage of the house is old.\n",
}


class Brevity:
    """Likes short passages."""

    name = "brevity"
    share = 1.0

    def __init__(self) -> None:
        self.read: list[int] = []

    def score(self, query: str, passages: Sequence[str]) -> Sequence[float | None]:
        self.read.append(len(passages))
        return [-float(len(passage)) for passage in passages]

    def check(self) -> list[Check]:
        return [Check(name="reranker", ok=True, detail="brevity")]


class Broken(Brevity):
    def score(self, query: str, passages: Sequence[str]) -> Sequence[float | None]:
        raise ModelError("The model is damaged.", hint="Pull it again.")


def library(tmp_path: Path, judge: Brevity | None, **settings: object) -> RAG:
    rag = RAG.open(
        load_settings(data_dir=tmp_path / "data", **settings),
        embedder=HashEmbedder(),
        llm=ScriptedLLM(lambda _: "A garage [1]."),
        reranker=judge,
    )
    for name, content in NOTES.items():
        rag.ingest_bytes(content, name)
    rag.embed_pending()
    return rag


@pytest.fixture
def judge() -> Brevity:
    return Brevity()


@pytest.fixture
def rag(tmp_path: Path, judge: Brevity) -> Iterator[RAG]:
    with library(tmp_path, judge) as rag:
        yield rag


def test_a_search_is_reranked_when_asked_for(rag: RAG, judge: Brevity) -> None:
    plain = rag.search("garage house", top_k=2)
    assert judge.read == []
    assert {hit.rerank_score for hit in plain.hits} == {None}
    found = rag.search("garage house", top_k=2, rerank=True)
    assert judge.read == [3]  # all three, though two are wanted
    assert [(hit.document, hit.rank, hit.rerank_score) for hit in found.hits] == [("b.md", 1, -9.0), ("c.md", 2, -31.0)]


def test_the_setting_is_the_default_of_every_search(tmp_path: Path, judge: Brevity) -> None:
    with library(tmp_path, judge, reranker="ollama", rerank=True) as rag:
        assert rag.search("garage house").hits[0].document == "b.md"
        assert rag.search("garage house", rerank=False).hits[0].document != "b.md"
        assert rag.ask("What about the garage?").hits[0].rerank_score == -9.0


def test_an_answer_rests_on_the_reranked_passages(rag: RAG) -> None:
    answer = rag.ask("What about the garage of the house?", rerank=True)
    assert [hit.document for hit in answer.hits] == ["b.md", "c.md", "a.md"]
    assert answer.text == "A garage [b.md, line 1]."
    assert answer.notice == ""


def test_a_reranker_that_fails_leaves_a_notice_and_the_answer(tmp_path: Path) -> None:
    with library(tmp_path, Broken()) as rag:
        plain = rag.ask("What about the garage of the house?")
        *_, answer = rag.ask_stream("What about the garage of the house?", rerank=True)
        assert isinstance(answer, Answer)
        assert answer.notice == "The passages were not reranked. The model is damaged. Pull it again."
        assert [hit.chunk.id for hit in answer.hits] == [hit.chunk.id for hit in plain.hits]


def test_reranking_by_nobody_is_refused_before_anything_is_searched(tmp_path: Path) -> None:
    with library(tmp_path, None) as rag:
        for call in (lambda: rag.search("garage", rerank=True), lambda: rag.ask_stream("garage", rerank=True)):
            with pytest.raises(SettingsError, match="No reranker is configured") as caught:
                call()
            assert "LOCALRAG_RERANKER" in caught.value.hint
        assert rag.reranker_checks() == []


def test_health_names_the_reranker(rag: RAG) -> None:
    assert Check(name="reranker", ok=True, detail="brevity") in rag.health()


def test_the_language_model_can_be_the_reranker() -> None:
    made = wiring.reranker(load_settings(reranker="ollama", llm_model="qwen2.5:0.5b"))
    assert made is not None
    assert made.name == "qwen2.5:0.5b as judge"
    assert wiring.reranker(load_settings()) is None


def test_the_command_line_asks_for_reranking_and_shows_the_scores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, judge: Brevity
) -> None:
    library(tmp_path, None).close()
    monkeypatch.setenv("LOCALRAG_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setattr("localrag.app.embedders.embedder", lambda settings, preload: HashEmbedder())
    monkeypatch.setattr(wiring, "reranker", lambda settings: judge)
    shown = CliRunner().invoke(app, ["search", "garage house", "--rerank", "--json"])
    assert [hit["rerank_score"] for hit in json.loads(shown.stdout)["hits"]] == [-9.0, -31.0, -70.0]
    assert json.loads(shown.stdout)["notice"] == ""
    plain = CliRunner().invoke(app, ["search", "garage house", "--no-rerank", "--json"])
    assert {hit["rerank_score"] for hit in json.loads(plain.stdout)["hits"]} == {None}
