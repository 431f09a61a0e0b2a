"""Outlook messages (msg): the message as one page, then its attachments, messages inside messages included."""

from __future__ import annotations

import re
from collections.abc import Iterator
from email.parser import HeaderParser
from email.policy import default as modern_headers
from typing import Any

import olefile

from localrag.errors import DocumentError, EmptyDocument
from localrag.parsing import mail, outlook
from localrag.parsing.encoding import decode_text
from localrag.parsing.malformed import unreadable
from localrag.parsing.outlook import Part
from localrag.parsing.rtf import decompress, read_rich_text
from localrag.parsing.source import Source
from localrag.types import Page, ParsedDocument

MEDIA_TYPE = "application/vnd.ms-outlook"

_TO, _CC, _BCC = 1, 2, 3
_FIELDS = {_TO: "To", _CC: "Cc", _BCC: "Bcc"}
# An internal address of an Exchange server: `/O=ACME/OU=...`. It names nobody to a reader.
_EXCHANGE = re.compile(r"/o=", re.IGNORECASE)


def read(source: Source) -> ParsedDocument:
    """The message (label `message`), what it quotes, then each attachment's pages under `attachment NAME`.

    What cannot be read of the attachments is reported as a warning.

    Raises:
        EmptyDocument, UnreadableDocument
    """
    with unreadable(source, "Outlook message"), olefile.OleFileIO(source.path) as ole:
        return read_message(ole, source)


def read_message(ole: Any, source: Source) -> ParsedDocument:
    """The message in an open OLE file."""
    message = Part(ole)
    reader = _MessageReader(source)
    pages = mail.numbered(reader.pages(message, source.depth))
    if not pages:
        raise EmptyDocument(f"{source.name} holds no text.", path=source.name, hint="Nothing to index.")
    title = " ".join(message.text(outlook.SUBJECT).split()) or None
    return ParsedDocument(media_type=MEDIA_TYPE, pages=pages, title=title, warnings=tuple(reader.warnings))


class _MessageReader:
    def __init__(self, source: Source) -> None:
        self._source = source
        self.warnings: list[str] = []

    def pages(self, message: Part, depth: int) -> Iterator[Page]:
        """The message's page and those of its attachments; ordinals are set later."""
        plain, html = _bodies(message, self._source.limits.output_chars)
        attachments = [(part, _file_name(part)) for part in message.attachments()]
        shown = [(part, name) for part, name in attachments if not _is_inline(part, name, html)]
        head = [mail.heading(message.text(outlook.SUBJECT)), _header_lines(message, [name for _, name in shown])]
        yield from mail.message_pages(head, mail.body_markdown(plain, html))
        for part, name in shown:
            yield from self._attachment(part, name, depth)

    def _attachment(self, part: Part, name: str, depth: int) -> Iterator[Page]:
        try:
            inner = part.inner_message()
            pages = self._inner(inner, name, depth + 1) if inner else self._file(part, name)
        except DocumentError as error:
            self.warnings.append(f"Attachment {name} was not read: {error}")
            return
        for page in pages:
            yield mail.attachment_page(page, name)

    def _inner(self, message: Part, name: str, depth: int) -> list[Page]:
        mail.enter_message(self._source, name, depth)
        return list(self.pages(message, depth))

    def _file(self, part: Part, name: str) -> list[Page]:
        data = part.binary(outlook.ATTACHMENT_DATA)
        if not data:
            raise EmptyDocument(f"{name} holds no data of its own.", path=name)
        document = self._source.read_child(data, name)
        self.warnings.extend(f"{name}: {warning}" for warning in document.warnings)
        return list(document.pages)


def _header_lines(message: Part, attachments: list[str]) -> str:
    headers = HeaderParser(policy=modern_headers).parsestr(message.text(outlook.HEADERS))
    lines = {"From": _sender(message) or str(headers.get("From", ""))}
    for kind, field in _FIELDS.items():
        lines[field] = ", ".join(_recipients(message, kind)) or str(headers.get(field, ""))
    lines["To"] = lines["To"] or message.text(outlook.DISPLAY_TO)
    lines["Cc"] = lines["Cc"] or message.text(outlook.DISPLAY_CC)
    sent = message.time(outlook.SENT) or message.time(outlook.DELIVERED)
    lines["Date"] = sent.strftime("%Y-%m-%d %H:%M UTC") if sent else str(headers.get("Date", ""))
    lines["Attachments"] = ", ".join(attachments)
    return mail.header_block(lines)


def _sender(message: Part) -> str:
    for name, smtp, address in (
        (outlook.SENDER_NAME, outlook.SENDER_SMTP, outlook.SENDER_ADDRESS),
        (outlook.AUTHOR_NAME, outlook.AUTHOR_SMTP, outlook.AUTHOR_ADDRESS),
    ):
        if found := _person(message.text(name), message.text(smtp) or message.text(address)):
            return found
    return ""


def _recipients(message: Part, kind: int) -> list[str]:
    people = (
        _person(part.text(outlook.NAME), part.text(outlook.SMTP) or part.text(outlook.ADDRESS))
        for part in message.recipients()
        if (part.integer(outlook.RECIPIENT_TYPE) or 0) & 0xF == kind
    )
    return [person for person in people if person]


def _person(name: str, address: str) -> str:
    name, address = name.strip(" '\""), address.strip()
    if _EXCHANGE.match(address):
        address = ""
    if not address or address.lower() == name.lower():
        return name
    return f"{name} <{address}>" if name else address


def _bodies(message: Part, limit: int) -> tuple[str, str]:
    """The body as plain text and as HTML, each "" when absent. Outlook often keeps HTML only inside rich text."""
    plain, html = message.text(outlook.BODY), message.text(outlook.HTML)
    if data := message.binary(outlook.HTML):
        html, _ = decode_text(data, message.html_encoding())
    if data := message.binary(outlook.RTF):
        rich = read_rich_text(decompress(data, limit))
        if rich.is_html:
            html = html or rich.text
        else:
            plain = plain or rich.text
    return plain, html


def _file_name(part: Part) -> str:
    texts = (part.text(tag) for tag in (outlook.LONG_FILE_NAME, outlook.FILE_NAME, outlook.NAME))
    name = next((text.strip() for text in texts if text.strip()), "unnamed")
    return f"{name}.msg" if part.inner_message() and not name.lower().endswith(".msg") else name


def _is_inline(part: Part, name: str, html: str) -> bool:
    """Whether the attachment is a picture that the body shows."""
    return mail.is_shown_picture(name, part.text(outlook.CONTENT_ID), html)
