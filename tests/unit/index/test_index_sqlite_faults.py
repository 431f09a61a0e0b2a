"""Kills, crowds, forks and deleted words: what one process alone never shows."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from localrag.index.content import text_hash
from localrag.index.sqlite import SqliteIndex
from localrag.testing import store_texts
from localrag.types import Chunk, Document, EmbeddingModel, IndexHeader, Page

MODEL = EmbeddingModel(name="m", revision="r", dimension=8, max_tokens=512)
HEADER = IndexHeader(model=MODEL, chunk_tokens=256, chunk_overlap_tokens=32)
CHUNKS = 12

# What a child process runs: `work(path, role, seconds)` below, found through the folder of this file.
CHILD = "import sys; sys.path.insert(0, sys.argv[1]); import test_index_sqlite_faults as t; t.work(*sys.argv[2:])"


def put(index: SqliteIndex, identifier: str, version: int, chunks: int = CHUNKS) -> None:
    """A document whose every chunk names its version."""
    texts = [f"walrus {identifier} version{version} part{number} shared{number}" for number in range(chunks)]
    store_texts(index, identifier, *texts, content_hash=f"{identifier}-{version}")


def embed_some(index: SqliteIndex, limit: int = 20) -> None:
    index.add_vectors({each.text_hash: vector_of(each.text) for each in index.pending_texts(limit)})


def vector_of(text: str) -> np.ndarray:  # type: ignore[type-arg]
    row = np.random.default_rng(int(text_hash(text)[:8], 16)).normal(size=8).astype(np.float32)
    return row / np.linalg.norm(row)


def assert_whole(index: SqliteIndex) -> None:
    """Every document is there whole, in one version, and the file agrees with itself."""
    checks = index.check(deep=True)
    assert all(check.ok for check in checks), checks
    for document in index.documents():
        texts = [chunk.text for chunk in index.document_chunks(document.id)]
        assert len(texts) == CHUNKS
        assert len({text.split()[2] for text in texts}) == 1
        assert index.pages(document.id)[0].markdown == "\n".join(texts)


def work(path: str, role: str, seconds: str) -> None:
    """Does one thing over and over; any error ends the process with a traceback."""
    index = SqliteIndex.open(Path(path), HEADER)
    deadline = time.monotonic() + float(seconds)
    turn = 0
    dice = random.Random(role)
    while time.monotonic() < deadline or turn < 3:  # a busy machine may leave time for one turn only
        turn += 1
        if role.startswith("add"):
            put(index, f"{role}-{turn % 40}", turn)
        elif role == "replace":
            put(index, f"add1-{dice.randrange(5)}", turn)
        elif role == "delete":
            for document in index.documents()[:2]:
                index.delete_document(document.id)
            time.sleep(0.01)
        elif role == "embed":
            embed_some(index)
        elif role == "search":
            legs = index.search_legs("walrus shared3", vector_of(str(turn)), limit=10)
            assert legs.lexical is not None
            assert legs.vector is not None
            assert all(hit.chunk.document_id in hit.chunk.id for hit in (*legs.lexical, *legs.vector))
        print(turn, flush=True)
    index.close()


def start(path: Path, role: str, seconds: float) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", CHILD, str(Path(__file__).parent), str(path), role, str(seconds)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is POSIX")
def test_ten_kills_while_writing_leave_whole_documents(tmp_path: Path) -> None:
    path = tmp_path / "library.db"
    SqliteIndex.open(path, HEADER).close()
    dice = random.Random(7)
    written = 0
    for round_number in range(10):
        child = start(path, "add-killed" if round_number % 2 else "replace", 60)
        assert child.stdout is not None
        child.stdout.readline()  # it has written at least once
        time.sleep(dice.uniform(0, 0.08))
        child.send_signal(signal.SIGKILL)
        child.communicate(timeout=30)
        index = SqliteIndex.open(path, HEADER)
        assert_whole(index)
        written = index.stats().documents
        embed_some(index)
        index.close()
    assert written >= 2


def test_six_processes_at_once_make_no_errors(tmp_path: Path) -> None:
    path = tmp_path / "library.db"
    roles = ["add1", "add2", "replace", "delete", "embed", "search"]
    children = [start(path, role, 2) for role in roles]  # the first to come creates the file
    results = {
        role: (*child.communicate(timeout=120), child.returncode) for role, child in zip(roles, children, strict=True)
    }
    assert {role: (error, code) for role, (_, error, code) in results.items()} == dict.fromkeys(roles, ("", 0))
    assert all(int(output.split()[-1]) >= 2 for output, _, _ in results.values())
    index = SqliteIndex.open(path, HEADER)
    assert_whole(index)
    index.close()


def test_another_process_sees_a_replace_whole_and_at_once(tmp_path: Path) -> None:
    path = tmp_path / "library.db"
    writer, reader = SqliteIndex.open(path, HEADER), SqliteIndex.open(path, HEADER)
    put(writer, "a", 1)
    embed_some(writer)
    vector = vector_of("walrus a version1 part0 shared0")
    before = reader.change_counter()
    first = reader.search_legs("version1", vector, limit=50)
    assert [len(first.lexical or ()), len(first.vector or ())] == [CHUNKS, CHUNKS]
    put(writer, "a", 2)
    assert reader.change_counter() > before
    second = reader.search_legs("version1 version2", vector, limit=50)
    assert {hit.chunk.text.split()[2] for hit in second.lexical or ()} == {"version2"}
    assert second.vector == ()
    writer.close()
    reader.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_and_its_parent_both_go_on(tmp_path: Path) -> None:
    index = SqliteIndex.open(tmp_path / "library.db", HEADER)
    put(index, "parent", 1)
    child = multiprocessing.get_context("fork").Process(target=_write_in_child, args=(index,))
    child.start()
    put(index, "parent", 2)
    child.join(60)
    assert child.exitcode == 0
    assert {document.id for document in index.documents()} == {"parent", "child"}
    assert_whole(index)
    index.close()


def _write_in_child(index: SqliteIndex) -> None:
    put(index, "child", 1)
    assert index.search_legs("child", None, limit=5).lexical
    index.close()


def test_deleted_words_are_in_no_file(tmp_path: Path) -> None:
    path = tmp_path / "library.db"
    index = SqliteIndex.open(path, HEADER)
    for number in range(30):
        put(index, f"d{number}", number)
    _put_text(index, "secret", "canaryquartz lies here", "canarytitle.txt")
    _put_text(index, "changed", "canaryold text", "changed.txt")
    _put_text(index, "renamed", "plain text", "canaryname.txt")
    embed_some(index, 1000)
    assert _found(tmp_path, b"canary")

    index.delete_document("secret")
    _put_text(index, "changed", "fresh text", "changed.txt")
    stored = index.get_document("renamed")
    assert stored is not None
    _rename(index, stored, "plain.txt")
    index.close()
    assert _found(tmp_path, b"canary") == []

    again = SqliteIndex.open(path, HEADER)
    assert again.stats().documents == 32  # 30, changed and renamed
    assert all(check.ok for check in again.check(deep=True))
    again.close()


def test_deleted_words_are_gone_while_the_app_goes_on(tmp_path: Path) -> None:
    index = SqliteIndex.open(tmp_path / "library.db", HEADER)
    put(index, "a", 1)
    _put_text(index, "secret", "canaryquartz lies here", "x.txt")
    index.delete_document("secret")
    assert _found(tmp_path, b"canary") == []
    index.close()


def test_clear_leaves_no_words(tmp_path: Path) -> None:
    index = SqliteIndex.open(tmp_path / "library.db", HEADER)
    _put_text(index, "secret", "canaryquartz lies here", "x.txt")
    index.clear()
    assert _found(tmp_path, b"canary") == []
    index.close()


def test_many_deletes_share_their_overwriting(tmp_path: Path) -> None:
    """The last of many is overwritten by `close`, and the mark survives a process that never closes."""
    path = tmp_path / "library.db"
    index = SqliteIndex.open(path, HEADER)
    for number in range(6):
        _put_text(index, f"s{number}", f"canary{number}", "x.txt")
    index._purge._not_before = time.monotonic() + 1000  # as after a long one
    for number in range(6):
        index.delete_document(f"s{number}")
    assert any("wait" in check.detail for check in index.check())
    other = SqliteIndex.open(path, HEADER)
    other.close()
    assert any("no trace" in check.detail for check in index.check())
    index.close()
    assert _found(tmp_path, b"canary") == []


def _put_text(index: SqliteIndex, identifier: str, text: str, name: str) -> None:
    document = Document(
        id=identifier,
        content_hash=text,
        name=name,
        uri=identifier,
        media_type="text/plain",
        size_bytes=1,
        page_count=1,
        tags={"note": text},
        indexed_at=datetime.now(UTC),
    )
    chunk = Chunk(
        id=f"{identifier}_0",
        document_id=identifier,
        index=0,
        page_ordinal=1,
        text=text,
        start=0,
        end=len(text),
        token_count=1,
    )
    index.replace_document(document, [Page(ordinal=1, markdown=text)], [chunk])


def _rename(index: SqliteIndex, stored: Document, name: str) -> None:
    index.update_document(replace(stored, name=name, tags={}))


def _found(folder: Path, word: bytes) -> list[str]:
    """The files that hold the word."""
    return [each.name for each in sorted(folder.iterdir()) if word in each.read_bytes()]


def test_the_driver_is_safe_between_threads() -> None:
    """Connections move between threads; that needs SQLite's serialized mode."""
    assert sqlite3.threadsafety == 3
