"""The command line as a user runs it: a subprocess, its exit code, its JSON."""

from __future__ import annotations

import json
import os
import sqlite3
import stat
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

Run = Callable[..., subprocess.CompletedProcess[str]]


def run(*arguments: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """`localrag ARGUMENTS`, with no model to call."""
    environment = {**os.environ, "OLLAMA_HOST": "http://127.0.0.1:9", **(env or {})}
    return subprocess.run(
        [sys.executable, "-m", "localrag", *arguments], capture_output=True, text=True, timeout=180, env=environment
    )


def data(*arguments: str) -> Any:
    """The JSON that a successful command prints."""
    done = run(*arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "documents"
    folder.mkdir()
    (folder / "lease.md").write_text(
        "# Lease\n\n## Term\n\nThe lease of the garage ends on 31 March 2027.\n\n"
        "## Rent\n\nThe rent is 120 euros a month, due on the third working day.\n"
    )
    (folder / "tyres.csv").write_text("model,service,price\nModel 3,tyre change,80\nModel 3,service,240\n")
    (folder / "notes.txt").write_text("The boiler was serviced in October by Anna Kovács.\n")
    return folder


def test_ingest_reports_each_file_by_the_contract(folder: Path) -> None:
    report = data("ingest", str(folder))
    assert (report["indexed"], report["skipped"], report["failed"]) == (3, 0, 0)
    assert report["seconds"] > 0
    first = report["documents"][0]
    assert {"id", "name", "uri", "status", "pages", "chunks", "error"} <= set(first)
    assert (first["name"], first["status"], first["error"]) == ("lease.md", "indexed", None)
    again = data("ingest", str(folder))
    assert (again["indexed"], again["skipped"], again["failed"]) == (0, 3, 0)


def test_search_finds_by_keyword_and_by_meaning(folder: Path) -> None:
    data("ingest", str(folder))
    found = data("search", "When does the garage lease end?", "--top-k", "3")
    assert set(found) == {"query", "semantic", "hits", "vectors_ready", "milliseconds", "notice"}
    assert (found["semantic"], found["vectors_ready"]) == (0.5, 1.0)
    hit = found["hits"][0]
    keys = {"rank", "score", "lexical_rank", "vector_rank", "rerank_score", "chunk_id", "document_id", "document"}
    assert keys | {"page", "label", "heading_path", "text"} <= set(hit)
    assert (hit["document"], hit["rank"], hit["heading_path"]) == ("lease.md", 1, ["Lease", "Term"])
    assert data("search", "who fixed the furnace last autumn", "--semantic", "1")["hits"][0]["document"] == "notes.txt"
    only = data("search", "price", "--document", "tyres.csv")["hits"]
    assert {item["document"] for item in only} == {"tyres.csv"}


def test_ask_quotes_with_its_place_when_no_model_runs(folder: Path) -> None:
    data("ingest", str(folder))
    answer = data("ask", "When does the lease of the garage end?")
    assert (answer["mode"], answer["refused"], answer["model"]) == ("extractive", False, None)
    assert "31 March 2027" in answer["answer"]
    citation = answer["citations"][0]
    assert citation["document"] == "lease.md"
    assert citation["marker"] in answer["answer"]
    assert citation["quote"] in (folder / "lease.md").read_text()
    assert citation["verified"] is True
    assert {"retrieval", "first_token", "total"} == set(answer["milliseconds"])
    assert "ollama serve" in answer["notice"]
    refused = data("ask", "Who won the cricket world cup?", "--no-llm")
    assert (refused["refused"], refused["citations"], refused["confidence"]) == (True, [], "none")


def test_a_refusal_says_so_and_names_no_model(folder: Path) -> None:
    run("ingest", str(folder))
    for options in ([], ["--no-llm"]):
        done = run("ask", "Who won the cricket world cup?", *options)
        assert done.stdout.strip() == "I could not find this in your documents."
        assert "not in your documents · " in done.stderr
        assert "None" not in done.stderr


def test_names_in_the_list_of_documents_are_not_broken(tmp_path: Path) -> None:
    name = f"{'a very long name ' * 8}.txt"
    (tmp_path / name).write_text("The boat is red.", encoding="utf-8")
    run("ingest", str(tmp_path / name))
    listed = run("documents", env={"COLUMNS": "60"}).stdout.splitlines()
    assert [line.split()[-1] for line in listed] == ["name", ".txt"]
    assert name in listed[1]


@pytest.fixture
def ollama() -> Iterator[str]:
    """A server that speaks as much of Ollama's protocol as an answer needs, and always says the same."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.send_header("Content-Type", "application/x-ndjson")
            self.end_headers()
            for piece in (
                "<think>hm</think>The garage lease ends ",
                "on 31 March 2027",
                " [1]. It costs 999 euros [7].",
            ):
                line = {"model": "m", "message": {"role": "assistant", "content": piece}, "done": False}
                self.wfile.write(json.dumps(line).encode() + b"\n")
            end = {"model": "m", "message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop"}
            self.wfile.write(json.dumps(end).encode() + b"\n")

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_ask_prints_the_checked_text_with_its_citations(folder: Path, ollama: str) -> None:
    data("ingest", str(folder))
    done = run("ask", "When does the lease of the garage end?", env={"OLLAMA_HOST": ollama})
    assert done.returncode == 0, done.stderr
    text, _, quotes = done.stdout.partition("\n\n")
    assert text.startswith("The garage lease ends on 31 March 2027 [lease.md")
    assert "hm" not in text
    assert "[7]" not in text
    assert "“The lease of the garage ends on 31 March 2027.”" in quotes
    assert "not supported by the documents: It costs 999 euros" in done.stderr
    as_json = run("ask", "When does the lease of the garage end?", "--json", env={"OLLAMA_HOST": ollama})
    answer = json.loads(as_json.stdout)
    assert (answer["mode"], len(answer["citations"]), answer["unsupported"]) == ("llm", 1, ["It costs 999 euros."])


def test_an_empty_library_says_so() -> None:
    for arguments in (["search", "x"], ["ask", "What is x?"]):
        done = run(*arguments)
        assert (done.returncode, "library is empty" in done.stderr) == (0, True)


def test_documents_show_and_delete(folder: Path) -> None:
    data("ingest", str(folder), "--tag", "year=2026", "--collection", "home/flat")
    listed = data("documents")
    assert [item["name"] for item in listed] == ["lease.md", "notes.txt", "tyres.csv"]
    assert (listed[0]["tags"], listed[0]["collection"], listed[0]["status"]) == (
        {"year": "2026"},
        "home/flat",
        "indexed",
    )
    assert "The lease of the garage ends" in run("show", "lease.md").stdout
    gone = run("delete", "lease.md", "nothing.pdf", "--json")
    assert gone.returncode == 1
    result = json.loads(gone.stdout)
    assert [item["name"] for item in result["deleted"]] == ["lease.md"]
    assert (result["deleted"][0]["chunks"] > 0, result["missing"]) == (True, ["nothing.pdf"])
    assert data("search", "garage", "--semantic", "0")["hits"] == []
    assert (folder / "lease.md").exists()


def test_show_tells_on_stderr_what_was_not_read(folder: Path) -> None:
    with zipfile.ZipFile(folder / "all.zip", "w") as archive:
        archive.writestr("good.txt", "The boiler is in the cellar.")
        archive.writestr("none.txt", "")
    data("ingest", str(folder / "all.zip"))

    done = run("show", "all.zip")

    assert done.stdout == "[all.zip, good.txt, line 1]\n\nThe boiler is in the cellar.\n\n"
    assert "note: none.txt is empty (0 bytes)." in done.stderr


def test_tag_and_collection_filters(folder: Path) -> None:
    data("ingest", str(folder / "lease.md"), "--tag", "kind=contract", "--collection", "legal/contracts")
    data("ingest", str(folder / "notes.txt"), "--tag", "kind=note", "--collection", "legal2")
    assert [hit["document"] for hit in data("search", "garage boiler", "--tag", "kind=note")["hits"]] == ["notes.txt"]
    within = data("search", "garage boiler", "--collection", "legal")["hits"]
    assert {hit["document"] for hit in within} == {"lease.md"}


def test_a_bad_file_is_told_and_the_rest_goes_on(folder: Path) -> None:
    (folder / "a\nname [x](y).md").write_text("A name with a newline is still a name.\n")
    (folder / "broken.pdf").write_bytes(b"%PDF-1.7\n1 0 obj\n<< /Type /Catalog")
    (folder / "empty.txt").write_bytes(b"")
    (folder / "song.mp3").write_bytes(b"ID3\x03" + bytes(64))
    Image.new("RGB", (64, 64), "white").save(folder / "white.png")
    (folder / "blank.md").write_text("\n\n  \n")
    with (folder / "huge.txt").open("wb") as stream:
        stream.truncate(2 * 1024**3 + 1)
    done = run("ingest", str(folder), str(folder / "none.txt"), "--json")
    assert done.returncode == 1
    report = json.loads(done.stdout)
    kinds = {item["name"]: item["error"]["kind"] for item in report["documents"] if item["error"]}
    assert kinds == {
        "broken.pdf": "unreadable",
        "empty.txt": "empty",
        "song.mp3": "unsupported",
        "white.png": "needs_ocr",
        "blank.md": "empty",
        "huge.txt": "too_large",
        "none.txt": "unreadable",
    }
    assert all(item["error"]["hint"] for item in report["documents"] if item["error"])
    assert {item["name"] for item in report["documents"] if item["status"] == "indexed"} == {
        "a name [x](y).md",
        "lease.md",
        "notes.txt",
        "tyres.csv",
    }
    assert data("search", "garage", "--semantic", "0")["hits"][0]["document"] == "lease.md"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["search", "x", "--document", "none.pdf"], "No document is called none.pdf"),
        (["search", "x", "--tag", "broken"], "not of the form K=V"),
        (["search", "x", "--top-k", "0"], "top-k"),
        (["search", "x", "--semantic", "2"], "semantic"),
        (["show", "none.pdf"], "No document is called none.pdf"),
        (["ingest", ".", "--reset"], "--yes"),
        (["ingest", ""], "A path is empty"),
        (["evaluate", "no/such/folder"], "no/such/folder"),
        (["no-such-command"], "no-such-command"),
    ],
)
def test_wrong_use_exits_with_2_and_says_why(arguments: list[str], said: str) -> None:
    done = run(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("LOCALRAG_TOP_K", "many", "LOCALRAG_TOP_K"),
        ("LOCALRAG_EMBEDDING_MODEL", "no/such-model", "localrag models pull no/such-model"),
        ("LOCALRAG_INDEX_URL", "redis://x", "LOCALRAG_INDEX_URL"),
    ],
)
def test_a_wrong_setting_exits_with_2_and_names_it(name: str, value: str, said: str) -> None:
    done = run("documents", env={name: value})
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_another_chunk_size_is_refused_until_a_rebuild(folder: Path) -> None:
    data("ingest", str(folder))
    other = {"LOCALRAG_CHUNK_TOKENS": "100"}
    refused = run("search", "garage", env=other)
    assert refused.returncode == 2
    assert "localrag embed --rebuild" in refused.stderr
    done = run("embed", "--rebuild", env=other)
    assert (done.returncode, done.stdout) == (0, "")
    assert "the index is of these settings now" in done.stderr
    assert run("search", "garage", env=other).returncode == 0
    assert run("search", "garage").returncode == 2
    assert "nothing was left to do" in run("embed", "--rebuild", env=other).stderr


def test_a_rebuild_needs_a_library() -> None:
    done = run("embed", "--rebuild")
    assert done.returncode == 2
    assert "localrag ingest PATH" in done.stderr


def test_a_reset_takes_another_chunk_size_too(folder: Path) -> None:
    data("ingest", str(folder))
    other = {"LOCALRAG_CHUNK_TOKENS": "100"}
    assert data("search", "garage")["hits"]
    assert run("ingest", str(folder), "--reset", "--yes", env=other).returncode == 0
    assert run("search", "garage", env=other).returncode == 0
    assert run("search", "garage").returncode == 2


def test_health_says_what_is_wrong_and_what_to_do(folder: Path) -> None:
    data("ingest", str(folder))
    done = run("health", "--json")
    assert done.returncode == 1
    report = json.loads(done.stdout)
    failed = [check for check in report["checks"] if not check["ok"]]
    assert report["ok"] is False
    assert [("ollama serve" in check["hint"]) for check in failed] == [True]


def test_a_damaged_keyword_index_is_noticed_and_repaired(folder: Path) -> None:
    data("ingest", str(folder))
    database = Path(os.environ["LOCALRAG_DATA_DIR"]) / "localrag.db"
    with sqlite3.connect(database) as connection:
        (table,) = connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE '%fts5(%' AND sql NOT LIKE '%fts5vocab%'"
        ).fetchone()
        connection.execute(f"DELETE FROM {table} WHERE rowid = (SELECT min(rowid) FROM {table})")
    connection.close()
    broken = json.loads(run("health", "--json").stdout)
    hints = [check["hint"] for check in broken["checks"] if not check["ok"]]
    assert any("localrag health --repair" in hint for hint in hints)
    mended = json.loads(run("health", "--repair", "--json").stdout)
    assert [check["name"] for check in mended["checks"] if not check["ok"]] == ["Ollama"]


def test_models_list_has_the_shipped_model(tmp_path: Path) -> None:
    listed = data("models", "list")
    assert [(model["name"], model["kind"], model["dimension"], model["active"]) for model in listed] == [
        ("bge-small-en-v1.5", "embedding", 384, True)
    ]


def test_text_cannot_drive_the_terminal(folder: Path) -> None:
    (folder / "evil.md").write_text("The \x1b[2J\x1b]0;owned\x07 zebra sleeps.\n")
    data("ingest", str(folder / "evil.md"))
    for arguments in (["search", "zebra"], ["ask", "Where does the zebra sleep?", "--no-llm"], ["show", "evil.md"]):
        done = run(*arguments)
        assert "zebra" in done.stdout
        assert "\x1b]" not in done.stdout
        assert "\x07" not in done.stdout
        assert "\x1b[2J" not in done.stdout


def test_evaluate_prints_the_contract() -> None:
    result = data("evaluate", str(Path(__file__).resolve().parents[1] / "data" / "beir-mini"))
    assert {"dataset", "documents", "queries", "metrics", "by_mode", "seconds"} <= set(result)
    assert set(result["by_mode"]) == {"lexical", "vector", "hybrid"}
    assert {"ndcg@10", "recall@10", "mrr@10", "hit@1", "hit@5"} <= set(result["metrics"])
    assert 0.0 < result["metrics"]["ndcg@10"] <= 1.0
    assert data("documents") == []


def test_the_scripts_are_the_same_commands(folder: Path) -> None:
    scripts = Path(__file__).resolve().parents[2] / "scripts"
    ingested = subprocess.run(
        [sys.executable, scripts / "ingest_folder.py", str(folder)], capture_output=True, text=True, timeout=120
    )
    assert (ingested.returncode, "3 indexed" in ingested.stderr) == (0, True)
    checked = subprocess.run(
        [sys.executable, scripts / "health_check.py"],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "OLLAMA_HOST": "http://127.0.0.1:9"},
    )
    assert (checked.returncode, "OK " in checked.stdout, "FAIL " in checked.stdout) == (1, True, True)


def test_a_folder_that_cannot_be_written_is_one_clear_message(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    done = run("documents", env={"LOCALRAG_DATA_DIR": str(blocked / "data")})
    assert done.returncode == 2
    assert "LOCALRAG_DATA_DIR" in done.stderr
    assert "Traceback" not in done.stderr
    assert stat.S_ISREG(blocked.stat().st_mode)


def test_migrate_copies_the_library_and_says_what_it_did(folder: Path, tmp_path: Path) -> None:
    data("ingest", str(folder))
    source = f"sqlite:///{os.environ['LOCALRAG_DATA_DIR']}/localrag.db"
    target = f"sqlite:///{tmp_path}/copy.db"
    result = data("migrate", "--from", source, "--to", target)
    assert (result["documents"], result["copied"], result["agreement"], result["problems"]) == (3, 3, 1.0, [])
    assert result["vectors"] == result["chunks"]
    again = run("migrate", "--from", source, "--to", target)
    assert (again.returncode, "0 documents and 0 vectors copied now" in again.stdout) == (0, True)
    nothing = run("migrate", "--from", f"sqlite:///{tmp_path}/none.db", "--to", target)
    assert nothing.returncode == 2
    assert "There is no library at" in nothing.stderr
    same = run("migrate", "--from", source, "--to", source)
    assert same.returncode == 2
    assert "Name two places" in same.stderr


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("http://127.0.0.1:9", "docker compose up -d opensearch"),
        ("ftp://x", "sqlite:///PATH"),
    ],
)
def test_an_index_that_cannot_be_opened_says_what_to_do(url: str, told: str) -> None:
    done = run("documents", env={"LOCALRAG_INDEX_URL": url})
    assert done.returncode == 2
    assert told in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


def test_both_parts_of_a_question_are_searched_and_said_to_be(folder: Path) -> None:
    run("ingest", str(folder))
    question = "When does the lease of the garage end and who serviced the old boiler?"
    searched = [question, "When does the lease of the garage end", "who serviced the old boiler?"]
    found = data("ask", question, "--no-llm")
    assert found["queries"] == searched
    assert {hit["document"] for hit in found["hits"][:2]} == {"lease.md", "notes.txt"}
    shown = " ".join(run("ask", question, "--no-llm").stderr.split())
    assert f"also searched for: {searched[1]} also searched for: {searched[2]}" in shown
