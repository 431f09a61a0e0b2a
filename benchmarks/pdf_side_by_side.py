"""One long PDF read by one process and by several, in turn, in one run: speed, memory, and that the results are equal.

    python benchmarks/pdf_side_by_side.py ../shared/bench/financebench-pages/pdfs [--pages 400] [--pairs 5]

The document is made of the folder's largest filings, one after the other, cut to --pages, and to 40 pages for the least
that is split. Wall clock says little on a machine where others work, so the processor seconds are given too, those of
the parser process and of its copies: `critical` is its own and the copies' by their number, what the wall clock would
be if every copy had a processor for itself. `machine_ratios` tells how far that is so: plain loops, as many as the
processors, in turn and side by side, timed between the pairs (2.0 on two idle processors, 1.0 where others hold one).
Figures are kept in `benchmarks/results/pdf_side_by_side.json`.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import psutil
import pymupdf

from localrag.parsing.isolated import IsolatedParser
from localrag.parsing.source import Limits
from localrag.types import ParsedDocument

_LOOP = [sys.executable, "-S", "-c", "for _ in range(10_000_000): pass"]
RESULTS = Path(__file__).parent / "results" / "pdf_side_by_side.json"


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds, and MB of all parser processes together; pages that they share count for each of them."""

    wall: float
    own: float
    copies: float
    peak_mb: float


class Reader:
    """One parser with so many processors for a file."""

    def __init__(self, processors: int) -> None:
        self.processors = processors
        # One worker of nothing but this file: the limits are those of a long ingest.
        self._parser = IsolatedParser(Limits(timeout_s=1800, processors=processors), recycle_after=1_000_000)
        self._parser.protections()  # starts the process
        self._process = psutil.Process().children()[-1]

    def read(self, path: Path) -> tuple[ParsedDocument, Cost]:
        """The document and what it took."""
        before, start = self._process.cpu_times(), time.perf_counter()
        with _Peak(self._process) as peak:
            document = self._parser.parse(path, name=path.name)
        wall, after = time.perf_counter() - start, self._process.cpu_times()
        own = after.user + after.system - before.user - before.system
        copies = sum(after[2:4]) - sum(before[2:4])
        return document, Cost(wall, own, copies, peak.mb)

    def close(self) -> None:
        """Ends the process."""
        self._parser.close()


class _Peak:
    """The most memory the process and its copies held together while the block ran."""

    def __init__(self, process: psutil.Process) -> None:
        self.mb = 0.0
        self._process = process
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> _Peak:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._done.wait(0.1):
            total = 0
            for process in (self._process, *self._process.children(recursive=True)):
                try:
                    total += process.memory_info().rss
                except psutil.NoSuchProcess:
                    continue
            self.mb = max(self.mb, total / 2**20)


def joined(folder: Path, pages: int, path: Path) -> Path:
    """A PDF of so many pages out of the folder's largest files."""
    with pymupdf.open() as whole:
        for file in sorted(folder.glob("*.pdf"), key=lambda file: -file.stat().st_size):
            with pymupdf.open(file) as part:
                whole.insert_pdf(part, to_page=min(len(part), pages - len(whole)) - 1)
            if len(whole) == pages:
                break
        whole.save(path)
    return path


def machine_ratio(processors: int) -> float:
    """How many times as fast plain loops run side by side as one after the other, at this moment."""
    start = time.perf_counter()
    for _ in range(processors):
        subprocess.run(_LOOP, check=True)
    in_turn = time.perf_counter() - start
    start = time.perf_counter()
    for process in [subprocess.Popen(_LOOP) for _ in range(processors)]:
        process.wait()
    return in_turn / (time.perf_counter() - start)


def compare(path: Path, pairs: int, processors: int) -> dict[str, object]:
    """Medians over the pairs."""
    one, several = Reader(1), Reader(processors)
    costs: list[tuple[Cost, Cost]] = []
    equal = True
    machine = []
    for number in range(pairs + 1):
        machine.append(machine_ratio(processors))
        (alone, cost), (shared, other) = one.read(path), several.read(path)
        equal = equal and alone == shared
        if number:  # the first pair loads modules
            costs.append((cost, other))
    one.close()
    several.close()

    def critical(cost: Cost) -> float:
        return cost.own + cost.copies / processors

    return {
        "pages": len(alone.pages),
        "equal": equal,
        "pairs": pairs,
        "wall_ratios": sorted(round(a.wall / b.wall, 2) for a, b in costs),
        "machine_ratios": sorted(round(ratio, 2) for ratio in machine),
        "critical_ratios": sorted(round(critical(a) / critical(b), 2) for a, b in costs),
        "cpu_s_one": round(statistics.median(a.own for a, _ in costs), 2),
        "cpu_s_several": round(statistics.median(b.own + b.copies for _, b in costs), 2),
        "of_which_maker": round(statistics.median(b.own for _, b in costs), 2),
        "peak_mb_one": round(max(a.peak_mb for a, _ in costs)),
        "peak_mb_several": round(max(b.peak_mb for _, b in costs)),
    }


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("folder", type=Path)
    arguments.add_argument("--pages", type=int, default=400)
    arguments.add_argument("--pairs", type=int, default=5)
    arguments.add_argument("--processors", type=int, default=2)
    options = arguments.parse_args()
    report: dict[str, object] = {"processors": options.processors, "load_before": round(os.getloadavg()[0], 1)}
    with tempfile.TemporaryDirectory() as scratch:
        for pages in (options.pages, 40):
            path = joined(options.folder, pages, Path(scratch) / f"{pages}.pdf")
            report[f"{pages} pages"] = compare(path, options.pairs, options.processors)
    print(json.dumps(report, indent=2))
    RESULTS.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
