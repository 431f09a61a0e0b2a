"""The same question twice is answered once, until anything it depends on has changed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from localrag import RAG, load_settings
from localrag.app import Scope, wiring
from localrag.cli.commands import app
from localrag.errors import BackendUnavailable
from localrag.protocols import Generation
from localrag.testing import HashEmbedder, ScriptedLLM
from localrag.types import Answer, Message

LEASE = b"The lease of the garage ends on 31 March 2027. The xylocanary sings.\n"
QUESTION = "When does the lease of the garage end?"


class Writer(ScriptedLLM):
    """Counts its answers, so that one that was kept is told from a new one."""

    def __init__(self) -> None:
        super().__init__(lambda _: f"It ends on 31 March 2027 [1]. Number {len(self.calls)}.")


class Absent(ScriptedLLM):
    """A service that is down."""

    def stream(self, messages: Sequence[Message], generation: Generation) -> Iterator[str]:
        raise BackendUnavailable("Ollama is not running.", service="Ollama", url="http://127.0.0.1:11434")


def library(tmp_path: Path, llm: ScriptedLLM, **settings: object) -> RAG:
    return RAG.open(load_settings(data_dir=tmp_path / "data", **settings), embedder=HashEmbedder(), llm=llm)


@pytest.fixture
def writer() -> Writer:
    return Writer()


@pytest.fixture
def rag(tmp_path: Path, writer: Writer) -> Iterator[RAG]:
    with library(tmp_path, writer) as rag:
        rag.ingest_bytes(LEASE, "lease.md")
        rag.ingest_bytes(b"Boats float.\n", "boats.md")
        rag.embed_pending()
        yield rag


def test_the_second_time_the_answer_comes_whole_and_says_so(rag: RAG, writer: Writer) -> None:
    first = rag.ask(QUESTION)
    *pieces, second = rag.ask_stream(QUESTION)
    assert isinstance(second, Answer)
    assert len(writer.calls) == 1
    assert (first.cached, second.cached) == (False, True)
    assert pieces == [first.text]
    assert (second.text, second.citations, second.hits) == (first.text, first.citations, first.hits)
    assert second.timings.first_token is None
    assert second.timings.total < first.timings.total


def test_fresh_answers_anew_and_replaces_what_was_kept(rag: RAG, writer: Writer) -> None:
    rag.ask(QUESTION)
    anew = rag.ask(QUESTION, fresh=True)
    assert (anew.cached, len(writer.calls)) == (False, 2)
    assert rag.ask(QUESTION).text == anew.text


@pytest.mark.parametrize(
    "changed",
    [
        {"top_k": 3},
        {"semantic": 0.25},
        {"history": [Message(role="user", content="Hi"), Message(role="assistant", content="Hello.")]},
        {"scope": Scope(documents=["lease.md"])},
        {"scope": Scope(tags={"year": "2026"})},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_any_other_input_is_another_question(rag: RAG, writer: Writer, changed: dict[str, Any]) -> None:
    rag.ask(QUESTION)
    assert not rag.ask(QUESTION, **changed).cached
    assert not rag.ask(QUESTION + " ", **changed).cached


def test_quotes_without_a_model_are_not_kept_nor_is_an_answer_given_for_them(rag: RAG) -> None:
    rag.ask(QUESTION)
    assert [rag.ask(QUESTION, use_llm=False).mode for _ in range(2)] == ["extractive"] * 2
    assert not rag.ask(QUESTION, use_llm=False).cached


@pytest.mark.parametrize("settings", [{"context_tokens": 2000}, {"fusion": "other"}, {"history_turns": 1}])
def test_other_settings_are_another_question(rag: RAG, tmp_path: Path, settings: dict[str, object]) -> None:
    rag.ask(QUESTION)
    with library(tmp_path, Writer()) as same:
        assert same.ask(QUESTION).cached
    if "fusion" in settings:
        settings = {"fusion": "rrf" if rag.settings.fusion == "blend" else "blend"}
    with library(tmp_path, Writer(), **settings) as other:
        assert not other.ask(QUESTION).cached
    renamed = Writer()
    renamed._name = "another model"
    with library(tmp_path, renamed) as other:
        assert not other.ask(QUESTION).cached


def test_half_a_character_in_the_question_costs_no_answer(rag: RAG) -> None:
    assert rag.ask(QUESTION + " \ud83d").text.startswith("It ends on 31 March 2027")


def test_the_scope_counts_and_not_the_order_it_is_named_in(rag: RAG) -> None:
    rag.ask(QUESTION, scope=Scope(documents=["lease.md", "boats.md"]))
    assert rag.ask(QUESTION, scope=Scope(documents=["boats.md", "lease.md"])).cached


CHANGES: dict[str, Callable[[RAG], object]] = {
    "a new document": lambda rag: rag.ingest_bytes(b"More.\n", "more.md"),
    "another deleted": lambda rag: rag.delete("boats.md"),
    "a tag": lambda rag: rag.ingest_bytes(LEASE, "lease.md", tags={"year": "2027"}),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_of_the_library_drops_every_answer(rag: RAG, change: str) -> None:
    rag.ask(QUESTION)
    CHANGES[change](rag)
    assert not rag.ask(QUESTION).cached


def test_conversations_change_nothing(rag: RAG) -> None:
    rag.ask(QUESTION)
    rag.save_conversation("c", "[]")
    rag.delete_conversation("c")
    assert rag.ask(QUESTION).cached


def test_an_answer_that_a_change_overtook_is_not_kept(rag: RAG) -> None:
    stream = rag.ask_stream(QUESTION)
    next(stream)
    rag.ingest_bytes(b"The lease was renewed.\n", "new.md")
    list(stream)
    assert not rag.ask(QUESTION).cached


def test_what_went_wrong_is_not_kept(tmp_path: Path) -> None:
    with library(tmp_path, Absent([])) as rag:
        rag.ingest_bytes(LEASE, "lease.md")
        assert "not running" in rag.ask(QUESTION).notice
        assert not rag.ask(QUESTION).cached
    with library(tmp_path, Writer()) as rag:
        assert not rag.ask(QUESTION).cached
        stopped = rag.ask_stream("Who sings?")
        next(stopped)
        del stopped  # the reader closed the tab
        assert not rag.ask("Who sings?").cached


def test_a_deleted_document_is_in_no_answer_on_disk(rag: RAG) -> None:
    answer = rag.ask(QUESTION)
    assert any("xylocanary" in hit.chunk.text for hit in answer.hits)
    file = rag.settings.data_dir / "localrag.db"
    held = [path.read_bytes() for path in file.parent.glob("localrag.db*")]
    assert any(b"xylocanary" in content for content in held)
    rag.delete("lease.md")
    rag.close()
    traces = [path for path in file.parent.rglob("*") if path.is_file() and b"xylocanary" in path.read_bytes()]
    assert traces == []


def test_the_command_line_says_so_and_can_ask_anew(rag: RAG, writer: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCALRAG_DATA_DIR", str(rag.settings.data_dir))
    monkeypatch.setattr("localrag.app.embedders.embedder", lambda settings, preload: HashEmbedder())
    monkeypatch.setattr(wiring, "llm", lambda settings: writer)

    def cached(*flags: str) -> bool:
        return bool(json.loads(CliRunner().invoke(app, ["ask", QUESTION, "--json", *flags]).stdout)["cached"])

    assert [cached(), cached(), cached("--fresh"), cached()] == [False, True, False, True]
    shown = CliRunner().invoke(app, ["ask", QUESTION])
    assert "answered before; --fresh answers anew" in shown.stderr
