"""A page of a PDF, or of a file of pictures -> its picture, with the words of a quotation marked."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from localrag.errors import DocumentError, EncryptedDocument, UnreadableDocument
from localrag.parsing.ocr import recognised_before
from localrag.parsing.pdf_lines import mupdf
from localrag.parsing.pdf_scans import page_picture
from localrag.parsing.render_picture import ocr_words, render_picture
from localrag.parsing.render_quote import Word, bands, find_quote, key
from localrag.parsing.source import Tools
from localrag.protocols import PagePicture

_MIN_DPI, _MAX_DPI = 36, 300
_MAX_PIXELS = 25_000_000  # a poster at 110 dpi would be a picture of gigabytes
_YELLOW = (1.0, 0.85, 0.1)


def render_page(
    path: Path, page: int, quote: str, dpi: int = 110, *, name: str = "", tools: Tools | None = None
) -> PagePicture:
    """The page (from 1) as PNG with the quotation's words marked; unmarked when most of it is not there.

    Args:
        name: what the user calls the file; by default its name on disk.
        tools: how pages are recognised: on a scan the words stand where OCR found them.

    Raises:
        UnreadableDocument: the file is gone, is neither a PDF nor a picture, or has no such page.
        EncryptedDocument: a password is needed to open it.
    """
    name, tools = name or path.name, tools or Tools()
    if path.is_file() and (drawn := render_picture(path, page, quote, name=name, tools=tools)):
        return drawn
    document = _open(path, name)
    with document:
        if not 1 <= page <= document.page_count:
            raise UnreadableDocument(
                f"{name} has no page {page}: its pages are 1 to {document.page_count}.",
                path=name,
                hint="The file may have changed since it was indexed; ingest it again.",
            )
        shown = document[page - 1]
        boxes = find_quote(_words(shown), quote) or _on_scan(shown, quote, tools)
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
            f"{name} is not a readable PDF.", path=name, hint="Only pages of PDFs and pictures can be shown."
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


def _words(page: Any) -> list[Word]:
    engine = mupdf()
    flags = engine.TEXT_PRESERVE_WHITESPACE | engine.TEXT_PRESERVE_LIGATURES | engine.TEXT_MEDIABOX_CLIP
    return [Word(key(word[4]), tuple(word[:4])) for word in page.get_text("words", flags=flags) if key(word[4])]


def _on_scan(page: Any, quote: str, tools: Tools) -> list[tuple[float, float, float, float]]:
    """Boxes of the words on a page that was read by OCR, in the page's own coordinates."""
    if not quote or not page.get_images():
        return []
    words = ocr_words(recognised_before(page_picture(page), tools), page.rect.width, page.rect.height)
    return find_quote(words, quote)


def _mark(page: Any, boxes: Sequence[tuple[float, float, float, float]]) -> None:
    """Draws over the words, neighbours on a line as one band; seen only in the picture, the file is not saved."""
    for x0, y0, x1, y1 in bands(boxes):
        annotation = page.add_highlight_annot(mupdf().Rect(x0, y0, x1, y1))
        annotation.set_colors(stroke=_YELLOW)
        annotation.update(opacity=0.45)
