"""Questions that lean on a conversation: which do, and what they carry over."""

from __future__ import annotations

import pytest

from localrag.retrieval.followups import ANSWER_TERMS, QUESTION_TERMS, carried_over, leans
from localrag.types import Message

LEASE = Message(role="user", content="When does the lease of the garage end?")
ENDS = Message(role="assistant", content="It ends on 31 March 2027 [lease.pdf, p.2].")


@pytest.mark.parametrize(
    "question",
    [
        "What about a service?",
        "and in Texas?",
        "And who pays the broker's commission for the flat?",  # opens like the rest of another question
        "who signed it?",
        "Why?",
        "What does that mean for tenants with a dog?",
        "What is the second one?",
        "Are there any other reasons to terminate early?",
        "Which large tenants live there?",
        "Did his brother inherit the house?",
        "Since when have humans hunted them?",
        "MKSYSB",  # one content word
        "Und wie ist es mit Hunden im Garten?",
        "Wer hat ihn bei Vertragsende abgenommen?",
    ],
)
def test_a_question_that_says_too_little_leans(question: str) -> None:
    assert leans(question)


@pytest.mark.parametrize(
    "question",
    [
        "When does the lease of the garage end?",
        "When did Tesla sell his patents to Westinghouse?",  # his is Tesla's
        "Did the company raise its dividend in 2012?",  # company and raise stand before
        "Who built the first car in Prague and sold it?",
        "Who directed the film that won the prize in 1986?",  # that points at the film
        "How many sources of European Union law are there in force?",
        "Which band was formed first, The Exies or Circus Diablo?",
        "Wie hoch war die Miete der Garage im Jahr 2012?",
    ],
)
def test_a_whole_question_does_not_lean(question: str) -> None:
    assert not leans(question)


def test_the_last_question_lends_its_words_and_then_the_answer() -> None:
    # The answer's own: ends is end, which is there already; lease.pdf is a citation and no word of the answer.
    assert carried_over("Who signed it?", [LEASE, ENDS]) == "lease garage end 31 March 2027"


def test_words_of_the_question_are_not_said_twice() -> None:
    assert carried_over("And of the other garage?", [LEASE, ENDS]) == "lease end 31 March 2027"


def test_a_question_that_leant_itself_brings_the_one_before() -> None:
    history = [
        LEASE,
        ENDS,
        Message(role="user", content="Who signed it?"),
        Message(role="assistant", content="M. Falk."),
    ]
    assert carried_over("When?", history) == "signed lease garage end Falk"


def test_what_was_asked_before_a_whole_question_is_left_behind() -> None:
    topic = Message(role="user", content="Which documents describe the annual leave of employees?")
    assert carried_over("Who signed it?", [topic, ENDS, LEASE]) == "lease garage end 31 March 2027"


def test_long_turns_lend_a_limited_number_of_words() -> None:
    asked = Message(role="user", content=" ".join(f"topic{number}" for number in range(50)))
    said = Message(role="assistant", content=" ".join(f"fact{number}" for number in range(50)))
    terms = carried_over("Why?", [asked, said]).split()
    assert terms == [f"topic{n}" for n in range(QUESTION_TERMS)] + [f"fact{n}" for n in range(ANSWER_TERMS)]


def test_a_refusal_lends_nothing() -> None:
    refusal = Message(role="assistant", content="I could not find this in your documents.")
    assert carried_over("And the flat?", [LEASE, refusal]) == "lease garage end"


def test_there_is_nothing_to_carry_over_without_turns() -> None:
    assert carried_over("Who signed it?", []) == ""
