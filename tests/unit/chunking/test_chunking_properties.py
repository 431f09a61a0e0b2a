"""What holds for every page, whatever is on it."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localrag.chunking.split import SPECIAL_TOKENS, Chunker
from localrag.embedding.spec import SHIPPED
from localrag.embedding.tokenizer import FileTokenizer
from localrag.protocols import Tokenizer
from localrag.testing import PieceTokenizer
from localrag.types import Page

REAL = FileTokenizer(SHIPPED.tokenizer_path, max_tokens=512)

WORDS = st.sampled_from(
    [
        "the",
        "unbelievable",
        "Fig. 3",
        "e.g.",
        "東京。",
        "naïve",
        "e\u0301\u0301",
        "👨‍👩‍👧",
        "🇩🇪🇫🇷",
        "x" * 150,
        "end.",
        "Is it?",
        "\u200b",
    ]
)
SENTENCES = st.lists(WORDS, min_size=1, max_size=25).map(" ".join)
BLOCKS = st.one_of(
    SENTENCES,
    st.builds(lambda level, title: f"{'#' * level} {title}", st.integers(1, 7), SENTENCES),
    st.builds(lambda title: f"{title}\n---", SENTENCES),
    st.builds(lambda items: "\n".join(f"- {item}" for item in items), st.lists(SENTENCES, min_size=1, max_size=6)),
    st.builds(
        lambda rows: "\n".join(["| a | b |", "|---|---|", *(f"| {row} | 1 |" for row in rows)]),
        st.lists(SENTENCES, max_size=12),
    ),
    st.builds(lambda body, closed: f"```py\n# {body}\n" + "```" * closed, SENTENCES, st.booleans()),
    st.text(max_size=60),
    st.sampled_from(["", "   ", "\t# x", "<!-- # x", "-->", "~~~", "x" * 3000, "字" * 700, "a\r\nb\rc", "---"]),
)
MARKDOWN = st.builds(
    lambda blocks, gap: gap.join(blocks), st.lists(BLOCKS, max_size=8), st.sampled_from(["\n\n", "\n", "\r\n\r\n"])
)


def check(tokenizer: Tokenizer, texts: list[str], chunk_tokens: int, overlap: int) -> None:
    pages = [Page(ordinal=at, number=at, markdown=text) for at, text in enumerate(texts, start=1)]
    chunks = Chunker(tokenizer, chunk_tokens, overlap).chunk("doc", pages)
    assert [item.id for item in chunks] == [f"doc_{at}" for at in range(len(chunks))]
    for page in pages:
        covered = 0
        for item in (item for item in chunks if item.page_ordinal == page.ordinal):
            assert item.text == page.markdown[item.start : item.end]
            assert item.text.strip()
            assert item.token_count == tokenizer.count(item.embedding_text) + SPECIAL_TOKENS
            assert item.token_count <= min(chunk_tokens, tokenizer.max_tokens)
            # In order, with no visible character between them, and each with new text.
            assert not page.markdown[covered : item.start].strip()
            assert item.end > covered
            covered = item.end
        assert not page.markdown[covered:].strip()


@settings(max_examples=150, deadline=None)
@given(st.lists(MARKDOWN, max_size=3), st.integers(16, 300), st.integers(0, 80))
def test_every_visible_character_is_in_a_chunk_within_the_limit(texts: list[str], size: int, overlap: int) -> None:
    check(PieceTokenizer(), texts, size, overlap)


@settings(max_examples=60, deadline=None)
@given(st.lists(MARKDOWN, max_size=2), st.integers(48, 600), st.integers(0, 64))
def test_the_same_holds_for_the_real_tokenizer(texts: list[str], size: int, overlap: int) -> None:
    check(REAL, texts, size, overlap)


@pytest.mark.parametrize("fence", ["```", "~~~", "````", "~~~~~~"])
@given(body=st.lists(st.sampled_from(["# no", "## no", "```x", "~~~ y", "text", "", "no\n==="]), max_size=8))
@settings(max_examples=40, deadline=None)
def test_nothing_inside_a_fence_is_a_heading(fence: str, body: list[str]) -> None:
    inside = [line for line in body if not re.fullmatch(rf"{re.escape(fence)}{fence[0]}*\s*", line)]
    page = Page(ordinal=1, markdown="\n".join([fence, *inside, fence, "", "# Yes", "", "after"]))
    chunks = Chunker(PieceTokenizer(), 256, 0).chunk("doc", [page])
    assert [item.heading_path for item in chunks] == [(), ("Yes",)]
