"""The pages of a PDF that show text without holding it -> their text by OCR."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from localrag.parsing.ocr_page import OcrPage
from localrag.parsing.pdf_lines import PageText, mupdf
from localrag.parsing.scans import Scans, count_warning, late_warning, named, read_scans
from localrag.parsing.source import Source

if TYPE_CHECKING:
    from PIL.Image import Image

_UNDECODED = re.compile("[\ufffd\ue000-\uf8ff]")
_DPI = 200  # small print of 6 points has letters of 8 pixels then, the least that is read well
_MAX_PIXELS = 16_000_000  # a poster; 11 x 17 inches at 200 dpi have 7,500,000
# A scan with a stamped number, a fax line or a signature on it: some text, most of the page a picture.
_STAMP, _COVERED = 200, 0.5
_MORE = 2.0  # times as many characters as the page holds must be read, or its own text is kept
_STROKES = 30  # drawn paths of a page whose letters are outlines; a frame and some rules are fewer


@dataclass(frozen=True, slots=True)
class PageFacts:
    """What a page tells of whether it is to be recognised. size: of its usual type. wanted: OCR is to read it.

    has_pieces, has_text: lines in reading direction, or any text at all. undecoded: its characters have no meaning.
    """

    characters: int
    size: float
    has_pieces: bool
    has_text: bool
    undecoded: bool
    wanted: bool


@dataclass(frozen=True, slots=True)
class ScannedPages:
    """What came of the pages that are pictures.

    without: numbers of those that still have no text. problem: why none could be read, as a sentence, if so.
    read: by number, what stands in the place of a page's own text, to be set in `body` points.
    """

    without: list[int] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    problem: str = ""
    read: Mapping[int, OcrPage] = field(default_factory=dict)
    body: float = 10.0


def facts_of(page: Any, text: PageText) -> PageFacts:
    """The facts of a page of MuPDF and what was read on it."""
    undecoded = _is_undecoded(text)
    return PageFacts(
        characters=_characters(text),
        size=text.size,
        has_pieces=bool(text.pieces),
        has_text=bool(text.pieces or text.asides),
        undecoded=undecoded,
        wanted=undecoded or _is_scan(page, text),
    )


def read_scanned_pages(document: Any, facts: Sequence[PageFacts], source: Source) -> ScannedPages:
    """What OCR reads on the pages that hold too little, where it is more than they hold."""
    wanted = [i for i, page in enumerate(facts, 1) if page.wanted]
    if not wanted:
        return ScannedPages()
    scans = read_scans(source, wanted, lambda number: page_picture(document[number - 1]))
    taken = {number: read for number, read in scans.read.items() if _is_better(read.characters, facts[number - 1])}
    body = next((page.size for i, page in enumerate(facts, 1) if page.has_pieces and i not in taken), 10.0)
    without = [i for i in wanted if i not in taken and (facts[i - 1].undecoded or not facts[i - 1].characters)]
    warnings = _warnings(scans, list(taken), without, len(facts))
    return ScannedPages(without, warnings, scans.problem, taken, body)


def page_picture(page: Any) -> Image:
    """The page as an RGB picture, the same each time: the cache knows it by its pixels."""
    from PIL import Image as Pillow  # deferred: only pictures need it

    area = page.rect.width * page.rect.height / 72**2
    dpi = min(_DPI, int((_MAX_PIXELS / max(area, 0.01)) ** 0.5))
    pixmap = page.get_pixmap(dpi=max(dpi, 1), colorspace=mupdf().csRGB, alpha=False, annots=True)
    return Pillow.frombytes("RGB", (pixmap.width, pixmap.height), pixmap.samples)


def _characters(page: PageText) -> int:
    return sum(len(piece.text) for piece in page.pieces) + sum(map(len, page.asides))


def _is_scan(page: Any, text: PageText) -> bool:
    """Whether the page shows what it holds no text of: a picture over most of it, or letters drawn as outlines."""
    characters = _characters(text)
    if characters >= _STAMP:
        return False
    if not characters:
        shown = [kind for kind, _ in page.get_bboxlog()]
        return any("image" in kind for kind in shown) or len(shown) >= _STROKES
    covered = sum(abs(mupdf().Rect(image["bbox"]) & page.rect) for image in page.get_image_info())
    return bool(covered >= _COVERED * abs(page.rect))


def _is_undecoded(page: PageText) -> bool:
    """Whether most of the text is code points without meaning: the fonts lack a table of characters."""
    text = "".join(piece.text for piece in page.pieces)
    return len(text) >= 20 and len(_UNDECODED.findall(text)) > 0.5 * len(text)


def _is_better(characters: int, page: PageFacts) -> bool:
    return characters > (0 if page.undecoded else _MORE * page.characters)


def _warnings(scans: Scans, taken: Sequence[int], without: Sequence[int], total: int) -> list[str]:
    warnings = []
    if taken:
        warnings.append(count_warning(len(taken), total))
    if scans.late:
        warnings.append(late_warning(scans.late))
    silent = [number for number in without if number not in scans.late]
    if silent:
        verb = "has" if len(silent) == 1 else "have"
        reason = f" {scans.problem}" if scans.problem else ""
        warnings.append(f"{named(silent)} {verb} no text, only pictures.{reason}")
    return warnings
