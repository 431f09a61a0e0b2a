"""No question of the benchmarks is taken for one about the library, a whole document or a table."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from localrag.answering.special import SpecialQuestions
from localrag.parsing import delimited, xlsx
from localrag.parsing.source import Source
from localrag.testing import WordCounter
from localrag.types import Chunk, Document, Page, ParsedDocument

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT / "../shared"
SETS = ["squad2-dev", "hotpotqa-mini", "musique-mini", "financebench-pages", "mtrag-un", "cranfield"]
BOOKS = [SHARED / "files/csv/country-codes.csv", ROOT / "data/samples/world-city-populations.xlsx"]


class Pages:
    """What special questions ask an index for."""

    def __init__(self, pages: dict[str, tuple[Page, ...]]) -> None:
        self._pages = pages

    def pages(self, document_id: str) -> list[Page]:
        return list(self._pages.get(document_id, ()))

    def page(self, document_id: str, ordinal: int) -> Page | None:
        return next((page for page in self.pages(document_id) if page.ordinal == ordinal), None)

    def document_chunks(self, document_id: str) -> list[Chunk]:
        return []


def _no_children(data: bytes, name: str) -> ParsedDocument:
    raise AssertionError(name)


@pytest.fixture(scope="module")
def special() -> tuple[SpecialQuestions, Sequence[Document]]:
    pages: dict[str, tuple[Page, ...]] = {}
    documents = [
        _document("annual-report-2023.pdf", "application/pdf"),
        _document("contract.docx", "application/msword"),
    ]
    for path, reader in zip(BOOKS, (delimited, xlsx), strict=True):
        pages[path.name] = reader.read(Source(path=path, name=path.name, read_child=_no_children)).pages
        documents.append(_document(path.name, "text/csv" if reader is delimited else "spreadsheetml.sheet"))
    index = Pages(pages)
    return SpecialQuestions(index, counter=WordCounter(), context_tokens=3000, failures=list), documents  # type: ignore[arg-type]


def _document(name: str, media_type: str) -> Document:
    return Document(
        id=name, content_hash=name, name=name, uri=name, media_type=media_type, size_bytes=9, page_count=3,
        indexed_at=datetime(2026, 3, 1, tzinfo=UTC),
    )  # fmt: skip


def _questions(name: str) -> list[str]:
    lines = (SHARED / "bench" / name / "queries.jsonl").read_text(encoding="utf-8").splitlines()
    return [str(json.loads(line)["text"]) for line in lines if line.strip()]


@pytest.mark.parametrize("name", SETS)
def test_questions_of_the_benchmarks_go_the_usual_way(
    special: tuple[SpecialQuestions, Sequence[Document]], name: str
) -> None:
    questions, documents = special
    asked = _questions(name)
    taken = [q for q in asked if questions.stream(q, documents=lambda: documents, llm=None, whole=True) is not None]
    assert len(asked) >= 60
    assert taken == []


SPECIAL = [
    "Which documents do I have?", "What documents are in my library?", "which files have I uploaded?",
    "List all my documents", "show me all files", "Please list the documents", "What's in my library?",
    "how many documents are there?", "How many PDFs do I have?", "How many documents have been added so far?",
    "how many spreadsheets are in my library", "How many files are indexed?", "list my contracts",
    "Which contracts do I have?", "When was contract.docx added?", "when did I upload contract.docx?",
    "How many pages does annual-report-2023.pdf have?", "how many pages are there in contract.docx?",
    "Which files failed?", "Are there any failures", "which documents could not be read?", "What tags are there?",
    "list my collections", "What types of files do I have?", "Do I have contract.docx?",
    "Is missing.pdf in my library?", "What did I add last?", "show me the newest documents",
    "Welche Dokumente habe ich?", "Wie viele PDFs gibt es?", "Wann wurde contract.docx hinzugefügt?",
    "Zeige mir alle Dokumente", "Summarise contract.docx", "Please summarize annual-report-2023.pdf",
    "Give me an overview of contract.docx", "a summary of the contract", "What is contract.docx about?",
    "Fasse contract.docx zusammen", "Summarise contarct.docx", "tl;dr of contract.docx",
    "How many rows are in country-codes.csv?", "How many rows in country-codes.csv where Region Name is Oceania?",
    "How many countries are in Europe?",
    "how many countries have continent EU", "What is the average population of the big cities?",
    "Which big city has the highest population?", "sum of the population of small cities",
    "How many rows per Region Name in country-codes.csv?",
]  # fmt: skip

USUAL = [
    "Which files mention the penalty clause?", "What does the contract say about documents?",
    "Who signed the contract?",
    "Summarise the penalties for late delivery", "How many employees are there?", "When was the clause added?",
"Which city has the best food?", "What is the total?", "List the parties",
    "How many documents must the tenant sign?", "When was the Eiffel Tower added to the list?",
    "Do we have to pay in advance?", "What is node.js about?", "give me an overview of the economy",
]  # fmt: skip


@pytest.mark.parametrize("question", SPECIAL)
def test_questions_about_the_library_and_tables_are_told(
    special: tuple[SpecialQuestions, Sequence[Document]], question: str
) -> None:
    questions, documents = special
    assert questions.stream(question, documents=lambda: documents, llm=None, whole=True) is not None


@pytest.mark.parametrize("question", USUAL)
def test_questions_that_only_sound_like_them_are_not(
    special: tuple[SpecialQuestions, Sequence[Document]], question: str
) -> None:
    questions, documents = special
    assert questions.stream(question, documents=lambda: documents, llm=None, whole=True) is None
