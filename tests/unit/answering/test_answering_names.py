"""Names and months of a claim that its source does not have."""

from __future__ import annotations

import pytest

from localrag.answering.names import missing_names, names

NONE: frozenset[str] = frozenset()


@pytest.mark.parametrize(
    ("sentence", "found"),
    [
        ("The bridge was opened by Ada Moss in May 1931.", ["Ada", "Moss"]),
        ("Ada Moss opened the bridge.", ["Ada", "Moss"]),
        ("Bridges are opened by mayors.", []),
        ("The capital is (Paris).", ["Paris"]),
        ("Die Frist beträgt drei Monate nach Zugang der Kündigung.", []),  # nouns, not names
    ],
)
def test_names_are_capitals_inside_a_sentence(sentence: str, found: list[str]) -> None:
    assert names(sentence) == found


@pytest.mark.parametrize(
    ("sentence", "source", "missing"),
    [
        ("It was opened by Ada Moss.", "Ada Moss opened it in 1931.", []),
        ("It was opened by Ada Falk.", "Ada Moss opened it in 1931.", ["Falk"]),
        ("It was built by American workers.", "Workers from America built it.", []),
        ("It is a law of the UK.", "It is a law of the United Kingdom.", []),
        ("It is a law of the EU.", "It is a law of the United Kingdom.", ["EU"]),
        ("It expires on 31 March.", "It expires on 31.03.2027.", []),
        ("It expires on 31 April.", "It expires on 31 March.", ["April"]),
        ("It expires in April 2024.", "It expires in March 2024.", ["April"]),
        ("You may apply.", "One can apply.", []),
    ],
)
def test_a_name_or_month_that_the_source_lacks_is_missing(sentence: str, source: str, missing: list[str]) -> None:
    assert missing_names(sentence, source, asked=NONE) == missing


def test_names_of_the_question_may_be_a_pronoun_in_the_source() -> None:
    assert (
        missing_names("The wife of Ada Moss is a judge.", "Her wife is a judge.", asked=frozenset({"ada", "moss"}))
        == []
    )
