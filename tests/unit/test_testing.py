"""The shipped fakes keep the promises of the protocols they stand in for."""

from __future__ import annotations

import numpy as np
import pytest

from localrag.protocols import LLM, Embedder, Generation, TokenCounter, Tokenizer
from localrag.testing import HashEmbedder, PieceTokenizer, ScriptedLLM, WordCounter
from localrag.types import Message

HELLO = [Message(role="user", content="Hello")]
GENERATION = Generation(context_tokens=2048)


def test_the_fakes_have_the_protocols_types() -> None:
    embedder: Embedder = HashEmbedder()
    tokenizer: Tokenizer = PieceTokenizer()
    llm: LLM = ScriptedLLM(["Hi."])
    counter: TokenCounter = WordCounter()
    assert embedder.model.dimension == 64
    assert tokenizer.max_tokens == 512
    assert llm.name == "scripted"
    assert counter.count("two words") == 2


def test_texts_that_share_words_are_near_each_other() -> None:
    embedder = HashEmbedder()
    near, far = embedder.embed_documents(["the notice period", "bread and butter"])
    query = embedder.embed_query("Notice period?")
    assert float(query @ near) > float(query @ far)
    assert np.linalg.norm(query) == pytest.approx(1.0)
    assert embedder.embedded == ["the notice period", "bread and butter"]


def test_a_text_without_words_still_has_a_unit_vector() -> None:
    assert np.linalg.norm(HashEmbedder().embed_query("?!")) == pytest.approx(1.0)


def test_pieces_cover_words_and_marks() -> None:
    # "embedding" is nine characters: six and three; the comma is one mark.
    assert PieceTokenizer().offsets("embedding, now") == [(0, 6), (6, 9), (9, 10), (11, 14)]


def test_replies_come_in_order_and_in_pieces() -> None:
    llm = ScriptedLLM(["first one", "two"])
    assert list(llm.stream(HELLO, GENERATION)) == ["firs", "t on", "e"]
    assert "".join(llm.stream(HELLO, GENERATION)) == "two"
    assert llm.calls == [(tuple(HELLO), GENERATION)] * 2
    with pytest.raises(ValueError, match="2 replies"):
        list(llm.stream(HELLO, GENERATION))


def test_a_function_can_answer() -> None:
    llm = ScriptedLLM(lambda messages: messages[-1].content.upper())
    assert "".join(llm.stream(HELLO, GENERATION)) == "HELLO"
