"""What can be wrong with an OpenSearch server, as the command line and the app tell it: one message, the next step.

Servers that are of another kind or lack a part are played by a small one of the test's own, with answers as the real
ones give them; what can be done to the real server is done to it.
"""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import streamlit as st
from opensearchpy import OpenSearch
from streamlit.testing.v1 import AppTest
from typer.testing import CliRunner, Result

from localrag.app import RAG
from localrag.cli.commands import app
from localrag.index.opensearch import OpenSearchIndex

ROOT = Path(__file__).resolve().parents[2]
URL = os.environ.get("OPENSEARCH_TEST_URL", "http://127.0.0.1:9200")
NAME = "fault-test"
COMMANDS = {
    "health": ["health"],
    "search": ["search", "garage"],
    "ask": ["ask", "When does the lease end?", "--no-llm"],
    "ingest": ["ingest", "lease.md"],
}
PAGES = (None, "pages/1_Upload_Documents.py", "pages/2_Chat.py")
# What makes a message Markdown.
_MARKUP = str.maketrans("", "", "`\\")
Replies = Mapping[str, tuple[int, object]]
Play = Callable[[Replies], str]

OPENSEARCH_3 = {"version": {"distribution": "opensearch", "number": "3.5.0", "lucene_version": "10.3.1"}}
NOT_FOUND = (404, {"error": {"type": "index_not_found_exception", "reason": "no such index"}, "status": 404})
NO_KNN = {
    "error": {
        "type": "settings_exception",
        "reason": "unknown setting [index.knn] please check that any required plugins are installed, or check the "
        "breaking changes documentation for removed settings",
    },
    "status": 400,
}
# By name: what the server answers to `METHOD /` and to every other request of a method, what is told, what to do.
KINDS: dict[str, tuple[Replies, str, str]] = {
    "a wrong password": (
        {"GET": (401, "Unauthorized")},
        "refused the user or password (HTTP 401)",
        "Set LOCALRAG_INDEX_USER and LOCALRAG_INDEX_PASSWORD",
    ),
    "an old version": (
        {"GET /": (200, {"version": {"distribution": "opensearch", "number": "1.3.19"}})},
        "is opensearch (version 1.3.19)",
        "Set LOCALRAG_INDEX_URL to OpenSearch 2.0 or newer",
    ),
    "Elasticsearch": (
        {"GET /": (200, {"version": {"number": "8.15.0", "lucene_version": "9.11.1"}})},
        "is a server like Elasticsearch (version 8.15.0)",
        "Set LOCALRAG_INDEX_URL to OpenSearch 2.0 or newer",
    ),
    "another program": (
        {"GET": (200, "<html>It works!</html>")},
        "is not a search server",
        "Set LOCALRAG_INDEX_URL to OpenSearch 2.0 or newer",
    ),
    "no k-NN plugin": (
        {"GET /": (200, OPENSEARCH_3), "GET": NOT_FOUND, "PUT": (400, NO_KNN)},
        "has no k-NN plugin",
        "Use a distribution that has it",
    ),
}


