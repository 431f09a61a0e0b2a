"""Three OpenSearch nodes, one killed while documents are written and searched: what is lost, and what is noticed.

    bash scripts/services/opensearch.sh install
    python benchmarks/opensearch_failover.py [--port 9331] [--documents 40]

Starts three nodes on this machine and a library of three shards with one replica, writes and searches without a
pause, kills the node that manages the cluster with SIGKILL, starts it again, and then compares every document
whose write was acknowledged with what is stored. A search counts as failed when it raises, or when it does not find
what was there from the start. Prints a table and keeps it in `benchmarks/results/opensearch_failover.json`.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from opensearchpy import OpenSearch

from localrag.errors import LocalRagError
from localrag.index.content import text_hash
from localrag.index.opensearch import OpenSearchIndex
from localrag.index.opensearch_schema import Copies
from localrag.testing import HashEmbedder, store_texts
from localrag.types import Check, IndexHeader

ROOT = Path(__file__).resolve().parents[1]
SCRIPT = ROOT / "scripts" / "services" / "opensearch.sh"
RESULTS = Path(__file__).parent / "results" / "opensearch_failover.json"
NAME = "failover"
CHUNKS = 20
SEARCHERS = 2
EMBEDDER = HashEmbedder()
HEADER = IndexHeader(model=EMBEDDER.model, chunk_tokens=256, chunk_overlap_tokens=32)


class Trio:
    """Three nodes with one data folder each below `home`, on ports from `port` on and a hundred above."""

    def __init__(self, home: Path, port: int, *, heap: str = "384m") -> None:
        self._home = home
        self.ports = [port + place for place in range(3)]
        self._names = [f"failover-{place + 1}" for place in range(3)]
        self._heap = heap

    @property
    def url(self) -> str:
        """All three addresses, as LOCALRAG_INDEX_URL takes them."""
        return ",".join(f"http://127.0.0.1:{port}" for port in self.ports)

    def start(self) -> None:
        """Starts all side by side and waits until they are one cluster."""
        starting = [self._script(place, "start", wait="http") for place in range(3)]
        _require([each.wait() for each in starting], "start")
        self.client(0).cluster.health(params={"wait_for_nodes": "3", "timeout": "120s"}, request_timeout=130)

    def restart(self, place: int) -> None:
        """Starts the node again on its own data."""
        _require([self._script(place, "start", wait="ready").wait()], "start")

    def stop(self) -> None:
        """Ends those that run."""
        for each in [self._script(place, "stop") for place in range(3)]:
            each.wait()

    def manager(self) -> int:
        """The place of the node that manages the cluster."""
        (told,) = self.client(0).cat.cluster_manager(format="json")
        return self._names.index(told["node"])

    def kill(self, place: int) -> None:
        """SIGKILL: no goodbye, nothing flushed."""
        os.kill(int((self._home / self._names[place] / "opensearch.pid").read_text()), signal.SIGKILL)

    def client(self, place: int) -> OpenSearch:
        """A client of that node alone."""
        return OpenSearch(f"http://127.0.0.1:{self.ports[place]}", timeout=60)

    def _script(self, place: int, command: str, *, wait: str = "ready") -> subprocess.Popen[bytes]:
        transport = [f"127.0.0.1:{port + 100}" for port in self.ports]
        own = {
            "OPENSEARCH_NODE": self._names[place],
            "OPENSEARCH_NODE_HOME": str(self._home / self._names[place]),
            "OPENSEARCH_PORT": str(self.ports[place]),
            "OPENSEARCH_TRANSPORT_PORT": str(self.ports[place] + 100),
            "OPENSEARCH_HEAP": self._heap,
            "OPENSEARCH_CLUSTER": "localrag-failover",
            "OPENSEARCH_SEEDS": ",".join(transport),
            "OPENSEARCH_INITIAL_NODES": ",".join(self._names),
            "OPENSEARCH_WAIT": wait,
        }
        return subprocess.Popen(
            ["bash", str(SCRIPT), command], env={**os.environ, **own}, stdout=subprocess.DEVNULL, stderr=None
        )


@dataclass(slots=True)
class Tally:
    """What the writer and the searchers met; every field is of one thread or only appended to."""

    written: list[str] = field(default_factory=list)
    write_problems: list[str] = field(default_factory=list)
    searches: list[tuple[float, float]] = field(default_factory=list)
    search_problems: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Failover:
    """What the killed node cost."""

    documents: int
    chunks: int
    lost_documents: int
    lost_chunks: int
    failed_writes: int
    searches: int
    failed_searches: int
    longest_search_s: dict[str, float]
    states: tuple[str, ...]
    told: tuple[str, ...]
    problems: tuple[str, ...]


def run(trio: Trio, *, documents: int) -> Failover:
    """The whole story, on a cluster that is up. `documents`: how many are written before the kill, and after it."""
    OpenSearchIndex.drop(trio.url, NAME)
    index = OpenSearchIndex.open(trio.url, NAME, HEADER, copies=Copies(shards=3, replicas=1))
    states, told, moments = [], [], {}

    def note() -> None:
        check = index_check(index)
        states.append(state_of(index))
        told.append(f"{check.detail}. {check.hint}")

    try:
        write(index, "first")
        wait_for_status(trio.client(0), "green")
        note()
        with load(index) as tally:
            wait_until(lambda: len(tally.written) >= documents, tally)
            victim = trio.manager()
            moments["killed"] = time.monotonic()
            trio.kill(victim)
            after = len(tally.written)
            wait_until(lambda: state_of(index) in ("yellow", "red"), tally)  # before the copies are made anew elsewhere
            note()
            wait_until(lambda: len(tally.written) >= after + documents, tally)
            moments["started again"] = time.monotonic()
            trio.restart(victim)
            wait_for_status(trio.client(victim), "green")
            again = len(tally.written)
            wait_until(lambda: len(tally.written) >= again + 5, tally)
        note()
        lost = [found for name in tally.written if (found := missing(index, name))]
        broken = [check.detail for check in index.check(deep=True) if not check.ok]
    finally:
        index.close()
        OpenSearchIndex.drop(trio.url, NAME)
    return Failover(
        documents=len(tally.written),
        chunks=len(tally.written) * CHUNKS,
        lost_documents=len(lost),
        lost_chunks=sum(lost),
        failed_writes=len(tally.write_problems),
        searches=len(tally.searches),
        failed_searches=len(tally.search_problems),
        longest_search_s=longest(tally.searches, moments),
        states=tuple(states),
        told=tuple(told),
        problems=(*tally.write_problems[:3], *tally.search_problems[:3], *broken),
    )


def longest(searches: list[tuple[float, float]], moments: dict[str, float]) -> dict[str, float]:
    """The seconds that the longest search took of those that ended in each part of the story."""
    parts = {"before": (0.0, moments["killed"]), "after the kill": tuple(moments.values())}
    parts["after the start"] = (moments["started again"], math.inf)
    ended = [(began + took, took) for began, took in searches]
    return {
        part: round(max((took for at, took in ended if first <= at < last), default=0.0), 1)
        for part, (first, last) in parts.items()
    }


def index_check(index: OpenSearchIndex) -> Check:
    """What health says of the cluster."""
    return next(check for check in index.check() if check.name == "index")


def state_of(index: OpenSearchIndex) -> str:
    """`green`, `yellow` or `red`, of what health says; empty when it could not be asked."""
    found = re.search(r": (green|yellow|red),", index_check(index).detail)
    return found[1] if found else ""


def write(index: OpenSearchIndex, name: str) -> None:
    """Stores a document of twenty chunks with their vectors."""
    texts = [f"the {name} report, part {part}: granite quarry" for part in range(CHUNKS)]
    rows = dict(zip(map(text_hash, texts), EMBEDDER.embed_documents(texts), strict=True))
    store_texts(index, name, *texts, vectors=rows)


def missing(index: OpenSearchIndex, name: str) -> int:
    """How many chunks of the document, whose write was acknowledged, are not stored with text and vector."""
    texts = {chunk.text for chunk in index.document_chunks(name)}
    vectors = index.document_vectors(name)
    wanted = [f"the {name} report, part {part}: granite quarry" for part in range(CHUNKS)]
    return sum(text not in texts or text_hash(text) not in vectors for text in wanted)


@contextmanager
def load(index: OpenSearchIndex) -> Iterator[Tally]:
    """Writes and searches without a pause while the block runs."""
    tally, done = Tally(), threading.Event()
    question = "the first report, part 7: granite quarry"
    row = EMBEDDER.embed_query(question)

    def writing() -> None:
        number = 0
        while not done.is_set():
            number += 1
            try:
                write(index, f"doc{number:04d}")
                tally.written.append(f"doc{number:04d}")
            except LocalRagError as error:
                tally.write_problems.append(str(error))

    def searching() -> None:
        while not done.is_set():
            began = time.monotonic()
            try:
                legs = index.search_legs(question, row, limit=10)
                found = [[hit.chunk.id for hit in leg or ()] for leg in (legs.lexical, legs.vector)]
                if not all("first_7" in leg for leg in found):
                    tally.search_problems.append(f"first_7 is not among {found}")
            except LocalRagError as error:
                tally.search_problems.append(str(error))
            tally.searches.append((began, time.monotonic() - began))

    threads = [threading.Thread(target=work) for work in (writing, *[searching] * SEARCHERS)]
    for thread in threads:
        thread.start()
    try:
        yield tally
    finally:
        done.set()
        for thread in threads:
            thread.join()


def wait_until(reached: Callable[[], bool], tally: Tally, seconds: float = 120.0) -> None:
    """Returns once it is so; writes that fail all the time end the wait."""
    ends = time.monotonic() + seconds
    while not reached():
        if time.monotonic() > ends:
            raise TimeoutError(f"nothing is written any more: {tally.write_problems[-1:]}")
        time.sleep(0.05)


def wait_for_status(client: OpenSearch, status: str) -> None:
    """Returns once the library's indices have that state."""
    options = {"wait_for_status": status, "wait_for_no_initializing_shards": "true", "timeout": "120s"}
    client.cluster.health(index=f"{NAME}-*", params=options, request_timeout=130)


