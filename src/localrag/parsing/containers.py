"""What a container holds: the format name behind a zip or an OLE signature."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

from localrag.errors import EncryptedDocument, UnreadableDocument, UnsupportedDocument
from localrag.parsing.archive import DAMAGE, damaged, open_archive
from localrag.parsing.source import Limits

_CONTENT_TYPES = "[Content_Types].xml"
# The content-types part lists every part of a package by type; 1 MB is some 8,000 of them.
_CONTENT_TYPES_BYTES = 1024 * 1024
# Main parts of documents, templates, slide shows and their macro forms all carry one of these words.
_OOXML_MAIN = (
    (re.compile(rb"(wordprocessingml|ms-word)\.(document|template)[.\w]*main\+xml", re.IGNORECASE), "docx"),
    (re.compile(rb"(presentationml|ms-powerpoint)\.(presentation|template|slideshow)[.\w]*main\+xml", re.I), "pptx"),
    (re.compile(rb"(spreadsheetml|ms-excel)\.(sheet|template)[.\w]*main\+xml", re.IGNORECASE), "xlsx"),
)
_OOXML_FOLDERS = (("word/", "docx"), ("ppt/", "pptx"), ("xl/", "xlsx"))
# What OpenDocument packages say they are, in a member of its own or in their list of members; templates included.
_MANIFEST = "META-INF/manifest.xml"
_ODF = re.compile(rb"application/vnd\.oasis\.opendocument\.(text|spreadsheet|presentation|graphics)\b")
_ODF_KINDS = {"text": "odt", "spreadsheet": "ods", "presentation": "odp", "graphics": "odg"}
# Where the header of an OLE file has told its sector sizes, as powers of two: 512 or 4,096 bytes, small ones 64.
_SECTOR_SHIFTS_END = 34


def zip_format(path: Path, name: str, limits: Limits) -> str:
    """`docx`, `pptx`, `xlsx`, `odt`, `ods`, `odp`, `odg`, `epub` or `zip`, told from the archive's central directory.

    Raises:
        UnreadableDocument: the archive is damaged or cut off.
        UnsupportedDocument: a zip-based format that localrag does not read.
    """
    with open_archive(path, name, limits) as archive:
        members = set(archive.namelist())
        if "xl/workbook.bin" in members:
            raise _unsupported(name, "binary Excel workbook (.xlsb)", "Save it as .xlsx")
        if _CONTENT_TYPES in members:
            types = _head(archive, _CONTENT_TYPES, name)
            kinds = [kind for pattern, kind in _OOXML_MAIN if pattern.search(types)]
            kinds += [kind for folder, kind in _OOXML_FOLDERS if any(member.startswith(folder) for member in members)]
            if kinds:
                return kinds[0]
        mimetype = _head(archive, "mimetype", name) if "mimetype" in members else b""
        manifest = _head(archive, _MANIFEST, name) if _MANIFEST in members and not mimetype else b""
    if kind := _ODF.search(mimetype or manifest):
        return _ODF_KINDS[kind[1].decode()]
    if b"opendocument" in mimetype or b"sun.xml" in mimetype:
        raise _unsupported(name, "OpenDocument file of a rare kind", "Save it as .odt, .ods or .odp")
    return "epub" if b"epub" in mimetype or "META-INF/container.xml" in members else "zip"


def _head(archive: zipfile.ZipFile, member: str, name: str) -> bytes:
    """The first bytes of a member, at most as many as it takes to name the format."""
    try:
        with archive.open(member) as part:
            return part.read(_CONTENT_TYPES_BYTES)
    except DAMAGE as error:
        raise damaged(f"{member} in {name}", error, path=name) from error


# A Word document that embeds a workbook holds the workbook's streams in a storage of its own, not at the top.
_OLE_KINDS = (
    ("workbook", "xls"), ("book", "xls"), ("worddocument", "doc"), ("powerpoint document", "ppt"),
    ("__properties_version1.0", "msg"),
)  # fmt: skip


def ole_format(path: Path, name: str) -> str:
    """`xls`, `doc`, `ppt` or `msg`, told from the streams of the OLE container.

    Raises:
        EncryptedDocument: an Office file that is encrypted as a whole.
        UnsupportedDocument: another kind of OLE file.
        UnreadableDocument: the container is damaged.
    """
    import olefile  # deferred: only files with the OLE signature need it

    _check_sector_sizes(path, name)
    try:
        with olefile.OleFileIO(path) as container:
            streams = {"/".join(parts).lower() for parts in container.listdir(streams=True, storages=False)}
    except (OSError, ValueError, IndexError, TypeError, AttributeError) as error:
        # What olefile raises on damaged allocation tables, beside its own OleFileError (an OSError).
        raise UnreadableDocument(
            f"{name} is damaged: its OLE container cannot be read ({error}).", path=name, hint="Fetch the file again."
        ) from error
    if "encryptedpackage" in streams:
        raise EncryptedDocument(
            f"{name} is encrypted: a password is needed to read it.",
            path=name,
            hint="Save a copy without a password and add that.",
        )
    for stream, kind in _OLE_KINDS:
        if stream in streams:
            return kind
    raise _unsupported(name, "OLE file of unknown kind", "Convert it")


def _check_sector_sizes(path: Path, name: str) -> None:
    """Passes the two sizes that there are: olefile asks for memory by the size that the header states."""
    with path.open("rb") as file:
        header = file.read(_SECTOR_SHIFTS_END)
    shifts = header[_SECTOR_SHIFTS_END - 4 : _SECTOR_SHIFTS_END]
    if shifts not in (b"\x09\x00\x06\x00", b"\x0c\x00\x06\x00"):
        raise UnreadableDocument(
            f"{name} is damaged: its OLE container states impossible sizes.", path=name, hint="Fetch the file again."
        )


def _unsupported(name: str, what: str, advice: str) -> UnsupportedDocument:
    return UnsupportedDocument(
        f"{name} is of a type that localrag does not read: {what}.", path=name, hint=f"{advice} and add that file."
    )
