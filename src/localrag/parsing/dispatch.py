"""A file -> its pages: checks before, the right reader, checks after. Runs inside the parser process.

Everything that holds for all formats is done here once: the file exists and is within its size, the reader's text is
within the limit and safe to store, and a document without any searchable text is an error, never an empty document.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType

from localrag.errors import DocumentError, DocumentTooLarge, EmptyDocument, UnreadableDocument
from localrag.parsing.detect import detect, extension
from localrag.parsing.source import Budget, Limits, Source, Tools, no_more_time
from localrag.types import Page, ParsedDocument

Reader = Callable[[Source], ParsedDocument]

# NUL ends strings in SQLite and C; lone surrogates cannot be written as UTF-8.
_NOT_STORABLE = re.compile("[\x00\ud800-\udfff]")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reading:
    """What all levels of one file share."""

    limits: Limits
    extra_readers: Mapping[str, str]
    tools: Tools
    more_time: Callable[[float], None]
    without: Mapping[int, DocumentError]
    inside: Callable[[int, str], None]
    budget: Budget = field(default_factory=Budget)


def read_document(
    path: Path,
    name: str,
    limits: Limits,
    *,
    extra_readers: Mapping[str, str] | None = None,
    tools: Tools | None = None,
    more_time: Callable[[float], None] = no_more_time,
    without: Mapping[int, DocumentError] | None = None,
    inside: Callable[[int, str], None] = lambda number, name: None,
) -> ParsedDocument:
    """The document's pages, at least one of them with text.

    Args:
        path: the file; its name on disk means nothing.
        name: the display name, whose extension is the second opinion on the format.
        limits: bounds on what the file may cost.
        extra_readers: extension -> path of a Python file with a `read`, tried before detection.
        tools: text recognition and other programs; by default what comes with localrag.
        more_time: called with the seconds that slow work may take beyond the limit.
        without: files inside this one that are not to be read, by number, each with what is said of it instead.
        inside: called with number and name when a file inside this one is begun, and with that around it at its end;
            the number is 0 for the file itself, and counts all levels in the order in which they are read.

    Raises:
        DocumentError: of the subclass that says what is wrong with this file.
    """
    reading = _Reading(
        limits=limits,
        extra_readers=extra_readers or {},
        tools=tools or Tools(),
        more_time=more_time,
        without=without or {},
        inside=inside,
    )
    return _read(path, name, reading, depth=0)


def _read(path: Path, name: str, reading: _Reading, depth: int, number: int = 0) -> ParsedDocument:
    check_file(path, name, reading.limits)
    try:
        reader, media_type = _reader_for(path, name, reading)
        source = Source(
            path=path,
            name=name,
            media_type=media_type,
            limits=reading.limits,
            depth=depth,
            budget=reading.budget,
            tools=reading.tools,
            more_time=reading.more_time,
            read_child=lambda data, child: _read_child(data, child, reading, depth + 1, around=(number, name)),
        )
        return _checked(reader(source), name, reading.limits, depth)
    except OSError as error:
        # The file vanished, or the disk failed, between two reads of it.
        raise UnreadableDocument(
            f"{name} could not be read: {error.strerror or error}.", path=name, hint="Check the file and try again."
        ) from error


def check_file(path: Path, name: str, limits: Limits) -> None:
    """Passes a regular, readable file that has content and is within the size limit; reads none of it.

    Raises:
        UnreadableDocument, EmptyDocument, DocumentTooLarge: as said by the message.
    """
    try:
        size = path.stat().st_size
        if not path.is_file():
            raise UnreadableDocument(
                f"{name} is not a file.", path=name, hint="Add a folder's files, or the file a link points to."
            )
        with path.open("rb"):
            pass
    except FileNotFoundError as error:
        raise UnreadableDocument(f"{name} does not exist.", path=name, hint="Check the path.") from error
    except PermissionError as error:
        raise UnreadableDocument(
            f"{name} may not be read: permission denied.", path=name, hint="Give your user read permission."
        ) from error
    except OSError as error:
        raise UnreadableDocument(f"{name} cannot be opened: {error.strerror}.", path=name) from error
    if size == 0:
        raise EmptyDocument(f"{name} is empty (0 bytes).", path=name, hint="Fetch or export the file again.")
    if size > limits.file_bytes:
        raise DocumentTooLarge(
            f"{name} has {size:,} bytes, over the limit of {limits.file_bytes:,}.",
            path=name,
            hint="Split the file, or raise LOCALRAG_MAX_FILE_MB.",
        )


def _read_child(data: bytes, name: str, reading: _Reading, depth: int, *, around: tuple[int, str]) -> ParsedDocument:
    """One file inside another, through a temporary file that never bears its name."""
    if depth > reading.limits.depth:
        raise DocumentTooLarge(
            f"{name} is nested more than {reading.limits.depth} levels deep.",
            path=name,
            hint="Unpack the outer archive and add the folder.",
        )
    reading.budget.members += 1
    if reading.budget.members > reading.limits.members:
        raise DocumentTooLarge(
            f"{name} is one of more than {reading.limits.members:,} files inside one file.",
            path=name,
            hint="Unpack the outer archive and add the folder.",
        )
    number = reading.budget.members
    if number in reading.without:
        raise reading.without[number]
    reading.inside(number, name)
    with tempfile.TemporaryDirectory(prefix="localrag-") as folder:
        path = Path(folder) / "member"
        path.write_bytes(data)
        try:
            document = _read(path, name, reading, depth, number)
        except MemoryError:
            raise  # ends the process, by which the parent knows the member to leave out
        except Exception as error:
            reading.inside(*around)
            if isinstance(error, DocumentError):
                raise
            raise unforeseen(name, error) from error  # any bug of any library costs this member only
        reading.inside(*around)
        return document


def unforeseen(name: str, error: Exception) -> DocumentError:
    """What is said of a file whose reader met with an error that nobody thought of."""
    reason = " ".join(str(error).split())[:200]
    return UnreadableDocument(
        f"{name} could not be read: {type(error).__name__}{': ' if reason else ''}{reason}.",
        path=name,
        hint="The file is damaged or unusual. Open it in its program and save a new copy.",
    )


def _reader_for(path: Path, name: str, reading: _Reading) -> tuple[Reader, str]:
    extra = reading.extra_readers.get(extension(name))
    if extra is not None:
        return _load(Path(extra)).read, ""
    found = detect(path, name, reading.limits)
    reader: Reader = importlib.import_module(found.module).read
    return reader, found.media_type


def _load(file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"localrag_extra_{file.stem}", file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{file} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _checked(document: ParsedDocument, name: str, limits: Limits, depth: int) -> ParsedDocument:
    """The document, storable and within the output limit, with text in it."""
    characters = sum(len(page.markdown) for page in document.pages)
    if characters > limits.output_chars:
        raise DocumentTooLarge(
            f"{name} holds {characters:,} characters of text, over the limit of {limits.output_chars:,}.",
            path=name,
            hint="Split the file into smaller ones.",
        )
    pages = tuple(_storable_page(page, verbatim=document.is_verbatim) for page in document.pages)
    if not any(_has_text(page.markdown) for page in pages):
        raise EmptyDocument(f"{name} holds no text.", path=name, hint="Nothing in it can be searched.")
    replaced = sum(page.markdown.count("\ufffd") for page in pages)
    notes = (f"{replaced:,} characters could not be read and stand as \ufffd.",) if replaced and depth == 0 else ()
    return replace(
        document,
        pages=pages,
        title=None if document.title is None else storable(document.title),
        warnings=(*(storable(warning) for warning in document.warnings), *notes),
    )


def _storable_page(page: Page, *, verbatim: bool) -> Page:
    """The page; what one file inside another was said to be stays."""
    label = None if page.label is None else storable(page.label)
    return replace(page, markdown=storable(page.markdown), label=label, verbatim=verbatim or page.verbatim)


def storable(text: str) -> str:
    """The text without NULs, and with U+FFFD for lone surrogates: what SQLite and JSON accept."""
    return _NOT_STORABLE.sub(lambda match: "" if match[0] == "\x00" else "\ufffd", text)


def _has_text(markdown: str) -> bool:
    """Whether any letter, digit or pictograph is there: an empty table's pipes and dashes are no text."""
    return any(char.isalnum() or (char > "\x7f" and char.isprintable() and not char.isspace()) for char in markdown)
