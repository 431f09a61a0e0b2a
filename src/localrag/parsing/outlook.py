"""The properties of an Outlook message or of one of its parts, as MS-OXMSG stores them in an OLE file."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from localrag.parsing.encoding import decode_text

SUBJECT, BODY, RTF, HTML, HEADERS = 0x0037, 0x1000, 0x1009, 0x1013, 0x007D
SENDER_NAME, SENDER_ADDRESS, SENDER_SMTP = 0x0C1A, 0x0C1F, 0x5D01
AUTHOR_NAME, AUTHOR_ADDRESS, AUTHOR_SMTP = 0x0042, 0x0065, 0x5D02
SENT, DELIVERED = 0x0039, 0x0E06
DISPLAY_TO, DISPLAY_CC = 0x0E04, 0x0E03
NAME, ADDRESS, SMTP, RECIPIENT_TYPE = 0x3001, 0x3003, 0x39FE, 0x0C15
ATTACHMENT_DATA, LONG_FILE_NAME, FILE_NAME, CONTENT_ID = 0x3701, 0x3707, 0x3704, 0x3712

_INTERNET_CODE_PAGE, _MESSAGE_CODE_PAGE = 0x3FDE, 0x3FFD
_UNICODE, _BYTES_TEXT, _BINARY, _OBJECT = "001F", "001E", "0102", "000D"
_TYPE_INTEGER, _TYPE_TIME = 0x0003, 0x0040
_PROPERTIES = "__properties_version1.0"
_ENTRY = struct.Struct("<HHI8s")
# Bytes before the first entry, by the kind of part: message, message inside a message, recipient or attachment.
_MESSAGE_HEADER, _INNER_HEADER, _PART_HEADER = 32, 24, 8
_EPOCH = datetime(1601, 1, 1, tzinfo=UTC)
_ENCODINGS = {20127: "ascii", 20866: "koi8-r", 21866: "koi8-u", 50220: "iso-2022-jp", 50221: "iso-2022-jp",
              50222: "iso-2022-jp", 50225: "iso-2022-kr", 51932: "euc-jp", 51936: "gb2312", 51949: "euc-kr",
              52936: "hz", 54936: "gb18030", 65000: "utf-7", 65001: "utf-8"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Part:
    """A storage of the file: the message itself (path ()), a recipient, an attachment, or a message inside it."""

    ole: Any
    path: tuple[str, ...] = ()
    header_bytes: int = _MESSAGE_HEADER
    code_page: str | None = None

    def text(self, tag: int) -> str:
        """A text property, "" when absent."""
        if (data := self._stream(tag, _UNICODE)) is not None:
            return data.decode("utf-16-le", "replace").rstrip("\x00")
        if (data := self._stream(tag, _BYTES_TEXT)) is not None:
            return decode_text(data, self.encoding())[0].rstrip("\x00")
        return ""

    def binary(self, tag: int) -> bytes | None:
        """A binary property, None when absent."""
        return self._stream(tag, _BINARY)

    def integer(self, tag: int) -> int | None:
        """A number, None when absent."""
        value = self._fixed(tag, _TYPE_INTEGER)
        return None if value is None else int(struct.unpack("<i4x", value)[0])

    def time(self, tag: int) -> datetime | None:
        """A moment in UTC; None when absent or beyond the calendar."""
        value = self._fixed(tag, _TYPE_TIME)
        if value is None:
            return None
        try:
            return _EPOCH + timedelta(microseconds=struct.unpack("<Q", value)[0] // 10)
        except OverflowError:
            return None

    def encoding(self) -> str | None:
        """What texts that are no Unicode are written in, as far as the message says."""
        for tag in (_MESSAGE_CODE_PAGE, _INTERNET_CODE_PAGE):
            if (number := self.integer(tag)) is not None:
                return encoding_name(number)
        return self.code_page

    def html_encoding(self) -> str | None:
        """What the HTML body is written in."""
        number = self.integer(_INTERNET_CODE_PAGE)
        return self.encoding() if number is None else encoding_name(number)

    def recipients(self) -> Iterator[Part]:
        """The message's recipients in order."""
        return self._parts("__recip_version1.0_#")

    def attachments(self) -> Iterator[Part]:
        """The message's attachments in order."""
        return self._parts("__attach_version1.0_#")

    def inner_message(self) -> Part | None:
        """The message that an attachment is, None when it is a file."""
        path = (*self.path, f"__substg1.0_{ATTACHMENT_DATA:04X}{_OBJECT}")
        if not self.ole.exists([*path, _PROPERTIES]):
            return None
        return Part(self.ole, path, _INNER_HEADER, self.encoding())

    def _parts(self, prefix: str) -> Iterator[Part]:
        names = {
            entry[len(self.path)]
            for entry in self.ole.listdir()
            if tuple(entry[: len(self.path)]) == self.path and entry[len(self.path)].startswith(prefix)
        }
        code_page = self.encoding()
        for name in sorted(names):
            yield Part(self.ole, (*self.path, name), _PART_HEADER, code_page)

    def _stream(self, tag: int, kind: str) -> bytes | None:
        return self._read(f"__substg1.0_{tag:04X}{kind}")

    def _read(self, name: str) -> bytes | None:
        path = [*self.path, name]
        if not self.ole.exists(path):
            return None
        data: bytes = self.ole.openstream(path).read()
        if len(data) < self.ole.get_size(path):
            raise ValueError(f"{name} is cut off")
        return data

    def _fixed(self, tag: int, kind: int) -> bytes | None:
        data = self._read(_PROPERTIES) or b""
        for at in range(self.header_bytes, len(data) - _ENTRY.size + 1, _ENTRY.size):
            entry_kind, entry_tag, _, value = _ENTRY.unpack_from(data, at)
            if (entry_tag, entry_kind) == (tag, kind):
                return bytes(value)
        return None


def encoding_name(code_page: int) -> str:
    """Windows' number of a code page -> Python's name of the encoding."""
    if 28591 <= code_page <= 28605:
        return f"iso-8859-{code_page - 28590}"
    return _ENCODINGS.get(code_page, f"cp{code_page}")
