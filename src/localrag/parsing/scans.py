"""Pictures of pages, of PDFs or files of pictures, read one by one within the time that their number allows."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from localrag.parsing.ocr import advice, engine_for, recognise
from localrag.parsing.ocr_page import OcrPage
from localrag.parsing.ocr_tesseract import TesseractFailed
from localrag.parsing.source import Source

if TYPE_CHECKING:
    from PIL.Image import Image

_MAX_NAMED = 20  # pages listed in a warning


@dataclass(slots=True)
class Scans:
    """What came of the pages that are pictures, by their numbers from 1.

    `late`: not tried, as the time was used up. `problem`: why none could be read, as a sentence, if so.
    """

    read: dict[int, OcrPage] = field(default_factory=dict)
    late: list[int] = field(default_factory=list)
    problem: str = ""


def read_scans(source: Source, numbers: Sequence[int], picture: Callable[[int], Image]) -> Scans:
    """The pages with these numbers, read one by one; `picture` draws one.

    A page costs what it costs, but all together may take `ocr_page_s` a page: then the rest is left, but for the first,
    and what was read is kept. The cache has it too, so that another run goes on from there.
    """
    result = Scans()
    if not numbers:
        return result
    if engine_for(source.tools) in ("off", "missing"):
        result.problem = advice(source.tools)
        return result
    allowed = source.tools.ocr_page_s * len(numbers)
    source.more_time(allowed)
    end = time.monotonic() + allowed
    for number in numbers:
        if result.read and time.monotonic() > end:
            result.late.append(number)
            continue
        try:
            result.read[number] = recognise(picture(number), source.tools)
        except TesseractFailed as error:
            result.problem = str(error)
            break
    return result


def named(numbers: Sequence[int]) -> str:
    """`Page 3` or `Pages 3, 7`, the first twenty of them."""
    listed = ", ".join(map(str, numbers[:_MAX_NAMED]))
    if len(numbers) > _MAX_NAMED:
        listed += f" and {len(numbers) - _MAX_NAMED} more"
    return f"Page {listed}" if len(numbers) == 1 else f"Pages {listed}"


def count_warning(read: int, total: int) -> str:
    """`2 of 7 pages were read by OCR.`"""
    verb = "was" if read == 1 else "were"
    return (
        f"{read} of {total} {'page' if total == 1 else 'pages'} {verb} read by OCR: names and figures may be misread."
    )


def late_warning(late: Sequence[int]) -> str:
    """Which pages the time did not suffice for, and how to go on."""
    verb = "was" if len(late) == 1 else "were"
    return (
        f"{named(late)} {verb} not read: OCR took too long. Ingest the file again with --force to go on, or raise "
        "LOCALRAG_OCR_PAGE_TIMEOUT_S."
    )
