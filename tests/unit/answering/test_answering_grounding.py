"""Sentences held against the passages they cite."""

from __future__ import annotations

from typing import Any

import pytest

from localrag.answering.citations import Grammar
from localrag.answering.context import Passage
from localrag.answering.grounding import Grounded, Grounding


@pytest.fixture
def ground(library: Any) -> Any:
    def run(reply: str, question: str = "What about it?", shelf: Any = library) -> Grounded:
        passages = [Passage(number=n, hit=hit, text=hit.chunk.text) for n, hit in enumerate(shelf.hits, 1)]
        grammar = Grammar([passage.marker for passage in passages])
        return Grounding(question, passages, grammar, shelf.page).ground(reply)

    return run


@pytest.fixture
def other(library: Any) -> Any:
    """An empty shelf beside the library."""
    return type(library)()


HANDBOOK, NOTES, BOOK = "[handbook.pdf, p.4]", "[notes.txt]", "[book.xlsx, sheet Sales, rows 2-3]"


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        ("Leave is 25 days.", f"Leave is 25 days {HANDBOOK}."),
        ("Leave is 25 days", f"Leave is 25 days {HANDBOOK}"),
        ("Leave is 25 days. [1] The code is 7316. [2]", f"Leave is 25 days. {HANDBOOK} The code is 7316. {NOTES}"),
        ("[1] Leave is 25 days.\n[2] The code is 7316.", f"{HANDBOOK} Leave is 25 days.\n{NOTES} The code is 7316."),
        (
            "- Leave is 25 days [1]\n- The code is 7316 [2]",
            f"- Leave is 25 days {HANDBOOK}\n- The code is 7316 {NOTES}",
        ),
        ("Leave is 25 days [1]\nThe code is 7316 [2]", f"Leave is 25 days {HANDBOOK}\nThe code is 7316 {NOTES}"),
        ("Revenue in Q3 was 1.234,50.", f"Revenue in Q3 was 1.234,50 {BOOK}."),
    ],
)
def test_supported_sentences_carry_the_citation_that_supports_them(ground: Any, reply: str, text: str) -> None:
    grounded = ground(reply)
    assert grounded.text == text
    assert grounded.unsupported == ()
    assert grounded.supported == grounded.claims == len(grounded.citations)
    assert all(citation.verified for citation in grounded.citations)


@pytest.mark.parametrize(
    "reply",
    [
        "Leave is 26 days [1].",
        "Leave is 26 days.",
        "The moon is made of green cheese [1].",
        "Penguins live in Antarctica.",
        "Unused leave expires on 31 March 2024 [1].",
        "notes.txt",
    ],
)
def test_what_no_passage_says_is_unsupported(ground: Any, reply: str) -> None:
    grounded = ground(reply)
    assert (grounded.claims, grounded.supported) == (1, 0)
    assert len(grounded.unsupported) == 1
    assert all(not citation.verified for citation in grounded.citations)


def test_the_unsupported_sentence_is_named_without_its_citation(ground: Any) -> None:
    grounded = ground("Leave is 25 days [1]. The moon is made of cheese [2].")
    assert grounded.unsupported == ("The moon is made of cheese.",)
    assert [(c.marker, c.verified) for c in grounded.citations] == [(HANDBOOK, True), (NOTES, False)]


def test_two_passages_may_support_a_sentence_together(ground: Any) -> None:
    grounded = ground("Leave is 25 days and the vault code of Mira Falk is 7316 [1][2].")
    assert grounded.supported == 1
    assert [(c.marker, c.verified) for c in grounded.citations] == [(HANDBOOK, True), (NOTES, True)]


def test_a_passage_cited_beside_the_right_one_is_not_verified(ground: Any) -> None:
    grounded = ground("The vault code of Mira Falk is 7316 [2][3].")
    assert [(c.marker, c.verified) for c in grounded.citations] == [(NOTES, True), (BOOK, False)]


def test_one_citation_for_each_sentence_and_marker(ground: Any, other: Any) -> None:
    other.put("a.pdf", "Leave is 25 days.", page=1)
    other.put("a.pdf", "Leave expires in March.", page=1)
    grounded = ground("Leave expires in March [1][2]. Leave is 25 days [1].", shelf=other)
    assert [citation.quote for citation in grounded.citations] == ["Leave expires in March.", "Leave is 25 days."]
    assert grounded.text == "Leave expires in March [a.pdf, p.1]. Leave is 25 days [a.pdf, p.1]."


