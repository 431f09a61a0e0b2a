"""Chunks of worked examples, counted in words: one word is one token, so every budget below can be checked by eye."""

from __future__ import annotations

import re

import pytest

from localrag.chunking.split import Chunker
from localrag.types import Chunk, Page


class Words:
    """A tokenizer whose tokens are runs without white space."""

    max_tokens = 512

    def count(self, text: str) -> int:
        return len(text.split())

    def offsets(self, text: str) -> list[tuple[int, int]]:
        return [match.span() for match in re.finditer(r"\S+", text)]


def chunk(*markdown: str, budget: int = 32, overlap: int = 0) -> list[Chunk]:
    pages = [Page(ordinal=at, number=at, markdown=text) for at, text in enumerate(markdown, start=1)]
    return Chunker(Words(), budget, overlap).chunk("doc", pages)


def words(name: str, count: int) -> str:
    """One sentence of `count` words: `a1 a2 … a5.`"""
    return " ".join(f"{name}{at}" for at in range(1, count + 1)) + "."


def test_a_short_page_is_one_chunk_with_its_offsets() -> None:
    (only,) = chunk("\n\nHello there.\n")
    assert (only.id, only.index, only.page_ordinal, only.page) == ("doc_0", 0, 1, 1)
    assert (only.text, only.start, only.end) == ("Hello there.", 2, 14)
    assert only.heading_path == ()
    assert only.prefix == ""
    assert only.token_count == 4  # [CLS] Hello there. [SEP]


def test_headings_become_a_path_that_goes_on_over_pages() -> None:
    chunks = chunk("Before.\n\n# Intro\n\nOne.\n\n## Background\n\nTwo.", "Three.\n\n# Method\n\nFour.")
    assert [(item.page, item.heading_path) for item in chunks] == [
        (1, ()),
        (1, ("Intro",)),
        (1, ("Intro", "Background")),
        (2, ("Intro", "Background")),
        (2, ("Method",)),
    ]
    assert chunks[2].text == "## Background\n\nTwo."
    assert chunks[2].embedding_text == "Section: Intro > Background\n\n## Background\n\nTwo."
    # Section: Intro > Background (4), ## Background Two. (3), two special tokens.
    assert chunks[2].token_count == 9


def test_paragraphs_are_packed_and_kept_whole() -> None:
    first, second, third = words("a", 12), words("b", 12), words("c", 12)
    chunks = chunk(f"{first}\n\n{second}\n\n{third}")  # 32 - 2 special = 30 words: two paragraphs of 12, not three
    assert [item.text for item in chunks] == [f"{first}\n\n{second}", third]


@pytest.mark.parametrize("budget", [0, 15])
def test_a_budget_without_room_is_refused(budget: int) -> None:
    with pytest.raises(ValueError, match="at least 16"):
        Chunker(Words(), budget, 0)
