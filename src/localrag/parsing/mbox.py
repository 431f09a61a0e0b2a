"""A mailbox (mbox) -> its messages one after the other, each under `message N: Subject`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import IO

from localrag.errors import DocumentTooLarge, EmptyDocument
from localrag.parsing import mail, mime
from localrag.parsing.eml import MessageReader
from localrag.parsing.malformed import first_warnings, unreadable
from localrag.parsing.source import Source
from localrag.types import Page, ParsedDocument

MEDIA_TYPE = "application/mbox"

# `From ann@example.org Sat Jan  3 01:05:34 1996`, or Thunderbird's `From - Sat Jan ...`: the line before each message.
_SEPARATOR = re.compile(rb"From \S+.*\d{4}\s*$")
# mboxrd: a line of the text that looks like a separator has a > put before it.
_ESCAPED = re.compile(rb">+From ")
_MAX_SUBJECT = 80


def read(source: Source) -> ParsedDocument:
    """Every message's pages, in the order of the file.

    Raises:
        EmptyDocument, UnreadableDocument, DocumentTooLarge
    """
    reader = MessageReader(source)
    with unreadable(source, "mailbox"), source.path.open("rb") as file:
        pages = mail.numbered(_pages(file, reader, source))
    if not pages:
        raise EmptyDocument(f"{source.name} holds no message with text.", path=source.name, hint="Nothing to index.")
    return ParsedDocument(media_type=MEDIA_TYPE, pages=pages, warnings=first_warnings(reader.warnings))


def _pages(file: IO[bytes], reader: MessageReader, source: Source) -> Iterator[Page]:
    characters = 0
    for number, data in enumerate(_messages(file), start=1):
        message = mime.parse(data)
        place = _place(number, mime.header(message, "Subject"))
        first = len(reader.warnings)
        for page in reader.pages(message, source.depth):
            characters += len(page.markdown)
            if characters > source.limits.output_chars:
                raise DocumentTooLarge(
                    f"{source.name} holds more than {source.limits.output_chars:,} characters of text.",
                    path=source.name,
                    hint="Export the mailbox in smaller parts.",
                )
            own = (page.label or "").removeprefix(mail.MESSAGE).removeprefix(", ")
            yield replace(page, label=f"{place}, {own}" if own else place)
        reader.warnings[first:] = [f"{place}: {warning}" for warning in reader.warnings[first:]]


def _place(number: int, subject: str) -> str:
    short = subject if len(subject) <= _MAX_SUBJECT else f"{subject[: _MAX_SUBJECT - 1].rstrip()}…"
    return f"message {number}: {short}" if short else f"message {number}"


def _messages(file: IO[bytes]) -> Iterator[bytes]:
    """The bytes of each message, one at a time: a separator begins it at the start or after an empty line."""
    held: list[bytes] = []
    after_empty = True
    for line in file:
        if after_empty and _SEPARATOR.match(line):
            if any(one.strip() for one in held):
                yield b"".join(held)
            held = []
        else:
            held.append(line[1:] if _ESCAPED.match(line) else line)
        after_empty = not line.strip()
    if any(one.strip() for one in held):
        yield b"".join(held)
