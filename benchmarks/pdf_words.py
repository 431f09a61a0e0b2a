"""Words kept and speed of the PDF reader: `python benchmarks/pdf_words.py FOLDER [--every 5] [--worst 5]`.

FOLDER holds `pdfs/*.pdf` and `corpus.jsonl` with pdftotext's text per page (`_id` = NAME#pN). Prints, per file, the
share of pdftotext's words that the page's Markdown holds too (counted with multiplicity, so that a lost repetition
shows), the median over pages, and pages per second as a share of PyMuPDF's plain get_text() in the same run.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import time
import unicodedata
from collections import Counter
from pathlib import Path

import pymupdf

from localrag.errors import UnsupportedDocument
from localrag.parsing import pdf
from localrag.parsing.source import Source
from localrag.types import ParsedDocument

_WORD = re.compile(r"[^\W_]+")


def words(text: str) -> Counter[str]:
    """The text's words, compatibility forms folded, soft hyphens gone, divided words whole."""
    text = unicodedata.normalize("NFKC", text).replace("\u00ad", "")
    return Counter(_WORD.findall(re.sub(r"(?<=[a-z])[-‐]\n(?=[a-z])", "", text).lower()))


def recall(expected: Counter[str], found: Counter[str]) -> float:
    """Share in [0, 1] of the expected words that were found."""
    return (expected & found).total() / expected.total()


def refuse(_: bytes, name: str) -> ParsedDocument:
    raise UnsupportedDocument("attachments are not measured", path=name)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("folder", type=Path)
    arguments.add_argument("--every", type=int, default=5, help="judge the words of every nth page")
    arguments.add_argument("--worst", type=int, default=5, help="pages to name")
    arguments.add_argument("--only", default="", help="part of the file names to read")
    options = arguments.parse_args()
    truth: dict[str, dict[int, str]] = {}
    with (options.folder / "corpus.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            name, page = row["_id"].rsplit("#p", 1)
            truth.setdefault(name, {})[int(page)] = row["text"]
    all_recalls: list[tuple[float, str]] = []
    plain_total = own_total = 0.0
    for path in sorted((options.folder / "pdfs").glob(f"*{options.only}*.pdf" if options.only else "*.pdf")):
        start = time.perf_counter()
        with pymupdf.open(path) as document:
            count = sum(1 for page in document if page.get_text() is not None)
        plain = time.perf_counter() - start
        start = time.perf_counter()
        read = pdf.read(Source(path=path, name=path.name, read_child=refuse))
        own = time.perf_counter() - start
        plain_total, own_total = plain_total + plain, own_total + own
        judged = [page for page in read.pages if page.ordinal % options.every == 0]
        recalls = []
        for page in judged:
            expected = words(truth[path.stem].get(page.ordinal, ""))
            if expected.total() >= 20:
                recalls.append((recall(expected, words(page.markdown)), f"{path.stem}#p{page.ordinal}"))
        all_recalls += recalls
        mean = statistics.mean(share for share, _ in recalls) if recalls else float("nan")
        print(
            f"{path.stem:42} {count:4} pages  recall {mean:.4f}  {count / own:6.1f} pages/s  {plain / own:.2f} of plain"
        )
    shares = [share for share, _ in all_recalls]
    print(f"mean {statistics.mean(shares):.4f}  median {statistics.median(shares):.4f}  lowest:")
    for share, name in sorted(all_recalls)[: options.worst]:
        print(f"  {share:.4f} {name}")
    print(f"speed: {plain_total / own_total:.3f} of plain get_text()")


if __name__ == "__main__":
    main()
