"""What the parser process and its parent say to each other: length-prefixed frames of JSON or of raw bytes."""

from __future__ import annotations

import json
import struct
from typing import IO, Any

from localrag.errors import DocumentError
from localrag.types import Page, ParsedDocument

JSON, RAW = b"J", b"R"
_HEADER = struct.Struct(">cQ")


class ProtocolError(Exception):
    """The other side does not speak the protocol, or fell silent within a frame."""


class FrameTooLarge(ProtocolError):
    """The frame announces more bytes than the reader accepts."""


def write_json(stream: IO[bytes], value: object) -> None:
    """Sends the value as one frame."""
    # A path whose bytes are no UTF-8 holds lone surrogates, and must arrive as it is.
    _write(stream, JSON, json.dumps(value, ensure_ascii=False).encode("utf-8", errors="surrogatepass"))


def write_raw(stream: IO[bytes], payload: bytes) -> None:
    """Sends the bytes as one frame."""
    _write(stream, RAW, payload)


def read_json(stream: IO[bytes], limit: int) -> dict[str, Any] | None:
    """The next message; None when the other side has closed the stream between frames.

    Raises:
        FrameTooLarge: it is longer than `limit` bytes; nothing of it was read.
        ProtocolError: it is no JSON object.
    """
    payload = _read(stream, JSON, limit)
    return None if payload is None else _message(payload)


def read_raw(stream: IO[bytes], limit: int) -> bytes:
    """The bytes of the next frame, which must be a raw one."""
    payload = _read(stream, RAW, limit)
    if payload is None:
        raise ProtocolError("the stream ended before a frame")
    return payload


class Decoder:
    """Messages out of bytes that come in pieces, for who cannot wait at one stream."""

    def __init__(self, limit: int) -> None:
        """A decoder of JSON frames of at most `limit` bytes."""
        self._limit = limit
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[dict[str, Any]]:
        """The messages that the bytes complete.

        Raises:
            FrameTooLarge, ProtocolError: as `read_json` does.
        """
        self._buffer += data
        messages = []
        while len(self._buffer) >= _HEADER.size:
            size = _size(bytes(self._buffer[: _HEADER.size]), JSON, self._limit)
            end = _HEADER.size + size
            if len(self._buffer) < end:
                break
            messages.append(_message(bytes(self._buffer[_HEADER.size : end])))
            del self._buffer[:end]
        return messages


def _message(payload: bytes) -> dict[str, Any]:
    try:
        value = json.loads(payload.decode("utf-8", errors="surrogatepass"))
    except ValueError as error:
        raise ProtocolError("a frame holds no JSON") from error
    if not isinstance(value, dict):
        raise ProtocolError("a frame holds no JSON object")
    return value


def _size(header: bytes, kind: bytes, limit: int) -> int:
    found, size = _HEADER.unpack(header)
    if found != kind:
        raise ProtocolError(f"a frame of kind {found!r} came in place of {kind!r}")
    if size > limit:
        raise FrameTooLarge(f"a frame of {size:,} bytes is over the limit of {limit:,}")
    return int(size)


def _write(stream: IO[bytes], kind: bytes, payload: bytes) -> None:
    stream.write(_HEADER.pack(kind, len(payload)))
    stream.write(payload)
    stream.flush()


def _read(stream: IO[bytes], kind: bytes, limit: int) -> bytes | None:
    header = stream.read(_HEADER.size)
    if not header:
        return None
    if len(header) < _HEADER.size:
        raise ProtocolError("the stream ended within a frame")
    size = _size(header, kind, limit)
    payload = stream.read(size)
    if len(payload) < size:
        raise ProtocolError("the stream ended within a frame")
    return payload


def document_to_json(document: ParsedDocument) -> dict[str, Any]:
    """The document as plain JSON values."""
    return {
        "media_type": document.media_type,
        "title": document.title,
        "warnings": list(document.warnings),
        "pages": [[page.ordinal, page.number, page.label, page.markdown, page.verbatim] for page in document.pages],
    }


def document_from_json(value: dict[str, Any]) -> ParsedDocument:
    """The document that `document_to_json` wrote."""
    return ParsedDocument(
        media_type=value["media_type"],
        title=value["title"],
        warnings=tuple(value["warnings"]),
        pages=tuple(
            Page(ordinal=ordinal, number=number, label=label, markdown=markdown, verbatim=verbatim)
            for ordinal, number, label, markdown, verbatim in value["pages"]
        ),
    )


def error_to_json(error: DocumentError) -> dict[str, str]:
    """The error as plain JSON values; its class is named by its kind."""
    # A library's message may quote text with lone surrogates; dispatch removed those in the document's text.
    return {"kind": error.kind, "message": _storable(error.message), "hint": _storable(error.hint)}


def _storable(text: str) -> str:
    return text.encode("utf-8", errors="replace").decode("utf-8")


def error_from_json(value: dict[str, str], path: str) -> DocumentError:
    """The error that `error_to_json` wrote, of the class with its kind."""
    classes = {one.kind: one for one in DocumentError.__subclasses__()}
    return classes.get(value["kind"], DocumentError)(value["message"], path=path, hint=value["hint"])
