"""Sentences as spans of the text they came from."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localrag.answering.sentences import sentence_spans


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
        (
            "Dr. Smith met J. K. Rowling at 5 p.m. on Monday. So?",
            ["Dr. Smith met J. K. Rowling at 5 p.m. on Monday.", "So?"],
        ),
        ("See Fig. 3 and Sec. 4.2 for it. Done.", ["See Fig. 3 and Sec. 4.2 for it.", "Done."]),
        ("He worked at Foo Inc. He quit.", ["He worked at Foo Inc.", "He quit."]),
        ("Text that breaks\nin mid-sentence. Next.", ["Text that breaks\nin mid-sentence.", "Next."]),
        ("# Heading\nBody text.", ["# Heading", "Body text."]),
        ("- one\n- two. Still two\n\nAfter", ["- one", "- two.", "Still two", "After"]),
        ("1. First\n2. Second", ["1. First", "2. Second"]),
        ("| a | b |\n|---|---|\n| 1 | 2 |", ["| a | b |", "| 1 | 2 |"]),
        ("東京は首都です。大きい。", ["東京は首都です。", "大きい。"]),
        ('He said "Stop." Then he left.', ['He said "Stop."', "Then he left."]),
        (
            "Found everywhere.[5] Several live on islands.[21][22] Ducks fly.",
            ["Found everywhere.[5]", "Several live on islands.[21][22]", "Ducks fly."],
        ),
        ("It costs approx.[3] Ten euros.", ["It costs approx.[3] Ten euros."]),
        ("***\n\n---", []),
        ("", []),
    ],
)
def test_sentences_end_where_a_reader_would_say(text: str, sentences: list[str]) -> None:
    assert [text[start:end] for start, end in sentence_spans(text)] == sentences


@given(st.text(alphabet="aB.!? \n-|#1。", max_size=60))
def test_spans_are_ordered_apart_and_lose_no_word(text: str) -> None:
    spans = sentence_spans(text)
    assert all(start < end for start, end in spans)
    assert all(one[1] <= other[0] for one, other in pairwise(spans))
    kept = "".join(text[start:end] for start, end in spans)
    assert [c for c in kept if c.isalnum()] == [c for c in text if c.isalnum()]
