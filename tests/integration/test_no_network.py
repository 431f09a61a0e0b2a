"""Nothing leaves the machine: every address that ingest and ask reach for is one the settings name."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

WATCHED = """
import json, sys
reached = []
def watch(event, arguments):
    if event in ("socket.connect", "socket.sendto", "socket.bind"):
        address = arguments[1]
        if isinstance(address, tuple):
            reached.append([event, str(address[0]), address[1]])
        elif isinstance(address, (str, bytes)):
            reached.append([event, "unix", 0])
    elif event in ("socket.getaddrinfo", "socket.gethostbyname"):
        reached.append([event, str(arguments[0]), arguments[1] if len(arguments) > 1 else 0])
sys.addaudithook(watch)
log = sys.argv.pop(1)
try:
    from localrag.cli import main
    main()
finally:
    with open(log, "w") as stream:
        json.dump(reached, stream)
"""


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    # A port of the loopback address where nothing listens: the model is "not running", which is reported, not hidden.
    monkeypatch.setenv("OLLAMA_HOST", "http://127.0.0.1:9")
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://192.0.2.1:3128")  # an address of the documentation range: a leak would show

    def run(*arguments: str) -> tuple[subprocess.CompletedProcess[str], list[list[object]]]:
        log = tmp_path / "reached.json"
        done = subprocess.run(
            [sys.executable, "-c", WATCHED, str(log), *arguments], capture_output=True, text=True, timeout=180
        )
        return done, json.loads(log.read_text())

    return run


def test_ingest_search_and_health_reach_only_the_services_named(run, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# Lease\n\nThe lease of the garage ends on 31 March 2027.\n")
    remote = '<html><body><img src="http://192.0.2.7/x.png"><p>The boat is moored at pier nine.</p></body></html>'
    (tmp_path / "b.html").write_text(remote)
    done, reached = run("ingest", str(tmp_path / "a.md"), str(tmp_path / "b.html"))
    assert (done.returncode, reached) == (0, []), done.stderr
    done, reached = run("search", "garage lease", "--json")
    assert (done.returncode, reached) == (0, [])
    assert json.loads(done.stdout)["hits"][0]["document"] == "a.md"
    done, reached = run("ask", "When does the lease of the garage end?")
    assert done.returncode == 0, done.stderr
    assert "31 March 2027" in done.stdout
    assert "[a.md" in done.stdout
    assert {(host, port) for _, host, port in reached} == {("127.0.0.1", 9)}
    done, reached = run("health", "--json")
    assert {(host, port) for _, host, port in reached} == {("127.0.0.1", 9)}
