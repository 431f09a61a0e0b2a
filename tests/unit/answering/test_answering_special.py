"""Answers about the library and summaries, over documents small enough to check by hand."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from localrag.answering.library_questions import Catalogued, library_answer
from localrag.answering.special import SpecialQuestions
from localrag.errors import BackendUnavailable
from localrag.protocols import LLM
from localrag.testing import ScriptedLLM, WordCounter
from localrag.types import Answer, Chunk, Document, Failure, Message, Page

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
_THINGS = [
    "harbour/dock",
    "bridge/river",
    "school/pupils",
    "market/farmers",
    "chapel/priest",
    "station/trains",
    "theatre/actors",
    "library/books",
    "hospital/doctors",
    "factory/workers",
    "garden/flowers",
    "prison/guards",
]
SENTENCES = [
    f"The {thing} for {people} was opened in {1900 + number} by Lord {thing.title()}man himself."
    for number, (thing, people) in enumerate(pair.split("/") for pair in _THINGS)
]


def _document(name: str, media_type: str = "application/pdf", pages: int = 3, **changes: Any) -> Document:
    return Document(
        id=f"id-{name}", content_hash=name, name=name, uri=name, media_type=media_type, size_bytes=9, page_count=pages,
        indexed_at=NOON, **changes,
    )  # fmt: skip


DOCUMENTS = [
    _document("lease-contract.pdf", tags={"year": "2024"}),
    _document("notes.txt", "text/plain", 1, collection="legal/private"),
    _document("work-contract.pdf", pages=4),
]


class TwelvePages:
    """A document of twelve pages of one sentence each."""

    def pages(self, document_id: str) -> list[Page]:
        return [Page(ordinal=n, number=n, markdown=text) for n, text in enumerate(SENTENCES, 1)]

    def page(self, document_id: str, ordinal: int) -> Page | None:
        return self.pages(document_id)[ordinal - 1]

    def document_chunks(self, document_id: str) -> list[Chunk]:
        return [
            Chunk(
                id=f"c{n}", document_id=document_id, index=n - 1, page_ordinal=n, page=n, text=text, start=0,
                end=len(text), token_count=20,
            )
            for n, text in enumerate(SENTENCES, 1)
        ]  # fmt: skip


def _ask(question: str, llm: LLM | None = None, documents: Sequence[Document] = DOCUMENTS) -> list[str | Answer] | None:
    index: Any = TwelvePages()
    special = SpecialQuestions(index, counter=WordCounter(), context_tokens=640, failures=list)
    stream = special.stream(question, documents=lambda: documents, llm=llm, whole=True)
    return None if stream is None else list(stream)


def _said(question: str, catalog: Catalogued | None = None) -> str | None:
    return library_answer(question, lambda: catalog or Catalogued(DOCUMENTS))


def test_counts_are_exact() -> None:
    assert _said("How many PDFs do I have?") == "**2 PDFs**, 7 pages in all."
    assert _said("How many documents are there?") == "**3 documents**, 8 pages in all.\n\n- 2 PDFs\n- 1 txt file"
    assert _said("How many pages does work-contract.pdf have?") == "- work-contract.pdf has **4 pages**."


def test_a_long_list_is_cut() -> None:
    said = _said("list my documents", Catalogued([_document(f"file-{n:02}.pdf") for n in range(25)]))
    assert said is not None
    assert said.startswith("**25 documents**\n\n- file-00.pdf")
    assert said.endswith("- and 5 more")
    assert said.count("\n- file-") == 20


def test_my_contracts_are_those_called_so() -> None:
    said = _said("list my contracts")
    assert said is not None
    assert said.startswith("**2 documents**")
    assert "notes.txt" not in said
    assert _said("list my invoices") is None


def test_labels_and_collections() -> None:
    assert _said("what tags are there?") == "- year=2024: 1 document"
    assert "notes.txt" in (_said("which documents are in the collection legal") or "")
    assert "lease-contract.pdf" in (_said("which documents are tagged 2024?") or "")


def test_failures_are_told_with_what_to_do() -> None:
    failure = Failure(uri="x", name="x.pdf", kind="crash", message="x.pdf is broken.", hint="Mend it.", failed_at=NOON)
    assert _said("Which files failed?", Catalogued(DOCUMENTS, [failure])) == (
        "**1 file** could not be read:\n\n- x.pdf: x.pdf is broken. Mend it."
    )


@pytest.mark.parametrize(
    ("question", "said"),
    [
        (
            "Summarise lease-contact.pdf",
            "no document called lease-contact.pdf in the library. Close to it: lease-contract.pdf",
        ),
        (
            "Summarise the contract",
            "2 documents may be meant. Name one of them:\n\n- lease-contract.pdf\n- work-contract.pdf",
        ),
        ("Summarise the document", "3 documents may be meant"),
    ],
)
def test_an_unclear_name_is_said(question: str, said: str) -> None:
    *_, answer = _ask(question) or []
    assert isinstance(answer, Answer)
    assert said in answer.text
    assert (answer.computed, answer.citations) == (True, ())


def test_without_a_model_the_whole_document_is_quoted() -> None:
    *_, answer = _ask("Summarise lease-contract.pdf") or []
    assert isinstance(answer, Answer)
    assert (answer.mode, answer.model, answer.computed) == ("extractive", None, False)
    pages = [citation.page or 0 for citation in answer.citations]
    assert pages == sorted(pages)
    assert pages[0] <= 2
    assert pages[-1] >= 11
    assert all(c.verified and c.quote == SENTENCES[c.page_ordinal - 1] for c in answer.citations)


def test_a_model_reads_every_part_and_its_sentences_are_checked() -> None:
    def reply(messages: Sequence[Message]) -> str:
        body = messages[-1].content
        first = next(sentence for sentence in SENTENCES if sentence in body)
        return f"{first[:-1]} [1]. It cost 77777 euros [1]."

    llm = ScriptedLLM(reply)
    index: Any = TwelvePages()
    # 300 tokens less 75 for the reply leave nothing beside the instructions, so that each passage is a part.
    special = SpecialQuestions(index, counter=WordCounter(), context_tokens=450, failures=list)
    stream = special.stream("Summarise lease-contract.pdf", documents=lambda: DOCUMENTS, llm=llm, whole=True)
    *pieces, answer = list(stream or ())
    assert isinstance(answer, Answer)
    assert len(llm.calls) > 1
    assert any("part 1 of" in str(piece) for piece in pieces)
    assert answer.mode == "llm"
    assert "[lease-contract.pdf, p.1]" in answer.text
    assert answer.unsupported == ("It cost 77777 euros.",)


def test_closing_the_stream_ends_the_work() -> None:
    llm = ScriptedLLM(lambda messages: "Nothing.")
    index: Any = TwelvePages()
    special = SpecialQuestions(index, counter=WordCounter(), context_tokens=450, failures=list)
    stream: Any = special.stream("Summarise lease-contract.pdf", documents=lambda: DOCUMENTS, llm=llm, whole=True)
    assert "part 1 of" in next(stream)
    stream.close()
    assert llm.calls == []


def test_a_model_that_is_down_is_said_and_quotes_stand_in() -> None:
    def fail(messages: Sequence[Message]) -> str:
        raise BackendUnavailable("Ollama does not answer.", service="Ollama", url="", hint="Start it.")

    *_, answer = _ask("Summarise lease-contract.pdf", ScriptedLLM(fail)) or []
    assert isinstance(answer, Answer)
    assert answer.notice == "Ollama does not answer. These are the most central sentences. Start it."
    assert len(answer.citations) >= 6


def test_only_documents_in_scope_are_told_of() -> None:
    *_, answer = _ask("Which documents do I have?", documents=DOCUMENTS[:1]) or []
    assert isinstance(answer, Answer)
    assert "lease-contract.pdf" in answer.text
    assert "notes.txt" not in answer.text
    *_, unknown = _ask("Summarise work-contract.pdf", documents=DOCUMENTS[:1]) or []
    assert isinstance(unknown, Answer)
    assert "no document called work-contract.pdf" in unknown.text
