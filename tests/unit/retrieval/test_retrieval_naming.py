"""Which file does a question name?"""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from localrag.retrieval.naming import HintedNames, documents_named
from localrag.types import Document


def _document(name: str) -> Document:
    return Document(
        id=name,
        content_hash="0",
        name=name,
        uri=f"upload:{name}",
        media_type="application/pdf",
        size_bytes=1,
        page_count=1,
        indexed_at=datetime(2026, 1, 1, tzinfo=UTC),
    )


LIBRARY = [
    _document(name)
    for name in ("report_march.pdf", "march.pdf", "contract.pdf", "Q3-2026.xlsx", "a.txt", "Übersicht 2025.docx")
]


@pytest.mark.parametrize(
    ("question", "named"),
    [
        ("In report_march.pdf, what is the total?", {"report_march.pdf"}),
        ("in REPORT_MARCH.PDF what is the total", {"report_march.pdf"}),
        ("what does report_march say?", {"report_march.pdf"}),
        ("what does Q3-2026 say about tyres?", {"Q3-2026.xlsx"}),
        ("was steht in übersicht 2025.docx?", {"Übersicht 2025.docx"}),
        ("compare march.pdf with Q3-2026.xlsx", {"march.pdf", "Q3-2026.xlsx"}),
        ("which contract ends in march?", set()),
        ("a question about a thing", set()),
        ("my_report_march.pdf is another file", set()),
        ("report_march.pdfx is another file", set()),
        ("", set()),
    ],
)
def test_documents_named(question: str, named: set[str]) -> None:
    assert documents_named(question, LIBRARY) == named


FILINGS = HintedNames(
    [
        _document(name)
        for name in (
            "AMAZON_2017_10K.pdf",
            "AMAZON_2019_10K.pdf",
            "AMERICANEXPRESS_2022_10K.pdf",
            "3M_2022_10K.pdf",
            "BestBuy-2024Q2.pdf",
            "contract.pdf",
            "annual report.pdf",
            "rules.md",
        )
    ]
)


@pytest.mark.parametrize(
    ("question", "hinted"),
    [
        ("What is Amazon's FY2019 net income?", {"AMAZON_2019_10K.pdf"}),
        ("How many people work at Amazon?", {"AMAZON_2017_10K.pdf", "AMAZON_2019_10K.pdf"}),
        ("Where is American Express active?", {"AMERICANEXPRESS_2022_10K.pdf"}),
        ("Is 3M capital-intensive?", {"3M_2022_10K.pdf"}),
        ("Was there a drop at Best Buy in Q2 of FY2024?", {"BestBuy-2024Q2.pdf"}),
        ("What does the annual report say about debt?", {"annual report.pdf"}),
        ("Which contract ends first?", set()),  # one common word names no file
        ("What happened in 2022?", set()),  # a year alone neither
        ("Contract law, in short?", set()),  # a capital at the beginning of a sentence says nothing
        ("Who are the customers?", set()),
        ("", set()),
    ],
)
def test_a_question_hints_at_files_by_words_of_their_names(question: str, hinted: set[str]) -> None:
    assert FILINGS.hinted(question)[0] == hinted


def test_a_hint_is_as_clear_as_its_words_are_rare() -> None:
    # Eight names. "amazon" stands in two: log(8/2) / log(8) = 2/3; with a year that stands in one, more than all.
    assert FILINGS.hinted("How large is Amazon?")[1] == pytest.approx(2 / 3)
    assert FILINGS.hinted("How large is Amazon in 2019?")[1] == 1.0
    assert FILINGS.hinted("How large is it?") == (frozenset(), 0.0)


@pytest.mark.parametrize("names", [[], ["AMAZON_2019.pdf"], ["AMAZON_2019.pdf", "AMAZON_2019.docx"]])
def test_a_word_of_all_names_hints_at_nothing(names: list[str]) -> None:
    assert HintedNames([_document(name) for name in names]).hinted("What did Amazon earn in 2019?")[0] == frozenset()
