"""A file of pictures (PNG, JPEG, TIFF, WebP, BMP, GIF) -> one Page for each, read by OCR."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from localrag.errors import DocumentTooLarge, NeedsOcr
from localrag.parsing.malformed import unreadable
from localrag.parsing.ocr import advice
from localrag.parsing.ocr_layout import page_text
from localrag.parsing.pdf_lines import PageText
from localrag.parsing.pdf_markdown import page_markdown, read_style
from localrag.parsing.scans import Scans, count_warning, late_warning, named, read_scans
from localrag.parsing.source import Source
from localrag.types import Page, ParsedDocument

if TYPE_CHECKING:
    from PIL.Image import Image

_KINDS = ("PNG", "JPEG", "TIFF", "WEBP", "BMP", "GIF")
# A0 at 200 dots per inch is 62 million pixels, which take 190 MB as RGB.
_MAX_PIXELS = 80_000_000
# Longer than A3 at 300 dots per inch is only more to look at: letters are as large as they are.
_LONG_SIDE = 5000
# A small picture of text, such as of a screen, has letters of 8 pixels; the networks read twice that better.
_SMALL_SIDE = 1000


def read(source: Source) -> ParsedDocument:
    """The picture's text. Frames of a TIFF are numbered pages; of an animation only the first frame counts.

    Raises:
        UnreadableDocument: not a picture, or damaged.
        DocumentTooLarge: more pixels than the limit.
        NeedsOcr: nothing could be recognised, or OCR is off.
    """
    with unreadable(source, "picture"), opened(source.path, source.name) as file:
        count = frame_count(file)
        scans = read_scans(source, range(1, count + 1), lambda number: frame(file, number))
    read = {number: page for number, page in scans.read.items() if page.characters}
    if not read:
        raise NeedsOcr(
            f"{source.name} is a picture in which no text was recognised.",
            path=source.name,
            hint=scans.problem or advice(source.tools),
        )
    texts = [page_text(read[n]) if n in read else PageText(0.0, 0.0, 1.0, 1.0) for n in range(1, count + 1)]
    style = read_style(texts, {})
    pages = tuple(
        Page(ordinal=i, number=i if count > 1 else None, markdown=page_markdown(text, style))
        for i, text in enumerate(texts, 1)
    )
    return ParsedDocument(
        media_type=source.media_type or "image/png",
        pages=pages,
        title=None,
        warnings=_warnings(scans, len(read), count),
    )


@contextmanager
def opened(path: Path, name: str) -> Iterator[Image]:
    """The picture file, nothing of it decoded yet.

    Raises:
        DocumentTooLarge: its first frame has more pixels than the limit.
        OSError: Pillow cannot read it (UnidentifiedImageError is one).
    """
    from PIL import Image as Pillow  # deferred: only pictures need it

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # on sizes, which are checked here, and on damaged metadata
        with Pillow.open(path, formats=_KINDS) as file:
            _check_size(file, name)
            yield file


def frame(file: Image, number: int) -> Image:
    """The picture with that number from 1, as RGB on white, upright by what the camera noted, of a size for reading."""
    from PIL import Image as Pillow  # deferred: only pictures need it
    from PIL import ImageOps

    file.seek(number - 1)
    if file.width * file.height > _MAX_PIXELS:  # a later frame than the one that was checked
        file.draft("L", (_LONG_SIDE, _LONG_SIDE))
    picture = ImageOps.exif_transpose(file)
    if picture.mode.startswith(("I", "F")):  # 16 and 32 bits a pixel: the brightest is white, whatever its value
        values = np.asarray(picture, dtype=np.float32)
        values = values - values.min()
        picture = Pillow.fromarray((values * (255 / max(float(values.max()), 1e-9))).astype(np.uint8))
    if "A" in picture.getbands() or "transparency" in picture.info:
        rgba = picture.convert("RGBA")
        picture = Pillow.alpha_composite(Pillow.new("RGBA", rgba.size, "white"), rgba)
    picture = picture.convert("RGB")
    longer = max(picture.size)
    factor = _LONG_SIDE / longer if longer > _LONG_SIDE else 2.0 if longer < _SMALL_SIDE else 1.0
    if factor == 1.0:
        return picture
    return picture.resize(tuple(max(1, round(side * factor)) for side in picture.size))  # type: ignore[arg-type]


def frame_count(file: Image) -> int:
    """How many pages the file has: the frames of a TIFF, one for any other."""
    return int(getattr(file, "n_frames", 1)) if file.format == "TIFF" else 1


def _check_size(file: Image, name: str) -> None:
    if file.width * file.height > _MAX_PIXELS:
        raise DocumentTooLarge(
            f"{name} has {file.width:,} x {file.height:,} pixels, over the limit of {_MAX_PIXELS:,}.",
            path=name,
            hint="Scan it with fewer dots per inch, or cut it into pages.",
        )


def _warnings(scans: Scans, read: int, count: int) -> tuple[str, ...]:
    warnings = [count_warning(read, count)]
    if scans.late:
        warnings.append(late_warning(scans.late))
    silent = [number for number, page in scans.read.items() if not page.characters]
    if silent:
        warnings.append(f"{named(silent)} {'has' if len(silent) == 1 else 'have'} no text that could be recognised.")
    return tuple(warnings)
