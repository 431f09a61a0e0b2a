"""Documents found by id or name, however the name was typed."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from localrag.errors import NotFoundError
from localrag.index.memory import MemoryIndex
from localrag.library.catalog import Catalog
from localrag.library.files import printable
from localrag.library.markdown_files import MarkdownFiles
from localrag.types import Chunk, Document, EmbeddingModel, IndexHeader, Page


@pytest.fixture
def index() -> MemoryIndex:
    model = EmbeddingModel(name="m", revision="1", dimension=2, max_tokens=16)
    return MemoryIndex(IndexHeader(model=model, chunk_tokens=64, chunk_overlap_tokens=0))


@pytest.fixture
def catalog(index: MemoryIndex, tmp_path: Path) -> Catalog:
    return Catalog(index=index, markdown=MarkdownFiles(tmp_path / "markdown"), uploads=tmp_path / "uploads")


def _put(index: MemoryIndex, identity: str, name: str) -> None:
    document = Document(
        id=identity,
        content_hash=identity,
        name=printable(name),
        uri=f"upload:{identity}",
        media_type="text/plain",
        size_bytes=1,
        page_count=1,
        chunk_count=1,
        indexed_at=datetime(2026, 11, 30, tzinfo=UTC),
    )
    chunk = Chunk(
        id=f"{identity}_0", document_id=identity, index=0, page_ordinal=1, text="x", start=0, end=1, token_count=1
    )
    index.replace_document(document, (Page(ordinal=1, markdown="x"),), [chunk])


@pytest.mark.parametrize("typed", ["bad\ufffd name.md", "bad\udcff\nname.md"])
def test_a_name_is_found_as_it_is_shown_and_as_it_is_on_disk(index: MemoryIndex, catalog: Catalog, typed: str) -> None:
    _put(index, "a1", os.fsdecode(b"bad\xff\nname.md"))
    assert catalog.get(typed).id == "a1"


def test_no_name_is_no_document(index: MemoryIndex, catalog: Catalog) -> None:
    _put(index, "a1", "")  # shown as `unnamed`
    for typed in ("", "  "):
        with pytest.raises(NotFoundError):
            catalog.delete(typed)
    assert catalog.get("unnamed").id == "a1"
