"""A zip archive opened under limits: for the archives users add, and for docx, pptx, xlsx and epub, which are zips.

Two lines of defence against bombs. The central directory is judged before anything is inflated: how many members,
how large together, how far compressed, whether two members share bytes. Then the real bytes are counted while
inflating, since a header may lie. Nothing here ever writes a member under its own name.
"""

from __future__ import annotations

import re
import struct
import zipfile
import zlib
from pathlib import Path

from localrag.errors import DocumentTooLarge, EncryptedDocument, UnreadableDocument
from localrag.parsing.source import Limits, Source

_CHUNK_BYTES = 256 * 1024
_ENCRYPTED_FLAG = 0x1
_LOCAL_HEADER_BYTES = 30
# A central directory entry is 46 bytes and a name; names and extra fields of ordinary archives stay below this.
_DIRECTORY_ENTRY_BYTES = 46
_DIRECTORY_BYTES_PER_MEMBER = 2048
_END_RECORD = struct.Struct("<4s4H2LH")
_END_RECORD_64 = struct.Struct("<4sQ2H2L4Q")
_MAX_COMMENT_BYTES = 65_535
# Everything zipfile and its decompressors raise on damaged input, beside BadZipFile.
DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, NotImplementedError, struct.error,
          RuntimeError)  # fmt: skip


def open_zip_safely(source: Source) -> zipfile.ZipFile:
    """The archive, open, after its central directory was found harmless. Use as a context manager.

    Raises:
        UnreadableDocument: no zip, damaged or cut off.
        DocumentTooLarge: too many members, too large or too far compressed, or members that share bytes.
    """
    archive = open_archive(source.path, source.name, source.limits)
    try:
        _check_directory(archive, source)
    except DocumentTooLarge:
        archive.close()
        raise
    return archive


def open_archive(path: Path, name: str, limits: Limits) -> zipfile.ZipFile:
    """The archive, open for a look at its directory only; the number of members is within the limit."""
    _check_directory_size(path, name, limits)
    try:
        return zipfile.ZipFile(path)
    except DAMAGE as error:
        raise damaged(name, error) from error


def inflate_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, source: Source) -> bytes:
    """The member's bytes, counted against the limits as they are inflated.

    Raises:
        EncryptedDocument: the member is encrypted.
        DocumentTooLarge: it inflates beyond a limit, whatever its header says.
        UnreadableDocument: it is damaged or uses an unknown compression.
    """
    if info.flag_bits & _ENCRYPTED_FLAG:
        raise _encrypted(source.name)
    pieces: list[bytes] = []
    produced = 0
    try:
        with archive.open(info) as member:
            while piece := member.read(_CHUNK_BYTES):
                produced += len(piece)
                source.budget.inflated_bytes += len(piece)
                _check_inflated(produced, info.compress_size, source)
                pieces.append(piece)
    except DAMAGE as error:
        raise damaged(f"{info.filename} in {source.name}", error, path=source.name) from error
    return b"".join(pieces)


def check_ooxml(source: Source) -> None:
    """Passes only an Office package that its library may open: harmless as a zip, unencrypted, without DTDs.

    Office never writes a DOCTYPE; one can only be there to make a parser expand or fetch entities. The whole package
    is charged to the budget, since the library inflates all of it.

    Raises:
        DocumentTooLarge, EncryptedDocument, UnreadableDocument: as said by the message.
    """
    with open_zip_safely(source) as archive:
        for info in archive.infolist():
            source.budget.inflated_bytes += info.file_size
            if info.flag_bits & _ENCRYPTED_FLAG:
                raise _encrypted(source.name)
            if info.filename.lower().endswith((".xml", ".rels", ".vml")):
                _check_part(archive, info, source.name)


# The prolog of a part in a package is one declaration; more than this before the first element is no Office file.
_PROLOG_BYTES = 64 * 1024
_FIRST_ELEMENT = re.compile(rb"<[A-Za-z_:]")
_DECLARED_ENCODING = re.compile(rb"""^\s*<\?xml[^>]*?encoding\s*=\s*["']([\w.:-]+)""")
# ECMA-376 part 2 allows these two only; others could hide a DOCTYPE from the search below.
_PART_ENCODINGS = (b"utf-8", b"utf8", b"utf-16", b"us-ascii", b"ascii", b"iso-8859-1", b"windows-1252")


