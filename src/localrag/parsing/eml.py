"""Internet mail (eml): the message, what it quotes, then its attachments, messages inside messages included."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from localrag.errors import DocumentError, EmptyDocument, EncryptedDocument
from localrag.parsing import mail, mime
from localrag.parsing.malformed import unreadable
from localrag.parsing.mime import Part
from localrag.parsing.source import Source
from localrag.types import Page, ParsedDocument

MEDIA_TYPE = "message/rfc822"

_FIELDS = ("From", "To", "Cc", "Bcc")
# Proofs of who sent the message; they say nothing to a reader.
_SIGNATURES = frozenset({"application/pkcs7-signature", "application/x-pkcs7-signature", "application/pgp-signature"})
# Text parts that are not the body and name no file.
_ENDINGS = {"text/calendar": "ics", "text/vcard": "vcf", "text/x-vcard": "vcf", "text/csv": "csv", "text/rtf": "rtf",
            "application/pdf": "pdf", "application/rtf": "rtf"}  # fmt: skip


def read(source: Source) -> ParsedDocument:
    """The message (label `message`), what it quotes, then each attachment's pages under `attachment NAME`.

    What cannot be read of the attachments is reported as a warning.

    Raises:
        EmptyDocument, EncryptedDocument, UnreadableDocument
    """
    with unreadable(source, "e-mail"):
        message = mime.parse(source.read_bytes())
        reader = MessageReader(source)
        pages = mail.numbered(reader.pages(message, source.depth))
        title = mime.header(message, "Subject") or None
    if not pages:
        if reader.encrypted:
            raise EncryptedDocument(
                f"{source.name} is encrypted: a key is needed to read it.",
                path=source.name,
                hint="Open it in your mail program, save the text, and add that.",
            )
        raise EmptyDocument(f"{source.name} holds no text.", path=source.name, hint="Nothing to index.")
    return ParsedDocument(media_type=MEDIA_TYPE, pages=pages, title=title, warnings=tuple(reader.warnings))


@dataclass(slots=True)
class _Contents:
    """What a message is made of: bodies as (plain, html) in their order, and the rest."""

    bodies: list[tuple[str, str]] = field(default_factory=list)
    attachments: list[tuple[str, Part]] = field(default_factory=list)


class MessageReader:
    """Reads messages of one file; `warnings` and `encrypted` tell what could not be read of them."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self.warnings: list[str] = []
        self.encrypted = False

    def pages(self, message: Part, depth: int) -> Iterator[Page]:
        """The message's pages and those of its attachments; ordinals are set later."""
        contents = _Contents()
        self._collect(message, contents)
        html = "\n".join(html for _, html in contents.bodies)
        shown = [(name, part) for name, part in contents.attachments if not _is_shown(part, name, html)]
        fields = {name: mime.header(message, name) for name in _FIELDS}
        fields["Date"] = mime.date(message)
        fields["Attachments"] = ", ".join(name for name, _ in shown)
        body = "\n\n".join(text for text in (mail.body_markdown(*pair) for pair in contents.bodies) if text)
        head = [mail.heading(mime.header(message, "Subject")), mail.header_block(fields)]
        if not (self.encrypted and not body and not shown):
            yield from mail.message_pages(head, body)
        for name, part in shown:
            yield from self._attachment(name, part, depth)

    def _collect(self, part: Part, contents: _Contents) -> None:
        """Adds the part, or the parts below it, to the contents."""
        kind = part.get_content_type()
        if kind == "multipart/encrypted" or _is_enveloped(part, kind):
            self.encrypted = True
            self.warnings.append("The message, or a part of it, is encrypted and was not read.")
        elif kind == "multipart/alternative":
            inner = _Contents()
            for child in mime.children(part):
                self._collect(child, inner)
            forms = ["\n\n".join(form for form in forms if form) for forms in zip(*inner.bodies, strict=True)]
            contents.bodies.extend([(forms[0], forms[1])] if forms else [])
            contents.attachments.extend(inner.attachments)
        elif kind == "message/delivery-status":
            contents.bodies.append(("\n\n".join(_header_text(child) for child in mime.children(part)), ""))
        elif part.is_multipart() and kind != "message/rfc822":
            for child in mime.children(part):
                self._collect(child, contents)
        elif kind not in _SIGNATURES:
            self._collect_leaf(part, kind, contents)

    def _collect_leaf(self, part: Part, kind: str, contents: _Contents) -> None:
        name = mime.file_name(part)
        # A multipart without parts is one whose boundary is damaged: its text is there all the same.
        is_text = kind in ("text/plain", "text/enriched", "text/rfc822-headers") or kind.startswith("multipart/")
        attached = part.get_content_disposition() == "attachment" or bool(name)
        if kind == "text/html" and not attached:
            contents.bodies.append(("", mime.text_of(part)))
        elif is_text and not attached:
            contents.bodies.append((mime.text_of(part), ""))
        else:
            contents.attachments.append((name or _stand_in_name(part, kind), part))

    def _attachment(self, name: str, part: Part, depth: int) -> Iterator[Page]:
        try:
            inner = next(mime.children(part), None) if part.get_content_type() == "message/rfc822" else None
            pages = self._file(part, name) if inner is None else self._inner(inner, name, depth + 1)
        except DocumentError as error:
            self.warnings.append(f"Attachment {name} was not read: {error}")
            return
        for page in pages:
            yield mail.attachment_page(page, name)

    def _inner(self, message: Part, name: str, depth: int) -> list[Page]:
        mail.enter_message(self._source, name, depth)
        return list(self.pages(message, depth))

    def _file(self, part: Part, name: str) -> list[Page]:
        data = mime.data_of(part)
        if not data:
            raise EmptyDocument(f"{name} holds no data of its own.", path=name)
        document = self._source.read_child(data, name)
        self.warnings.extend(f"{name}: {warning}" for warning in document.warnings)
        return list(document.pages)


def _is_shown(part: Part, name: str, html: str) -> bool:
    content_id = mime.header(part, "Content-ID").strip("<> ")
    return mail.is_shown_picture(name, content_id, html)


def _is_enveloped(part: Part, kind: str) -> bool:
    if kind not in ("application/pkcs7-mime", "application/x-pkcs7-mime"):
        return False
    return str(part.get_param("smime-type", "enveloped-data")).lower() != "signed-data"


def _stand_in_name(part: Part, kind: str) -> str:
    """A name for an attachment that has none, by its subject or its type."""
    if kind == "message/rfc822":
        subject = mime.header(next(mime.children(part), part), "Subject")
        return f"{subject or 'message'}.eml"
    ending = _ENDINGS.get(kind) or part.get_content_subtype()
    return f"unnamed.{ending}"


def _header_text(part: Part) -> str:
    return "\n".join(f"{name}: {mime.header(part, name)}" for name in dict.fromkeys(part.keys()))
