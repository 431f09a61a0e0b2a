"""Bytes -> text in whatever encoding they are: decided by proof where there is one, by likelihood where not.

Proof: a byte order mark, valid UTF-8, the NUL pattern of UTF-16. Otherwise every candidate encoding that decodes the
bytes without an error is scored by how likely its text is (encoding_models), and the likeliest wins.
"""

from __future__ import annotations

import codecs
from functools import lru_cache

from localrag.parsing.encoding_models import likeliest

# What is looked at to see UTF-16, and what is scored under every candidate: more costs time and changes nothing.
_SAMPLE_BYTES = 64 * 1024
_SCORED_BYTES = 8 * 1024
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# A label in a file often names a subset of what was written; these are the supersets browsers use for it.
_SUPERSETS = {
    "ascii": "cp1252", "us-ascii": "cp1252", "latin-1": "cp1252", "latin1": "cp1252", "iso-8859-1": "cp1252",
    "iso8859-1": "cp1252", "iso-8859-9": "cp1254", "iso8859-9": "cp1254", "gb2312": "gb18030", "gbk": "gb18030",
    "shift_jis": "cp932", "shift-jis": "cp932", "sjis": "cp932", "x-sjis": "cp932", "euc-kr": "cp949",
    "euc_kr": "cp949", "ks_c_5601-1987": "cp949", "big5": "big5hkscs", "tis-620": "cp874",
}  # fmt: skip
# 7-bit encodings whose escape sequences are valid UTF-8.
_SEVEN_BIT = (b"\x1b$B", "iso2022_jp_2"), (b"\x1b$@", "iso2022_jp_2"), (b"\x1b$)C", "iso2022_kr")


def decode_text(data: bytes, declared: str | None = None) -> tuple[str, str]:
    """The text and the name of the encoding it was in; bytes that fit no encoding become U+FFFD.

    Args:
        data: the whole file.
        declared: the encoding the file names itself (an HTML meta tag, an XML declaration), used when it decodes the
            bytes and nothing proves otherwise.
    """
    encoding = sniff_unicode(data) or _sniff_seven_bit(data)
    if encoding is not None:
        return data.decode(encoding, errors="replace"), encoding
    text = _strictly(data, "utf-8")
    if text is not None:
        return text, "utf-8"
    named = _codec(declared)
    if named is not None and not named.startswith(("utf-16", "utf-32", "utf-8", "utf-7")):
        text = _strictly(data, named)
        if text is not None:
            return text, named
    sample = _telling_lines(data)
    encoding = "utf-8" if _is_damaged_utf8(sample) else likeliest(sample)
    return data.decode(encoding, errors="replace"), encoding


def _telling_lines(data: bytes) -> bytes:
    """The first lines that are not plain ASCII, which alone tell encodings apart; LF is never part of a character."""
    if len(data) <= _SCORED_BYTES:
        return data
    lines: list[bytes] = []
    size = 0
    for line in data.splitlines(keepends=True):
        if not line.isascii():
            lines.append(line)
            size += len(line)
            if size > _SCORED_BYTES:
                break
    return b"".join(lines)[: 2 * _SCORED_BYTES]


def sniff_unicode(data: bytes) -> str | None:
    """The UTF encoding shown by a byte order mark or by the NUL bytes of UTF-16, else None."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return encoding
    sample = data[:_SAMPLE_BYTES]
    nuls = sample.count(0)
    if nuls == 0 or len(data) < 4 or (len(data) % 2 and len(data) <= _SAMPLE_BYTES):
        return None
    for encoding, high, low in (("utf-16-le", sample[1::2], sample[0::2]), ("utf-16-be", sample[0::2], sample[1::2])):
        if _is_utf16(sample, encoding, high, low):
            return encoding
    return None


def _is_utf16(sample: bytes, encoding: str, high: bytes, low: bytes) -> bool:
    """Whether the high bytes are those of text.

    ASCII characters, of which every text has some (spaces, line ends), put NULs among the high bytes only, and the
    other high bytes of one script take few values: 1 or 2 for alphabets, some 80 for Han, against 200 of 256 at random.
    """
    nuls = high.count(0)
    # Some low bytes are NUL as well: that of U+4E00, the Chinese "one", is.
    if low.count(0) > 0.5 * nuls or nuls < 0.01 * len(high):
        return False
    if nuls > 0.4 * len(high):
        return True
    text = _strictly(sample[: len(sample) // 2 * 2], encoding)
    if text is None or nuls < 2:
        return False
    letters = sum(1 for char in text if char.isalnum() or char.isspace() or char in "，。、,.!?:;\"'()-")
    return letters > 0.9 * len(text) and any(char in "\n \u3000" for char in text)


def _sniff_seven_bit(data: bytes) -> str | None:
    for escape, encoding in _SEVEN_BIT:
        if escape in data and _strictly(data, encoding) is not None:
            return encoding
    return None


def _is_damaged_utf8(data: bytes) -> bool:
    """Whether all but a few bytes are UTF-8: a cut or patched file, which no other encoding would explain.

    One multi-byte sequence in another encoding looks like UTF-8 with a chance of a few percent; thirty times as many
    good ones as bad ones do not happen by chance.
    """
    text = data.decode("utf-8", errors="replace")
    bad = text.count("\ufffd")
    good = sum(1 for char in text if char > "\x7f") - bad
    return good > 30 * bad


@lru_cache(maxsize=64)
def _codec(label: str | None) -> str | None:
    if not label:
        return None
    label = label.strip().lower()
    try:
        codecs.lookup(label)
    except LookupError:
        return None
    return _SUPERSETS.get(label, label)


def _strictly(data: bytes, encoding: str) -> str | None:
    try:
        return data.decode(encoding)
    except (UnicodeDecodeError, LookupError):
        return None
