"""Files on disk: which ones a path names, what identifies them, and where uploads are kept."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from localrag.errors import DocumentError, StorageFullError, UnreadableDocument
from localrag.types import Document, DocumentId

UPLOAD_SCHEME = "upload:"
_HASH_BLOCK_BYTES = 1 << 20
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_DIRECTION = frozenset("\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Marks that can make `gpj.exe` read as `exe.jpg`."""
_IGNORED_NAMES = frozenset({"thumbs.db", "desktop.ini", "__macosx"})


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundFile:
    """One thing a user's path led to: a file to read, or the error that stands in its place."""

    path: Path
    error: DocumentError | None = None


def discover(paths: Sequence[Path], *, passed_over: Collection[Path] = ()) -> Iterator[FoundFile]:
    """Every file under the paths, folders walked in name order, each file once.

    Hidden files, Office lock files (`~$...`) and system litter inside folders are passed over, and so are the
    library's own files and folders (`passed_over`, as resolved paths); what is named itself is always taken. Links to
    folders are not followed, so a loop cannot trap the walk. A path that does not exist, or a folder that cannot be
    listed, is an error in its place and stops nothing.
    """
    seen: set[Path] = set()
    for path in paths:
        for found in _walk(path, frozenset(passed_over)):
            resolved = found.path.resolve() if found.error is None else found.path
            if resolved not in seen:
                seen.add(resolved)
                yield found


def _walk(path: Path, passed_over: frozenset[Path]) -> Iterator[FoundFile]:
    try:
        if path.is_dir():
            yield from _walk_folder(path, passed_over)
        elif path.exists() or path.is_symlink():
            yield FoundFile(path=path)
        else:
            yield _failed(path, "does not exist", "Check the path.")
    except OSError as error:
        yield _failed(path, _reason(error), "Check the permissions of the folder.")


def _walk_folder(folder: Path, passed_over: frozenset[Path]) -> Iterator[FoundFile]:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        yield _failed(folder, f"cannot be listed: {_reason(error)}", "Give yourself read permission on the folder.")
        return
    for entry in entries:
        if entry.name.startswith((".", "~$")) or entry.name.casefold() in _IGNORED_NAMES:
            continue
        if passed_over and Path(entry.path).resolve() in passed_over:
            continue
        if entry.is_dir(follow_symlinks=False):
            yield from _walk_folder(Path(entry.path), passed_over)
        elif entry.is_file():
            yield FoundFile(path=Path(entry.path))


def _failed(path: Path, reason: str, hint: str) -> FoundFile:
    shown = printable(str(path))
    return FoundFile(path=path, error=UnreadableDocument(f"{shown} {reason}.", path=shown, hint=hint))


def _reason(error: OSError) -> str:
    return (error.strerror or type(error).__name__).lower()


def document_id(uri: str) -> DocumentId:
    """The stable id of a source: 16 hexadecimal digits of the SHA-256 of its URI."""
    return hashlib.sha256(uri.encode("utf-8", "surrogateescape")).hexdigest()[:16]


def file_uri(path: Path) -> str:
    """`file:///...` of the resolved path, so that one file has one URI however it was named."""
    try:
        return path.resolve().as_uri()
    except ValueError:
        # A name with NUL in it, which no file can have, still needs a name for its failure.
        return path.absolute().as_uri()


def upload_uri(name: str) -> str:
    """`upload:NAME`: an upload has no folder, so its name is its identity."""
    return UPLOAD_SCHEME + name


def source_path(document: Document, uploads: Path) -> Path:
    """Where the document's bytes should be; they may be gone, or changed since."""
    if document.uri.startswith(UPLOAD_SCHEME):
        return uploads / upload_file_name(document.content_hash)
    return Path(_windows_path(document.uri) if os.name == "nt" else _posix_path(document.uri))


def _windows_path(uri: str) -> str:
    from urllib.request import url2pathname  # deferred: it brings an HTTP client along

    return url2pathname(unquote(urlsplit(uri).path))


def _posix_path(uri: str) -> str:
    # as_uri() percent-encodes raw bytes; os.fsdecode brings back names that are not valid UTF-8.
    return os.fsdecode(unquote(urlsplit(uri).path, errors="surrogateescape"))


def upload_file_name(content_hash: str) -> str:
    """An upload's name on disk: its content hash alone, never anything that the client chose."""
    return content_hash


def hash_file(path: Path) -> str:
    """SHA-256 of the file's bytes, in hexadecimal, read in blocks.

    Raises:
        UnreadableDocument: it cannot be opened or read.
    """
    digest = hashlib.sha256()
    try:
        with path.open("rb") as stream:
            while block := stream.read(_HASH_BLOCK_BYTES):
                digest.update(block)
    except OSError as error:
        shown = printable(path.name)
        raise UnreadableDocument(
            f"{shown} cannot be read: {_reason(error)}.", path=shown, hint="Give yourself read permission on the file."
        ) from error
    return digest.hexdigest()


def write_atomically(path: Path, data: bytes) -> None:
    """Puts the bytes at the path whole or not at all, and makes its folders.

    Raises:
        StorageFullError: no space, or no permission.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".part-", delete=False) as stream:
            temporary = Path(stream.name)
            try:
                stream.write(data)
                stream.flush()
                os.fsync(stream.fileno())
            except OSError:
                temporary.unlink(missing_ok=True)
                raise
        temporary.replace(path)
    except OSError as error:
        raise _cannot_write(path, error) from error


def make_folder(path: Path) -> None:
    """Makes the folder and those above it. Raises as `write_atomically` does."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _cannot_write(path, error) from error


def write_unseen(path: Path, data: bytes) -> None:
    """Puts the bytes at a path in a folder that nobody reads until it is renamed, without waiting for the disk.

    Raises:
        StorageFullError: no space, or no permission.
    """
    try:
        path.write_bytes(data)
    except OSError as error:
        raise _cannot_write(path, error) from error


def _cannot_write(path: Path, error: OSError) -> StorageFullError:
    return StorageFullError(
        f"Cannot write below {path.parent}: {_reason(error)}.",
        hint="Free some space or set LOCALRAG_DATA_DIR to a folder that can be written.",
    )


def printable(name: str) -> str:
    """The name on one line: white space becomes a space, control and direction characters become `?`."""
    clean = "".join(_REPLACEMENT if "\ud800" <= char <= "\udfff" else char for char in name)
    return re.sub(r"\s", " ", "".join("?" if _unsafe(char) else char for char in clean)).strip() or "unnamed"


def _unsafe(char: str) -> bool:
    return char in _DIRECTION or (unicodedata.category(char) == "Cc" and not char.isspace())