def _require(codes: list[int], what: str) -> None:
    if any(codes):
        raise RuntimeError(f"opensearch.sh {what} failed ({codes}); its output is above")


def table(found: Failover) -> str:
    """The figures as Markdown."""
    rows = [
        ("documents acknowledged (chunks)", f"{found.documents} ({found.chunks})"),
        ("documents lost (chunks)", f"{found.lost_documents} ({found.lost_chunks})"),
        ("writes failed after retries", found.failed_writes),
        ("hybrid searches", found.searches),
        ("searches failed after retries", found.failed_searches),
        *((f"longest search {part}", f"{seconds} s") for part, seconds in found.longest_search_s.items()),
        ("health before, without the node, after", ", ".join(found.states)),
    ]
    return "\n".join(["| one of three nodes killed | |", "|---|---|", *(f"| {what} | {told} |" for what, told in rows)])


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--port", type=int, default=9331)
    options.add_argument("--documents", type=int, default=40)
    chosen = options.parse_args()
    home = Path(tempfile.mkdtemp(prefix="localrag-failover-"))
    trio = Trio(home, chosen.port)
    try:
        trio.start()
        found = run(trio, documents=chosen.documents)
    finally:
        trio.stop()
        shutil.rmtree(home, ignore_errors=True)
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    kept = {key: value for key, value in asdict(found).items() if key != "told"}
    RESULTS.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    print(table(found))
    print(*found.told, *found.problems, sep="\n")
    raise SystemExit(bool(found.lost_documents or found.failed_searches or found.failed_writes or found.problems))


if __name__ == "__main__":
    main()
