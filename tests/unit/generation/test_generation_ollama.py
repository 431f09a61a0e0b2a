"""What is sent to Ollama, what comes back, and each way it can fail, against a server on a local port."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import ollama
import pytest

from localrag.errors import BackendError, BackendTimeout, BackendUnavailable, ModelMissing
from localrag.generation.ollama import OllamaLLM, _foreign_errors
from localrag.protocols import LLM, Generation
from localrag.types import Message

ASKED = [Message(role="system", content="Be brief."), Message(role="user", content="How many days?")]
SMALL = Generation(context_tokens=1024, max_tokens=64)


@dataclass
class Script:
    """What the server does: its lines, pauses before them by number, its status, and whether it hangs up."""

    lines: list[Any] = field(default_factory=list)
    pauses: dict[int, float] = field(default_factory=dict)
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    hang_up: bool = False
    models: list[str] = field(default_factory=list)
    listed: Any = None
    requests: list[dict[str, Any]] = field(default_factory=list)
    url: str = ""
    done: threading.Event = field(default_factory=threading.Event)


def part(text: str, *, done: bool = False, thinking: str | None = None) -> dict[str, Any]:
    message = {"role": "assistant", "content": text} | ({"thinking": thinking} if thinking else {})
    return {"model": "m", "created_at": "2026-01-01T00:00:00Z", "message": message, "done": done}


def handler_for(script: Script) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: Any) -> None:
            """Says nothing."""

        def do_GET(self) -> None:
            if self.path == "/api/version":
                self._json({"version": "0.6.5"})
            else:
                self._json({"models": script.listed or [{"name": name} for name in script.models]})

        def do_POST(self) -> None:
            script.requests.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            if script.status != 200:
                self._json(script.lines[0] if script.lines else {}, script.status)
                return
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for number, line in enumerate(script.lines):
                script.done.wait(script.pauses.get(number, 0))
                data = (line if isinstance(line, str) else json.dumps(line)).encode() + b"\n"
                self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
                self.wfile.flush()
            if script.hang_up:
                self.close_connection = True
            else:
                self.wfile.write(b"0\r\n\r\n")

        def _json(self, body: Any, status: int = 200) -> None:
            data = json.dumps(body).encode()
            self.send_response(status)
            for name, value in script.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    return Handler


@pytest.fixture
def script() -> Iterator[Script]:
    """A server that follows the script."""
    script = Script()
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler_for(script))
    server.daemon_threads = True
    script.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    yield script
    script.done.set()
    server.shutdown()
    server.server_close()
    thread.join()


def closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_it_is_an_llm() -> None:
    llm: LLM = OllamaLLM(host="http://127.0.0.1:1", model="m")
    assert llm.name == "m"


def test_pieces_come_as_they_are_written(script: Script) -> None:
    script.lines = [part("It is "), part("25 days."), part("", done=True)]
    assert list(OllamaLLM(host=script.url, model="m").stream(ASKED, SMALL)) == ["It is ", "25 days."]


def test_the_window_and_the_options_are_always_sent(script: Script) -> None:
    script.lines = [part("x", done=True)]
    list(OllamaLLM(host=script.url, model="llama3", num_gpu=0).stream(ASKED, SMALL))
    (request,) = script.requests
    assert request["options"] == {"num_ctx": 1024, "num_predict": 64, "temperature": 0.0, "seed": 0, "num_gpu": 0}
    assert request["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "How many days?"},
    ]
    assert (request["model"], request["stream"], request["think"]) == ("llama3", True, False)
    assert request["keep_alive"] == "10m"


def test_num_gpu_is_left_to_the_server_when_not_set(script: Script) -> None:
    script.lines = [part("x", done=True)]
    list(OllamaLLM(host=script.url, model="m").stream(ASKED, SMALL))
    assert "num_gpu" not in script.requests[0]["options"]


def test_thinking_is_hidden_in_the_text_and_in_its_own_field(script: Script) -> None:
    script.lines = [
        part("", thinking="Hm."),
        part("<thi"),
        part("nk>secret</th"),
        part("ink>\n\n25"),
        part("", done=True),
    ]
    assert "".join(OllamaLLM(host=script.url, model="m").stream(ASKED, SMALL)) == "25"


def test_a_proxy_in_the_environment_is_not_used(script: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{closed_port()}")
    script.lines = [part("direct", done=True)]
    script.models = ["m:latest"]
    llm = OllamaLLM(host=script.url, model="m")
    assert list(llm.stream(ASKED, SMALL)) == ["direct"]
    assert all(check.ok for check in llm.check())


def test_a_redirect_is_not_followed(script: Script) -> None:
    script.status = 307
    script.headers = {"Location": f"http://127.0.0.1:{closed_port()}/api/chat"}
    with pytest.raises(BackendError, match="307") as caught:
        list(OllamaLLM(host=script.url, model="m").stream(ASKED, SMALL))
    assert type(caught.value) is BackendError


def test_nothing_at_the_address_says_how_to_start_it() -> None:
    llm = OllamaLLM(host=f"http://127.0.0.1:{closed_port()}", model="m")
    with pytest.raises(BackendUnavailable) as caught:
        list(llm.stream(ASKED, SMALL))
    assert caught.value.hint == "Start it with: ollama serve"
    (check,) = llm.check()
    assert (check.ok, check.hint) == (False, "Start it with: ollama serve")


def test_a_missing_model_says_how_to_get_it(script: Script) -> None:
    script.status, script.lines = 404, [{"error": 'model "nope" not found'}]
    with pytest.raises(ModelMissing) as caught:
        list(OllamaLLM(host=script.url, model="nope").stream(ASKED, SMALL))
    assert caught.value.hint == "Get it with: ollama pull nope"


def test_another_status_keeps_the_servers_words(script: Script) -> None:
    script.status, script.lines = 500, [{"error": "model requires more system memory"}]
    with pytest.raises(BackendError, match=r"more system memory \(status 500\)") as caught:
        list(OllamaLLM(host=script.url, model="m").stream(ASKED, SMALL))
    assert type(caught.value) is BackendError


def test_a_password_in_the_address_is_in_no_message() -> None:
    llm = OllamaLLM(host="http://me:secret@127.0.0.1:1", model="m")
    with pytest.raises(BackendUnavailable) as caught:
        list(llm.stream(ASKED, SMALL))
    told = [str(caught.value), caught.value.url, *(f"{check.detail} {check.hint}" for check in llm.check())]
    assert "secret" not in " ".join(told)
    assert "http://me:…@127.0.0.1:1" in caught.value.message


@pytest.mark.parametrize("silent_line", [0, 1])
def test_silence_before_or_between_tokens_is_a_timeout(script: Script, silent_line: int) -> None:
    script.lines = [part("It is "), part("25", done=True)]
    script.pauses = {silent_line: 20.0}
    pieces: list[str] = []
    with pytest.raises(BackendTimeout, match=r"silent for 0\.2 s") as caught:
        pieces.extend(OllamaLLM(host=script.url, model="m", timeout_s=0.2).stream(ASKED, SMALL))
    assert "LOCALRAG_LLM_TIMEOUT_S" in caught.value.hint


def test_a_slow_reply_that_keeps_coming_is_not_cut_off(script: Script) -> None:
    # Six tokens, 0.15 s apart: 0.9 s in all, over the 0.5 s that each may take.
    script.lines = [*(part(str(n)) for n in range(6)), part("", done=True)]
    script.pauses = dict.fromkeys(range(6), 0.15)
    assert "".join(OllamaLLM(host=script.url, model="m", timeout_s=0.5).stream(ASKED, SMALL)) == "012345"


def test_timeout_zero_waits(script: Script) -> None:
    script.lines, script.pauses = [part("25", done=True)], {0: 0.3}
    assert list(OllamaLLM(host=script.url, model="m", timeout_s=0).stream(ASKED, SMALL)) == ["25"]


@pytest.mark.parametrize(
    "ending",
    [
        {"hang_up": True},
        {"lines": [part("It is ")]},
        {"lines": [part("It is "), {"error": "the runner has crashed"}]},
        {"lines": [part("It is "), "this is no JSON"]},
        {"lines": [part("It is "), {"message": 5}]},
    ],
)
def test_a_reply_that_breaks_off_keeps_its_pieces(script: Script, ending: dict[str, Any]) -> None:
    script.lines = [part("It is ")]
    for name, value in ending.items():
        setattr(script, name, value)
    stream = OllamaLLM(host=script.url, model="m").stream(ASKED, SMALL)
    assert next(stream) == "It is "
    with pytest.raises(BackendError):
        list(stream)


@pytest.mark.parametrize("line", ["null", "[]", "7", '{"message": null}', '{"message": {"content": 5}}', "no json"])
def test_a_reply_of_another_shape_is_a_failure_of_the_service(script: Script, line: str) -> None:
    script.lines = [part("It is "), line]
    pieces = OllamaLLM(host=script.url, model="m").stream(ASKED, SMALL)
    assert next(pieces) == "It is "
    with pytest.raises(BackendError):
        next(pieces)


def test_a_reply_that_never_ends_is_ended(script: Script) -> None:
    script.lines = [part("duck ")] * 300  # more than 4 parts for each of the 64 tokens asked for: 256
    pieces = OllamaLLM(host=script.url, model="m").stream(ASKED, SMALL)
    assert [next(pieces) for _ in range(256)] == ["duck "] * 256
    with pytest.raises(BackendError, match="did not stop after 64 tokens"):
        next(pieces)


@pytest.mark.parametrize("listed", ["llama3", ["llama3"], {"llama3": 1}])
def test_a_list_of_models_of_another_shape_holds_none(script: Script, listed: Any) -> None:
    script.listed = listed
    checks = {check.name: check for check in OllamaLLM(host=script.url, model="llama3").check()}
    assert (checks["Ollama"].ok, checks["Language model"].ok) == (True, False)


@pytest.mark.parametrize("host", ["http://127.0.0.1:99999", "http://:::", "http://[::1", "foo://bar:1"])
def test_an_address_that_is_none_is_told(host: str) -> None:
    llm = OllamaLLM(host=host, model="m")
    with pytest.raises(BackendError):
        list(llm.stream(ASKED, SMALL))
    assert not all(check.ok for check in llm.check())


def test_a_reader_that_stops_early_ends_the_request(script: Script) -> None:
    script.lines = [part(str(n)) for n in range(50)]
    script.pauses = dict.fromkeys(range(1, 50), 5.0)
    stream = OllamaLLM(host=script.url, model="m").stream(ASKED, SMALL)
    assert next(stream) == "0"
    started = time.monotonic()
    stream.close()  # type: ignore[attr-defined]
    assert time.monotonic() - started < 2.0


@pytest.mark.parametrize(("model", "ok"), [("llama3", True), ("llama3:latest", True), ("llama3:8b", False)])
def test_a_model_without_a_tag_is_the_latest(script: Script, model: str, ok: bool) -> None:
    script.models = ["qwen2.5:0.5b", "llama3:latest"]
    server, installed = OllamaLLM(host=script.url, model=model).check()
    assert (server.ok, "0.6.5" in server.detail) == (True, True)
    assert installed.ok is ok
    assert installed.hint == ("" if ok else f"Get it with: ollama pull {model}")


@pytest.mark.parametrize(
    ("host", "warned"),
    [
        ("http://127.0.0.1:1", False),
        ("http://localhost:1", False),
        ("http://[::1]:1", False),
        ("http://127.9.9.9:1", False),
        ("http://192.0.2.7:1", True),
        ("http://ollama.example:1", True),
        ("http://127.0.0.1.example:1", True),
    ],
)
def test_a_host_that_is_not_this_machine_is_told(host: str, warned: bool) -> None:
    names = [check.name for check in OllamaLLM(host=host, model="m")._locality()]
    assert names == (["Privacy"] if warned else [])


def exceptions_of(module: Any) -> list[type[Exception]]:
    found = {
        value
        for name in dir(module)
        if isinstance(value := getattr(module, name), type) and issubclass(value, Exception)
    }
    return sorted(found, key=lambda cls: cls.__name__)


def instance(cls: type[Exception]) -> Exception:
    request = httpx.Request("GET", "http://127.0.0.1/")
    if cls is httpx.HTTPStatusError:
        return httpx.HTTPStatusError("500", request=request, response=httpx.Response(500, request=request))
    if issubclass(cls, httpx.StreamError) and cls is not httpx.StreamError:
        return cls()
    return cls("it failed")


FOREIGN = [*exceptions_of(httpx), *exceptions_of(ollama)]


def test_the_list_of_foreign_errors_is_not_empty() -> None:
    assert {httpx.ReadTimeout, httpx.ConnectError, ollama.ResponseError} <= set(FOREIGN)


@pytest.mark.parametrize("cls", FOREIGN, ids=lambda cls: cls.__name__)
def test_every_error_of_httpx_and_ollama_is_translated(cls: type[Exception]) -> None:
    error = instance(cls)
    assert isinstance(error, _foreign_errors()), f"{cls.__name__} would escape"
    translated = OllamaLLM(host="http://127.0.0.1:1", model="m")._translated(error)
    expected: type[BackendError] = BackendError
    if issubclass(cls, httpx.ConnectError | httpx.ConnectTimeout):
        expected = BackendUnavailable
    elif issubclass(cls, httpx.TimeoutException):
        expected = BackendTimeout
    assert type(translated) is expected
    assert translated.hint
    assert translated.url == "http://127.0.0.1:1"
