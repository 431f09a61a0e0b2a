"""Which file does a question name?"""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from localrag.retrieval.naming import documents_named
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
