"""A zip archive -> the pages of the files in it, read one by one as if they had been added alone.

A page is labelled with its member's path, followed by the member's own label: `docs/a.pdf` (page 2),
`book.xlsx, sheet Q3, rows 2-40`, `inner.zip/notes.txt, lines 1-80`. Member names are shown, never used as paths.
A member that cannot be read becomes a warning; an archive in which none can be read is an error.
"""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from localrag.errors import (
    DocumentError,
    DocumentTooLarge,
    EmptyDocument,
    EncryptedDocument,
    NeedsOcr,
    UnreadableDocument,
    UnsupportedDocument,
)
from localrag.parsing.archive import inflate_member, open_zip_safely
from localrag.parsing.encoding import decode_text
from localrag.parsing.malformed import first_warnings
from localrag.parsing.source import Source
from localrag.types import Page, ParsedDocument

MEDIA_TYPE = "application/zip"
_UTF8_FLAG = 0x800
# Left by macOS and Windows in archives; nobody put them there to be read.
_LITTER = frozenset({".ds_store", "thumbs.db", "desktop.ini"})
_LITTER_FOLDER = "__MACOSX"
# When no member could be read, the first of these kinds tells best what to do about the archive.
_TELLING = (DocumentTooLarge, EncryptedDocument, NeedsOcr, UnreadableDocument, UnsupportedDocument, EmptyDocument)

_NOTHING_READ = " could be read: "


def read(source: Source) -> ParsedDocument:
    """The pages of all members that can be read, by member path."""
    pages: list[Page] = []
    warnings: list[str] = []
    errors: list[DocumentError] = []
    characters = 0
    with open_zip_safely(source) as archive:
        for shown, info in _members(archive):
            try:
                document = source.read_child(inflate_member(archive, info, source), shown)
            except DocumentError as error:
                errors.append(error)
                warnings.append(_warning(shown, error))
                continue
            pages.extend(_labelled(document, shown, first_ordinal=len(pages) + 1))
            warnings.extend(f"{shown}: {warning}" for warning in document.warnings)
            characters += sum(len(page.markdown) for page in document.pages)
            if characters > source.limits.output_chars:
                raise DocumentTooLarge(
                    f"{source.name} holds more than {source.limits.output_chars:,} characters of text.",
                    path=source.name,
                    hint="Unpack it and add the folder.",
                )
    if not pages:
        raise _nothing_read(source.name, errors)
    return ParsedDocument(media_type=MEDIA_TYPE, pages=tuple(pages), warnings=first_warnings(warnings))


def member_names(infos: Sequence[zipfile.ZipInfo]) -> list[str]:
    """The names as their writer meant them, fit to be shown on one line.

    Names without the UTF-8 flag are in the writer's own encoding (GBK, Shift-JIS, UTF-8 all the same), which zipfile
    reads as cp437. All of them together tell which it was; accented Latin names mostly are in cp437.
    """
    raw = {info.filename: info.filename.encode("cp437") for info in infos if not info.flag_bits & _UTF8_FLAG}
    special = b"\n".join(name for name in raw.values() if not name.isascii())
    _, encoding = decode_text(special) if special else ("", "cp437")
    if encoding not in ("utf-8", "cp932", "gb18030", "big5hkscs", "cp949", "euc_jp", "cp866"):
        encoding = "cp437"
    names = (
        raw[info.filename].decode(encoding, errors="replace") if info.filename in raw else info.filename
        for info in infos
    )
    return ["".join(char if char.isprintable() else "\ufffd" for char in name.replace("\\", "/")) for name in names]


def _members(archive: zipfile.ZipFile) -> list[tuple[str, zipfile.ZipInfo]]:
    """Shown name and entry of the files worth reading, by name."""
    infos = [info for info in archive.infolist() if not info.is_dir()]
    named = zip(member_names(infos), infos, strict=True)
    return sorted(
        ((shown, info) for shown, info in named if not _is_litter(shown)), key=lambda pair: (pair[0], pair[1].filename)
    )


def _is_litter(shown: str) -> bool:
    parts = PurePosixPath(shown).parts
    return bool(parts) and (parts[0] == _LITTER_FOLDER or parts[-1].lower() in _LITTER)


def _labelled(document: ParsedDocument, shown: str, first_ordinal: int) -> list[Page]:
    between = "/" if document.media_type == MEDIA_TYPE else ", "
    return [
        replace(page, ordinal=ordinal, label=f"{shown}{between}{page.label}" if page.label else shown)
        for ordinal, page in enumerate(document.pages, start=first_ordinal)
    ]


def _warning(shown: str, error: DocumentError) -> str:
    return error.message if shown in error.message else f"{shown}: {error.message}"


def _nothing_read(name: str, errors: Sequence[DocumentError]) -> DocumentError:
    """The error for the archive as a whole: that of the member that tells most."""
    if not errors:
        return EmptyDocument(f"{name} holds no files to read.", path=name, hint="Add the files themselves.")
    first = min(errors, key=lambda error: next((i for i, kind in enumerate(_TELLING) if isinstance(error, kind)), 99))
    # Of archives in archives only the innermost reason is told.
    reason = first.message.rpartition(_NOTHING_READ)[2]
    return type(first)(f"No file in {name}{_NOTHING_READ}{reason}", path=name, hint=first.hint)
