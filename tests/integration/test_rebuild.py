"""Another model and chunk size while others read and write, and killed at random moments: nothing lost, no pause."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from localrag import RAG, load_settings
from localrag.app import wiring
from localrag.app.rebuilding import rebuild_library
from localrag.errors import IndexMismatchError
from localrag.index.opensearch import OpenSearchIndex
from localrag.library.rebuilding import LEASE, RebuildProgress
from localrag.settings import Settings
from localrag.testing import HashEmbedder, ScriptedLLM

URL = os.environ.get("OPENSEARCH_TEST_URL", "http://127.0.0.1:9200")
NAME = "rebuild-test"
DOCUMENTS = 16
KILLS = 6
OLD, NEW = HashEmbedder(), HashEmbedder(dimension=32, revision="2")
BACKENDS = ["embedded", pytest.param("opensearch", marks=pytest.mark.opensearch)]

# Leases that end soon and a model that takes its time: each kill then hits the middle of something.
CHILD = """
import os
import time
from localrag.app import wiring
from localrag.app.rebuilding import rebuild_library
from localrag.library import embedding_queue, rebuilding
from localrag.settings import load_settings
from localrag.testing import HashEmbedder

embedding_queue._LEASE_TTL_S = rebuilding.LEASE_TTL_S = 0.5
rebuilding._RENEW_S = rebuilding._POLL_S = 0.1

class Slow(HashEmbedder):
    left = int(os.environ.get("BATCHES", "999"))

    def embed_documents(self, texts):
        time.sleep(0.02)
        if Slow.left == 0:
            time.sleep(1.0)
            os._exit(9)  # at the latest: a fast machine would else be done before it is killed
        Slow.left -= 1
        return super().embed_documents(texts)

def told(state):
    print(state.stage, state.done, state.total, flush=True)

