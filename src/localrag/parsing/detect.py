"""What a file is: told from its content first, from its name second.

Content decides wherever it has a signature (PDF, zip and OLE containers, HTML, XML, notebooks, pictures). Plain text
has none, so there the extension chooses among the types of text. A file whose name promises a binary
format but whose bytes lack its signature is damaged, and said to be so, rather than indexed as raw bytes.
"""

from __future__ import annotations

import json
import re
from pathlib import Path, PurePosixPath

from localrag.errors import DocumentError, UnreadableDocument, UnsupportedDocument
from localrag.parsing.containers import ole_format, zip_format
from localrag.parsing.encoding import sniff_unicode
from localrag.parsing.formats import BY_EXTENSION, FORMATS, MAIN_TYPES, Format
from localrag.parsing.source import Limits

# Enough for every signature, for a long XML prolog and for a fair sample of control bytes.
HEAD_BYTES = 64 * 1024
# A JSON file of an unknown kind is decoded to tell what it is only up to this size; notebooks are far smaller.
_JSON_PROBE_BYTES = 64 * 1024 * 1024


# Types localrag does not read although their bytes may look like text, and what to do about them.
_UNREAD_EXTENSIONS = {"ps": ("PostScript", "Convert it to PDF and add that file.")}

# (offset, signature, format): pictures.
_PICTURES = (
    (0, b"\x89PNG\r\n\x1a\n", "png"), (0, b"\xff\xd8\xff", "jpg"), (0, b"GIF8", "gif"), (0, b"II*\x00", "tiff"),
    (0, b"MM\x00*", "tiff"), (8, b"WEBP", "webp"),
)  # fmt: skip
# "BM", the file's size, four zeros, where the pixels begin, and how long the next header is. Of a white page nearly all
# other bytes are 255, which is no sign of anything binary.
_BITMAP = re.compile(rb"BM.{4}\x00{4}.{4}[\x0c\x28\x34\x38\x40\x6c\x7c]\x00{3}", re.DOTALL)
# (offset, signature, what it is): formats that are recognised in order to be refused with a fitting word.
_SIGNATURES = (
    (4, b"ftypheic", "HEIC picture"), (4, b"ftypmif1", "HEIC picture"), (4, b"ftypavif", "AVIF picture"),
    (0, b"%!PS", "PostScript"), (0, b"MZ", "program"), (0, b"\x7fELF", "program"),
    (0, b"\xcf\xfa\xed\xfe", "program"), (0, b"\x1f\x8b", "gzip archive"), (0, b"BZh", "bzip2 archive"),
    (0, b"\xfd7zXZ\x00", "xz archive"), (0, b"7z\xbc\xaf\x27\x1c", "7-Zip archive"),
    (0, b"Rar!\x1a\x07", "RAR archive"),
    (0, b"\x28\xb5\x2f\xfd", "zstd archive"), (257, b"ustar", "tar archive"), (0, b"SQLite format 3\x00", "database"),
    (4, b"ftyp", "video"), (0, b"ID3", "sound"), (0, b"OggS", "sound"), (0, b"RIFF", "sound or video"),
    (0, b"PAR1", "Parquet table"), (0, b"wOF", "font"), (0, b"\x00\x01\x00\x00\x00", "font"),
)  # fmt: skip
# Signatures this short also begin ordinary words ("BM25 is ...", "MZ"), so the rest must be binary as well.
_SHORT_SIGNATURE = 4

# First record of Excel files older than the OLE container (BIFF2, 3, 4) and of bare BIFF5/8 streams.
_BIFF_STARTS = (b"\x09\x00\x04\x00", b"\x09\x02\x06\x00", b"\x09\x04\x06\x00", b"\x09\x08\x08\x00", b"\x09\x08\x10\x00")

