"""Time and peak memory of one very large file through the real `localrag ingest`, all processes together.

    python benchmarks/large_files.py [--pages 5000] [--rows 1000000] [--only pdf|csv] [--jobs 1]

Generates a PDF (prose, a heading and a table of 20 rows on every page) and a CSV of eight columns, and takes each into
a library of its own. Text only: the vectors of a million rows would take a day and no more memory; the run ends when
the text is committed and findable, which is when the first vector would be made. Resident memory of the process tree is
sampled five times a second; pages that processes share count twice, so the figure is an upper bound.
Figures are kept in `benchmarks/results/large_files.json`.
"""

from __future__ import annotations

import argparse
import csv
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pymupdf

RESULTS = Path(__file__).parent / "results" / "large_files.json"
LIMIT_MB = 1536
WORDS = [
    "north",
    "south",
    "valve",
    "pump",
    "contract",
    "delivery",
    "invoice",
    "paid",
    "open",
    "returned",
    "supplier",
    "customer",
    "warehouse",
    "harbour",
    "bridge",
    "meeting",
    "report",
    "budget",
    "quarter",
    "engine",
    "turbine",
    "river",
    "mountain",
    "forest",
    "signal",
]
# The command line without its embedding step: `RAG.ingest(embed=False)` is what the app's upload page calls first.
PROGRAM = (
    "import sys; from localrag.app.rag import RAG\n"
    "with RAG.open(data_dir=sys.argv[1], jobs=int(sys.argv[3])) as rag:\n"
    "    report = rag.ingest(sys.argv[2], jobs=int(sys.argv[3]), embed=False)\n"
    "    print([(o.status, o.pages, o.chunks, str(o.error or '')) for o in report.outcomes])\n"
    "    hits = rag.search(sys.argv[4], semantic=0.0)\n"
    "    print('found' if hits.hits else 'not found')\n"
)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--pages", type=int, default=5_000)
    arguments.add_argument("--rows", type=int, default=1_000_000)
    arguments.add_argument("--jobs", type=int, default=1)
    arguments.add_argument("--only", choices=("pdf", "csv"), help="results of the other are kept")
    options = arguments.parse_args()
    makers: dict[str, tuple[int, Callable[[Path, int], None]]] = {
        "pdf": (options.pages, make_pdf),
        "csv": (options.rows, make_csv),
    }
    results = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    for kind, (size, make) in makers.items():
        if options.only in (None, kind):
            with tempfile.TemporaryDirectory(prefix="localrag-large-") as folder:
                path = Path(folder) / f"large.{kind}"
                make(path, size)
                results[kind] = {"pages" if kind == "pdf" else "rows": size, **ingest(path, options.jobs)}
            print(kind, json.dumps(results[kind]), flush=True)
    RESULTS.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")


def make_pdf(path: Path, pages: int) -> None:
    chance = random.Random(5)
    font = pymupdf.Font("helv")
    with pymupdf.open() as document:
        for number in range(1, pages + 1):
            page = document.new_page()
            writer = pymupdf.TextWriter(page.rect)  # one stream a page: insert_text takes a second for these lines
            writer.append((72, 60), f"Section {number}", font=font, fontsize=16)
            for line in range(25):
                opening = [f"marker{number:05d}"] if line == 12 else []
                text = " ".join(opening + chance.choices(WORDS, k=13))
                writer.append((72, 90 + 13 * line), text, font=font, fontsize=10)
            for row in range(20):
                cells = (f"Item {row}", chance.randrange(10**6), chance.randrange(10**6))
                cells = cells if row else ("Item", "2023", "2022")
                for x, cell in zip((72, 280, 380), cells, strict=True):
                    writer.append((x, 440 + 13 * row), str(cell), font=font, fontsize=10)
            writer.append((280, 800), f"Page {number}", font=font, fontsize=10)
            writer.write_text(page)
        document.save(path, deflate=True)


def make_csv(path: Path, rows: int) -> None:
    chance = random.Random(5)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "date", "customer", "city", "product", "quantity", "price", "status"])
        for number in range(1, rows + 1):
            date = f"202{number % 6}-{number % 12 + 1:02d}-{number % 28 + 1:02d}"
            product = " ".join(chance.choices(WORDS, k=2))
            price = f"{chance.random() * 1000:.2f}"
            name = f"Customer {chance.randrange(9999)}"
            status = f"marker{rows:05d}" if number == rows else chance.choice(WORDS)
            writer.writerow([number, date, name, chance.choice(WORDS), product, chance.randrange(500), price, status])


def ingest(path: Path, jobs: int) -> dict[str, object]:
    """What became of the file, the seconds it took, and the peaks in MB."""
    size = path.stat().st_size
    data = path.parent / "data"
    last = f"marker{count_of(path):05d}"
    start = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(data), str(path), str(jobs), last],
        stdout=subprocess.PIPE,
        text=True,
    )
    peak, of_parent, of_children = _watch(psutil.Process(process.pid))
    output = process.stdout.read() if process.stdout else ""
    return {
        "file_mb": round(size / 2**20, 1),
        "outcome": output.strip().splitlines(),
        "seconds": round(time.perf_counter() - start, 1),
        "peak_mb": round(peak),
        "peak_mb_main_process": round(of_parent),
        "peak_mb_parser_processes": round(of_children),
        "within_limit": peak <= LIMIT_MB,
        "exit": process.wait(),
    }


def count_of(path: Path) -> int:
    """The number in the file's last marker: of its last page or row."""
    if path.suffix == ".csv":
        with path.open("rb") as file:
            return sum(1 for _ in file) - 1
    with pymupdf.open(path) as document:
        return len(document)


def _watch(process: psutil.Process) -> tuple[float, float, float]:
    """Peak MB of the tree, of its root, and of the root's children together, until the root ends."""
    peak = of_parent = of_children = 0.0
    while process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
        try:
            own = process.memory_info().rss / 2**20
            others = sum(child.memory_info().rss for child in process.children(recursive=True)) / 2**20
        except psutil.NoSuchProcess:
            continue
        peak, of_parent, of_children = max(peak, own + others), max(of_parent, own), max(of_children, others)
        time.sleep(0.2)
    return peak, of_parent, of_children


if __name__ == "__main__":
    main()
