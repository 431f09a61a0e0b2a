"""Sentences quoted word for word."""

from __future__ import annotations

from typing import Any

import pytest

from localrag.answering.extractive import extract


def quotes(shelf: Any, question: str, limit: int = 3) -> list[str]:
    return [found.quote for found in extract(question, shelf.hits, limit=limit)]


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("When does unused leave expire?", "Unused leave expires on 31 March."),
        ("How many days of annual leave are there?", "Employees get 25 days of annual leave."),
        ("What is the vault code of Mira Falk?", "The vault code of Mira Falk is 7316."),
        ("What was the revenue in Q3?", "| Q3 | 1,234.50 |"),
    ],
)
def test_the_sentence_that_answers_comes_first(library: Any, question: str, first: str) -> None:
    assert quotes(library, question)[0] == first


def test_the_kind_of_thing_asked_for_decides_between_equals(shelf: Any) -> None:
    facts = [
        "The bridge was opened with a feast.",
        "The bridge was opened in 1932.",
        "The bridge was opened by Ada Moss.",
    ]
    shelf.put("a.txt", " ".join(facts))
    assert quotes(shelf, "When was the bridge opened?")[0] == facts[1]
    assert quotes(shelf, "Who opened the bridge?")[0] == facts[2]


def test_a_table_row_is_told_by_its_columns_and_quoted_as_it_stands(library: Any) -> None:
    found = extract("What was the revenue in Q3?", library.hits)[0]
    assert found.line == "Quarter: Q3 · Revenue: 1,234.50 [book.xlsx, sheet Sales, rows 2-3]"
    assert found.quote == "| Q3 | 1,234.50 |"


def test_a_row_without_column_names_leaves_out_empty_cells(shelf: Any) -> None:
    shelf.put("t.csv", "| Zulu | | a\\|b |", label="rows 3-3")
    assert extract("Zulu", shelf.hits)[0].line == "Zulu · a|b [t.csv, rows 3-3]"


def test_the_tail_of_a_bracket_is_not_quoted(shelf: Any) -> None:
    text = "LQP%20Final%20Report.pdf), indicated that one sensor can trim the airplane nose down."
    shelf.put("a.pdf", text, page=2)
    (found,) = extract("What can one sensor trim?", shelf.hits)
    assert found.quote == "indicated that one sensor can trim the airplane nose down."
    assert found.line == "“… indicated that one sensor can trim the airplane nose down.” [a.pdf, p.2]"


@pytest.mark.parametrize(
    "sentence",
    [
        "a) The tenant pays the rent.",
        "(iv) the tenant pays the rent.",
        "The tenant (see [2]) pays the rent.",
        "The tenant pays the rent, as was agreed with the owner of the house long before the flood of the year came:-)",
        "eRent is what the tenant pays.",
    ],
)
def test_a_whole_sentence_keeps_its_beginning(shelf: Any, sentence: str) -> None:
    shelf.put("a.md", sentence, page=1)
    (found,) = extract("What does the tenant pay?", shelf.hits)
    assert found.line == f"“{sentence}” [a.md, p.1]"


def test_a_whole_sentence_is_preferred_to_a_torn_one(shelf: Any) -> None:
    shelf.put("a.pdf", "and the rent of the garage is paid yearly.\n\nBut the rent of the garage was raised in May.")
    assert quotes(shelf, "What about the rent of the garage?") == [
        "But the rent of the garage was raised in May.",
        "and the rent of the garage is paid yearly.",
    ]


def test_a_row_of_a_split_table_takes_the_header_of_its_prefix(shelf: Any) -> None:
    shelf.put("t.xlsx", "| Q7 | 99 |\n| Q8 | 98 |", label="rows 8-9", prefix="| Quarter | Revenue |\n|---|---|")
    found = extract("What was the revenue in Q8?", shelf.hits)[0]
    assert (found.quote, found.header) == ("| Q8 | 98 |", "Quarter | Revenue")


def test_a_heading_that_repeats_the_question_is_no_answer(shelf: Any) -> None:
    shelf.put("a.md", "## Notice period\n\nIt is three months to the end of a quarter.")
    assert quotes(shelf, "What is the notice period?")[0] == "It is three months to the end of a quarter."


def test_the_same_sentence_twice_is_quoted_once(shelf: Any) -> None:
    for name in ("a.txt", "b.txt"):
        shelf.put(name, "The notice period is three months.")
    shelf.put("c.txt", "A notice period must be agreed in writing.")
    assert quotes(shelf, "What is the notice period?") == [
        "The notice period is three months.",
        "A notice period must be agreed in writing.",
    ]


def test_no_shared_word_gives_no_quote(library: Any) -> None:
    assert quotes(library, "zebra astronomy") == []
    assert extract("anything", []) == []


def test_at_most_the_limit(library: Any) -> None:
    assert len(quotes(library, "leave vault code revenue Mira", limit=2)) == 2


def test_lines_are_shown_without_markdown_signs_and_breaks(shelf: Any) -> None:
    shelf.put("a.md", "- The notice period\n  is three months.", page=2)
    (found,) = extract("notice period", shelf.hits)
    assert found.line == "“The notice period is three months.” [a.md, p.2]"
    assert found.quote == "- The notice period\n  is three months."


def test_a_sentence_without_end_is_shortened_between_words(shelf: Any) -> None:
    shelf.put("a.txt", "notice " + "word " * 1000)
    (quote,) = quotes(shelf, "notice")
    assert 500 < len(quote) <= 600
    assert quote.endswith("word")


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("解約の通知期間は三か月です。天気は晴れ。", "通知期間は？"),
        ("Срок уведомления три месяца. Погода ясная.", "Какой срок уведомления?"),
    ],
)
def test_other_scripts_work_too(shelf: Any, text: str, question: str) -> None:
    shelf.put("a.txt", text)
    assert text.startswith(quotes(shelf, question)[0])
