"""A page of a PDF -> its picture, with the words of a quotation marked.

The quotation comes from our Markdown: divided words are whole in it, cells are parted by bars, `$` stands close to its
figure, columns come one after the other. So it is matched word by word against the page's own words, by their letters
and digits alone, in runs that may stand in different places.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from localrag.errors import DocumentError, EncryptedDocument, UnreadableDocument
from localrag.parsing.pdf_lines import clean, mupdf
from localrag.protocols import PagePicture

_MIN_DPI, _MAX_DPI = 36, 300
_MAX_PIXELS = 25_000_000  # a poster at 110 dpi would be a picture of gigabytes
_MIN_SHARE = 0.6  # of the quotation's characters must be found, or nothing is marked
_MIN_RUN = 8  # characters of a run that may stand anywhere; shorter ones count only beside what precedes them
_YELLOW = (1.0, 0.85, 0.1)


@dataclass(slots=True)
class _Word:
    """A word of the page: its letters and digits, and its box."""

    key: str
    box: tuple[float, float, float, float]


def render_page(path: Path, page: int, quote: str, dpi: int = 110, *, name: str = "") -> PagePicture:
    """The page (from 1) as PNG with the quotation's words marked; unmarked when most of it is not there.

    Args:
        name: what the user calls the file; by default its name on disk.

    Raises:
        UnreadableDocument: the file is gone or no PDF, or has no such page.
        EncryptedDocument: a password is needed to open it.
    """
    name = name or path.name
    document = _open(path, name)
    with document:
        if not 1 <= page <= document.page_count:
            raise UnreadableDocument(
                f"{name} has no page {page}: its pages are 1 to {document.page_count}.",
                path=name,
                hint="The file may have changed since it was indexed; ingest it again.",
            )
        shown = document[page - 1]
        boxes = find_quote(_words(shown), quote)
        _mark(shown, boxes)
        scale = min(max(dpi, _MIN_DPI), _MAX_DPI) / 72
        area = shown.rect.width * shown.rect.height
        if area * scale * scale > _MAX_PIXELS:
            scale = (_MAX_PIXELS / area) ** 0.5
        pixmap = shown.get_pixmap(matrix=mupdf().Matrix(scale, scale), alpha=False, annots=True)
        return PagePicture(png=pixmap.tobytes("png"), found=bool(boxes))


def _open(path: Path, name: str) -> Any:
    if not path.is_file():
        raise UnreadableDocument(
            f"{name} is not there any more.", path=name, hint="Put it back, or remove it from the library."
        )
    engine = mupdf()
    try:
        document = engine.open(path, filetype="pdf")
    except (RuntimeError, ValueError, OSError) as error:  # FileDataError and EmptyFileError are RuntimeErrors
        raise UnreadableDocument(
            f"{name} is not a readable PDF.", path=name, hint="Only pages of PDFs can be shown as pictures."
        ) from error
    failure: DocumentError | None = None
    if document.needs_pass:
        failure = EncryptedDocument(
            f"{name} is protected: a password is needed to open it.",
            path=name,
            hint="Save a copy without the password and add that.",
        )
    elif not document.page_count:
        failure = UnreadableDocument(
            f"{name} has no pages.", path=name, hint="The file may be truncated; fetch it again."
        )
    if failure is not None:
        document.close()
        raise failure
    return document


def _words(page: Any) -> list[_Word]:
    engine = mupdf()
    flags = engine.TEXT_PRESERVE_WHITESPACE | engine.TEXT_PRESERVE_LIGATURES | engine.TEXT_MEDIABOX_CLIP
    return [_Word(key(word[4]), tuple(word[:4])) for word in page.get_text("words", flags=flags) if key(word[4])]


def key(text: str) -> str:
    """The letters and digits of the text, folded: what is the same in a page's words and in Markdown made of them."""
    folded = unicodedata.normalize("NFKC", clean(text)).casefold()
    return "".join(filter(str.isalnum, folded))


def find_quote(words: Sequence[_Word], quote: str) -> list[tuple[float, float, float, float]]:
    """Boxes of the words that make up the quotation; empty when less than most of it was found.

    All words of the page are one string of letters and digits, and so is the quotation; the longest stretch of the
    quotation that stands on the page is found, then the longest of what follows, and so on.
    """
    wanted = key(quote)
    if not wanted or not words:
        return []
    page = "".join(word.key for word in words)
    hits = _stretches(page, wanted)
    if sum(length for _, length in hits) < _MIN_SHARE * len(wanted):
        return []
    marked: list[tuple[float, float, float, float]] = []
    position = 0
    for word in words:
        end = position + len(word.key)
        # A word counts as marked when most of it lies in a stretch: the rest may be a footnote sign.
        covered = sum(max(0, min(end, start + length) - max(position, start)) for start, length in hits)
        if covered * 2 > len(word.key):
            marked.append(word.box)
        position = end
    return marked


def _stretches(page: str, wanted: str) -> list[tuple[int, int]]:
    """(start, length) in `page` of stretches that together make up `wanted`, left to right in `wanted`."""
    found: list[tuple[int, int]] = []
    at = 0
    near = 0  # where the stretch before ended: of several places, the next one after it is meant
    while at < len(wanted):
        length = _longest(page, wanted, at)
        piece = wanted[at : at + length]
        start = page.find(piece, near) if piece else -1
        start = page.find(piece) if piece and start < 0 else start
        beside = 0 <= start - near <= 40
        if piece and (length >= _MIN_RUN or beside or length == len(wanted)):
            found.append((start, length))
            near = start + length
            at += length
        else:
            at += max(length, 1)
    return found


def _longest(page: str, wanted: str, at: int) -> int:
    """The length of the longest stretch of `wanted` from `at` that stands anywhere in `page`."""
    low, high = 0, len(wanted) - at
    while low < high:
        middle = (low + high + 1) // 2
        if wanted[at : at + middle] in page:
            low = middle
        else:
            high = middle - 1
    return low


def _mark(page: Any, boxes: Sequence[tuple[float, float, float, float]]) -> None:
    """Draws over the words, neighbours on a line as one band; seen only in the picture, the file is not saved."""
    for x0, y0, x1, y1 in _bands(boxes):
        annotation = page.add_highlight_annot(mupdf().Rect(x0, y0, x1, y1))
        annotation.set_colors(stroke=_YELLOW)
        annotation.update(opacity=0.45)


def _bands(boxes: Sequence[tuple[float, float, float, float]]) -> list[tuple[float, float, float, float]]:
    bands: list[tuple[float, float, float, float]] = []
    for x0, y0, x1, y1 in boxes:
        last = bands[-1] if bands else None
        if last and abs(last[1] - y0) < 2 and abs(last[3] - y1) < 2 and 0 <= x0 - last[2] < (y1 - y0):
            bands[-1] = (last[0], min(last[1], y0), x1, max(last[3], y1))
        else:
            bands.append((x0, y0, x1, y1))
    return bands
