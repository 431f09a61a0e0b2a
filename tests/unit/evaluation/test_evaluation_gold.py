"""When a text counts as giving the gold answer."""

from __future__ import annotations

import pytest

from localrag.evaluation.gold import holds_gold, is_gold, is_telling, normalise


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("  The Eiffel   Tower! ", "eiffel tower"),
        ("a U.S. dollar", "us dollar"),
        ("“Saddam” Hussein", "saddam hussein"),
        ("$4,200", "4200"),
        ("１２", "12"),
        ("Theatre and another", "theatre and another"),  # articles are whole words
    ],
)
def test_case_marks_articles_and_spacing_do_not_count(text: str, expected: str) -> None:
    assert normalise(text) == expected


def test_an_exact_answer_is_a_gold_answer_and_nothing_else() -> None:
    assert is_gold("The quantum.", ["Quantum"])
    assert not is_gold("A quantum machine", ["quantum"])
    assert not is_gold("...", ["!"])  # both are empty when normalised, and no answer


@pytest.mark.parametrize(
    ("text", "gold"),
    [
        ("It was Saddam Hussein's army.", "Saddam Hussein"),
        ("It stood from 1990–94.", "1990"),
        ("The U.S. did.", "US"),
        ("He paid $4,200 for it.", "4200"),
        ("Er erzielte 136 Sacks.", "136"),
        ("他职业生涯中有136次擒杀。", "136 次"),
        ("No, they are not.", "no"),
    ],
)
def test_an_answer_stands_in_a_text(text: str, gold: str) -> None:
    assert holds_gold(text, ["something else entirely", gold])


@pytest.mark.parametrize(
    ("text", "gold"),
    [
        ("This is often so.", "ten"),
        ("There is no doubt: they are.", "no"),
        ("It was Hussein.", "Saddam Hussein"),
        ("Anything", ""),
        ("Anything", "the"),
    ],
)
def test_an_answer_does_not_stand_in_a_text(text: str, gold: str) -> None:
    assert not holds_gold(text, [gold])


def test_a_yes_tells_no_passage_from_another() -> None:
    assert [is_telling(answer) for answer in ("Yes", "no.", "Norway", "...")] == [False, False, True, False]
