"""A PDF -> one Page per physical page, its layout kept as Markdown."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from localrag.errors import DocumentError, EmptyDocument, EncryptedDocument, NeedsOcr, UnreadableDocument
from localrag.parsing.crew import CrewFailed
from localrag.parsing.malformed import unreadable
from localrag.parsing.ocr import advice
from localrag.parsing.pdf_crew import read_side_by_side
from localrag.parsing.pdf_lines import clean, mupdf
from localrag.parsing.pdf_markdown import outline_key
from localrag.parsing.pdf_part import Part, PdfText
from localrag.parsing.pdf_running import find_running
from localrag.parsing.pdf_scans import ScannedPages, read_scanned_pages
from localrag.parsing.scans import named
from localrag.parsing.source import Source
from localrag.types import Page, ParsedDocument

MEDIA_TYPE = "application/pdf"
# A file that has come so far is long and does not hang: it is given the time limit once more.
_PAGES_A_GRANT = 250


def read(source: Source) -> ParsedDocument:
    """The PDF's pages, numbered from 1 as they come in the file, pages without text included and empty.

    Raises:
        EncryptedDocument: a password is needed to open it.
        UnreadableDocument: not a PDF, or too damaged to repair.
        NeedsOcr: every page is a picture, and nothing could be recognised on any, or OCR is off.
        EmptyDocument: no page shows anything.
    """
    with unreadable(source, "PDF"):
        on_page = _granting(source)
        with suppress(CrewFailed), _open(source) as document:
            text = read_side_by_side(document, partial(_outline, document), source, on_page)
            return _document(document, text or _read_alone(document, source, on_page), source)
        source.more_time(source.limits.timeout_s)  # what was spent on reading it side by side
        with _open(source) as document:  # anew: it may have been repaired meanwhile
            return _document(document, _read_alone(document, source, on_page), source)


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


def _granting(source: Source) -> Callable[[], None]:
    """To be called after each page: a long file that goes on being read gets more time."""
    done = 0

    def on_page() -> None:
        nonlocal done
        done += 1
        if done % _PAGES_A_GRANT == 0:
            source.more_time(source.limits.timeout_s)

    return on_page


def _read_alone(document: Any, source: Source, on_page: Callable[[], None]) -> PdfText:
    part = Part(0, document.page_count)
    facts = part.read(document, on_page)
    scans = read_scanned_pages(document, facts, source)
    census = part.census(find_running(part.margins(scans.read, scans.body)))
    return PdfText(facts, scans, list(part.markdowns(census.style(_outline(document)))))


def _outline(document: Any) -> dict[str, int]:
    return {outline_key(title): level for level, title, *_ in document.get_toc() if outline_key(title)}


def _document(document: Any, text: PdfText, source: Source) -> ParsedDocument:
    attached, warnings = _attachments(document, source)
    if not text.has_any and not attached:
        raise _without_text(source, text.scans, len(text.facts), repaired=document.is_repaired)
    if document.is_repaired:
        warnings.append("The file is damaged and was repaired: parts of it may be missing.")
    warnings += text.scans.warnings
    if undecoded := text.undecoded:
        verb = "holds" if len(undecoded) == 1 else "hold"
        warnings.append(f"{named(undecoded)} {verb} text whose characters the file does not name: not searchable.")
    own = tuple(Page(ordinal=i, number=i, markdown=markdown) for i, markdown in enumerate(text.markdowns, 1))
    return ParsedDocument(
        media_type=MEDIA_TYPE,
        pages=own + _after(attached, len(own)),
        title=clean(str((document.metadata or {}).get("title") or "")).strip() or None,
        warnings=tuple(warnings),
    )


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
