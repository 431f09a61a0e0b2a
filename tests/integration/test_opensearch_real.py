"""The library in the real OpenSearch server: what the contract suite, which runs over it too, does not ask."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from opensearchpy import OpenSearch, Urllib3HttpConnection

from localrag import RAG, load_settings
from localrag.errors import IndexMismatchError, SettingsError, StorageFullError
from localrag.index.content import text_hash
from localrag.index.opensearch import OpenSearchIndex
from localrag.index.opensearch_schema import Copies
from localrag.index.sqlite import SqliteIndex
from localrag.library.migration import migrate
from localrag.retrieval.hybrid import Retriever
from localrag.testing import HashEmbedder, ScriptedLLM, store_texts
from localrag.types import IndexHeader, Query

pytestmark = pytest.mark.opensearch

URL = os.environ.get("OPENSEARCH_TEST_URL", "http://127.0.0.1:9200")
NAME = "real-test"
SAMPLES = Path(__file__).resolve().parents[2] / "data" / "samples"
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
HEADER = IndexHeader(model=HashEmbedder().model, chunk_tokens=256, chunk_overlap_tokens=32)


@pytest.fixture(autouse=True)
def _no_library() -> Iterator[None]:
    OpenSearchIndex.drop(URL, NAME)
    yield
    OpenSearchIndex.drop(URL, NAME)


@pytest.fixture
def index() -> Iterator[OpenSearchIndex]:
    made = OpenSearchIndex.open(URL, NAME, HEADER)
    yield made
    made.close()


@pytest.fixture
def client() -> Iterator[OpenSearch]:
    made = OpenSearch(URL)
    yield made
    made.close()


@pytest.fixture
def requests(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every HTTP request of any client from here on, as `METHOD path`."""
    seen: list[str] = []
    real = Urllib3HttpConnection.perform_request

    def counting(self: Any, method: str, url: str, *arguments: Any, **options: Any) -> Any:
        seen.append(f"{method} {url}")
        return real(self, method, url, *arguments, **options)

    monkeypatch.setattr(Urllib3HttpConnection, "perform_request", counting)
    return seen


def embed(index: OpenSearchIndex) -> None:
    embedder = HashEmbedder()
    waiting = index.pending_texts(1_000)
    rows = embedder.embed_documents([each.text for each in waiting])
    index.add_vectors({each.text_hash: row for each, row in zip(waiting, rows, strict=True)})


def test_one_hybrid_search_is_one_request(index: OpenSearchIndex, requests: list[str]) -> None:
    store_texts(index, "a", "the lease of the garage ends in March", "the rent is 120 euros")
    store_texts(index, "b", "the boiler was serviced in October")
    embed(index)
    embedder = HashEmbedder()
    retriever = Retriever(index=index, embedder=embedder)
    retriever.search(Query(text="garage lease"))  # reads the catalog once, for files that are named
    requests.clear()
    legs = index.search_legs("garage lease", embedder.embed_query("garage lease"), limit=20)
    assert legs.lexical
    assert legs.vector
    assert requests == ["POST /_msearch"]
    requests.clear()
    assert retriever.search(Query(text="when was the boiler serviced")).hits[0].document == "b.txt"
    assert requests == ["POST /_msearch"]


def test_the_same_folder_gives_the_same_library(tmp_path: Path) -> None:
    def library(url: str, folder: Path) -> RAG:
        settings = load_settings(data_dir=folder, index_url=url, index_name=NAME)
        return RAG.open(settings, embedder=HashEmbedder(), llm=ScriptedLLM(["[1]"]))

    with library("", tmp_path / "a") as embedded, library(URL, tmp_path / "b") as clustered:
        for rag in (embedded, clustered):
            report = rag.ingest(SAMPLES)
            assert report.count("indexed") > 0
        ours, theirs = embedded.documents(), clustered.documents()
        assert [replace(each, indexed_at=NOON) for each in theirs] == [replace(each, indexed_at=NOON) for each in ours]
        for document in ours:
            assert clustered.pages(document.id) == embedded.pages(document.id)
        assert clustered.stats().chunks == embedded.stats().chunks
        assert clustered.pending_count() == 0
        for question in ("What does MCAS command?", "angle of attack sensor", "How long is the warranty?"):
            for semantic in (0.0, 0.5, 1.0):
                one, other = (rag.search(question, semantic=semantic) for rag in (embedded, clustered))
                first, second = ([hit.chunk.id for hit in ranking.hits] for ranking in (one, other))
                assert len(set(first) & set(second)) >= 0.9 * len(first)
        assert all(check.ok for check in clustered.library_checks()), clustered.library_checks()
        clustered.repair()
        assert all(check.ok for check in clustered.library_checks()), clustered.library_checks()


