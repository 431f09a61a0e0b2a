"""Evidence before the answer, confidence after it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from localrag.answering.confidence import Signals, agreement, judge, judge_extract
from localrag.answering.evidence import CALIBRATED_MODEL, is_english, weigh
from localrag.answering.prompts import REFUSAL
from localrag.answering.refusal import is_refusal


@pytest.mark.parametrize(
    ("verified", "coverage", "both", "score", "word"),
    [
        (1.0, 1.0, 1.0, 1.0, "high"),
        (1.0, 0.8, 0.0, 0.8, "high"),  # 0.6 + 0.2
        (1.0, 0.5, 0.0, 0.725, "medium"),  # 0.6 + 0.125
        (0.5, 1.0, 1.0, 0.7, "medium"),  # 0.3 + 0.25 + 0.15
        (0.5, 0.5, 0.0, 0.425, "low"),  # 0.3 + 0.125
        (0.0, 1.0, 1.0, 0.4, "low"),
    ],
)
def test_the_score_is_the_weighted_sum(verified: float, coverage: float, both: float, score: float, word: str) -> None:
    signals = Signals(verified=verified, coverage=coverage, agreement=both)
    assert signals.score == pytest.approx(score)
    assert judge(signals) == word


def test_an_answer_that_was_cut_short_is_at_most_medium() -> None:
    assert judge(Signals(verified=1, coverage=1, agreement=1), complete=False) == "medium"
    assert judge(Signals(verified=0, coverage=1, agreement=1), complete=False) == "low"


def test_quotes_are_judged_by_the_evidence() -> None:
    words = [judge_extract(probability, verified=True) for probability in (0.98, 0.97, 0.7, 0.69)]
    assert words == ["high", "medium", "medium", "low"]
    assert judge_extract(1.0, verified=False) == "low"


def test_agreement_is_the_share_found_by_both_legs(shelf: Any) -> None:
    shelf.put("a", "x", lexical_rank=1, vector_rank=2)
    shelf.put("b", "x", lexical_rank=None, vector_rank=1)
    assert agreement(shelf.hits) == 0.5
    assert agreement([]) == 1.0


def test_one_leg_alone_cannot_disagree(shelf: Any) -> None:
    shelf.put("a", "x", lexical_rank=1, vector_rank=None)
    assert agreement(shelf.hits) == 1.0


def test_evidence_is_the_share_of_the_questions_words(library: Any) -> None:
    # vault, code, zebra: the note has two of three, the first hit none.
    evidence = weigh("vault code zebra", library.hits)
    assert (evidence.words, evidence.first, evidence.best, evidence.hits) == (3, 0.0, pytest.approx(2 / 3), 3)
    # Words alone: -4.89 + 5.32 * 0 + 3.11 * 2/3 = -2.8167; 1 / (1 + e^2.8167) = 0.0564.
    assert evidence.probability == pytest.approx(0.0564, abs=1e-4)
    assert evidence.is_worth_asking
    assert not evidence.is_worth_quoting


def test_cosines_of_the_default_model_count_for_more_than_words(library: Any) -> None:
    library.hits[1] = replace(library.hits[1], lexical_rank=1, vector_rank=1, vector_score=0.8)
    library.hits[0] = replace(library.hits[0], lexical_rank=2, vector_rank=2, vector_score=0.6)
    evidence = weigh("vault code zebra", library.hits, CALIBRATED_MODEL)
    assert (evidence.cosine, evidence.agreement, evidence.by_meaning) == (0.8, 1.0, False)
    # -14.26 + 0.93 * 0 + 4.19 * 2/3 + 1.95 * 1 + 15.63 * 0.8 = 2.9873; 1 / (1 + e^-2.9873) = 0.9520.
    assert evidence.probability == pytest.approx(0.9520, abs=1e-4)


@pytest.mark.parametrize(
    ("question", "english"),
    [
        ("Who opened the bridge?", True),
        ("vacation days 2026", True),  # nothing tells
        ("Who wrote Die Zeit?", True),  # "die" against "who": no more of the one than of the other
        ("Wie lange ist die Frist?", False),
        ("¿Quién abrió el puente?", False),
        ("请问年假有多少天？", False),
        ("", True),
    ],
)
def test_the_small_words_tell_the_language(question: str, english: bool) -> None:
    assert is_english(question) is english


def test_other_languages_have_weights_of_their_own(shelf: Any) -> None:
    shelf.put("vertrag.txt", "Die Frist für die Kündigung beträgt drei Monate.")
    evidence = weigh("Wie lange ist die Kündigungsfrist laut Frist?", shelf.hits)
    # lang, die, kundigungsfrist, laut, frist: die and frist stand there.
    assert (evidence.english, evidence.words, evidence.best) == (False, 5, 0.4)
    # -3.63 + 1.39 * 0.4 + 7.85 * 0.4 = 0.066; 1 / (1 + e^-0.066) = 0.5165.
    assert evidence.probability == pytest.approx(0.5165, abs=1e-4)
    assert evidence.is_worth_quoting


def test_another_embedding_model_is_never_refused_by_words(library: Any) -> None:
    library.hits[0] = replace(library.hits[0], vector_score=0.9)
    evidence = weigh("zebra", library.hits, "multilingual")
    assert (evidence.cosine, evidence.by_meaning) == (None, True)
    assert evidence.is_worth_asking  # its words may be there in another language
    assert not evidence.is_worth_quoting


def test_together_counts_words_over_all_hits(library: Any) -> None:
    # vault (note), revenue (sheet): each hit has one of two, together both.
    evidence = weigh("vault revenue", library.hits)
    assert (evidence.best, evidence.together) == (0.5, 1.0)


def test_file_names_and_headings_are_evidence(library: Any) -> None:
    assert weigh("annual handbook", library.hits).best == 1.0


@pytest.mark.parametrize(("question", "enough"), [("What is it about?", True), ("zebra", False)])
def test_a_question_without_content_words_misses_nothing(library: Any, question: str, enough: bool) -> None:
    assert weigh(question, library.hits).is_worth_asking is enough
    assert not weigh(question, []).is_worth_asking


@pytest.mark.parametrize(
    ("sentence", "refuses"),
    [
        (REFUSAL, True),
        (f"Sorry, {REFUSAL}", True),
        ("I couldn't find this in your documents", True),
        ("The provided passages do not contain information about the moon.", True),
        ("The context doesn’t mention the notice period.", True),
        ("There is no information about this in the documents.", True),
        ("Unable to answer from the given passages.", True),
        ("The notice period is three months.", False),
        ("No employee may work more than 8 hours.", False),
        ("The documents are in the vault.", False),
        ("The seller does not give a warranty.", False),
    ],
)
def test_refusals_are_told_from_facts(sentence: str, refuses: bool) -> None:
    assert is_refusal(sentence) is refuses
