"""Citations in the forms models write, live and in pieces."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localrag.answering.citations import Grammar
from localrag.answering.stream import LiveText

# Passages 1 and 3 are on the same page; 4 has brackets in its name.
MARKERS = ["[a.pdf, p.1]", "[b.xlsx, sheet Q3, rows 2-40]", "[a.pdf, p.1]", "[report [final].pdf, p.2]"]
GRAMMAR = Grammar(MARKERS)


def live(reply: str, size: int) -> str:
    text = LiveText(GRAMMAR)
    pieces = [text.feed(reply[at : at + size]) for at in range(0, len(reply), size)]
    return "".join([*pieces, text.close()])


A, B, R = MARKERS[0], MARKERS[1], MARKERS[3]


@pytest.mark.parametrize("size", [1, 2, 5, 1000])
@pytest.mark.parametrize(
    ("reply", "shown"),
    [
        ("Yes [1].", f"Yes {A}."),
        ("Yes[1].", f"Yes {A}."),
        ("Yes.[2] No.", f"Yes. {B} No."),
        ("Yes [ 1 ].", f"Yes {A}."),
        ("Yes [1, 2].", f"Yes {A} {B}."),
        ("Yes [1][2].", f"Yes {A} {B}."),
        ("Yes [1], [2].", f"Yes {A} {B}."),
        ("Yes [1] [2] no", f"Yes {A} {B} no"),
        ("Yes [1-2].", f"Yes {A} {B}."),
        ("Yes [1 and 2].", f"Yes {A} {B}."),
        ("Yes 【1】.", f"Yes {A}."),
        ("Yes 【1†source】.", f"Yes {A}."),
        ("Yes [1†L3-L9].", f"Yes {A}."),
        ("Yes [passage 1].", f"Yes {A}."),
        ("Yes [Source 2].", f"Yes {B}."),
        ("Yes [^1].", f"Yes {A}."),
        ("Yes [[1]].", f"Yes {A}."),
        ("Yes ([1]).", f"Yes {A}."),
        ("Yes ([1], [2]).", f"Yes {A} {B}."),
        ("Yes ([1] and more).", f"Yes ({A} and more)."),
        ("Yes [1][3].", f"Yes {A}."),  # the same page once
        ("[1] Yes.", f"{A} Yes."),
        # not given: dropped, with the space before it
        ("Yes [99].", "Yes."),
        ("Yes [0] no", "Yes no"),
        ("Yes ([99]).", "Yes."),
        ("Yes [1, 99].", f"Yes {A}."),
        ("Yes [99][98] no", "Yes no"),
        ("[99] Yes.", "Yes."),
        ("Yes [1-900].", f"Yes {A} {B} {R}."),
        # files by name: only those that were given
        ("Yes [a.pdf, p.1].", f"Yes {A}."),
        ("Yes [A.pdf,  p.1].", f"Yes {A}."),
        ("Yes [a.pdf, p.2].", "Yes."),
        ("Yes [moon.docx].", "Yes."),
        ("Yes [a.pdf, page 1].", "Yes."),
        ("Yes [p. 4].", "Yes."),
        ("Yes [b.xlsx, sheet Q3, rows 2-40].", f"Yes {B}."),
        ("Yes [a.pdf, p.1; b.xlsx, sheet Q3, rows 2-40].", f"Yes {A} {B}."),
        ("Yes [report [final].pdf, p.2].", f"Yes {R}."),
        # no citations
        ("He said [sic] so.", "He said [sic] so."),
        ("- [ ] to do", "- [ ] to do"),
        ("in [2024] it", "in [2024] it"),
        ("an open [ bracket", "an open [ bracket"),
        ("ends in [", "ends in ["),
        ("ends in (", "ends in ("),
        ("f(x) (yes) [no](", "f(x) (yes) [no]("),
        ("line [\n1]", "line [\n1]"),
        ("", ""),
    ],
)
def test_citations_are_rewritten_whatever_the_pieces(reply: str, shown: str, size: int) -> None:
    assert live(reply, size) == shown


@given(
    st.lists(
        st.sampled_from(
            [
                "[1]",
                "[2",
                "]",
                "[",
                "(",
                ")",
                " ",
                "\n",
                ",",
                "a",
                "[99]",
                "【1】",
                "[a.pdf, p.1]",
                "[report [f",
                ".",
                "3",
            ]
        ),
        max_size=14,
    )
)
def test_the_borders_of_pieces_make_no_difference(parts: list[str]) -> None:
    reply = "".join(parts)
    assert live(reply, 1) == live(reply, 4) == live(reply, len(reply) + 1)


def test_text_before_a_citation_is_not_held_back() -> None:
    text = LiveText(GRAMMAR)
    assert text.feed("The answer is 25") == "The answer is 25"
    assert text.feed(" days [") == " days"
    assert text.feed("1] of") == f" {A} of"


def test_a_bracket_that_stays_open_is_released() -> None:
    text = LiveText(GRAMMAR)
    assert "x" * 300 in text.feed("[" + "x" * 300)


@pytest.mark.parametrize("reply", ["[" + " " * 20_000 + "]", " " * 20_000, "[1" * 5_000, "(" * 20_000, "[1][" * 3_000])
def test_a_reply_gone_wild_is_read_quickly(reply: str) -> None:
    # Quadratic reading of 20,000 characters would take minutes; this takes well under a second.
    started = time.monotonic()
    live(reply, 1000)
    assert time.monotonic() - started < 5.0
