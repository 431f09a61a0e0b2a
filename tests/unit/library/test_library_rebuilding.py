"""The index made anew beside the one that answers: caught up, resumed, switched once, and what is known kept."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from localrag.chunking.split import Chunker
from localrag.errors import BackendTimeout
from localrag.index.memory import MemoryIndex
from localrag.library.embedding_queue import EmbeddingQueue
from localrag.library.rebuilding import LEASE, Rebuild, Rebuilder, RebuildProgress
from localrag.testing import HashEmbedder
from localrag.types import Document, IndexHeader, Page

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
OLD = IndexHeader(model=HashEmbedder().model, chunk_tokens=64, chunk_overlap_tokens=0)
SMALLER = replace(OLD, chunk_tokens=32)
NAMES = ("ash", "box", "elm")


def text_of(name: str, paragraphs: int = 6) -> str:
    dice = random.Random(name)
    return "\n\n".join(
        f"{name} {number} " + " ".join(f"{name}{dice.randrange(99)}" for _ in range(14)) + "."
        for number in range(paragraphs)
    )


def put(index: MemoryIndex, name: str, text: str, *, header: IndexHeader = OLD, **changes: object) -> None:
    stored = Document(
        id=name,
        content_hash=f"hash-{name}",
        name=f"{name}.md",
        uri=f"file:///{name}.md",
        media_type="text/markdown",
        size_bytes=10,
        page_count=1,
        indexed_at=NOON,
    )
    pages = (Page(ordinal=1, markdown=text),)
    chunks = chunker(header).chunk(name, pages)
    index.replace_document(replace(stored, **changes), pages, chunks)  # type: ignore[arg-type]


def get(index: MemoryIndex, name: str) -> Document:
    found = index.get_document(name)
    assert found is not None
    return found


def chunker(header: IndexHeader) -> Chunker:
    return Chunker(HashEmbedder().tokenizer, header.chunk_tokens, header.chunk_overlap_tokens)


@pytest.fixture
def index() -> MemoryIndex:
    made = MemoryIndex(OLD)
    for name in NAMES:
        put(made, name, text_of(name))
    EmbeddingQueue(index=made, embedder=HashEmbedder()).drain()
    made.save_conversation("c", "[]")
    return made


def rebuild(
    index: MemoryIndex, wanted: IndexHeader = SMALLER, embedder: HashEmbedder | None = None, **more: object
) -> Rebuild:
    return Rebuilder(
        index=index,
        present=OLD,
        wanted=wanted,
        embedder=embedder or HashEmbedder(),
        chunker=chunker(wanted),
        sleep=lambda _: None,
        **more,  # type: ignore[arg-type]
    ).run()


def assert_like_an_ingest(index: MemoryIndex, header: IndexHeader, texts: dict[str, str]) -> None:
    """The chunks are those that an ingest with these settings would have made, all with vectors."""
    assert index.header == header
    assert [each.id for each in index.documents()] == sorted(texts)
    for name, text in texts.items():
        assert index.document_chunks(name) == chunker(header).chunk(name, (Page(ordinal=1, markdown=text),))
        assert index.pages(name) == [Page(ordinal=1, markdown=text)]
    assert index.pending_count() == 0
    stats = index.stats()
    assert stats.embedded == stats.chunks


def test_every_document_is_cut_and_embedded_anew(index: MemoryIndex) -> None:
    before = index.stats().chunks
    seen: list[RebuildProgress] = []
    done = rebuild(index, progress=seen.append)
    assert_like_an_ingest(index, SMALLER, {name: text_of(name) for name in NAMES})
    assert index.stats().chunks > before
    assert index.load_conversation("c") == "[]"
    assert (done.switched, done.documents) == (True, 3)
    assert [(each.done, each.total) for each in seen if each.stage == "cutting"] == [(n, 3) for n in range(4)]
    embedding = [each for each in seen if each.stage == "embedding"]
    assert (embedding[-1].done, embedding[-1].total) == (done.embedded, done.embedded)
    assert seen[-1].stage == "switching"
    assert index.acquire_lease(LEASE, "next", 1.0)  # given back


def test_of_the_same_model_known_texts_are_not_embedded_again(index: MemoryIndex) -> None:
    put(index, "short", "A page of one chunk, whatever the size.")
    EmbeddingQueue(index=index, embedder=HashEmbedder()).drain()
    embedder = HashEmbedder()
    rebuild(index, embedder=embedder)
    assert embedder.embedded
    assert not any("whatever the size" in text for text in embedder.embedded)
    assert index.pending_count() == 0


def test_of_another_model_every_text_is_embedded_again(index: MemoryIndex) -> None:
    embedder = HashEmbedder(dimension=32, revision="2")
    wanted = replace(OLD, model=embedder.model)
    rebuild(index, wanted, embedder)
    assert_like_an_ingest(index, wanted, {name: text_of(name) for name in NAMES})
    assert len(embedder.embedded) == index.stats().chunks
    assert all(row.shape == (32,) for row in index.document_vectors("ash").values())


def test_the_old_index_answers_to_the_end(index: MemoryIndex) -> None:
    asked = HashEmbedder().embed_query(text_of("elm")[:40])
    before = index.search_legs("elm", asked, limit=5)
    stages: list[str] = []

    def look(state: RebuildProgress) -> None:
        stages.append(state.stage)
        assert index.search_legs("elm", asked, limit=5) == before

    rebuild(index, progress=look)
    assert set(stages) == {"cutting", "embedding", "switching"}
    assert index.search_legs("elm", asked, limit=5) != before


def at(stage: str, act: Callable[[], None]) -> Callable[[RebuildProgress], None]:
    """Acts the first time that the stage is reported."""
    waiting = [act]

    def progress(state: RebuildProgress) -> None:
        if state.stage == stage and waiting:
            waiting.pop()()

    return progress


@pytest.mark.parametrize("stage", ["cutting", "embedding", "switching"])
def test_what_others_write_meanwhile_is_in_the_result(index: MemoryIndex, stage: str) -> None:
    def others() -> None:
        index.delete_document("ash")
        put(index, "box", text_of("box of another version", 4), content_hash="v2")
        put(index, "yew", text_of("yew"))
        index.update_document(replace(get(index, "elm"), tags={"kind": "tree"}))

    done = rebuild(index, progress=at(stage, others))
    assert done.switched
    texts = {"box": text_of("box of another version", 4), "elm": text_of("elm"), "yew": text_of("yew")}
    assert_like_an_ingest(index, SMALLER, texts)
    changed = {each.id: (each.content_hash, dict(each.tags)) for each in index.documents()}
    assert changed == {"box": ("v2", {}), "elm": ("hash-elm", {"kind": "tree"}), "yew": ("hash-yew", {})}


def test_a_run_that_was_killed_is_gone_on_with(index: MemoryIndex) -> None:
    class Killed(BaseException):
        pass

    def kill() -> None:
        raise Killed

    first, second = HashEmbedder(), HashEmbedder()
    with pytest.raises(Killed):
        rebuild(index, embedder=first, progress=at("embedding", kill))
    assert index.header == OLD
    assert len(first.embedded) == 16  # one batch, which was kept before it was told of
    done = rebuild(index, embedder=second)
    assert (done.switched, done.documents) == (True, 0)
    assert not set(first.embedded) & set(second.embedded)
    assert_like_an_ingest(index, SMALLER, {name: text_of(name) for name in NAMES})


def test_cancelled_the_old_index_stays(index: MemoryIndex) -> None:
    answers = iter([False, False, True])
    done = rebuild(index, cancelled=lambda: next(answers, True))
    assert (done.switched, done.documents) == (False, 2)
    assert index.header == OLD
    assert index.acquire_lease(LEASE, "next", 1.0)


def test_an_unfinished_one_of_other_settings_is_dropped(index: MemoryIndex) -> None:
    rebuild(index, cancelled=lambda: index.open_successor(SMALLER).stats().documents == 2)
    other = replace(OLD, chunk_tokens=48)
    assert rebuild(index, other).documents == 3
    assert_like_an_ingest(index, other, {name: text_of(name) for name in NAMES})


def test_another_rebuild_is_waited_for(index: MemoryIndex) -> None:
    index.acquire_lease(LEASE, "another", 1_000.0)
    stages: list[str] = []

    def progress(state: RebuildProgress) -> None:
        stages.append(state.stage)
        if len(stages) == 3:
            index.release_lease(LEASE, "another")

    assert rebuild(index, progress=progress).switched
    assert stages[:4] == ["waiting", "waiting", "waiting", "cutting"]


def test_writers_that_never_pause_are_told_of(index: MemoryIndex) -> None:
    def progress(state: RebuildProgress) -> None:
        if state.stage == "switching":
            index.update_document(get(index, "elm"))

    with pytest.raises(BackendTimeout, match="Other writers kept changing"):
        rebuild(index, progress=progress)
    assert index.header == OLD


def test_a_document_that_goes_while_it_is_copied_is_left_out(index: MemoryIndex) -> None:
    def progress(state: RebuildProgress) -> None:
        if state.stage == "cutting" and state.done == 1 and index.get_document("box"):
            index.delete_document("box")

    rebuild(index, progress=progress)
    assert_like_an_ingest(index, SMALLER, {name: text_of(name) for name in ("ash", "elm")})


def test_source_code_is_cut_as_code(index: MemoryIndex) -> None:
    code = "# not a heading\n\n" + text_of("code")
    pages = (Page(ordinal=1, markdown=code, verbatim=True),)
    put(index, "code", code, media_type="text/x-python")
    rebuild(index)
    assert index.document_chunks("code") == chunker(SMALLER).chunk("code", pages)
    assert {chunk.heading_path for chunk in index.document_chunks("code")} == {()}


def test_the_code_of_an_archive_is_cut_as_code_and_the_rest_is_not(index: MemoryIndex) -> None:
    text = "# said to be a heading\n\n" + text_of("code", 1)
    pages = [Page(ordinal=1, markdown=text, verbatim=True), Page(ordinal=2, markdown=text)]
    index.replace_document(replace(get(index, "ash"), media_type="application/zip"), pages, [])
    rebuild(index)
    headings = {(chunk.page_ordinal, chunk.heading_path) for chunk in index.document_chunks("ash")}
    assert headings == {(1, ()), (2, ("said to be a heading",))}
