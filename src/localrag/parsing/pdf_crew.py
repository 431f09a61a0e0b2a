"""A long PDF read by several copies of the parser process, some consecutive pages each; the result is the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from itertools import pairwise
from typing import Any

from localrag.parsing import sandbox
from localrag.parsing.crew import Channel, Crew, CrewFailed, crew_size
from localrag.parsing.ocr_page import OcrPage
from localrag.parsing.pdf_lines import Table, mupdf
from localrag.parsing.pdf_markdown import Census, Style
from localrag.parsing.pdf_part import Part, PdfText
from localrag.parsing.pdf_running import MarginLine, Margins, Running, find_running
from localrag.parsing.pdf_scans import PageFacts, read_scanned_pages
from localrag.parsing.source import Source

# Measured with 40 pages of a filing: 1.2 to 1.4 times as fast by two copies on a machine with much else to do.
_LEAST_PAGES = 20
_REPORT_EVERY = 10  # pages


def read_side_by_side(
    document: Any,
    outline: Callable[[], Mapping[str, int]],
    source: Source,
    on_page: Callable[[], None],
    *,
    least: int = _LEAST_PAGES,
) -> PdfText | None:
    """The text of all pages; None where there are not at least so many for each of two copies.

    Raises:
        CrewFailed: one process must read them. Something went wrong, or the file is damaged and its pages are not
            independent of each other: MuPDF repairs it when it meets the damage, and reads differently from there.
    """
    size = crew_size(source.limits, document.page_count, least)
    if size == 1 or document.is_repaired:
        return None
    bounds = [document.page_count * i // size for i in range(size + 1)]
    works = [partial(_work, Part(first, last), source) for first, last in pairwise(bounds)]

    def on_progress(done: int) -> None:
        for _ in range(min(done, document.page_count)):
            on_page()

    try:
        with Crew(works, source.limits, on_progress) as crew:
            text = _direct(crew, document, outline, source)
    except MemoryError as error:
        raise CrewFailed from error
    if document.is_repaired:
        raise CrewFailed
    return text


def _direct(crew: Crew, document: Any, outline: Callable[[], Mapping[str, int]], source: Source) -> PdfText:
    read = crew.receive_all()
    if any(reply["repaired"] for reply in read):
        raise CrewFailed
    facts = [PageFacts(**page) for reply in read for page in reply["facts"]]
    scans = read_scanned_pages(document, facts, source)
    recognised = {number: page.to_bytes().decode() for number, page in scans.read.items()}
    crew.send_all({"recognised": recognised, "body": scans.body})
    margins = [[_margins(page) for page in reply["margins"]] for reply in crew.receive_all()]
    running = find_running([page for part in margins for page in part])
    done = 0
    for number, part in enumerate(margins):
        crew.send(number, {"running": [asdict(page) for page in running[done : done + len(part)]]})
        done += len(part)
    census = Census()
    for reply in crew.receive_all():
        census.add_all(_census(reply))
    crew.send_all(_style_json(census.style(outline())))
    above = None
    for number in range(len(margins)):
        crew.send(number, {"above": above})
        above = crew.receive(number)["above"]
        crew.send(number, {"write": True})
    return PdfText(facts, scans, [text for reply in crew.receive_all() for text in reply["markdowns"]])


def _work(part: Part, source: Source, channel: Channel) -> None:
    """What a copy does; each step but the first waits for what was found out from all parts."""
    done = 0

    def on_page() -> None:
        nonlocal done
        done += 1
        if done % _REPORT_EVERY == 0:
            sandbox.allow_cpu_seconds(source.limits.timeout_s)
            channel.send({"done": _REPORT_EVERY})

    # Of its own: two processes that share an open file share the place in it.
    with mupdf().open(source.path, filetype="pdf") as document:
        facts = part.read(document, on_page)
        channel.send({"facts": [asdict(page) for page in facts], "repaired": document.is_repaired})
    order = channel.receive()
    recognised = {int(number): OcrPage.from_bytes(page.encode()) for number, page in order["recognised"].items()}
    channel.send({"margins": [asdict(page) for page in part.margins(recognised, order["body"])]})
    channel.send(_census_json(part.census([_running(page) for page in channel.receive()["running"]])))
    style = _style(channel.receive())
    sandbox.allow_cpu_seconds(source.limits.timeout_s)
    part.lay_out(style)
    above = part.continue_from(_table(channel.receive()["above"]))
    channel.send({"above": None if above is None else asdict(above)})
    channel.receive()
    channel.send({"markdowns": list(part.written(style))})


def _margins(value: dict[str, Any]) -> Margins:
    return Margins(value["y0"], value["y1"], tuple(MarginLine(**line) for line in value["lines"]))


def _running(value: dict[str, Any]) -> Running:
    return Running(tuple(value["gone"]), tuple(value["aside"]))


def _table(value: dict[str, Any] | None) -> Table | None:
    return None if value is None else Table(**{**value, "edges": tuple(value["edges"])})


def _census_json(census: Census) -> dict[str, Any]:
    return {
        "sizes": list(census.sizes.items()),
        "total": census.total,
        "bold": census.bold,
        "heads": list(census.heads.items()),
        "words": list(census.words),
    }


def _census(value: dict[str, Any]) -> Census:
    return Census(
        sizes=_counter(value["sizes"]),
        total=value["total"],
        bold=value["bold"],
        heads=_counter(value["heads"]),
        words=set(value["words"]),
    )


def _counter(items: Sequence[tuple[float, int]]) -> Counter[float]:
    return Counter(dict(items))


def _style_json(style: Style) -> dict[str, Any]:
    return {
        "body": style.body,
        "levels": list(style.levels.items()),
        "bold_level": style.bold_level,
        "words": list(style.words),
        "outline": dict(style.outline),
    }


def _style(value: dict[str, Any]) -> Style:
    return Style(value["body"], dict(value["levels"]), value["bold_level"], set(value["words"]), value["outline"])
