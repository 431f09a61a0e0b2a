"""A page of a picture file -> its picture with the words of a quotation marked, found where OCR read them."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

from localrag.errors import UnreadableDocument
from localrag.parsing.ocr import recognised_before
from localrag.parsing.ocr_page import OcrPage, Rect
from localrag.parsing.pictures import frame, frame_count, opened
from localrag.parsing.render_quote import Word, bands, find_quote, key
from localrag.parsing.source import Tools
from localrag.protocols import PagePicture

_LONG_SIDE = 1600  # pixels; what fits a wide screen
_YELLOW = (255, 230, 90)


def render_picture(path: Path, page: int, quote: str, *, name: str, tools: Tools) -> PagePicture | None:
    """The picture with that number (from 1) as PNG; None when the file is no picture.

    Raises:
        UnreadableDocument: the file has no such picture, or it is damaged.
        DocumentTooLarge: it has more pixels than the limit.
    """
    from PIL import Image as Pillow  # deferred: only pictures need it
    from PIL import ImageChops, UnidentifiedImageError

    try:
        with opened(path, name) as file:
            if not 1 <= page <= frame_count(file):
                raise UnreadableDocument(
                    f"{name} has no page {page}: its pages are 1 to {frame_count(file)}.",
                    path=name,
                    hint="The file may have changed since it was indexed; ingest it again.",
                )
            picture = frame(file, page)
    except UnidentifiedImageError:
        return None
    except OSError as error:
        raise UnreadableDocument(f"{name} is damaged: it cannot be shown.", path=name) from error
    boxes = find_quote(ocr_words(recognised_before(picture, tools), *picture.size), quote)
    for box in bands(boxes):
        left, top, right, bottom = map(round, box)
        marked = picture.crop((left, top, right, bottom))
        picture.paste(ImageChops.multiply(marked, Pillow.new("RGB", marked.size, _YELLOW)), (left, top))
    picture.thumbnail((_LONG_SIDE, _LONG_SIDE))
    png = io.BytesIO()
    picture.save(png, "png")
    return PagePicture(png=png.getvalue(), found=bool(boxes))


def ocr_words(page: OcrPage | None, width: float, height: float) -> Sequence[Word]:
    """The words that were recognised, placed on a page of that size."""
    if page is None:
        return []
    words = [word for line in page.lines for word in line.words]
    return [Word(key(word.text), _placed(word.box, width, height)) for word in words if key(word.text)]


def _placed(box: Rect, width: float, height: float) -> Rect:
    x0, y0, x1, y1 = box
    return x0 * width, y0 * height, x1 * width, y1 * height