@pytest.fixture
def play() -> Iterator[Play]:
    """Starts a server with these replies, by `METHOD PATH` or by method; its address."""
    started: list[ThreadingHTTPServer] = []

    def start(replies: Replies) -> str:
        class Handler(BaseHTTPRequestHandler):
            def _reply(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                path = f"{self.command} {self.path.partition('?')[0]}"
                status, told = replies.get(path) or replies.get(self.command) or NOT_FOUND
                body = told.encode() if isinstance(told, str) else json.dumps(told).encode()
                self.send_response(status)
                self.send_header("Content-Type", "text/plain" if isinstance(told, str) else "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_PUT = do_POST = do_DELETE = _reply

            def log_message(self, format: str, *arguments: object) -> None: ...

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        started.append(server)
        return f"http://127.0.0.1:{server.server_address[1]}"

    yield start
    for server in started:
        server.shutdown()
        server.server_close()


@pytest.fixture(autouse=True)
def _documents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "lease.md").write_text("# Lease\n\nThe lease of the garage ends on 31 March 2027.\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OLLAMA_HOST", "http://127.0.0.1:9")
    monkeypatch.setenv("LOCALRAG_INDEX_NAME", NAME)


@pytest.fixture
def real(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenSearch]:
    """The real server, with no library under the name of these tests before and after."""
    client = OpenSearch(URL)
    monkeypatch.setenv("LOCALRAG_INDEX_URL", URL)
    OpenSearchIndex.drop(URL, NAME)
    yield client
    client.indices.put_settings(
        index=f"{NAME}-*", body={"index.blocks.read_only_allow_delete": None}, params={"allow_no_indices": "true"}
    )
    OpenSearchIndex.drop(URL, NAME)
    client.close()


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def words(result: Result) -> str:
    """What was printed, in one line."""
    return " ".join((result.stdout + result.stderr).split())


def require_told(said: str, step: str) -> None:
    """Every command ends with exit code 2, and every page of the app stops, with the message and the next step."""
    for arguments in COMMANDS.values():
        result = run(*arguments)
        told = words(result)
        assert result.exit_code == 2, told
        assert said in told
        assert f"try: {step}" in told
        assert "Traceback" not in told
    for page in PAGES:
        st.cache_resource.clear()
        tab = AppTest.from_file(str(ROOT / "Welcome.py"), default_timeout=60).run()
        if page:
            tab.switch_page(page).run()
        assert [title.value for title in tab.title] == ["The library cannot be opened"]
        shown = " ".join(tab.error[0].value.translate(_MARKUP).split())
        assert said in shown
        assert step.translate(_MARKUP) in shown


@pytest.mark.parametrize("kind", KINDS)
def test_a_server_that_will_not_do_is_told(kind: str, play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    replies, said, step = KINDS[kind]
    monkeypatch.setenv("LOCALRAG_INDEX_URL", play(replies))
    require_told(said, step)


def test_a_server_that_is_down_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as held:  # bound and not listening: nobody else can listen there
        held.bind(("127.0.0.1", 0))
        monkeypatch.setenv("LOCALRAG_INDEX_URL", f"http://127.0.0.1:{held.getsockname()[1]}")
        require_told("OpenSearch does not answer at http://127.0.0.1", "Start it (`docker compose up -d opensearch`")


@pytest.mark.opensearch
def test_an_index_of_another_program_is_left_alone(real: OpenSearch) -> None:
    real.indices.create(index=f"{NAME}-content")
    try:
        require_told("is of another program and was left alone", "Set LOCALRAG_INDEX_NAME or LOCALRAG_INDEX_URL")
        assert real.count(index=f"{NAME}-content")["count"] == 0
    finally:
        real.indices.delete(index=f"{NAME}-content")


@pytest.mark.opensearch
def test_a_library_of_another_model_or_chunk_size_is_left_alone(real: OpenSearch) -> None:
    with RAG.open() as rag:
        rag.ingest("lease.md")
        ours = rag._index.header  # type: ignore[attr-defined]
    other = replace(ours, model=replace(ours.model, name="other-model", dimension=768))
    OpenSearchIndex.reset(URL, NAME, other).close()
    require_told("vector dimension: the settings say 384, it has 768", "Run `localrag embed --rebuild`")


@pytest.mark.opensearch
def test_a_mapping_that_does_not_fit_the_library_is_told(real: OpenSearch) -> None:
    with RAG.open() as rag:
        rag.ingest("lease.md")
    (old,) = real.indices.get_alias(index=f"{NAME}-content")
    mappings = real.indices.get_mapping(index=old)[old]["mappings"]
    mappings["properties"]["embedding"] = {"type": "float"}  # as a dynamic mapping of a copy would have it
    del mappings["properties"]["terms"]["similarity"]  # which is one of the index's settings
    copy = f"{NAME}-copy"
    real.indices.create(index=copy, body={"mappings": mappings})

    def move_alias(before: str, after: str) -> None:
        steps = [{"remove": {"index": before, "alias": f"{NAME}-content"}}]
        steps.append({"add": {"index": after, "alias": f"{NAME}-content"}})
        real.indices.update_aliases(body={"actions": steps})

    move_alias(old, copy)
    try:
        require_told("do not fit the library (float of no dimensions", "Restore the index with its own mapping")
    finally:
        move_alias(copy, old)
        real.indices.delete(index=copy)
    assert "31 March 2027" in words(run("search", "garage"))


@pytest.mark.opensearch
def test_a_full_disk_stops_writes_and_nothing_else(real: OpenSearch) -> None:
    assert run("ingest", "lease.md").exit_code == 0
    # What OpenSearch sets itself when the disk is past its flood stage.
    real.indices.put_settings(index=f"{NAME}-*", body={"index.blocks.read_only_allow_delete": True})
    Path("zoo.md").write_text("# Zoo\n\nThe penguins are fed at noon.\n")
    for arguments in (["ingest", "zoo.md"], ["ingest", "lease.md", "--force"]):
        refused = run(*arguments)
        told = words(refused)
        assert refused.exit_code == 2, told
        assert "takes no writes" in told
        assert "try: Free disk space on its machine and lift the block" in told
    for name in ("search", "ask"):
        found = run(*COMMANDS[name])
        assert (found.exit_code, "31 March 2027" in words(found)) == (0, True)
    health = run("health")
    assert health.exit_code == 1
    assert "FAIL writes: " in words(health)
    assert "Free disk space on its machine and lift the block" in words(health)
    real.indices.put_settings(index=f"{NAME}-*", body={"index.blocks.read_only_allow_delete": None})
    assert "writes: " not in words(run("health"))
    assert run("ingest", "zoo.md").exit_code == 0
    with RAG.open() as rag:
        assert [each.name for each in rag.documents()] == ["lease.md", "zoo.md"]


@pytest.mark.opensearch
def test_missing_copies_are_told_and_no_fault(real: OpenSearch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCALRAG_INDEX_REPLICAS", "1")  # which a single node has no place for
    assert run("ingest", "lease.md").exit_code == 0
    told = words(run("health"))
    assert "OK index: OpenSearch at" in told
    assert "yellow, 1 data nodes, 2 shards, 2 without a node All is there and can be searched" in told
    step = f"PUT /{NAME}-content,{NAME}-state/_settings"
    assert step in told
    real.indices.put_settings(index=f"{NAME}-content,{NAME}-state", body={"index.number_of_replicas": 0})
    healed = words(run("health"))
    assert "green, 1 data nodes" in healed
    assert step not in healed


@pytest.mark.opensearch
def test_one_silent_address_of_several_is_passed_over_and_named(
    real: OpenSearch, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        silent = f"http://127.0.0.1:{held.getsockname()[1]}"
        monkeypatch.setenv("LOCALRAG_INDEX_URL", f"{silent}, {URL}")
        assert run("ingest", "lease.md").exit_code == 0
        for name in ("search", "ask"):
            assert "31 March 2027" in words(run(*COMMANDS[name]))
        told = words(run("health"))
    assert f"no answer from {silent} Start the node at {silent}, or take it out of LOCALRAG_INDEX_URL." in told
    assert f"no answer from {URL}" not in told
