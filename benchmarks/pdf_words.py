"""Words kept, speed and memory of the PDF reader, beside the design it replaces and pdftotext's words, in one run.

    python benchmarks/pdf_words.py ../shared/bench/financebench-pages [--slow-every 25] [--only 3M] [--worst 10]

FOLDER holds `pdfs/*.pdf` and `corpus.jsonl` with pdftotext's text per page (`_id` = NAME#pN). Every page is read by
the real parser process. The other design (each page split off by PyMuPDF, then markitdown) takes seconds a page, so it
reads every nth page only; both are timed file by file, so that both meet the same machine.

Recall is the share of pdftotext's words that the page's Markdown holds too, counted with multiplicity. Running headers,
footers and page numbers are taken out of pages on purpose, so recall is given twice: of all words, and of those outside
running lines. Which lines run is told by pdftotext's text alone (lines at a page's edge that several pages share), not
by what the reader left out. Figures are kept in `benchmarks/results/pdf_words.json`.
"""

from __future__ import annotations

import argparse
import io
import json
import re
import statistics
import threading
import time
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import psutil
import pymupdf

from localrag.parsing.isolated import IsolatedParser
from localrag.parsing.source import Limits
from localrag.types import Page

RESULTS = Path(__file__).parent / "results" / "pdf_words.json"
TARGET = 0.98
_WORD = re.compile(r"[^\W_]+")
_DIVIDED = re.compile(r"(?<=[a-z0-9])[-‐]\n(?=[a-z])")
_MARKED = re.compile(r"([^\W\d_]{3,})(\d{1,2})")
_EDGE_LINES = 6  # of pdftotext's lines at a page's top and bottom; a header of three parts is three lines
_MIN_PAGES, _MIN_SHARE = 3, 0.05  # pages that must share a line before it counts as running
_MIN_WORDS = 20  # pages with fewer are pictures and titles: one word would be 5 %


@dataclass(slots=True)
class Totals:
    """What all files showed."""

    recalls: list[tuple[float, str, list[str]]] = field(default_factory=list)
    recalls_all: list[float] = field(default_factory=list)
    pages: int = 0
    seconds: float = 0.0
    slow_pages: int = 0
    slow_seconds: float = 0.0
    headings: int = 0
    tables: int = 0
    peak_mb: float = 0.0


