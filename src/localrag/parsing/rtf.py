"""Rich text -> its plain text, or the HTML that Outlook wrapped into it."""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass, field, replace

# [MS-OXRTFCP] 2.1.3.1: what the dictionary of every compressed text begins with.
_DICTIONARY = (
    b"{\\rtf1\\ansi\\mac\\deff0\\deftab720{\\fonttbl;}{\\f0\\fnil \\froman \\fswiss \\fmodern \\fscript \\fdecor "
    b"MS Sans SerifSymbolArialTimes New RomanCourier{\\colortbl\\red0\\green0\\blue0\r\n\\par "
    b"\\pard\\plain\\f0\\fs20\\b\\i\\u\\tab\\tx"
)
_DICTIONARY_BYTES = 4096
_HEADER = struct.Struct("<II4sI")

_TOKEN = re.compile(
    rb"\\'([0-9a-fA-F]{2})|\\([a-zA-Z]{1,32})(-?\d{1,10})? ?|\\([^a-zA-Z])|([{}])|[\r\n]+|([^\\{}\r\n]+)", re.DOTALL
)
_CHARSETS = {0: "cp1252", 77: "mac_roman", 128: "cp932", 129: "cp949", 134: "cp936", 136: "cp950", 161: "cp1253",
             162: "cp1254", 163: "cp1258", 177: "cp1255", 178: "cp1256", 186: "cp1257", 204: "cp1251", 222: "cp874",
             238: "cp1250"}  # fmt: skip
_WORDS = {"par": "\n", "line": "\n", "sect": "\n", "page": "\n", "row": "\n", "tab": "\t", "cell": "\t",
          "emdash": "—", "endash": "–", "emspace": " ", "enspace": " ", "bullet": "•", "lquote": "‘", "rquote": "’",
          "ldblquote": "“", "rdblquote": "”"}  # fmt: skip
_CODE_PAGE_WORDS = {"mac": "mac_roman", "pc": "cp437", "pca": "cp850"}
_SYMBOLS = {b"~": "\u00a0", b"_": "\u2011", b"-": "", b"\n": "\n", b"\r": "\n"}
# Groups whose text is no text of the document.
_SKIPPED = {"fonttbl", "colortbl", "stylesheet", "info", "pict", "object", "header", "headerl", "headerr", "headerf",
            "footer", "footerl", "footerr", "footerf", "footnote", "fldinst", "listtable", "listoverridetable",
            "themedata", "datastore", "xmlnstbl", "generator", "filetbl", "revtbl", "ftnsep", "ftnsepc", "ftncn",
            "aftnsep", "aftnsepc", "aftncn", "tc", "tcn", "xe", "txe", "rxe", "pntxta", "pntxtb", "nonesttables",
            "shprslt", "sn", "sv"}  # fmt: skip


def decompress(data: bytes, limit: int) -> bytes:
    """The rich text in a message's compressed property ([MS-OXRTFCP]), at most `limit` bytes of it.

    Raises:
        ValueError: the data are no such property or are cut off.
    """
    if len(data) < _HEADER.size:
        raise ValueError("compressed rich text is cut off")
    _, raw_size, magic, _ = _HEADER.unpack_from(data)
    if magic == b"MELA":  # stored as it is
        return data[_HEADER.size : _HEADER.size + raw_size]
    if magic != b"LZFu":
        raise ValueError("not compressed rich text")
    window = bytearray(_DICTIONARY.ljust(_DICTIONARY_BYTES, b"\x00"))
    at, write = _HEADER.size, len(_DICTIONARY)
    out = bytearray()
    while at < len(data) and len(out) < min(raw_size, limit):
        control, at = data[at], at + 1
        for bit in range(8):
            if control >> bit & 1:
                if at + 2 > len(data):
                    return bytes(out)
                offset, length = divmod(data[at] << 8 | data[at + 1], 16)
                at += 2
                if offset == write:  # the end mark: a reference to the place of the next byte
                    return bytes(out)
                piece = bytearray()
                for step in range(length + 2):
                    byte = window[(offset + step) % _DICTIONARY_BYTES]
                    window[(write + step) % _DICTIONARY_BYTES] = byte
                    piece.append(byte)
            else:
                piece = bytearray(data[at : at + 1])
                at += 1
                window[write : write + 1] = piece
            out += piece
            write = (write + len(piece)) % _DICTIONARY_BYTES
    return bytes(out)


@dataclass(frozen=True, slots=True)
class RichText:
    """What the rich text says: HTML when it was made from HTML, else plain text."""

    text: str
    is_html: bool


