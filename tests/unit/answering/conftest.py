"""A small library of passages, and models that say what they are told to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import pytest

from localrag.errors import BackendError
from localrag.protocols import Generation
from localrag.testing import WordCounter
from localrag.types import Check, Chunk, Hit, Message, Page, Ranking


@dataclass
class ScriptedModel:
    """Says its reply in pieces of `size` characters, then fails with `error` if it has one; keeps what it was sent.

    Unlike localrag.testing.ScriptedLLM it can fail in the middle of a reply.
    """

    reply: str
    size: int = 3
    error: BackendError | None = None
    name: str = "scripted"
    sent: list[tuple[Sequence[Message], Generation]] = field(default_factory=list)

    def stream(self, messages: Sequence[Message], generation: Generation) -> Iterator[str]:
        self.sent.append((messages, generation))
        for start in range(0, len(self.reply), self.size):
            yield self.reply[start : start + self.size]
        if self.error:
            raise self.error

    def check(self) -> list[Check]:
        return []


@dataclass
class Shelf:
    """Pages by document, one passage each, in the order they were put there."""

    texts: dict[str, str] = field(default_factory=dict)
    hits: list[Hit] = field(default_factory=list)

    def put(
        self,
        document: str,
        text: str,
        *,
        page: int | None = None,
        label: str | None = None,
        before: str = "",
        prefix: str = "",
        heading_path: tuple[str, ...] = (),
        lexical_rank: int | None = 1,
        vector_rank: int | None = 1,
    ) -> Hit:
        """A hit on a new passage; `before` is what its page holds in front of it."""
        number = len(self.hits)
        self.texts[f"doc{number}"] = before + text
        chunk = Chunk(
            id=f"doc{number}_0",
            document_id=f"doc{number}",
            index=0,
            page_ordinal=1,
            page=page,
            label=label,
            heading_path=heading_path,
            text=text,
            start=len(before),
            end=len(before) + len(text),
            token_count=len(text.split()),
            prefix=prefix,
        )
        hit = Hit(
            chunk=chunk,
            document=document,
            rank=number + 1,
            score=1 / (60 + number + 1),
            scale="rrf",
            lexical_rank=lexical_rank,
            vector_rank=vector_rank,
        )
        self.hits.append(hit)
        return hit

    def page(self, document_id: str, ordinal: int) -> Page | None:
        text = self.texts.get(document_id)
        return None if text is None or ordinal != 1 else Page(ordinal=1, markdown=text)

    def search(self, query: str) -> Ranking:
        return Ranking(query=query, semantic=0.5, hits=tuple(self.hits))


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


@pytest.fixture
def library(shelf: Shelf) -> Shelf:
    """A handbook page, a note without pages and a sheet."""
    shelf.put(
        "handbook.pdf",
        "Employees get 25 days of annual leave. Unused leave expires on 31 March. Contact Mira Falk in HR.",
        page=4,
        before="# Leave\n\n",
        heading_path=("Leave", "Annual"),
    )
    shelf.put("notes.txt", "The vault code of Mira Falk is 7316. It was set in 2021.")
    shelf.put(
        "book.xlsx",
        "| Quarter | Revenue |\n|---|---|\n| Q1 | 120 |\n| Q3 | 1,234.50 |",
        label="sheet Sales, rows 2-3",
    )
    return shelf


@pytest.fixture
def words() -> WordCounter:
    return WordCounter()


@pytest.fixture
def model() -> Callable[..., ScriptedModel]:
    return ScriptedModel