def main() -> None:
    options = _options()
    truth = _truth(options.folder / "corpus.jsonl")
    totals = Totals()
    with IsolatedParser(Limits(timeout_s=1800)) as parser:
        for path in sorted((options.folder / "pdfs").glob(f"*{options.only}*.pdf" if options.only else "*.pdf")):
            _measure(path, truth[path.stem], parser, options.slow_every, totals)
    report = _report(totals, options.slow_every)
    print(json.dumps({key: value for key, value in report.items() if key != "below_target"}, indent=2))
    for share, name, lost in sorted(totals.recalls)[: options.worst]:
        print(f"  {share:.4f} {name} lost: {' '.join(lost[:16])}")
    if not options.only:
        RESULTS.write_text(json.dumps(report, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _options() -> argparse.Namespace:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("folder", type=Path)
    arguments.add_argument("--slow-every", type=int, default=25, help="pages from one read by markitdown to the next")
    arguments.add_argument("--worst", type=int, default=10, help="pages to name")
    arguments.add_argument("--only", default="", help="part of the file names to read; results are not kept then")
    return arguments.parse_args()


def _truth(corpus: Path) -> dict[str, dict[int, str]]:
    truth: dict[str, dict[int, str]] = defaultdict(dict)
    with corpus.open(encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            name, page = row["_id"].rsplit("#p", 1)
            truth[name][int(page)] = row["text"]
    return truth


def _measure(path: Path, texts: Mapping[int, str], parser: IsolatedParser, slow_every: int, totals: Totals) -> None:
    """Reads one file both ways and adds what it shows; prints a line."""
    start = time.perf_counter()
    with _PeakMemory() as memory:
        read = parser.parse(path, name=path.name)
    seconds = time.perf_counter() - start
    slow_pages, slow_seconds = _split_and_convert(path, slow_every)
    recalls = _recalls(path.stem, read.pages, texts, totals)
    totals.pages += len(read.pages)
    totals.seconds += seconds
    totals.slow_pages += slow_pages
    totals.slow_seconds += slow_seconds
    totals.peak_mb = max(totals.peak_mb, memory.peak_mb)
    lines = [line for page in read.pages for line in page.markdown.splitlines()]
    totals.headings += sum(line.startswith("#") for line in lines)
    totals.tables += sum(line.startswith("| ---") for line in lines)
    mean = statistics.mean(recalls) if recalls else float("nan")
    print(
        f"{path.stem:42} {len(read.pages):4} pages  recall {mean:.4f}  {len(read.pages) / seconds:6.1f} pages/s  "
        f"markitdown {slow_pages / slow_seconds:5.2f} pages/s",
        flush=True,
    )


class _PeakMemory:
    """The most memory that this process's children held together while the block ran, sampled."""

    def __enter__(self) -> _PeakMemory:
        self.peak_mb = 0.0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        me = psutil.Process()
        while not self._done.wait(0.1):
            total = 0
            for child in me.children(recursive=True):
                try:
                    total += child.memory_info().rss
                except psutil.NoSuchProcess:
                    continue
            self.peak_mb = max(self.peak_mb, total / 2**20)


def _split_and_convert(path: Path, every: int) -> tuple[int, float]:
    """How many pages the other design read, and its seconds for them."""
    from markitdown import MarkItDown  # deferred: takes seconds to load, which must not count

    converter = MarkItDown()
    count = 0
    start = time.perf_counter()
    with pymupdf.open(path) as document:
        for number in range(0, len(document), every):
            with pymupdf.open() as single:
                single.insert_pdf(document, from_page=number, to_page=number)
                data = single.tobytes()
            converter.convert_stream(io.BytesIO(data), file_extension=".pdf")
            count += 1
    return count, time.perf_counter() - start


def _recalls(name: str, pages: Sequence[Page], texts: Mapping[int, str], totals: Totals) -> list[float]:
    """Recall outside running lines of every page with enough words."""
    running = running_lines(texts)
    result = []
    for page in pages:
        text = texts.get(page.ordinal, "")
        if words(text).total() < _MIN_WORDS:
            continue
        totals.recalls_all.append(recall(text, page.markdown)[0])
        share, lost = recall(without(text, running[page.ordinal]), page.markdown)
        totals.recalls.append((share, f"{name}#p{page.ordinal}", lost))
        result.append(share)
    return result


def words(text: str) -> Counter[str]:
    """The text's words, compatibility forms folded, soft hyphens gone, words divided at a line end joined."""
    text = unicodedata.normalize("NFKC", text).replace("\u00ad", "")
    return Counter(_WORD.findall(_DIVIDED.sub("", text).lower()))


def recall(expected_text: str, found_text: str) -> tuple[float, list[str]]:
    """Share in [0, 1] of the expected words that were found, and those that were not.

    `long-` `term` may come back joined or as two words: which it was, only a dictionary knows. `income2`, the raised
    digit glued on, may come back as the word and the digit.
    """
    expected, found = words(expected_text), words(found_text)
    lost, surplus = expected - found, found - expected
    lines = unicodedata.normalize("NFKC", expected_text).lower().split("\n")
    for above, below in pairwise(lines):
        left, right = _WORD.findall(above)[-1:], _WORD.findall(below)[:1]
        if not (above.endswith(("-", "‐")) and left and right) or not lost[left[0] + right[0]]:
            continue
        if surplus[left[0]] and surplus[right[0]]:
            lost[left[0] + right[0]] -= 1
            surplus.subtract([left[0], right[0]])
    for word in list((+lost).elements()):
        if (marked := _MARKED.fullmatch(word)) and all(surplus[part] > 0 for part in marked.groups()):
            lost[word] -= 1
            surplus.subtract(marked.groups())
    return 1 - (+lost).total() / max(expected.total(), 1), sorted((+lost).elements())


def running_lines(texts: Mapping[int, str]) -> dict[int, list[str]]:
    """For each page, the lines at its edges that also stand at the edges of several others, or number the page."""
    edges: dict[int, list[str]] = {}
    for page, text in texts.items():
        lines = [line for line in text.split("\n") if line.strip()]
        edges[page] = lines[:_EDGE_LINES] + lines[max(_EDGE_LINES, len(lines) - _EDGE_LINES) :]
    seen = Counter(key for lines in edges.values() for key in {_key(line) for line in lines})
    enough = max(_MIN_PAGES, _MIN_SHARE * len(texts))
    numbers = {page: {int(line) for line in lines if line.strip().isdecimal()} for page, lines in edges.items()}
    result = {}
    for page, lines in edges.items():
        found = dict.fromkeys(line for line in lines if _key(line) != "#" and seen[_key(line)] >= enough)
        before = {number + 1 for number in numbers.get(page - 1, ())}
        counted = before | {number - 1 for number in numbers.get(page + 1, ())}
        result[page] = [*found, *[line for line in lines if line.strip().isdecimal() and int(line) in counted][:1]]
    return result


def _key(line: str) -> str:
    return re.sub(r"\d+", "#", " ".join(line.split()))


def without(text: str, lines: Sequence[str]) -> str:
    """The text without one occurrence of each of the lines."""
    rest = text.split("\n")
    for line in lines:
        rest.remove(line)
    return "\n".join(rest)


def _report(totals: Totals, slow_every: int) -> dict[str, object]:
    shares = sorted(share for share, _, _ in totals.recalls)
    ours, slow = totals.pages / totals.seconds, totals.slow_pages / totals.slow_seconds
    return {
        "pages": totals.pages,
        "pages_judged": len(shares),
        "recall_outside_running_lines": _distribution(shares),
        "recall_of_all_words": _distribution(sorted(totals.recalls_all)),
        "headings": totals.headings,
        "tables": totals.tables,
        "pages_per_second": round(ours, 1),
        "markitdown_pages_per_second": round(slow, 2),
        "markitdown_pages": f"{totals.slow_pages} (every {slow_every}th of each file)",
        "times_as_fast": round(ours / slow, 1),
        "peak_mb_of_parser_processes": round(totals.peak_mb),
        "below_target": {
            name: {"recall": round(share, 4), "lost": lost}
            for share, name, lost in sorted(totals.recalls)
            if share < TARGET
        },
    }


def _distribution(shares: Sequence[float]) -> dict[str, float]:
    """Mean, median, lowest, and the share of pages that reach the target."""
    return {
        "mean": round(statistics.mean(shares), 4),
        "median": round(statistics.median(shares), 4),
        "lowest": round(min(shares), 4),
        "pages_at_target": round(sum(share >= TARGET for share in shares) / len(shares), 4),
    }


if __name__ == "__main__":
    main()