@dataclass(frozen=True, slots=True)
class _State:
    """What a group inherits and what ends with it."""

    skip: bool = False
    html_tag: bool = False  # inside \htmltag: HTML to be taken as it is
    rtf_only: bool = False  # between \htmlrtf and \htmlrtf0: formatting that the HTML already says
    unicode_skip: int = 1  # how many characters after \u stand in for it
    encoding: str = "cp1252"
    in_fonts: bool = False


@dataclass(slots=True)
class RichTextReader:
    """Reads tokens one by one; a reader of whole documents builds on it (rtf_file)."""

    pieces: list[str] = field(default_factory=list)
    pending: bytearray = field(default_factory=bytearray)  # bytes not yet decoded, all of one code page
    state: _State = field(default_factory=_State)
    stack: list[_State] = field(default_factory=list)
    fonts: dict[int, str] = field(default_factory=dict)
    default: str = "cp1252"
    font: int = 0
    is_html: bool = False
    star: bool = False  # the group began with \*: to be skipped when its word is unknown
    standing_in: int = 0

    def read(self, data: bytes) -> RichText:
        at = 0
        while token := _TOKEN.search(data, at):
            at = token.end()
            hexadecimal, word, number, symbol, brace, text = token.groups()
            if brace:
                self._brace(brace)
            elif word == b"bin":  # bytes of a picture follow
                at += max(0, int(number or 0))
            elif word:
                self._word(word.decode(), None if number is None else int(number))
            elif hexadecimal:
                self._bytes(bytes([int(hexadecimal, 16)]))
            elif symbol == b"*":
                self.star = True
            elif symbol in _SYMBOLS:
                self._text(_SYMBOLS[symbol])
            elif symbol or text:
                self._bytes(symbol or text)
        self._flush()
        return RichText(text=joined("".join(self.pieces)), is_html=self.is_html)

    def _brace(self, brace: bytes) -> None:
        self.standing_in = 0
        self.star = False
        if brace == b"{":
            self.stack.append(self.state)
        elif self.stack:
            self._flush()
            self.state = self.stack.pop()

    def _word(self, word: str, number: int | None) -> None:
        unknown_destination, self.star = self.star, False
        if word in _WORDS:
            self._text(_WORDS[word])
        elif word == "u" and number is not None:
            self._text(chr(number % 0x10000))
            self.standing_in = self.state.unicode_skip
        elif word == "fonttbl":
            self.state = replace(self.state, skip=True, in_fonts=True)
        elif word == "htmltag" and unknown_destination:
            self.state = replace(self.state, html_tag=True)
        elif word in _SKIPPED or unknown_destination:
            self.state = replace(self.state, skip=True)
        else:
            self._setting(word, number)

    def _setting(self, word: str, number: int | None) -> None:
        match word, number:
            case "fromhtml", _:
                self.is_html = True
            case "htmlrtf", _:
                self.state = replace(self.state, rtf_only=number != 0)
            case "uc", int():
                self.state = replace(self.state, unicode_skip=max(0, number))
            case "mac" | "pc" | "pca", None:
                self.default = _CODE_PAGE_WORDS[word]
                self._use(self.default)
            case "ansicpg", int():
                self.default = _code_page(number)
                self._use(self.default)
            case "fcharset", int() if self.state.in_fonts:
                self.fonts[self.font] = _CHARSETS.get(number, self.default)
            case "f", int() if self.state.in_fonts:
                self.font = number
            case "f", int():
                self._use(self.fonts.get(number, self.default))
            case "plain", _:
                self._use(self.default)

    def _use(self, encoding: str) -> None:
        if encoding != self.state.encoding:
            self._flush()
            self.state = replace(self.state, encoding=encoding)

    def _text(self, text: str) -> None:
        if self._is_shown():
            self._flush()
            self.pieces.append(text)

    def _bytes(self, data: bytes) -> None:
        if self.standing_in:
            cut = min(self.standing_in, len(data))
            self.standing_in -= cut
            data = data[cut:]
        if self._is_shown():
            self.pending += data

    def _is_shown(self) -> bool:
        return not self.state.skip and (self.state.html_tag or not self.state.rtf_only)

    def _flush(self) -> None:
        if self.pending:
            self.pieces.append(self.pending.decode(self.state.encoding, "replace"))
            self.pending.clear()


def read_rich_text(data: bytes) -> RichText:
    """The text of an RTF document, or the HTML in it ([MS-OXRTFEX])."""
    return RichTextReader().read(data)


def joined(text: str) -> str:
    """The text with its surrogates joined: characters beyond the first plane come as two \\u of a pair."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _code_page(number: int) -> str:
    name = "utf-8" if number == 65001 else f"cp{number}"
    try:
        "".encode(name)
    except LookupError:
        return "cp1252"
    return name