def test_a_library_moves_there_and_back(tmp_path: Path, index: OpenSearchIndex) -> None:
    store_texts(index, "a", "the lease of the garage", "shared words", tags={"k": "v"}, collection="x/y")
    store_texts(index, "b", "the boiler", "shared words")
    embed(index)
    with_file = SqliteIndex.open(tmp_path / "copy.db", HEADER)
    there = migrate(index, with_file)
    assert (there.documents, there.vectors, there.agreement, there.problems) == (2, 4, 1.0, ())
    index.clear()
    back = migrate(with_file, index)
    assert (back.copied, back.vectors, back.agreement, back.problems) == (2, 4, 1.0, ())
    assert index.documents() == with_file.documents()
    for key, row in with_file.document_vectors("a").items():
        assert np.array_equal(index.document_vectors("a")[key], row)
    with_file.close()


def test_a_reset_changes_the_model_and_others_are_refused(index: OpenSearchIndex) -> None:
    store_texts(index, "a", "the lease")
    index.save_conversation("c", "[]")
    other = replace(HEADER, chunk_tokens=128)
    with pytest.raises(IndexMismatchError, match="LOCALRAG_CHUNK_TOKENS: the settings say 128, it has 256"):
        OpenSearchIndex.open(URL, NAME, other)
    assert OpenSearchIndex.read_header(URL, NAME) == HEADER
    fresh = OpenSearchIndex.reset(URL, NAME, other)
    assert fresh.documents() == []
    assert fresh.load_conversation("c") == "[]"
    with pytest.raises(IndexMismatchError):
        store_texts(index, "b", "text")
    with pytest.raises(IndexMismatchError):
        index.search_legs("lease", None, limit=1)
    fresh.close()


def test_another_programs_index_is_left_alone(client: OpenSearch) -> None:
    client.indices.create(index=f"{NAME}-content")
    try:
        with pytest.raises(IndexMismatchError, match="another program and was left alone"):
            OpenSearchIndex.open(URL, NAME, HEADER)
        with pytest.raises(IndexMismatchError):
            OpenSearchIndex.reset(URL, NAME, HEADER)
        assert client.indices.exists(index=f"{NAME}-content")
    finally:
        client.indices.delete(index=f"{NAME}-content")


def test_a_blocked_index_takes_no_write_and_loses_nothing(index: OpenSearchIndex, client: OpenSearch) -> None:
    store_texts(index, "a", "the lease of the garage")
    block = {"index.blocks.read_only_allow_delete": True}
    client.indices.put_settings(index=f"{NAME}-*", body=block)
    with pytest.raises(StorageFullError) as caught:
        store_texts(index, "a", "another text", content_hash="v2")
    assert "Free disk space" in caught.value.hint
    assert [chunk.text for chunk in index.document_chunks("a")] == ["the lease of the garage"]
    client.indices.put_settings(index=f"{NAME}-*", body={"index.blocks.read_only_allow_delete": None})
    store_texts(index, "a", "another text", content_hash="v2")
    assert [chunk.text for chunk in index.document_chunks("a")] == ["another text"]


def test_a_block_in_the_middle_of_a_write_leaves_the_old_version(index: OpenSearchIndex, client: OpenSearch) -> None:
    store_texts(index, "a", "the lease of the garage")
    # only the content: the state still takes the beginning of the write
    client.indices.put_settings(index=f"{NAME}-content", body={"index.blocks.write": True})
    with pytest.raises((StorageFullError, SettingsError)):
        store_texts(index, "a", "another text")
    assert [hit.chunk.text for hit in index.search_legs("lease text", None, limit=9).lexical or ()] == [
        "the lease of the garage"
    ]
    client.indices.put_settings(index=f"{NAME}-content", body={"index.blocks.write": None})


