"""A question is embedded once, exactly as it stands; texts of documents pass through."""

from __future__ import annotations

import numpy as np
import pytest

from localrag.embedding.query_memory import QueryMemory
from localrag.protocols import Vectors
from localrag.testing import HashEmbedder


class Counting(HashEmbedder):
    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    def embed_query(self, text: str) -> Vectors:
        self.asked.append(text)
        return super().embed_query(text)


def test_the_same_text_is_embedded_once() -> None:
    inner = Counting()
    memory = QueryMemory(inner)
    first, again, other = (memory.embed_query(text) for text in ("garage", "garage", "Garage"))
    assert inner.asked == ["garage", "Garage"]
    assert np.array_equal(first, again)
    assert np.array_equal(other, HashEmbedder().embed_query("Garage"))


def test_the_longest_unused_is_forgotten() -> None:
    inner = Counting()
    memory = QueryMemory(inner, most=2)
    for text in ("a", "b", "a", "c", "a", "b"):
        memory.embed_query(text)
    # c pushes out b, used longest ago, so that b is made again at the end.
    assert inner.asked == ["a", "b", "c", "b"]


def test_what_is_handed_out_again_cannot_be_changed() -> None:
    vector = QueryMemory(Counting()).embed_query("garage")
    with pytest.raises(ValueError, match="read-only"):
        vector[0] = 1.0


def test_all_else_is_the_embedders() -> None:
    inner = Counting()
    memory = QueryMemory(inner)
    assert memory.model is inner.model
    assert memory.tokenizer is inner.tokenizer
    assert np.array_equal(memory.embed_documents(["x"]), inner.embed_documents(["x"]))
