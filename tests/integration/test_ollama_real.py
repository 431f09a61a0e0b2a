"""The real Ollama server: a small model, short contexts, plain facts at temperature 0."""

from __future__ import annotations

import socket

import pytest

from localrag.answering.answer import Answerer
from localrag.errors import BackendUnavailable, ModelMissing
from localrag.generation.ollama import OllamaLLM
from localrag.generation.tokens import TiktokenCounter
from localrag.protocols import Generation
from localrag.reranking.llm_judge import LlmReranker
from localrag.settings import load_settings
from localrag.types import Chunk, Hit, Message, Page, Ranking

pytestmark = pytest.mark.ollama

MODEL = "qwen2.5:0.5b"
TEXT = "The vault code of Mira Falk is 7316."


@pytest.fixture
def host() -> str:
    return load_settings().ollama_host


def test_the_server_and_the_model_are_found(host: str) -> None:
    checks = OllamaLLM(host=host, model=MODEL).check()
    assert [(check.name, check.ok) for check in checks] == [("Ollama", True), ("Language model", True)]


def test_a_reply_streams_and_holds_the_fact(host: str) -> None:
    llm = OllamaLLM(host=host, model=MODEL, timeout_s=300)
    messages = [
        Message(role="system", content=f"Answer only from the context. Context: {TEXT}"),
        Message(role="user", content="What is the vault code of Mira Falk?"),
    ]
    pieces = list(llm.stream(messages, Generation(context_tokens=512, max_tokens=32)))
    assert len(pieces) > 3
    assert "7316" in "".join(pieces)
    again = list(llm.stream(messages, Generation(context_tokens=512, max_tokens=32)))
    assert again == pieces


def test_the_window_asked_for_is_the_window_used(host: str) -> None:
    # About 200 tokens: a window of 96 cuts the fact away from the start, one of 512 holds it.
    filler = "The weather was mild and nothing of note happened in the valley. " * 12
    messages = [Message(role="user", content=f"{TEXT}\n{filler}\nWhat is the vault code of Mira Falk?")]
    assert 150 < TiktokenCounter().count(messages[0].content) < 300
    llm = OllamaLLM(host=host, model=MODEL, timeout_s=300)
    assert "7316" in "".join(llm.stream(messages, Generation(context_tokens=512, max_tokens=24)))
    assert "7316" not in "".join(llm.stream(messages, Generation(context_tokens=96, max_tokens=24)))


def test_the_limit_on_the_answer_is_kept(host: str) -> None:
    llm = OllamaLLM(host=host, model=MODEL, timeout_s=300)
    messages = [Message(role="user", content="Count from 1 to 100.")]
    reply = "".join(llm.stream(messages, Generation(context_tokens=512, max_tokens=5)))
    assert 0 < TiktokenCounter().count(reply) <= 8


def test_a_model_that_is_not_there_says_how_to_get_it(host: str) -> None:
    llm = OllamaLLM(host=host, model="no-such-model")
    with pytest.raises(ModelMissing, match="no-such-model") as caught:
        list(llm.stream([Message(role="user", content="Hi")], Generation(context_tokens=512)))
    assert caught.value.hint == "Get it with: ollama pull no-such-model"
    _, model = llm.check()
    assert (model.ok, model.hint) == (False, "Get it with: ollama pull no-such-model")


def test_a_port_where_nothing_runs_says_how_to_start_it() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    llm = OllamaLLM(host=f"http://127.0.0.1:{port}", model=MODEL)
    with pytest.raises(BackendUnavailable, match="ollama serve"):
        list(llm.stream([Message(role="user", content="Hi")], Generation(context_tokens=512)))


def test_a_question_is_answered_with_a_checked_citation(host: str) -> None:
    chunk = Chunk(id="n_0", document_id="n", index=0, page_ordinal=1, text=TEXT, start=0, end=len(TEXT), token_count=12)
    hit = Hit(chunk=chunk, document="notes.txt", rank=1, score=0.1, scale="rrf", lexical_rank=1, vector_rank=1)
    answerer = Answerer(
        llm=OllamaLLM(host=host, model=MODEL, timeout_s=300),
        counter=TiktokenCounter(),
        page=lambda document_id, ordinal: Page(ordinal=1, markdown=TEXT),
        context_tokens=1000,
        # Always the same here: so small a model answers or refuses by the digits of a random one.
        new_fence=lambda: "=== a3f9c2d1e8b74605 ===",
    )
    question = "What is the vault code of Mira Falk?"
    answer = answerer.answer(question, search=lambda q: Ranking(query=q, semantic=0.5, hits=(hit,)))
    assert (answer.mode, answer.model, answer.notice) == ("llm", MODEL, "")
    assert "7316" in answer.text
    assert "[notes.txt]" in answer.text
    assert [(citation.quote, citation.verified) for citation in answer.citations][:1] == [(TEXT, True)]
    assert answer.timings.first_token is not None


def test_the_model_grades_passages_within_its_time(host: str) -> None:
    judge = LlmReranker(OllamaLLM(host=host, model=MODEL, timeout_s=300), context_tokens=512, timeout_s=600)
    passages = [TEXT, "The weather was mild and nothing of note happened in the valley."]
    first, second = (judge.score("What is the vault code of Mira Falk?", passages) for _ in range(2))
    # Which grades so small a model gives is its own affair; they must be grades, and the same the second time.
    assert len(first) == 2
    assert set(first) <= {None, 0.0, 1.0, 2.0, 3.0}
    assert first == second
    assert judge.check()[0].ok
