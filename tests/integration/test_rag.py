"""The library as a Python object, on a real index and real parsers, with a small fake embedder."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pymupdf
import pytest

from localrag import RAG, load_settings
from localrag.app import Scope
from localrag.errors import DocumentError, IndexMismatchError, NotFoundError
from localrag.testing import HashEmbedder, ScriptedLLM
from localrag.types import Answer

LEASE = b"# Lease\n\nThe lease of the garage ends on 31 March 2027.\n\nThe rent is 120 euros a month.\n"


@pytest.fixture
def rag(tmp_path: Path) -> Iterator[RAG]:
    settings = load_settings(data_dir=tmp_path / "data")
    with RAG.open(settings, embedder=HashEmbedder(), llm=ScriptedLLM(["It ends on 31 March 2027 [1]."])) as rag:
        yield rag


@pytest.mark.parametrize("folder", ["uploads", "markdown", "models", "ocr"])
def test_what_the_library_writes_itself_is_no_document(rag: RAG, folder: str) -> None:
    own = rag.settings.data_dir / folder / "notes.md"
    own.parent.mkdir(parents=True, exist_ok=True)
    own.write_bytes(LEASE)
    (rag.settings.data_dir / "lease.md").write_bytes(LEASE)
    rag.ingest(rag.settings.data_dir)
    assert [document.name for document in rag.documents()] == ["lease.md"]


def test_an_upload_is_kept_under_its_hash_and_found_at_once(rag: RAG) -> None:
    outcome = rag.ingest_bytes(LEASE, "../../lease.md")
    assert (outcome.status, outcome.name) == ("indexed", "../../lease.md")
    document = rag.documents()[0]
    assert document.status == "embedding"
    assert rag.search("garage").vectors_ready == 0.0
    assert rag.search("garage", semantic=1.0).hits != ()
    uploads = rag.settings.data_dir / "uploads"
    assert [path.name for path in uploads.iterdir()] == [document.content_hash]
    rag.embed_pending()
    assert rag.documents()[0].status == "indexed"
    assert rag.search("garage").vectors_ready == 1.0


def test_the_same_upload_twice_or_renamed_is_stored_once(rag: RAG) -> None:
    rag.ingest_bytes(LEASE, "lease.md")
    assert rag.ingest_bytes(LEASE, "lease.md").note == "already indexed"
    assert rag.ingest_bytes(LEASE, "copy.md").note == "already indexed as lease.md"
    assert rag.stats().documents == 1


def test_a_new_version_of_an_upload_replaces_the_old_bytes_too(rag: RAG) -> None:
    rag.ingest_bytes(LEASE, "lease.md")
    rag.ingest_bytes(b"# Lease\n\nAll about boats.\n", "lease.md")
    uploads = rag.settings.data_dir / "uploads"
    assert [path.name for path in uploads.iterdir()] == [rag.documents()[0].content_hash]
    assert rag.search("garage", semantic=0.0).hits == ()


def test_an_upload_that_fails_leaves_the_version_before_it(rag: RAG) -> None:
    rag.ingest_bytes(LEASE, "lease.md")
    failed = rag.ingest_bytes(b"", "lease.md")
    assert failed.error is not None
    assert failed.error.kind == "empty"
    assert rag.ingest_bytes(b"\x00\x01\x02\xff" * 100, "lease.md").status == "failed"
    assert rag.search("garage", semantic=0.0).hits[0].document == "lease.md"
    assert [path.name for path in (rag.settings.data_dir / "uploads").iterdir()] == [rag.documents()[0].content_hash]
    assert [failure.name for failure in rag.failures()] == ["lease.md"]
    rag.dismiss_failure(rag.failures()[0].uri)
    assert rag.failures() == []


def test_delete_leaves_no_trace_on_disk(rag: RAG) -> None:
    canary = b"The xylocanary sings at dawn.\n"
    rag.ingest_bytes(canary, "bird.md")
    rag.embed_pending()
    deleted = rag.delete("bird.md")
    assert (deleted.name, deleted.chunks) == ("bird.md", 1)
    assert rag.search("xylocanary").hits == ()
    assert rag.ask("When does the xylocanary sing?").refused
    data_dir = rag.settings.data_dir
    rag.close()
    traces = [path for path in data_dir.rglob("*") if path.is_file() and b"xylocanary" in path.read_bytes()]
    assert traces == []
    with pytest.raises(NotFoundError, match=r"bird\.md"):
        RAG.open(load_settings(data_dir=data_dir), embedder=HashEmbedder()).delete("bird.md")


def test_an_answer_streams_and_ends_with_its_citations(rag: RAG) -> None:
    rag.ingest_bytes(LEASE, "lease.md")
    *pieces, answer = rag.ask_stream("When does the lease of the garage end?")
    assert isinstance(answer, Answer)
    assert all(isinstance(piece, str) for piece in pieces)
    assert "".join(str(piece) for piece in pieces) == answer.text
    assert (answer.mode, answer.model, answer.refused) == ("llm", "scripted", False)
    citation = answer.citations[0]
    page = rag.pages(citation.document_id)[0]
    assert page.markdown[citation.start : citation.end] == citation.quote
    assert "31 March 2027" in citation.quote
    assert citation.marker in answer.text


def test_a_scope_is_applied_inside_the_search(rag: RAG) -> None:
    for number in range(30):
        rag.ingest_bytes(f"# Garage {number}\n\nThe garage garage garage {number}.\n".encode(), f"g{number}.md")
    rag.ingest_bytes(LEASE, "lease.md", tags={"kind": "contract"}, collection="home/flat")
    rag.embed_pending()
    for scope in (
        Scope(documents=["lease.md"]),
        Scope(tags={"kind": "contract"}),
        Scope(collection="home"),
        Scope(collection="home/flat", tags={"kind": "contract"}),
    ):
        for semantic in (0.0, 0.5, 1.0):
            hits = rag.search("garage", semantic=semantic, scope=scope).hits
            assert {hit.document for hit in hits} == {"lease.md"}
    with pytest.raises(NotFoundError, match=r"none\.md"):
        rag.search("garage", scope=Scope(documents=["none.md"]))
    with pytest.raises(NotFoundError, match=r"none\.md"):
        rag.ask_stream("garage", scope=Scope(documents=["none.md"]))


def test_a_file_named_in_the_question_comes_first(rag: RAG) -> None:
    rag.ingest_bytes(b"The total is 500 euros. The total of totals is the total.\n", "report_april.md")
    rag.ingest_bytes(b"Costs of the month: the total came to 700 euros.\n", "report_march.md")
    rag.embed_pending()
    assert rag.search("In report_march.md, what is the total?").hits[0].document == "report_march.md"
    assert rag.search("In report_april.md, what is the total?").hits[0].document == "report_april.md"


def test_equal_texts_are_returned_once(rag: RAG) -> None:
    for name in ("a", "b", "c"):
        rag.ingest_bytes(
            f"---\n\nThe same sentence about herons.\n\n# {name}\n\nOther {name}.\n".encode(), f"{name}.md"
        )
    texts = [hit.chunk.text for hit in rag.search("herons").hits]
    assert len(texts) == len(set(texts))


def test_two_documents_of_one_name_need_an_id(rag: RAG, tmp_path: Path) -> None:
    for folder in ("x", "y"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.md").write_text(f"In folder {folder}.\n")
    report = rag.ingest(tmp_path / "x", tmp_path / "y")
    assert report.count("indexed") == 2
    with pytest.raises(NotFoundError, match="2 documents are called"):
        rag.delete("a.md")
    assert rag.delete(report.outcomes[0].document_id).name == "a.md"
    assert len(rag.find("a.md")) == 1


def test_a_picture_of_a_page_says_when_its_file_is_gone(rag: RAG, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("Text.\n")
    rag.ingest(tmp_path / "a.md")
    (tmp_path / "a.md").unlink()
    with pytest.raises(NotFoundError, match="is gone"):
        rag.page_picture(rag.documents()[0].id, page=1, quote="Text")


def test_ingest_from_several_threads_loses_nothing(rag: RAG) -> None:
    def put(worker: int) -> None:
        for number in range(5):
            rag.ingest_bytes(f"worker {worker} number {number}\n".encode(), f"{worker}-{number}.txt")

    threads = [threading.Thread(target=put, args=(worker,)) for worker in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert rag.stats().documents == 20


def test_jobs_parse_side_by_side(tmp_path: Path) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    for number in range(12):
        (folder / f"{number:02d}.md").write_text(f"Document number {number}.\n")
    with RAG.open(load_settings(data_dir=tmp_path / "data"), embedder=HashEmbedder(), jobs=3) as rag:
        report = rag.ingest(folder, jobs=3)
    assert [outcome.name for outcome in report.outcomes] == [f"{number:02d}.md" for number in range(12)]
    assert report.count("indexed") == 12


def test_a_folder_around_the_data_folder_is_ingested_without_it(rag: RAG, tmp_path: Path) -> None:
    (tmp_path / "lease.md").write_bytes(LEASE)
    rag.ingest_bytes(b"The boiler was serviced.", "boiler.txt")
    for _ in range(2):
        report = rag.ingest(tmp_path)
        assert [outcome.name for outcome in report.outcomes] == ["lease.md"]
    assert rag.settings.data_dir.resolve().is_relative_to(tmp_path.resolve())
    assert rag.stats().documents == 2


def test_a_path_that_no_file_can_have_stops_nothing(rag: RAG, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("Text.\n")
    report = rag.ingest("a\0b", tmp_path / "a.md")
    assert [outcome.status for outcome in report.outcomes] == ["failed", "indexed"]


@pytest.mark.parametrize("top_k", [0, -1, 2.5])
def test_a_top_k_that_counts_nothing_is_refused(rag: RAG, top_k: float) -> None:
    with pytest.raises(ValueError, match="top_k"):
        rag.search("x", top_k=top_k)  # type: ignore[arg-type]


def test_ingest_can_be_cancelled_between_files(rag: RAG, tmp_path: Path) -> None:
    for number in range(4):
        (tmp_path / f"{number}.md").write_text(f"Document number {number}.\n")
    done: list[str] = []
    report = rag.ingest(
        *(tmp_path / f"{number}.md" for number in range(4)),
        on_file=lambda outcome: done.append(outcome.name),
        cancelled=lambda: len(done) >= 2,
    )
    assert [outcome.name for outcome in report.outcomes] == ["0.md", "1.md"]
    assert rag.ingest(tmp_path / "2.md", tmp_path / "3.md").count("indexed") == 2


def test_another_model_is_refused_and_the_old_index_still_opens(rag: RAG) -> None:
    rag.ingest_bytes(LEASE, "lease.md")
    settings = rag.settings
    with pytest.raises(IndexMismatchError, match="bge-small"):
        RAG.open(settings)
    with RAG.open(settings, embedder=HashEmbedder()) as again:
        assert again.search("garage", semantic=0.0).hits


def test_conversations_are_kept(rag: RAG) -> None:
    rag.save_conversation("c1", json.dumps([{"role": "user", "content": "hi"}]))
    assert json.loads(rag.load_conversation("c1") or "")[0]["content"] == "hi"
    rag.delete_conversation("c1")
    assert rag.load_conversation("c1") is None


@pytest.fixture
def pdf() -> bytes:
    """Two pages, one sentence each."""
    with pymupdf.open() as document:
        for text in ("The first page speaks of herons.", "The second page speaks of otters."):
            document.new_page().insert_text((72, 72), text)
        return bytes(document.tobytes())


def test_an_uploaded_pdf_shows_its_page_with_the_quote_marked(rag: RAG, pdf: bytes) -> None:
    outcome = rag.ingest_bytes(pdf, "animals.pdf")
    assert (outcome.status, outcome.pages) == ("indexed", 2)
    hit = rag.search("otters", semantic=0.0).hits[0]
    assert hit.chunk.page == 2
    marked = rag.page_picture(outcome.document_id, page=2, quote=hit.chunk.text)
    plain = rag.page_picture(outcome.document_id, page=2, quote="Nothing of the kind stands here.")
    assert (marked.found, plain.found) == (True, False)
    assert marked.png.startswith(b"\x89PNG")
    assert marked.png != plain.png
    with pytest.raises(DocumentError, match=r"animals\.pdf has no page 9"):
        rag.page_picture(outcome.document_id, page=9, quote="")