WRITER = """
import sys
sys.path.insert(0, sys.argv[1])
from test_opensearch_real import HEADER, NAME, URL
from localrag.testing import store_texts
from localrag.index.opensearch import OpenSearchIndex
index = OpenSearchIndex.open(URL, NAME, HEADER)
print("ready", flush=True)
for number in range(1000):
    store_texts(index, "a", *[f"version {number} part {part}" for part in range(60)])
"""


def test_a_killed_writer_leaves_a_whole_version(index: OpenSearchIndex) -> None:
    store_texts(index, "a", *[f"version first part {part}" for part in range(60)])
    for wait in (0.02, 0.15, 0.3, 0.5):
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(Path(__file__).parent)], stdout=subprocess.PIPE, text=True
        )
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
        time.sleep(wait)
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        texts = [chunk.text for chunk in index.document_chunks("a")]
        assert len(texts) == 60
        assert len({text.split()[1] for text in texts}) == 1
        found = index.search_legs("version part", None, limit=100).lexical
        assert found is not None
        assert sorted(hit.chunk.text for hit in found) == sorted(texts)
        assert all(check.ok for check in index.check(deep=True)), index.check(deep=True)
    store_texts(index, "a", "the last version")
    assert index.delete_document("a") == 1


def test_writers_of_one_document_leave_one_version(index: OpenSearchIndex) -> None:
    other = OpenSearchIndex.open(URL, NAME, HEADER)
    problems: list[BaseException] = []

    def write(mine: OpenSearchIndex, name: str) -> None:
        try:
            for number in range(8):
                store_texts(mine, "a", *[f"{name} {number} {part}" for part in range(5)])
        except BaseException as error:  # noqa: BLE001  # a thread's failure must reach the test
            problems.append(error)

    threads = [threading.Thread(target=write, args=pair) for pair in ((index, "anna"), (other, "bert"))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    other.close()
    assert problems == []
    texts = [chunk.text for chunk in index.document_chunks("a")]
    assert len(texts) == 5
    assert len({text.rsplit(" ", 1)[0] for text in texts}) == 1
    assert len(index.documents()) == 1


def test_nothing_of_deleted_and_replaced_text_is_left(index: OpenSearchIndex, client: OpenSearch) -> None:
    store_texts(index, "a", "a secret of the past")
    store_texts(index, "a", "a public text")
    store_texts(index, "b", "a secret of another document")
    index.delete_document("b")
    assert index.purge() is True
    found = client.search(index=f"{NAME}-*", body={"size": 100})
    assert "secret" not in json.dumps(found)
    assert index.pending_count() == 1


def test_several_shards_answer_as_one(index: OpenSearchIndex) -> None:
    index.close()
    OpenSearchIndex.drop(URL, NAME)
    spread = OpenSearchIndex.open(URL, NAME, HEADER, copies=Copies(shards=3))
    words = ["oak", "elm", "fir", "ash", "yew", "box", "bay", "fig"]
    for number, word in enumerate(words):
        store_texts(spread, word, *[f"the {word} tree number {part}" for part in range(number + 1)])
    embed(spread)
    assert spread.stats().chunks == sum(range(1, 9)) == 36
    found = spread.search_legs("tree", HashEmbedder().embed_query("tree"), limit=100)
    assert found.lexical is not None
    assert found.vector is not None
    assert len(found.lexical) == len(found.vector) == 36
    scores = [(-hit.score, hit.chunk.id) for hit in found.lexical]
    assert scores == sorted(scores)
    assert spread.delete_document("fig") == 8
    assert all(check.ok for check in spread.check(deep=True))
    spread.close()


def test_a_large_document_goes_in_several_requests(index: OpenSearchIndex, requests: list[str]) -> None:
    texts = [f"part {part} of a long report" for part in range(2_300)]
    store_texts(index, "a", *texts)
    # 2,300 chunks, a page and the catalog's entry: 1,000 a request
    assert sum(request.startswith("POST /_bulk") for request in requests) == 3
    assert [chunk.text for chunk in index.document_chunks("a")] == texts
    assert index.pending_count() == pytest.approx(2_300, rel=0.01)
    assert len(index.pending_texts(2_000)) == 2_000
    store_texts(index, "a", *texts[:10])
    assert [each.text_hash for each in index.pending_texts(100)] == [text_hash(text) for text in texts[:10]]
