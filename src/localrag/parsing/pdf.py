"""A PDF -> one Page per physical page, its layout kept as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from localrag.errors import DocumentError, EmptyDocument, EncryptedDocument, NeedsOcr, UnreadableDocument
from localrag.parsing.malformed import unreadable
from localrag.parsing.ocr import advice
from localrag.parsing.pdf_grid import with_ruled_tables
from localrag.parsing.pdf_lines import PageText, clean, mupdf, read_page
from localrag.parsing.pdf_markdown import markdowns, outline_key, read_style
from localrag.parsing.pdf_running import drop_running_lines
from localrag.parsing.pdf_scans import ScannedPages, read_scanned_pages
from localrag.parsing.scans import named
from localrag.parsing.source import Source
from localrag.types import Page, ParsedDocument

MEDIA_TYPE = "application/pdf"
# A file that has come so far is long and does not hang: it is given the time limit once more.
_PAGES_A_GRANT = 250
_UNDECODED = re.compile("[\ufffd\ue000-\uf8ff]")


def read(source: Source) -> ParsedDocument:
    """The PDF's pages, numbered from 1 as they come in the file, pages without text included and empty.

    Raises:
        EncryptedDocument: a password is needed to open it.
        UnreadableDocument: not a PDF, or too damaged to repair.
        NeedsOcr: every page is a picture, and nothing could be recognised on any, or OCR is off.
        EmptyDocument: no page shows anything.
    """
    with unreadable(source, "PDF"):
        document = _open(source)
        with document:
            return _read(document, source)


def _open(source: Source) -> Any:
    document = mupdf().open(source.path, filetype="pdf")
    if document.needs_pass:
        document.close()
        raise EncryptedDocument(
            f"{source.name} is protected: a password is needed to open it.",
            path=source.name,
            hint="Save a copy without the password and add that.",
        )
    if not document.page_count:
        document.close()
        raise UnreadableDocument(
            f"{source.name} is not a readable PDF: it has no pages.",
            path=source.name,
            hint="The file may be truncated; fetch or export it again.",
        )
    return document


def _read(document: Any, source: Source) -> ParsedDocument:
    pages: list[PageText] = []
    undecoded: list[int] = []
    for index, page in enumerate(document):
        if index and index % _PAGES_A_GRANT == 0:
            source.more_time(source.limits.timeout_s)
        text = read_page(page)
        text.pieces = with_ruled_tables(text.pieces, text.rules)
        if _is_undecoded(text):
            undecoded.append(index + 1)
        pages.append(text)
    scans = read_scanned_pages(document, pages, undecoded, source)
    undecoded = [number for number in undecoded if number in scans.without]
    attached, warnings = _attachments(document, source)
    if not any(page.pieces or page.asides for page in pages) and not attached:
        raise _without_text(source, scans, len(pages), repaired=document.is_repaired)
    if document.is_repaired:
        warnings.append("The file is damaged and was repaired: parts of it may be missing.")
    warnings += scans.warnings
    if undecoded:
        verb = "holds" if len(undecoded) == 1 else "hold"
        warnings.append(f"{named(undecoded)} {verb} text whose characters the file does not name: not searchable.")
    markdowns = _markdowns(pages, document)
    own = tuple(Page(ordinal=i, number=i, markdown=text) for i, text in enumerate(markdowns, 1))
    return ParsedDocument(
        media_type=MEDIA_TYPE,
        pages=own + _after(attached, len(own)),
        title=clean(str((document.metadata or {}).get("title") or "")).strip() or None,
        warnings=tuple(warnings),
    )


def _markdowns(pages: Sequence[PageText], document: Any) -> list[str]:
    outline = {outline_key(title): level for level, title, *_ in document.get_toc() if outline_key(title)}
    drop_running_lines(pages)
    style = read_style(pages, outline)
    return list(markdowns(pages, style))


def _is_undecoded(page: PageText) -> bool:
    """Whether most of the text is code points without meaning: the fonts lack a table of characters."""
    text = "".join(piece.text for piece in page.pieces)
    return len(text) >= 20 and len(_UNDECODED.findall(text)) > 0.5 * len(text)


def _without_text(source: Source, scans: ScannedPages, count: int, *, repaired: bool) -> DocumentError:
    if scans.without:
        return NeedsOcr(
            f"{source.name} has no text: its {count} {'page is a picture' if count == 1 else 'pages are pictures'}.",
            path=source.name,
            hint=scans.problem or advice(source.tools),
        )
    if repaired:
        return UnreadableDocument(
            f"{source.name} is damaged: no text could be recovered from it.",
            path=source.name,
            hint="The file may be truncated; fetch or export it again.",
        )
    return EmptyDocument(
        f"{source.name} is blank: no page holds text or a picture.", path=source.name, hint="There is nothing to index."
    )


def _attachments(document: Any, source: Source) -> tuple[list[Page], list[str]]:
    """Pages of embedded files, labelled with the file's name, and what could not be read."""
    pages: list[Page] = []
    warnings: list[str] = []
    for name, data in _files(document):
        try:
            read = source.read_child(data, name)
        except DocumentError as error:
            warnings.append(f"Attachment {name}: {error.message}")
            continue
        warnings += [f"Attachment {name}: {warning}" for warning in read.warnings]
        for page in read.pages:
            label = f"attachment {name}" + (f", {page.label}" if page.label else "")
            pages.append(Page(ordinal=1, number=page.number, label=label, markdown=page.markdown))
    return pages, warnings


def _files(document: Any) -> Iterator[tuple[str, bytes]]:
    """Name and bytes of the files embedded in the document or pinned to its pages."""
    for key in document.embfile_names():
        info = document.embfile_info(key)
        yield _file_name(info, key), document.embfile_get(key)
    pinned = mupdf().PDF_ANNOT_FILE_ATTACHMENT
    for page in document:
        for annotation in page.annots(types=(pinned,)):
            yield _file_name(annotation.file_info, ""), annotation.get_file()


def _file_name(info: Mapping[str, Any], key: str) -> str:
    name = clean(str(info.get("ufilename") or info.get("filename") or key)).strip()
    return name.replace("\\", "/").rpartition("/")[2] or "attachment"


def _after(pages: Sequence[Page], count: int) -> tuple[Page, ...]:
    return tuple(
        Page(ordinal=ordinal, number=page.number, label=page.label, markdown=page.markdown)
        for ordinal, page in enumerate(pages, count + 1)
    )
