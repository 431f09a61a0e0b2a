"""Bytes of an internet message -> its tree of parts, decoded: headers, texts, names, data.

The standard library's older policy is used on purpose: it takes any header as it comes, where the newer one parses
each into a structure and raises on malformed ones.
"""

from __future__ import annotations

import re
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Iterator
from email import message_from_bytes
from email.message import Message
from email.policy import compat32
from email.utils import parsedate_to_datetime
from quopri import decodestring
from typing import TypeAlias

from localrag.parsing.encoding import decode_text, sniff_unicode

Part: TypeAlias = "Message[str, str]"

# RFC 2047: =?charset?B or Q?text?=; RFC 2231 adds *language to the charset.
_ENCODED = re.compile(r"=\?([\w.:-]+)(?:\*[\w-]*)?\?([bq])\?([^?]*)\?=", re.IGNORECASE)
_BETWEEN_ENCODED = re.compile(r"(\?=)\s+(?==\?[\w.:-]+(?:\*[\w-]*)?\?[bq]\?)", re.IGNORECASE)


def parse(data: bytes) -> Part:
    """The message; headers in a raw encoding, which the standard forbids, are decoded."""
    encoding = sniff_unicode(data)
    if encoding is not None:  # saved by an editor
        data = data.decode(encoding, errors="replace").encode()
    message = message_from_bytes(data.lstrip(b"\r\n"), policy=compat32)
    for part in message.walk():
        for name, value in part.raw_items():
            raw = str(value).encode("utf-8", "surrogateescape")
            if not raw.isascii():
                part.replace_header(name, decode_text(raw)[0])
    return message


def header(part: Part, name: str) -> str:
    """The header's text on one line; "" when absent."""
    return " ".join(decode_words(str(part.get(name, ""))).split())


def date(part: Part) -> str:
    """When the message was sent, in the sender's time; as written when it is no date."""
    written = header(part, "Date")
    try:
        return parsedate_to_datetime(written).strftime("%Y-%m-%d %H:%M %z").strip()
    except (ValueError, OverflowError, TypeError, IndexError):
        return written


def decode_words(text: str) -> str:
    """The text with its encoded words (RFC 2047) decoded.

    Neighbours in one charset are decoded together: some programs cut inside a character.
    """
    joined = _BETWEEN_ENCODED.sub(r"\1", text)
    pieces: list[str] = []
    held, charset, at = b"", "", 0
    for match in _ENCODED.finditer(joined):
        before = joined[at : match.start()]
        if before or match[1].lower() != charset:
            pieces += [decode_text(held, charset)[0], before]
            held, charset = b"", match[1].lower()
        held += _word_bytes(match[2], match[3])
        at = match.end()
    return "".join([*pieces, decode_text(held, charset)[0], joined[at:]])


def _word_bytes(kind: str, text: str) -> bytes:
    if kind.lower() == "q":
        return decodestring(text.encode("utf-8"), header=True)
    try:
        return b64decode(text + "=" * (-len(text) % 4))
    except (Base64Error, ValueError):
        return text.encode("utf-8")


def data_of(part: Part) -> bytes:
    """The bytes of a leaf part, its transfer encoding undone as far as it can be."""
    payload = part.get_payload(decode=True)
    return payload if isinstance(payload, bytes) else b""


def text_of(part: Part) -> str:
    """The text of a text part."""
    data = data_of(part)
    declared = part.get_content_charset()
    if declared is None and part.get_content_type() == "text/html":
        # Deferred: most messages name their charset.
        from localrag.parsing.html_tree import declared_encoding

        declared = declared_encoding(data)
    return decode_text(data, declared)[0]


def file_name(part: Part) -> str:
    """The name the sender gave to an attachment, on one line; "" when there is none."""
    name = decode_words(part.get_filename() or "")
    return "".join(char for char in " ".join(name.split()) if char.isprintable())


def children(part: Part) -> Iterator[Part]:
    """The parts of a multipart."""
    payload = part.get_payload()
    if isinstance(payload, list):
        yield from (child for child in payload if isinstance(child, Message))
