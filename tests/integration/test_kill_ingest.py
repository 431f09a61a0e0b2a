"""kill -9 at random moments of an ingest, then ingest again: every document whole, none twice, no orphan."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

DOCUMENTS = 24
KILLS = 10


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "documents"
    folder.mkdir()
    generator = random.Random(7)
    words = [f"{a}{b}" for a in ("lor", "ips", "dol", "sit", "ame", "con") for b in ("em", "um", "or", "et", "ic")]
    for number in range(DOCUMENTS):
        paragraphs = [" ".join(generator.choices(words, k=60)) + "." for _ in range(12)]
        text = (
            f"# Report {number}\n\nmarker{number:03d}begin\n\n"
            + "\n\n".join(paragraphs)
            + f"\n\nmarker{number:03d}end\n"
        )
        (folder / f"report_{number:03d}.md").write_text(text)
    return folder


def _localrag(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "localrag", *arguments]


def _json(*arguments: str) -> object:
    done = subprocess.run(_localrag(*arguments, "--json"), capture_output=True, text=True, check=True, timeout=120)
    return json.loads(done.stdout)


def test_ten_kills_lose_and_double_nothing(folder: Path) -> None:
    generator = random.Random(11)
    killed = 0
    while killed < KILLS:
        process = subprocess.Popen(
            _localrag("ingest", str(folder), "--force"),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        time.sleep(generator.uniform(0.4, 4.0))
        if process.poll() is None:
            killed += 1
        os.kill(process.pid, signal.SIGKILL) if process.poll() is None else None
        process.wait()

    subprocess.run(_localrag("ingest", str(folder)), check=True, capture_output=True, timeout=300)

    documents = _json("documents")
    assert isinstance(documents, list)
    assert sorted(item["name"] for item in documents) == [f"report_{n:03d}.md" for n in range(DOCUMENTS)]
    assert {item["status"] for item in documents} == {"indexed"}
    for number in (0, DOCUMENTS // 2, DOCUMENTS - 1):
        for edge in ("begin", "end"):
            found = _json("search", f"marker{number:03d}{edge}", "--semantic", "0")
            assert isinstance(found, dict)
            assert [hit["document"] for hit in found["hits"]] == [f"report_{number:03d}.md"]
    checks = subprocess.run(_localrag("health", "--json"), capture_output=True, text=True, timeout=120)
    failed = [check for check in json.loads(checks.stdout)["checks"] if not check["ok"]]
    assert [check for check in failed if "ollama" not in check["name"].lower()] == []
    data = Path(os.environ["LOCALRAG_DATA_DIR"])
    versions = {path.stem for path in (data / "markdown").iterdir()}
    assert len(versions) == DOCUMENTS
    assert not list((data / "markdown").rglob(".part-*"))
