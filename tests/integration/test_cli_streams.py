"""The command line among odd bytes: other encodings, full disks, names and arguments that are not UTF-8."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}


def run(*arguments: str | bytes, env: dict[str, str] | None = None, to: str = "") -> subprocess.CompletedProcess[bytes]:
    """`localrag ARGUMENTS`, with no model to call; stdout goes into the file `to`, if one is named."""
    command = [sys.executable, "-m", "localrag", *arguments]
    environment = {**os.environ, "OLLAMA_HOST": "http://127.0.0.1:9", **(env or {})}
    if not to:
        return subprocess.run(command, capture_output=True, timeout=180, env=environment)
    with Path(to).open("wb") as out:
        return subprocess.run(command, stdout=out, stderr=subprocess.PIPE, timeout=180, env=environment)


@pytest.fixture
def note(tmp_path: Path) -> Path:
    path = tmp_path / "duck.md"
    path.write_text("The 🦆 “duck” costs 120 euros – or 95 £.\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("command", [["search", "duck"], ["ask", "--no-llm", "What does the duck cost?"], ["show"]])
def test_what_the_encoding_of_the_output_lacks_is_replaced(note: Path, command: list[str]) -> None:
    assert run("ingest", str(note)).returncode == 0
    done = run(*command, *(["duck.md"] if command == ["show"] else []), env=ASCII)
    assert (done.returncode, b"Traceback" in done.stderr) == (0, False)
    assert b"costs 120 euros ? or 95 ?" in done.stdout


def test_json_is_utf8_whatever_the_encoding_of_the_output(note: Path) -> None:
    assert run("ingest", str(note)).returncode == 0
    done = run("search", "duck", "--json", env=ASCII)
    assert "🦆" in json.loads(done.stdout.decode("utf-8"))["hits"][0]["text"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a device that is always full")
def test_an_output_that_is_full_is_one_clear_message(note: Path) -> None:
    assert run("ingest", str(note)).returncode == 0
    done = run("search", "duck", to="/dev/full")
    assert (done.returncode, done.stderr) == (2, b"error: The output cannot be written: No space left on device.\n")


@pytest.mark.skipif(os.name == "nt", reason="pipes end otherwise there")
@pytest.mark.parametrize(
    "command", [["show", "long.md"], ["documents"], ["search", "line"], ["search", "line", "--json"]]
)
def test_a_reader_that_goes_away_is_no_error(tmp_path: Path, command: list[str]) -> None:
    # More than a pipe holds (64 KiB), so that the writer is still at it when the reader goes.
    (tmp_path / "long.md").write_text("One line of the long text.\n" * 20_000, encoding="utf-8")
    assert run("ingest", str(tmp_path)).returncode == 0
    with subprocess.Popen(
        [sys.executable, "-m", "localrag", *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        assert (process.stderr.read(), process.wait(timeout=60)) == (b"", 0)


@pytest.mark.skipif(os.name == "nt", reason="arguments are Unicode there")
@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ([b"show", b"\xff"], 2, "No document is called �"),
        ([b"search", b"x", b"--tag", b"\xff=1"], 2, "broken text"),
        ([b"search", b"x", b"--collection", b"\xff"], 2, "broken text"),
        ([b"search", b"\xff"], 0, "The library is empty"),
    ],
)
def test_an_argument_that_is_not_utf8_is_no_crash(arguments: list[bytes], code: int, said: str) -> None:
    done = run(*arguments)
    assert (done.returncode, b"Traceback" in done.stderr) == (code, False)
    assert said in done.stderr.decode()


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names")
def test_a_file_whose_name_is_not_utf8_is_indexed_shown_and_deleted(tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/bad\xff.txt"
    Path(os.fsdecode(path)).write_text("The rent is 120 euros.")
    assert run("ingest", path).returncode == 0
    assert b"The rent is 120 euros." in run("show", b"bad\xff.txt").stdout
    assert run("delete", b"bad\xff.txt").returncode == 0