def test_words_of_the_question_prove_little(ground: Any, other: Any) -> None:
    other.put("tesla.txt", "The company Tesla was founded in California by two engineers.")
    asked = "Who founded the company Tesla in California?"
    # The passage has compani, tesla, found, california (question words, 0.5 each: 2.0), not elon, musk (names, 2.0
    # each... the first word of a sentence is no sure name: elon 1.0, musk 2.0): 2.0 / 5.0 = 0.4 < 0.55.
    assert ground("Elon Musk founded the company Tesla in California [1].", asked, other).supported == 0
    assert ground("Two engineers founded the company Tesla [1].", asked, other).supported == 1


def test_what_is_new_must_be_supported_however_much_of_the_question_is(ground: Any, other: Any) -> None:
    other.put("bridge.txt", "The old iron bridge over the river Tay near Perth was opened by Ada Moss.")
    asked = "Who opened the old iron bridge over the river Tay near Perth?"
    # open, old, iron, bridg, river, tay, near, perth: 8 * 0.5 = 4.0 of 4.0 + 1.0 + 1.0 is 0.67, above 0.55; but of
    # the new words, king and henri, the passage has none: 0 < 0.5.
    claim = "king henry opened the old iron bridge over the river Tay near Perth [1]."
    assert ground(claim, asked, other).supported == 0
    assert ground(claim.replace("king henry", "Ada Moss"), asked, other).supported == 1


@pytest.mark.parametrize("lead", ["The details are:", "# Leave", "**Summary:**", "Here is the answer:"])
def test_headings_and_lead_ins_claim_nothing(ground: Any, lead: str) -> None:
    grounded = ground(f"{lead}\n\nLeave is 25 days [1].")
    assert (grounded.claims, grounded.unsupported) == (1, ())


def test_a_bare_yes_cannot_be_checked(ground: Any) -> None:
    grounded = ground("Yes [1].")
    assert grounded.unsupported == ("Yes.",)
    assert [(c.marker, c.verified) for c in grounded.citations] == [(HANDBOOK, False)]


def test_a_partial_refusal_keeps_what_is_supported(ground: Any) -> None:
    grounded = ground("Leave is 25 days [1]. I could not find the notice period in the documents.")
    assert (grounded.refused, grounded.supported, grounded.unsupported) == (False, 1, ())


def test_a_negative_fact_of_a_passage_is_no_refusal(ground: Any, other: Any) -> None:
    other.put("policy.txt", "The policy does not provide cover for flood according to these documents.")
    reply = "The policy does not provide cover for flood, according to the documents [1]."
    assert not ground(reply, shelf=other).refused


@pytest.mark.parametrize(
    "reply",
    [
        "I could not find this in your documents.",
        "I could not find this in your documents [1].",
        "[1] I could not find this in your documents.",
        "Unfortunately, the passages do not mention this.",
    ],
)
def test_a_refusal_is_proved_by_no_passage(ground: Any, other: Any, reply: str) -> None:
    # "not" is the only word of the refusal that counts, and this passage holds it; the other words of the last
    # reply are there as well.
    other.put("ducks.txt", "Unfortunately, ducklings do not fly yet, not to mention swimming.")
    grounded = ground(reply, "What do ducks eat?", other)
    assert (grounded.refused, grounded.claims, grounded.citations) == (True, 0, ())
    assert "[" not in grounded.text


def test_a_refusal_beside_a_fact_gets_no_citation(ground: Any, other: Any) -> None:
    other.put("ducks.txt", "Ducklings do not fly. Ducks eat grass.")
    grounded = ground("I could not find this in your documents. But ducks eat grass [1].", "What is it?", other)
    assert grounded.text == "I could not find this in your documents. But ducks eat grass [ducks.txt]."
    assert (grounded.refused, grounded.claims, len(grounded.citations)) == (False, 1, 1)


def test_every_marker_in_the_text_has_its_citation(ground: Any) -> None:
    grounded = ground("Yes [1]. Leave: 25 days [1, 3] ... [2]\n\n[3]\n\nSources: [1] [2]")
    for marker in (HANDBOOK, NOTES, BOOK):
        assert marker in grounded.text
        assert marker in {citation.marker for citation in grounded.citations}