_PROLOG = re.compile(r"(?:\s|<!--.*?-->|<\?(?!xml\s).*?\?>)*", re.DOTALL)
_XML_DECLARATION = re.compile(r"<\?xml\s.*?\?>", re.DOTALL)
_HTML_START = re.compile(r"<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE)
_XML_START = re.compile(r"<(?:!DOCTYPE\s|[A-Za-z_:][\w:.-]*[\s/>])")
# What mail programs write and people do not: a mailbox's separator, and a header's first line.
_MAILBOX_START = re.compile(r"From \S+.*\d{4}\s*\n[\w-]+:")
_HEADER_LINE = re.compile(
    r"(?:Return-Path|Received|Delivered-To|Message-ID|MIME-Version|From|X-[\w-]+): ", re.IGNORECASE
)
_END_OF_HEADER = re.compile(r"\r?\n\r?\n")
_MAIL_HEADERS = (
    re.compile(r"^From: ", re.I | re.M),
    re.compile(r"^(?:Message-ID|Received|MIME-Version): ", re.I | re.M),
)
_CONTENT_LINES = re.compile(r"\s*BEGIN:(VCARD|VCALENDAR)\s*\n", re.IGNORECASE)
_CONTENT_LINES_KINDS = {"VCARD": "vcf", "VCALENDAR": "ics"}
_NBFORMAT = re.compile(rb'"nbformat"\s*:\s*\d')


def detect(path: Path, name: str, limits: Limits) -> Format:
    """The format of the file.

    Raises:
        UnsupportedDocument: a type localrag does not read; the hint says which it does.
        UnreadableDocument: the bytes are not what the name says, or a container is damaged.
        DocumentTooLarge: an archive with more members than the limit.
        EncryptedDocument: an Office file that is encrypted as a whole.
    """
    with path.open("rb") as file:
        head = file.read(HEAD_BYTES)
    return FORMATS[_binary_format(path, name, head, limits) or _text_format(path, name, head)]


def extension(name: str) -> str:
    """The lower-case extension without its dot; empty when there is none."""
    return PurePosixPath(name.replace("\\", "/")).suffix.lower().removeprefix(".")


def _binary_format(path: Path, name: str, head: bytes, limits: Limits) -> str | None:
    ending = extension(name)
    if head.startswith(b"%PDF-") or (b"%PDF-" in head[:1024] and (ending == "pdf" or is_binary(head))):
        return "pdf"
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08")):
        return zip_format(path, name, limits)
    if head.startswith(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"):
        return ole_format(path, name)
    if head.lstrip().startswith(b"{\\rtf"):
        return "rtf"
    if head.startswith(_BIFF_STARTS):
        return "xls"
    if _BITMAP.match(head):
        return "bmp"
    for offset, signature, what in _PICTURES:
        if _has(head, offset, signature):
            return what
    for offset, signature, what in _SIGNATURES:
        if _has(head, offset, signature):
            raise _unsupported(name, what)
    return None


def _has(head: bytes, offset: int, signature: bytes) -> bool:
    return head.startswith(signature, offset) and (len(signature) >= _SHORT_SIGNATURE or is_binary(head))


def is_binary(head: bytes) -> bool:
    """Whether these first bytes of a file are no text in any encoding.

    Text holds next to no control characters. Random bytes hold 11% of them (28 of 256), so half of that is the line;
    a single stray NUL in a small file (an exported database column) is forgiven.
    """
    encoding = sniff_unicode(head)
    if encoding is not None:
        text = head.decode(encoding, errors="replace")
        strange = sum(1 for char in text if (char < " " and char not in "\t\n\r\f\x0b\x1b") or char == "\ufffd")
        return strange >= 2 and strange > 0.055 * len(text)
    controls = len(head) - len(head.translate(None, _CONTROL_BYTES))
    return controls >= 2 and controls > 0.055 * len(head)


_CONTROL_BYTES = bytes(set(range(32)) - set(b"\t\n\r\f\x0b\x1b")) + b"\x7f"


def _text_format(path: Path, name: str, head: bytes) -> str:
    ending = extension(name)
    if ending in _UNREAD_EXTENSIONS:
        what, advice = _UNREAD_EXTENSIONS[ending]
        raise _unsupported(name, f"{what} file", advice)
    named = BY_EXTENSION.get(ending)
    if is_binary(head):
        raise _binary_problem(name, named)
    text = head.decode(sniff_unicode(head) or "latin-1", errors="replace").removeprefix("\ufeff")
    markup = _markup_format(text)
    if markup is not None and not (named and _may_hold(named, markup)):
        return markup
    if kind := _CONTENT_LINES.match(text):
        return _CONTENT_LINES_KINDS[kind[1].upper()]
    if named is None:
        return _unnamed_text(path, text)
    if named.binary:
        return _text_in_disguise(name, named, text)
    if named.name == "json" and _is_notebook(path):
        return "ipynb"
    return named.name


def _may_hold(named: Format, markup: str) -> bool:
    """Whether a file of this name is what it says although it begins like HTML or XML."""
    return named.name == "php" or (named.name == "html" and markup == "xml")


def _unnamed_text(path: Path, text: str) -> str:
    """The format of a text whose name does not tell it."""
    if _MAILBOX_START.match(text):
        return "mbox"
    if _HEADER_LINE.match(text):
        header = _END_OF_HEADER.split(text, maxsplit=1)[0]
        return "eml" if all(pattern.search(header) for pattern in _MAIL_HEADERS) else "txt"
    if _looks_like_json(text):
        return "ipynb" if _is_notebook(path) else "json" if _is_json(path) else "txt"
    return "xml" if _XML_START.match(text.lstrip()) and text.rstrip().endswith(">") else "txt"


def _markup_format(text: str) -> str | None:
    """`html` or `xml` when the text begins in a way only such a file does."""
    start = _PROLOG.match(text)
    rest = text[start.end() if start else 0 :]
    declaration = _XML_DECLARATION.match(rest)
    if declaration:
        after = rest[declaration.end() :]
        prolog = _PROLOG.match(after)
        return "html" if _HTML_START.match(after, prolog.end() if prolog else 0) else "xml"
    return "html" if _HTML_START.match(rest) else None


def _text_in_disguise(name: str, named: Format, text: str) -> str:
    """`tsv` for the delimited text that many programs save as .xls; any other text is not what its name says."""
    lines = text.splitlines()[:3]
    if named.name in ("xls", "xlsx") and len(lines) > 1 and all("\t" in line for line in lines):
        return "tsv"
    raise UnreadableDocument(
        f"{name} is no {named.binary} file: its content is plain text.",
        path=name,
        hint="The file is damaged or has the wrong extension. If the text is what you want, rename it to .txt.",
    )


def _looks_like_json(text: str) -> bool:
    return text.lstrip()[:1] in ("{", "[")


def _is_notebook(path: Path) -> bool:
    value = _decoded_json(path, must_hold=_NBFORMAT)
    return isinstance(value, dict) and "nbformat" in value and ("cells" in value or "worksheets" in value)


def _is_json(path: Path) -> bool:
    return _decoded_json(path) is not None


def _decoded_json(path: Path, must_hold: re.Pattern[bytes] | None = None) -> object:
    """The decoded value; None when the file is no JSON, too large to probe, or lacks the pattern."""
    if path.stat().st_size > _JSON_PROBE_BYTES:
        return None
    data = path.read_bytes()
    if must_hold is not None and not must_hold.search(data):
        return None
    try:
        value: object = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return value


def _unsupported(name: str, what: str, advice: str = "") -> DocumentError:
    if what.endswith("picture"):
        advice = "Save it as PNG or JPEG and add that file."
    elif what in ("sound", "video", "sound or video"):
        advice = "Add a transcript of what is said."
    return UnsupportedDocument(
        f"{name} is of a type that localrag does not read: {what}.",
        path=name,
        hint=advice or f"Convert it to one of the supported types: {MAIN_TYPES}.",
    )


def _binary_problem(name: str, named: Format | None) -> DocumentError:
    if named is None:
        return _unsupported(name, "unknown binary data")
    if named.binary:
        return UnreadableDocument(
            f"{name} is damaged: it does not begin as {named.binary} files do.",
            path=name,
            hint="Fetch or export the file again.",
        )
    return UnreadableDocument(
        f"{name} holds binary data, not text.",
        path=name,
        hint="Check that the file is complete and that its extension is right.",
    )