print("ready", flush=True)
rebuild_library(load_settings(), embedder=Slow(dimension=32, revision="2"), on_progress=told)
print("done", flush=True)
"""


@pytest.fixture(params=BACKENDS)
def old(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Settings]:
    """The settings of a library of documents that is all embedded, and the environment for its children."""
    served = request.param == "opensearch"
    if served:
        OpenSearchIndex.drop(URL, NAME)
        monkeypatch.setenv("LOCALRAG_INDEX_URL", URL)
        monkeypatch.setenv("LOCALRAG_INDEX_NAME", NAME)
    folder = tmp_path / "documents"
    folder.mkdir()
    for number in range(DOCUMENTS):
        (folder / f"report_{number:02d}.md").write_text(text_of(number))
    settings = load_settings()
    with opened(settings, OLD) as rag:
        rag.ingest(folder)
        rag.save_conversation("c", "[1]")
    yield settings
    if served:
        OpenSearchIndex.drop(URL, NAME)


def text_of(number: int) -> str:
    dice = random.Random(number)
    words = [f"{a}{b}" for a in ("lor", "ips", "dol", "sit", "ame", "con") for b in ("em", "um", "or", "et", "ic")]
    parts = [" ".join(dice.choices(words, k=60)) + "." for _ in range(8)]
    return f"# Report {number}\n\nmarker{number:02d}\n\n" + "\n\n".join(parts) + "\n"


def opened(settings: Settings, embedder: HashEmbedder) -> RAG:
    return RAG.open(settings, embedder=embedder, llm=ScriptedLLM([]))


@pytest.fixture
def new(old: Settings, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.setenv("LOCALRAG_CHUNK_TOKENS", "64")
    return load_settings()


def start(*, batches: int = 999) -> subprocess.Popen[str]:
    """A rebuild that does not live to embed more than so many batches of texts."""
    environment = {**os.environ, "BATCHES": str(batches)}
    child = subprocess.Popen([sys.executable, "-c", CHILD], stdout=subprocess.PIPE, text=True, env=environment)
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    return child


def kill_after(child: subprocess.Popen[str], seconds: float, *, steps: int = 99, stage: str = "") -> None:
    """kill -9 so long after so many steps were told of, or after the stage was."""
    assert child.stdout is not None
    while steps and (line := child.stdout.readline()) and line.split()[0] != stage:
        steps -= not line.startswith("waiting")
    time.sleep(seconds)
    child.send_signal(signal.SIGKILL)
    child.communicate(timeout=30)


def answers(rag: RAG) -> list[list[tuple[str, str]]]:
    rankings = [rag.search(f"marker{number:02d} lorem dolor", top_k=8) for number in range(0, DOCUMENTS, 5)]
    return [[(hit.chunk.id, hit.chunk.text) for hit in ranking.hits] for ranking in rankings]


def assert_rebuilt(settings: Settings, names: set[str], tmp_path: Path) -> None:
    """The library is what an ingest of the same documents with the new settings makes."""
    with opened(settings, NEW) as rag, opened(_apart(settings, tmp_path), NEW) as reference:
        assert {each.name for each in rag.documents()} == names
        assert rag.pending_count() == 0
        assert [check for check in rag.library_checks() if not check.ok] == []
        reference.ingest(tmp_path / "documents")
        assert answers(rag) == answers(reference)
        counts = {each.name: (each.chunk_count, each.embedded_count) for each in rag.documents()}
        assert counts == {each.name: (each.chunk_count, each.embedded_count) for each in reference.documents()}
        assert rag.load_conversation("c") == "[1]"


def _apart(settings: Settings, tmp_path: Path) -> Settings:
    return settings.model_copy(update={"index_url": f"sqlite:///{tmp_path / 'reference.db'}"})


def reports(numbers: set[int]) -> set[str]:
    return {f"report_{number:02d}.md" for number in numbers}


def test_kills_leave_the_old_index_and_lose_no_work(old: Settings, new: Settings, tmp_path: Path) -> None:
    dice = random.Random(5)
    with opened(old, OLD) as rag:
        before = answers(rag)
    for life in range(KILLS):
        kill_after(start(batches=int(life == 1)), dice.uniform(0.0, 0.05), steps=dice.randrange(6))
        with opened(old, OLD) as rag:
            assert answers(rag) == before
        with pytest.raises(IndexMismatchError, match="LOCALRAG_CHUNK_TOKENS") as refused:
            opened(new, NEW)
        assert "localrag embed --rebuild" in refused.value.hint
    seen: list[RebuildProgress] = []
    rebuild_library(new, embedder=NEW, on_progress=seen.append)
    assert next(each for each in seen if each.stage == "cutting").done > 0, "what was cut is cut again"
    assert_rebuilt(new, reports(set(range(DOCUMENTS))), tmp_path)


def test_kills_while_it_switches_leave_one_or_the_other(
    old: Settings, new: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("localrag.index.opensearch_state.SWITCH_S", 0.5)
    longest = 2.5 if new.resolved_index_url == URL else 0.05  # writers are kept waiting for two seconds there
    dice = random.Random(3)
    with opened(old, OLD) as rag:
        before = answers(rag)
    for _ in range(KILLS):
        kill_after(start(), dice.uniform(0.0, longest), stage="switching")
        try:
            with opened(old, OLD) as rag:
                assert answers(rag) == before
                # Writers go on, and so the next rebuild has something to catch up with.
                rag.ingest(tmp_path / "documents" / "report_00.md", force=True)
        except IndexMismatchError:
            break  # it has switched: whole, as the last lines find
    rebuild_library(new, embedder=NEW)
    assert_rebuilt(new, reports(set(range(DOCUMENTS))), tmp_path)
    with pytest.raises(IndexMismatchError):
        opened(old, OLD)


def test_an_unfinished_rebuild_is_dropped_by_the_old_settings_unless_it_runs(old: Settings, new: Settings) -> None:
    def begun() -> bool:
        with pytest.raises(IndexMismatchError) as refused:
            opened(new, NEW)
        return "makes the index for these settings from" not in refused.value.hint

    rebuild_library(new, embedder=NEW, cancelled=iter([False] * 4 + [True] * 9).__next__)
    present = wiring.open_index(old.resolved_index_url, old, wiring.header(old, OLD))
    try:
        assert present.acquire_lease(LEASE, "a rebuild that runs", 60.0)
        rebuild_library(old, embedder=OLD)
        assert begun()
        present.release_lease(LEASE, "a rebuild that runs")
        rebuild_library(old, embedder=OLD)
        assert not begun()
    finally:
        present.close()


def test_readers_and_writers_go_on_meanwhile(old: Settings, new: Settings, tmp_path: Path) -> None:
    folder = tmp_path / "documents"
    written = set(range(DOCUMENTS))
    problems: list[BaseException] = []
    searches = 0

    def read() -> None:
        """The same question, whose answer no writer changes, until another index has taken the place."""
        nonlocal searches
        with opened(old, OLD) as rag:
            expected = rag.search("marker15", semantic=0.0).hits[0].chunk
            try:
                while True:
                    found = rag.search("marker15 lorem", semantic=0.5).hits
                    assert expected in [hit.chunk for hit in found]
                    searches += 1
            except IndexMismatchError:
                return
            except Exception as error:  # noqa: BLE001 — a thread's fault is the test's
                problems.append(error)

    def write() -> None:
        """New documents, other versions and deletions, each in the result if it was done."""
        with opened(old, OLD) as rag:
            try:
                for number in range(DOCUMENTS, 99):
                    path = folder / f"report_{number:02d}.md"
                    path.write_text(text_of(number))
                    report = rag.ingest(path, embed=False)
                    assert report.count("indexed") == 1
                    written.add(number)
                    if number % 3 == 0:
                        (folder / "report_01.md").write_text(text_of(100 + number))
                        rag.ingest(folder / "report_01.md", embed=False)
                    if number == DOCUMENTS + 4:
                        rag.delete("report_02.md")
                        (folder / "report_02.md").unlink()
                        written.discard(2)
                    time.sleep(0.05)
                    if number == DOCUMENTS + 12:
                        return
            except IndexMismatchError:
                path.unlink(missing_ok=True)
            except Exception as error:  # noqa: BLE001 — as above
                problems.append(error)

    threads = [threading.Thread(target=read), threading.Thread(target=write)]
    for thread in threads:
        thread.start()
    time.sleep(0.3)
    child = start()
    output, _ = child.communicate(timeout=120)
    for thread in threads:
        thread.join(timeout=60)
    assert problems == []
    assert output.endswith("done\n")
    assert searches > 5
    if 1 in written:  # the last version of it may have been refused
        with opened(new, NEW) as rag:
            rag.ingest(folder / "report_01.md")
    assert_rebuilt(new, reports(written), tmp_path)
