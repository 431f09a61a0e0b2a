"""OpenSearch behind TLS with a user and a password: a small proxy of the test's own in front of the real server."""

from __future__ import annotations

import base64
import http.client
import os
import ssl
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import trustme
from typer.testing import CliRunner, Result

from localrag.cli.commands import app
from localrag.index.opensearch import OpenSearchIndex

pytestmark = pytest.mark.opensearch

URL = os.environ.get("OPENSEARCH_TEST_URL", "http://127.0.0.1:9200")
NAME = "tls-test"
USER, PASSWORD = "anna", "s3cret:with colon"
COMMANDS = {
    "health": ["health"],
    "search": ["search", "garage"],
    "ask": ["ask", "When does the lease end?", "--no-llm"],
    "ingest": ["ingest", "."],
}


class Gate(BaseHTTPRequestHandler):
    """Passes on what comes with the right user and password."""

    protocol_version = "HTTP/1.1"

    def _pass_on(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        wanted = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        if self.headers.get("Authorization") != f"Basic {wanted}":
            self._answer(401, b"Unauthorized", "text/plain")
            return
        server = urlsplit(URL)
        inner = http.client.HTTPConnection(server.hostname or "", server.port, timeout=60)
        inner.request(self.command, self.path, body, {"Content-Type": self.headers.get("Content-Type", "")})
        told = inner.getresponse()
        self._answer(told.status, told.read(), told.headers.get("Content-Type", ""))
        inner.close()

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = _pass_on

    def _answer(self, status: int, body: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None: ...


class TlsServer(ThreadingHTTPServer):
    """Shakes hands in the thread of each connection, so that a client that cannot keeps nobody waiting."""

    daemon_threads = True
    tls: ssl.SSLContext

    def process_request_thread(self, request: object, client_address: object) -> None:
        try:
            secure = self.tls.wrap_socket(request, server_side=True)  # type: ignore[arg-type]
        except OSError:  # the client does not trust us, or does not speak TLS
            self.shutdown_request(request)  # type: ignore[arg-type]
            return
        super().process_request_thread(secure, client_address)

    def handle_error(self, request: object, client_address: object) -> None: ...


Serve = Callable[[str], int]


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def serve(authority: trustme.CA) -> Iterator[Serve]:
    """Starts a proxy with a certificate for this name; the port."""
    started: list[TlsServer] = []

    def start(name: str) -> int:
        server = TlsServer(("127.0.0.1", 0), Gate)
        server.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert(name).configure_cert(server.tls)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        started.append(server)
        return int(server.server_address[1])

    yield start
    for server in started:
        server.shutdown()
        server.server_close()


@pytest.fixture(autouse=True)
def _no_library() -> Iterator[None]:
    OpenSearchIndex.drop(URL, NAME)
    yield
    OpenSearchIndex.drop(URL, NAME)


@pytest.fixture(autouse=True)
def _documents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, authority: trustme.CA) -> None:
    (tmp_path / "lease.md").write_text("# Lease\n\nThe lease of the garage ends on 31 March 2027.\n")
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OLLAMA_HOST", "http://127.0.0.1:9")
    monkeypatch.setenv("LOCALRAG_INDEX_NAME", NAME)
    monkeypatch.setenv("LOCALRAG_INDEX_USER", USER)
    monkeypatch.setenv("LOCALRAG_INDEX_PASSWORD", PASSWORD)
    monkeypatch.setenv("LOCALRAG_INDEX_CA_FILE", "ca.pem")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def words(result: Result) -> str:
    """What was printed, in one line."""
    return " ".join((result.stdout + result.stderr).split())


def refused(name: str) -> str:
    """What the command says as it ends with exit code 2."""
    result = run(*COMMANDS[name])
    told = words(result)
    assert (result.exit_code, "try:" in told) == (2, True), told
    assert PASSWORD not in told
    return told


def test_everything_works_over_tls_with_user_and_password(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCALRAG_INDEX_URL", f"https://127.0.0.1:{serve('127.0.0.1')}")
    ingested = run("ingest", "lease.md")
    assert ingested.exit_code == 0, words(ingested)
    assert "31 March 2027" in words(run("search", "garage"))
    assert "31 March 2027" in words(run(*COMMANDS["ask"]))
    healthy = words(run("health"))
    assert "OK index: OpenSearch at https://127.0.0.1" in healthy
    assert PASSWORD not in healthy


@pytest.mark.parametrize("command", COMMANDS)
def test_a_wrong_password_is_told(serve: Serve, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    monkeypatch.setenv("LOCALRAG_INDEX_URL", f"https://127.0.0.1:{serve('127.0.0.1')}")
    monkeypatch.setenv("LOCALRAG_INDEX_PASSWORD", "wrong")
    told = refused(command)
    assert "refused the user or password (HTTP 401)" in told
    assert "LOCALRAG_INDEX_USER and LOCALRAG_INDEX_PASSWORD" in told


def test_no_user_at_all_is_told(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCALRAG_INDEX_URL", f"https://127.0.0.1:{serve('127.0.0.1')}")
    monkeypatch.setenv("LOCALRAG_INDEX_USER", "")
    assert "LOCALRAG_INDEX_USER and LOCALRAG_INDEX_PASSWORD" in refused("search")


@pytest.mark.parametrize("command", COMMANDS)
def test_an_authority_that_is_not_trusted_is_told(serve: Serve, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    monkeypatch.setenv("LOCALRAG_INDEX_URL", f"https://127.0.0.1:{serve('127.0.0.1')}")
    monkeypatch.setenv("LOCALRAG_INDEX_CA_FILE", "")
    told = refused(command)
    assert "was not accepted" in told
    assert "Set LOCALRAG_INDEX_CA_FILE to the file of the authority that signed it" in told


def test_a_certificate_for_another_host_is_told(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCALRAG_INDEX_URL", f"https://127.0.0.1:{serve('search.example')}")
    told = refused("search")
    assert "is for another name" in told
    assert "Write the host in LOCALRAG_INDEX_URL as the certificate has it" in told


def test_plain_http_to_a_tls_port_is_told(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCALRAG_INDEX_URL", f"http://127.0.0.1:{serve('127.0.0.1')}")
    told = refused("search")
    assert "does not answer at http://127.0.0.1" in told
    assert "write https:// in LOCALRAG_INDEX_URL" in told


def test_tls_to_a_plain_port_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCALRAG_INDEX_URL", URL.replace("http://", "https://"))
    told = refused("search")
    assert "does not speak TLS" in told
    assert "Write http:// in LOCALRAG_INDEX_URL" in told


@pytest.mark.parametrize(
    ("content", "said"), [(None, "No such file"), ("no certificate", "no certificate or crl found")]
)
def test_a_wrong_file_of_authorities_is_told(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, content: str | None, said: str
) -> None:
    monkeypatch.setenv("LOCALRAG_INDEX_URL", f"https://127.0.0.1:{serve('127.0.0.1')}")
    monkeypatch.setenv("LOCALRAG_INDEX_CA_FILE", "other.pem")
    if content is not None:
        Path("other.pem").write_text(content)
    told = refused("search")
    assert "LOCALRAG_INDEX_CA_FILE=other.pem cannot be used" in told
    assert said.lower() in told.lower()
    assert "PEM file" in told
