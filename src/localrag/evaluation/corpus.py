"""Corpus entries -> the documents and pages that a user's files would have given."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from localrag.errors import DatasetError
from localrag.evaluation.beir import BeirDataset, CorpusEntry, EntryId
from localrag.library.files import document_id
from localrag.protocols import Parser
from localrag.types import Document, Page

_MARKDOWN = "text/markdown"


@dataclass(frozen=True, slots=True, kw_only=True)
class CorpusFile:
    """One document of the corpus; `entries` tells which entry each page, by its ordinal, is.

    entry_count: how many entries this file accounts for, those without a page (blank in the PDF) included.
    """

    document: Document
    pages: tuple[Page, ...]
    entries: Mapping[int, EntryId]
    entry_count: int

    def with_chunks(self, count: int) -> Document:
        """The document as the catalog wants it."""
        return replace(self.document, chunk_count=count)


def corpus_files(dataset: BeirDataset, parser: Parser, *, titles: bool) -> Iterator[CorpusFile]:
    """Every text entry as a document of one page, then every PDF with those of its pages that are entries."""
    by_pdf: dict[Path, list[CorpusEntry]] = {}
    for entry in dataset.corpus:
        if entry.pdf is None:
            yield _text_file(dataset.name, entry, titles=titles)
        else:
            by_pdf.setdefault(entry.pdf, []).append(entry)
    for path, entries in by_pdf.items():
        yield _pdf_file(dataset.name, path, entries, parser)


def _text_file(dataset: str, entry: CorpusEntry, *, titles: bool) -> CorpusFile:
    markdown = _markdown(entry) if titles else entry.text
    page = Page(ordinal=1, number=entry.page, markdown=markdown)
    uri = f"beir:{dataset}/{entry.id}"
    # The file's name is searched too, so it must say nothing: the title stands in the text already.
    document = _document(uri, f"{document_id(uri)}.md", _MARKDOWN, markdown.encode(), pages=1)
    return CorpusFile(document=document, pages=(page,), entries={1: entry.id}, entry_count=1)


def _markdown(entry: CorpusEntry) -> str:
    """The text under its title; a title that stands over nothing is the text."""
    title = " ".join(entry.title.split())
    if not title:
        return entry.text
    return f"# {title}\n\n{entry.text}" if entry.text.strip() else title


def _pdf_file(dataset: str, path: Path, entries: Sequence[CorpusEntry], parser: Parser) -> CorpusFile:
    wanted: dict[int | None, EntryId] = {}
    for entry in entries:
        other = wanted.setdefault(entry.page, entry.id)
        if other != entry.id:
            raise DatasetError(f"The corpus entries {other!r} and {entry.id!r} are both page {entry.page} of {path}.")
    parsed = parser.parse(path, name=path.name)
    pages = tuple(page for page in parsed.pages if page.number in wanted)
    document = _document(
        f"beir:{dataset}/{path.name}", path.name, parsed.media_type, path.read_bytes(), pages=len(parsed.pages)
    )
    return CorpusFile(
        document=document,
        pages=pages,
        entries={page.ordinal: wanted[page.number] for page in pages},
        entry_count=len(entries),
    )


def _document(uri: str, name: str, media_type: str, content: bytes, *, pages: int) -> Document:
    return Document(
        id=document_id(uri),
        content_hash=hashlib.sha256(content).hexdigest(),
        name=name,
        uri=uri,
        media_type=media_type,
        size_bytes=len(content),
        page_count=pages,
        indexed_at=datetime.now(UTC),
    )
