"""Thinking never shows, however the reply is cut into pieces."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localrag.generation.thinking import ThinkingFilter


def filtered(reply: str, size: int) -> str:
    thinking = ThinkingFilter()
    pieces = [thinking.feed(reply[at : at + size]) for at in range(0, len(reply), size)]
    return "".join([*pieces, thinking.close()])


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
@pytest.mark.parametrize(
    ("reply", "shown"),
    [
        ("<think>Hm, passage 1.</think>\n\nIt is 25 days.", "It is 25 days."),
        ("<thinking>a < b</thinking>Yes.", "Yes."),
        ("It is <think>what was it</think>25 days.", "It is 25 days."),
        ("<think></think>\n\n25", "25"),
        ("<think>never closed, so all of it is thinking", ""),
        ("a < b and <thinker> is no tag", "a < b and <thinker> is no tag"),
        ("ends with <thin", "ends with <thin"),
        ("<think>one</think>A<think>two</think>B", "AB"),
        ("No thinking at all.", "No thinking at all."),
    ],
)
def test_only_the_answer_is_shown(reply: str, shown: str, size: int) -> None:
    assert filtered(reply, size) == shown


@pytest.mark.parametrize("size", [1, 4, 100])
def test_an_end_tag_without_a_beginning_is_passed_on_whole(size: int) -> None:
    reply = "so it is 25</think>25 days."
    thinking = ThinkingFilter()
    pieces = [thinking.feed(reply[at : at + size]) for at in range(0, len(reply), size)]
    assert "".join(pieces) + thinking.close() == reply
    assert any("</think>" in piece for piece in pieces)


@given(st.lists(st.sampled_from(["<think>", "</think>", "<th", "ink>", "a", " ", "\n", "<", "/"]), max_size=12))
def test_the_borders_of_pieces_make_no_difference(parts: list[str]) -> None:
    reply = "".join(parts)
    assert filtered(reply, 1) == filtered(reply, 3) == filtered(reply, len(reply) + 1)
