"""One file into the library: idempotent, replaced whole, failures kept beside what answers."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from localrag.errors import DocumentError, EncryptedDocument
from localrag.index.memory import MemoryIndex
from localrag.library.files import file_uri, upload_uri
from localrag.library.ingest import FileSource, Ingestor, Outcome
from localrag.library.markdown_files import MarkdownFiles
from localrag.types import Chunk, DocumentId, EmbeddingModel, IndexHeader, Page, ParsedDocument

NOW = datetime(2026, 11, 30, tzinfo=UTC)


class LineParser:
    """Every line is a page; a file that says `locked` needs a password; `before` runs while it is read."""

    def __init__(self) -> None:
        self.read: list[str] = []
        self.before: Callable[[Path], None] = lambda _: None

    def parse(self, path: Path, *, name: str) -> ParsedDocument:
        self.read.append(name)
        text = path.read_text()
        self.before(path)
        if text == "locked":
            raise EncryptedDocument(f"{name} needs a password.", path=name, hint="Save a copy without one.")
        pages = tuple(Page(ordinal=n, number=n, markdown=line) for n, line in enumerate(text.split("\n"), start=1))
        return ParsedDocument(media_type="text/plain", pages=pages)

    def close(self) -> None: ...


class PageChunker:
    """One chunk a page that has text."""

    def chunk(self, document_id: DocumentId, pages: tuple[Page, ...]) -> list[Chunk]:
        return [
            Chunk(
                id=f"{document_id}_{index}",
                document_id=document_id,
                index=index,
                page_ordinal=page.ordinal,
                page=page.number,
                text=page.markdown,
                start=0,
                end=len(page.markdown),
                token_count=1,
            )
            for index, page in enumerate(page for page in pages if page.markdown.strip())
        ]


class Library:
    """An Ingestor on a memory index, with short names for what the tests ask."""

    def __init__(self, folder: Path, max_file_bytes: int = 1000) -> None:
        model = EmbeddingModel(name="m", revision="1", dimension=2, max_tokens=16)
        self.index = MemoryIndex(IndexHeader(model=model, chunk_tokens=64, chunk_overlap_tokens=0))
        self.parser = LineParser()
        self.chunker = PageChunker()
        self.folder = folder
        self.markdown = folder / "markdown"
        self.ingestor = Ingestor(
            index=self.index,
            parser=self.parser,
            chunker=self.chunker,
            markdown=MarkdownFiles(self.markdown),
            uploads=folder / "uploads",
            max_file_bytes=max_file_bytes,
            now=lambda: NOW,
        )

    def put(self, name: str, text: str, *, force: bool = False, tags: dict[str, str] | None = None) -> Outcome:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return self.take(name, force=force, tags=tags)

    def take(self, name: str, *, force: bool = False, tags: dict[str, str] | None = None) -> Outcome:
        path = self.folder / name
        source = FileSource(path=path, uri=file_uri(path), name=path.name, tags=tags)
        return self.ingestor.ingest(source, force=force)

    def finds(self, word: str) -> list[str]:
        legs = self.index.search_legs(word, None, limit=10)
        return [scored.chunk.text for scored in legs.lexical or ()]


@pytest.fixture
def library(tmp_path: Path) -> Library:
    return Library(tmp_path)


def test_a_file_becomes_a_document_with_pages_chunks_and_markdown(library: Library) -> None:
    outcome = library.put("a.txt", "alpha\nbeta", tags={"year": "2026"})
    assert (outcome.status, outcome.pages, outcome.chunks) == ("indexed", 2, 2)
    document = library.index.documents()[0]
    assert (document.name, document.page_count, document.chunk_count) == ("a.txt", 2, 2)
    assert (document.tags, document.indexed_at, document.size_bytes) == ({"year": "2026"}, NOW, 10)
    pages = sorted(library.markdown.glob("*/page_*.md"))
    assert [page.read_text() for page in pages] == ["alpha", "beta"]
    assert pages[0].parent.name == document.content_hash


def test_the_same_bytes_again_are_skipped_unread(library: Library) -> None:
    library.put("a.txt", "alpha")
    again = library.put("a.txt", "alpha")
    assert (again.status, again.note, library.parser.read) == ("skipped", "already indexed", ["a.txt"])
    assert library.put("a.txt", "alpha", force=True).status == "indexed"
    assert library.index.stats().chunks == 1


def test_changed_bytes_replace_the_old_version_and_its_markdown(library: Library) -> None:
    first = library.put("a.txt", "alpha\nbeta\ngamma")
    second = library.put("a.txt", "delta")
    assert second.document_id == first.document_id
    assert (library.finds("alpha"), library.finds("delta")) == ([], ["delta"])
    assert library.index.stats().chunks == 1
    assert [path.read_text() for path in library.markdown.rglob("*.md")] == ["delta"]


def test_the_same_bytes_under_another_name_are_not_stored_twice(library: Library) -> None:
    library.put("a.txt", "alpha")
    copy = library.put("b.txt", "alpha")
    assert (copy.status, copy.note) == ("skipped", "already indexed as a.txt")
    assert library.index.stats().documents == 1


def test_a_renamed_file_moves_its_document(library: Library) -> None:
    library.put("a.txt", "alpha")
    (library.folder / "a.txt").rename(library.folder / "b.txt")
    moved = library.take("b.txt")
    assert (moved.status, moved.note) == ("indexed", "moved from a.txt")
    assert [document.name for document in library.index.documents()] == ["b.txt"]
    assert library.finds("alpha") == ["alpha"]
    assert [path.read_text() for path in library.markdown.rglob("*.md")] == ["alpha"]


def test_a_copy_whose_original_was_edited_is_a_move_not_a_duplicate(library: Library) -> None:
    library.put("a.txt", "alpha")
    (library.folder / "a.txt").write_text("edited")
    assert library.put("b.txt", "alpha").status == "indexed"
    assert library.take("a.txt").status == "indexed"
    assert sorted(document.name for document in library.index.documents()) == ["a.txt", "b.txt"]


def test_the_same_name_in_two_folders_is_two_documents(library: Library) -> None:
    assert library.put("x/a.txt", "alpha").document_id != library.put("y/a.txt", "beta").document_id
    assert library.index.stats().documents == 2


def test_tags_of_an_unchanged_file_are_merged(library: Library) -> None:
    library.put("a.txt", "alpha", tags={"year": "2025", "kind": "note"})
    outcome = library.put("a.txt", "alpha", tags={"year": "2026"})
    assert (outcome.status, outcome.note) == ("skipped", "already indexed; tags updated")
    assert library.index.documents()[0].tags == {"year": "2026", "kind": "note"}


def test_a_failure_is_recorded_and_the_version_before_it_still_answers(library: Library) -> None:
    library.put("a.txt", "alpha")
    failed = library.put("a.txt", "locked")
    assert failed.status == "failed"
    assert failed.error is not None
    assert (failed.error.kind, failed.error.hint) == ("encrypted", "Save a copy without one.")
    assert library.finds("alpha") == ["alpha"]
    assert [(failure.name, failure.kind) for failure in library.index.failures()] == [("a.txt", "encrypted")]
    library.put("a.txt", "beta")
    assert library.index.failures() == []


@pytest.mark.parametrize(
    ("text", "kind"), [("", "empty"), ("x" * 1001, "too_large"), ("\n \n", "empty"), ("locked", "encrypted")]
)
def test_a_file_without_use_is_never_indexed(library: Library, text: str, kind: str) -> None:
    outcome = library.put("a.txt", text)
    assert outcome.error is not None
    assert (outcome.status, outcome.error.kind) == ("failed", kind)
    assert library.index.documents() == []


def test_a_size_is_told_in_the_unit_of_the_setting(tmp_path: Path) -> None:
    big = Library(tmp_path, max_file_bytes=512 * 1024 * 1024)  # LOCALRAG_MAX_FILE_MB=512
    path = tmp_path / "big.txt"
    with path.open("wb") as stream:
        stream.truncate(2 * 1024 * 1024 * 1024)
    error = big.take("big.txt").error
    assert error is not None
    assert error.message == "big.txt has 2,048 MB, over the limit of 512 MB."


def test_a_file_that_is_gone_is_unreadable(library: Library) -> None:
    outcome = library.take("none.txt")
    assert isinstance(outcome.error, DocumentError)
    assert outcome.error.kind == "unreadable"


def test_a_file_that_changes_while_it_is_read_is_not_indexed(library: Library) -> None:
    library.parser.before = lambda path: path.write_text("other") and None
    outcome = library.put("a.txt", "alpha")
    assert outcome.error is not None
    assert "changed while it was read" in outcome.error.message
    assert library.index.documents() == []


def test_missing_markdown_is_written_again_from_the_index(library: Library) -> None:
    library.put("a.txt", "alpha\nbeta")
    files = MarkdownFiles(library.markdown)
    files.remove(library.index.documents()[0].content_hash)
    library.take("a.txt")
    assert sorted(path.read_text() for path in library.markdown.rglob("*.md")) == ["alpha", "beta"]


def test_the_sweep_removes_old_files_of_unknown_versions_only(tmp_path: Path) -> None:
    files = MarkdownFiles(tmp_path)
    files.write("known", [Page(ordinal=1, markdown="a")])
    files.write("stale", [Page(ordinal=1, markdown="a"), Page(ordinal=2, markdown="b")])
    assert files.sweep({"known"}) == 0
    assert files.sweep({"known"}, older_than_s=-1) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["known.md"]


def test_an_upload_of_the_same_name_replaces(library: Library) -> None:
    def upload(text: str) -> Outcome:
        path = library.folder / "uploads" / text
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return library.ingestor.ingest(FileSource(path=path, uri=upload_uri("a.txt"), name="a.txt"))

    assert upload("alpha").document_id == upload("beta").document_id
    assert library.finds("alpha") == []
