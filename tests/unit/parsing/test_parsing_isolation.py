"""The real parser process under files that hang, crash, flood and call out: each costs that file only."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from localrag.errors import (
    DocumentError,
    DocumentTooLarge,
    EmptyDocument,
    EncryptedDocument,
    ParserCrashed,
    ParseTimeout,
    UnreadableDocument,
)
from localrag.parsing.child import _await_end
from localrag.parsing.isolated import IsolatedParser
from localrag.parsing.source import Limits

MOCK = str(Path(__file__).with_name("mock_reader.py"))
MEBIBYTE = 1024 * 1024
LIMITS = Limits(timeout_s=20.0, memory_mb=256, output_chars=100_000, inflated_bytes=8 * MEBIBYTE)

Ask = Callable[[str], str]


@pytest.fixture(scope="module")
def parser() -> Iterator[IsolatedParser]:
    with IsolatedParser(LIMITS, extra_readers={"mock": MOCK}) as parser:
        yield parser


@pytest.fixture
def ask(parser: IsolatedParser, tmp_path: Path) -> Ask:
    """Reads a file with that command; the text of its page."""
    return lambda command: _ask(parser, tmp_path, command)


def _ask(parser: IsolatedParser, folder: Path, command: str) -> str:
    path = folder / "commands.mock"
    path.write_text(command)
    return parser.parse(path, name="commands.mock").pages[0].markdown


def _until(condition: Callable[[], bool], seconds: float = 10.0) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.02)
    return condition()


def _gone(pid: int) -> bool:
    return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


@pytest.mark.parametrize(
    ("command", "kind", "word"),
    [
        ("segfault", ParserCrashed, "SIGSEGV"),
        ("abort", ParserCrashed, "SIGABRT"),
        ("exit 3", ParserCrashed, "exit status 3"),
        ("exit 0", ParserCrashed, "exit status 0"),
        ("kill", ParserCrashed, "out of memory"),
        ("allocate 4096", ParserCrashed, "ran out of memory (256 MB)"),
        ("output 100001", DocumentTooLarge, "100,001 characters"),
        ("raise strange words", UnreadableDocument, "KeyError: 'strange words'"),
        ("recurse", UnreadableDocument, "RecursionError"),
        ("locked", EncryptedDocument, "It is locked."),
        ("blank", EmptyDocument, "no text"),
    ],
)
def test_a_fault_is_named_and_the_next_file_is_read(
    ask: Ask, command: str, kind: type[DocumentError], word: str
) -> None:
    with pytest.raises(kind) as caught:
        ask(command)
    assert word in caught.value.message
    assert caught.value.hint
    assert caught.value.path == "commands.mock"
    assert ask("say next") == "next"


@pytest.mark.parametrize("command", ["loop", "sleep 60"])
def test_a_file_that_hangs_is_stopped_at_the_time_limit(tmp_path: Path, command: str) -> None:
    limits = Limits(timeout_s=0.5, memory_mb=256)
    with IsolatedParser(limits, extra_readers={"mock": MOCK}) as parser:
        started = time.monotonic()
        with pytest.raises(ParseTimeout, match=r"after 0\.5 s") as caught:
            _ask(parser, tmp_path, command)
        assert time.monotonic() - started < 2.5  # the limit and two seconds
        assert "LOCALRAG_PARSE_TIMEOUT_S" in caught.value.hint
        assert _ask(parser, tmp_path, "say next") == "next"


def test_a_reader_that_asks_for_more_time_gets_it_for_this_file_only(tmp_path: Path) -> None:
    limits = Limits(timeout_s=1.0, memory_mb=256)
    with IsolatedParser(limits, extra_readers={"mock": MOCK}) as parser:
        assert _ask(parser, tmp_path, "slow 1.5 30") == "at last"
        with pytest.raises(ParseTimeout, match=r"after 1\.5 s"):
            _ask(parser, tmp_path, "slow 60 0.5")
        with pytest.raises(ParseTimeout, match=r"after 1 s"):
            _ask(parser, tmp_path, "sleep 60")


def test_what_a_library_prints_does_not_disturb_the_protocol(ask: Ask) -> None:
    assert ask("print 50") == "printed"
    assert ask("say next") == "next"


def test_memory_up_to_the_limit_can_be_used(ask: Ask) -> None:
    assert ask("allocate 150") == "held 150"


def test_programs_a_reader_started_end_with_it(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    with IsolatedParser(Limits(timeout_s=2.0), extra_readers={"mock": MOCK}) as parser:
        with pytest.raises(ParseTimeout):
            _ask(parser, tmp_path, f"orphan {pid_file}")
        assert _until(lambda: _gone(int(pid_file.read_text())))


def test_python_code_cannot_open_a_socket(ask: Ask) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        with pytest.raises(UnreadableDocument, match="no network"):
            ask(f"connect {server.getsockname()[1]}")
        with pytest.raises(TimeoutError):
            server.accept()


def test_native_code_has_no_network_where_the_system_allows_namespaces(parser: IsolatedParser, ask: Ask) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        outcome = ask(f"native-connect {server.getsockname()[1]}")
    assert (outcome == "connected") is not parser.protections()["network_namespace"]


def test_the_environment_holds_no_secrets(parser: IsolatedParser, ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("API_TOKEN", "secret")
    with pytest.raises(ParserCrashed):
        ask("exit 1")  # the next child is started with the token in our environment
    names = set(ask("environment").split())
    ours = {"HOME", "OPENBLAS_NUM_THREADS", "PATH", "PYTHONPATH", "TEMP", "TMP", "TMPDIR"}
    assert names <= ours | {"LANG", "LC_ALL", "LC_CTYPE", "TZ"}


def test_the_process_stands_back_and_leaves_no_core(ask: Ask) -> None:
    assert int(ask("nice")) == os.nice(0) + 5
    assert ask("core") == "(0, 0)"


def test_a_file_cannot_fill_the_disk(ask: Ask, tmp_path: Path) -> None:
    with pytest.raises(UnreadableDocument):
        ask(f"write {tmp_path / 'big'} 9")  # one MiB more than the limit
    assert (tmp_path / "big").stat().st_size == 8 * MEBIBYTE


def test_text_is_made_storable(ask: Ask) -> None:
    assert ask("odd") == "nul  and surrogate \ufffd end"


def test_a_file_whose_name_is_not_utf8_is_read(parser: IsolatedParser, tmp_path: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/bad\xff\xfe name.txt"))
    path.write_text("The rent is 120 euros.")
    assert parser.parse(path, name="bad\ufffd\ufffd name.txt").pages[0].markdown == "The rent is 120 euros."


def test_a_child_that_is_reaped_while_its_end_is_awaited_is_gone() -> None:
    # As when the timer's thread kills and reaps it just before this one looks: this process has not noticed yet.
    process = subprocess.Popen([sys.executable, "-c", ""])
    os.waitpid(process.pid, 0)
    assert process.returncode is None
    _await_end(process)


def test_an_error_message_can_be_stored(ask: Ask) -> None:
    with pytest.raises(UnreadableDocument) as caught:
        ask("complain")
    assert caught.value.message.encode() == b"commands.mock could not be read: ValueError: odd ?."


def test_a_child_is_kept_between_files_and_replaced_after_some(tmp_path: Path) -> None:
    with IsolatedParser(LIMITS, recycle_after=3, extra_readers={"mock": MOCK}) as parser:
        pids = [_ask(parser, tmp_path, "pid") for _ in range(7)]
    assert pids == [pids[0]] * 3 + [pids[3]] * 3 + [pids[6]]
    assert len(set(pids)) == 3


def test_a_child_that_keeps_memory_is_replaced(tmp_path: Path) -> None:
    with IsolatedParser(Limits(memory_mb=1024), extra_readers={"mock": MOCK}) as parser:
        pid = _ask(parser, tmp_path, "pid")
        assert _ask(parser, tmp_path, "keep 100") == "kept 100"
        assert _ask(parser, tmp_path, "pid") == pid
        assert _ask(parser, tmp_path, "keep 300") == "kept 300"
        assert _ask(parser, tmp_path, "pid") != pid


def test_a_child_that_died_while_idle_costs_no_file(tmp_path: Path) -> None:
    with IsolatedParser(LIMITS, extra_readers={"mock": MOCK}) as parser:
        pid = int(_ask(parser, tmp_path, "pid"))
        os.kill(pid, signal.SIGKILL)
        # Dead means that it can be waited for: its first thread is a zombie a moment before the others have ended.
        assert _until(lambda: os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None)
        assert int(_ask(parser, tmp_path, "pid")) != pid


def test_several_threads_get_their_own_answers(tmp_path: Path) -> None:
    answers: dict[int, str] = {}

    def work(number: int, parser: IsolatedParser) -> None:
        folder = tmp_path / str(number)
        folder.mkdir()
        answers[number] = _ask(parser, folder, f"say answer {number}")

    with IsolatedParser(LIMITS, workers=2, extra_readers={"mock": MOCK}) as parser:
        threads = [threading.Thread(target=work, args=(number, parser)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert answers == {number: f"answer {number}" for number in range(8)}


def test_two_workers_read_at_the_same_time(tmp_path: Path) -> None:
    signs = tmp_path / "a", tmp_path / "b"
    with IsolatedParser(LIMITS, workers=2, extra_readers={"mock": MOCK}) as parser, ThreadPoolExecutor(2) as pool:
        for number in (0, 1):
            (tmp_path / f"{number}.mock").write_text(f"meet {signs[number]} {signs[1 - number]}")
        read = pool.map(lambda number: parser.parse(tmp_path / f"{number}.mock", name="x.mock"), (0, 1))
        assert [document.pages[0].markdown for document in read] == ["met", "met"]


def test_close_ends_the_children_and_removes_their_folders(tmp_path: Path) -> None:
    parser = IsolatedParser(LIMITS, extra_readers={"mock": MOCK})
    pid, folder = int(_ask(parser, tmp_path, "pid")), Path(_ask(parser, tmp_path, "folder"))
    assert folder.is_dir()
    parser.close()
    assert _gone(pid)
    assert not folder.exists()
    with pytest.raises(RuntimeError, match="closed"):
        _ask(parser, tmp_path, "pid")


def test_close_stops_a_file_that_is_being_read(tmp_path: Path) -> None:
    parser = IsolatedParser(LIMITS, extra_readers={"mock": MOCK})
    _ask(parser, tmp_path, "pid")
    threading.Timer(0.3, parser.close).start()
    with pytest.raises(ParserCrashed, match="cancelled"):
        _ask(parser, tmp_path, "sleep 60")


@pytest.mark.parametrize("command", ["pid", "loop"], ids=["idle", "in an endless loop"])
def test_a_child_ends_when_its_parent_is_killed(tmp_path: Path, command: str) -> None:
    program = (
        "import sys; from pathlib import Path; from localrag.parsing.isolated import IsolatedParser\n"
        "parser = IsolatedParser(extra_readers={'mock': sys.argv[1]}); folder = Path(sys.argv[2])\n"
        "ask = lambda text: (folder / 'a.mock').write_text(text) and parser.parse(folder / 'a.mock', name='a.mock')\n"
        "print(ask('pid').pages[0].markdown, ask('folder').pages[0].markdown, flush=True)\n"
        "ask(sys.argv[3]); import time; time.sleep(60)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, MOCK, str(tmp_path), command], stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        pid, folder = parent.stdout.readline().split()
        parent.kill()
    assert _until(lambda: _gone(int(pid)))
    assert _until(lambda: not Path(folder).exists())


def test_the_parent_loads_no_format_library(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("some words")
    program = (
        "import sys; from pathlib import Path; from localrag.parsing.isolated import IsolatedParser\n"
        "with IsolatedParser() as parser: parser.parse(Path(sys.argv[1]), name='a.txt')\n"
        "print(*{name.split('.')[0] for name in sys.modules})"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "a.txt")]
    loaded = set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())
    heavy = {"pymupdf", "fitz", "lxml", "bs4", "openpyxl", "xlrd", "pptx", "markitdown", "mammoth", "olefile"}
    assert "localrag" in loaded
    assert not loaded & heavy


def test_a_parser_needs_a_worker() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        IsolatedParser(workers=0)


def _archive(folder: Path, members: Mapping[str, str]) -> Path:
    path = folder / "box.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return path


@pytest.mark.parametrize(
    ("command", "warning"),
    [
        ("segfault", "crashed (SIGSEGV) while reading b.mock"),
        ("allocate 4096", "ran out of memory (256 MB)"),
        ("raise odd", "b.mock could not be read: KeyError: 'odd'."),
        ("loop", "Reading b.mock was stopped after 2 s."),
    ],
)
def test_a_member_that_takes_the_process_down_costs_only_itself(tmp_path: Path, command: str, warning: str) -> None:
    path = _archive(tmp_path, {"a.txt": "first words", "b.mock": command, "c.mock": "say last words"})
    with IsolatedParser(Limits(timeout_s=2.0, memory_mb=256), extra_readers={"mock": MOCK}) as parser:
        document = parser.parse(path, name="box.zip")
    assert [page.markdown for page in document.pages] == ["first words", "last words"]
    assert len(document.warnings) == 1
    assert warning in document.warnings[0]


def test_an_archive_of_members_that_crash_is_given_up(tmp_path: Path) -> None:
    path = _archive(tmp_path, {"a.txt": "words", **{f"{letter}.mock": "abort" for letter in "bcde"}})
    with IsolatedParser(LIMITS, extra_readers={"mock": MOCK}) as parser, pytest.raises(ParserCrashed) as caught:
        parser.parse(path, name="box.zip")
    assert "box.zip" in caught.value.message