def _check_part(archive: zipfile.ZipFile, info: zipfile.ZipInfo, name: str) -> None:
    try:
        with archive.open(info) as member:
            head = member.read(_PROLOG_BYTES)
    except DAMAGE as error:
        raise damaged(f"{info.filename} in {name}", error, path=name) from error
    # UTF-16 markup is ASCII with NULs between, so without them one search serves both encodings.
    plain = head.replace(b"\x00", b"").removeprefix(b"\xff\xfe").removeprefix(b"\xfe\xff").removeprefix(b"\xef\xbb\xbf")
    first = _FIRST_ELEMENT.search(plain)
    prolog = plain[: first.start()] if first else plain
    encoding = _DECLARED_ENCODING.match(prolog)
    if b"<!DOCTYPE" in prolog or b"<!ENTITY" in prolog or (encoding and encoding[1].lower() not in _PART_ENCODINGS):
        raise UnreadableDocument(
            f"{name} is refused: its part {info.filename} declares a document type or entities.",
            path=name,
            hint="No Office program writes such a file; it may be an attack. Save it anew from the program.",
        )


def _check_directory_size(path: Path, name: str, limits: Limits) -> None:
    """Bounds the directory before zipfile reads it whole into memory."""
    size = path.stat().st_size
    with path.open("rb") as file:
        file.seek(max(0, size - _MAX_COMMENT_BYTES - _END_RECORD.size - 76))
        tail = file.read()
    at = tail.rfind(b"PK\x05\x06")
    if at < 0 or len(tail) - at < _END_RECORD.size:
        raise damaged(name, "its central directory is missing")
    directory_bytes = _END_RECORD.unpack_from(tail, at)[5]
    at_64 = tail.rfind(b"PK\x06\x06", 0, at)
    if at_64 >= 0 and at - at_64 >= _END_RECORD_64.size:
        directory_bytes = max(directory_bytes if directory_bytes < 0xFFFFFFFF else 0,
                              _END_RECORD_64.unpack_from(tail, at_64)[8])  # fmt: skip
    if min(directory_bytes, size) > limits.members * _DIRECTORY_BYTES_PER_MEMBER:
        raise _too_many(name, directory_bytes // _DIRECTORY_ENTRY_BYTES, limits)


def _check_directory(archive: zipfile.ZipFile, source: Source) -> None:
    limits, name = source.limits, source.name
    members = archive.infolist()
    if len(members) > limits.members:
        raise _too_many(name, len(members), limits)
    total = sum(info.file_size for info in members)
    if source.budget.inflated_bytes + total > limits.inflated_bytes:
        raise _bomb(name, f"it unpacks to {total:,} bytes, over the limit of {limits.inflated_bytes:,}")
    for info in members:
        if info.file_size > limits.ratio_floor_bytes and info.file_size > limits.ratio * info.compress_size:
            raise _bomb(name, f"{info.filename} is compressed more than {limits.ratio}:1")
    by_place = sorted(members, key=lambda info: info.header_offset)
    starts = [*(info.header_offset for info in by_place), archive.start_dir]
    for info, end in zip(by_place, starts[1:], strict=True):
        if info.header_offset + _LOCAL_HEADER_BYTES + info.compress_size > end:
            raise _bomb(name, f"{info.filename} shares its bytes with another member")


def _check_inflated(produced: int, compressed: int, source: Source) -> None:
    limits = source.limits
    if source.budget.inflated_bytes > limits.inflated_bytes:
        raise _bomb(source.name, f"it unpacks to more than {limits.inflated_bytes:,} bytes")
    if produced > limits.ratio_floor_bytes and produced > limits.ratio * compressed:
        raise _bomb(source.name, f"it is compressed more than {limits.ratio}:1")


def damaged(what: str, reason: object, path: str | None = None) -> UnreadableDocument:
    """The error for an archive, or a member of it, that cannot be unpacked."""
    return UnreadableDocument(
        f"{what} is damaged: {reason}.", path=path or what, hint="The file may be cut off; fetch it again."
    )


def _encrypted(name: str) -> EncryptedDocument:
    return EncryptedDocument(
        f"{name} is encrypted: a password is needed to read it.",
        path=name,
        hint="Unpack it with its password and add the files.",
    )


def _too_many(name: str, count: int, limits: Limits) -> DocumentTooLarge:
    return DocumentTooLarge(
        f"{name} holds about {count:,} members, over the limit of {limits.members:,}.",
        path=name,
        hint="Unpack it and add the folder.",
    )


def _bomb(name: str, why: str) -> DocumentTooLarge:
    return DocumentTooLarge(
        f"{name} is refused as a possible zip bomb: {why}.",
        path=name,
        hint="If you trust the file, unpack it and add the folder.",
    )
