import struct

import pytest

from localrag.parsing.rtf import decompress, read_rich_text


def test_words_of_formatting_are_no_text() -> None:
    rich = read_rich_text(
        rb"{\rtf1\ansi\ansicpg1252{\fonttbl{\f0\fswiss Arial;}}{\*\generator Word;}{\info{\title Not this}}"
        rb"\pard\f0\b Bold\b0  and \{plain\}\par next\tab cell\emdash end\par}"
    )

    assert rich.text == "Bold and {plain}\nnext\tcell—end\n"
    assert not rich.is_html


def test_bytes_are_read_in_the_code_page_of_their_font() -> None:
    rich = read_rich_text(
        rb"{\rtf1\ansi\ansicpg1252{\fonttbl{\f0\fcharset0 A;}{\f1\fcharset204 B;}{\f2\fcharset128 C;}}"
        rb"\f0 caf\'e9 \f1 \'cc\'e8\'f0 {\f2 \'93\'fa\'96\'7b} \plain \'e9}"
    )

    assert rich.text == "café Мир 日本 é"


def test_unicode_characters_replace_their_stand_ins() -> None:
    # \uc2: two characters stand in; -10179 and -8704 are the halves of U+1F600 as signed 16-bit numbers.
    assert read_rich_text(rb"{\rtf1 \u228?x\uc2\u1080??y\uc0\u-10179\u-8704 z}").text == "äxиy\U0001f600z"


def test_html_wrapped_into_rich_text_is_given_back() -> None:
    rich = read_rich_text(
        rb"{\rtf1\ansi\fromhtml1{\*\htmltag64 <p title=\'22a\'22>}\htmlrtf {\b only rtf\htmlrtf0 "
        rb"Price: {\*\htmltag84 &euro;}\htmlrtf \'80\htmlrtf0 5{\*\mhtmltag0 cid:x}\htmlrtf }\htmlrtf0 "
        rb"{\*\htmltag72 </p>}}"
    )

    assert rich.is_html
    assert rich.text == '<p title="a">Price: &euro;5</p>'


def test_stored_rich_text_is_taken_as_it_is() -> None:
    text = rb"{\rtf1 x}"

    assert decompress(struct.pack("<II4sI", 12 + len(text), len(text), b"MELA", 0) + text, 1000) == text


def test_what_is_no_compressed_rich_text_is_refused() -> None:
    with pytest.raises(ValueError, match="cut off"):
        decompress(bytes(15), 1000)
    with pytest.raises(ValueError, match="not compressed"):
        decompress(struct.pack("<II4sI", 12, 0, b"none", 0), 1000)


def test_references_into_the_dictionary_and_into_the_text_itself() -> None:
    # Control byte 0b10110: `W` as it is, a reference to the dictionary's `{\rtf1\ansi` (offset 0, 11 = 9 + 2 bytes),
    # one to the bytes just written (they begin at 207), an `!`, and the end mark: a reference to where writing goes.
    written = 207
    first = _reference(0, 11)
    second = _reference(written, 4)
    end = _reference(written + 1 + 11 + 4 + 1, 2)
    body = bytes([0b10110]) + b"W" + first + second + b"!" + end
    data = struct.pack("<II4sI", 12 + len(body), 1000, b"LZFu", 0) + body

    assert decompress(data, 1000) == rb"W{\rtf1\ansi" + rb"W{\r" + b"!"


def test_a_run_that_reads_what_it_writes() -> None:
    body = bytes([0b110]) + b"a" + _reference(207, 6) + _reference(207 + 7, 2)
    data = struct.pack("<II4sI", 12 + len(body), 1000, b"LZFu", 0) + body

    assert decompress(data, 1000) == b"a" * 7  # one a, and six more from itself


def test_inflating_stops_at_the_limit() -> None:
    body = (bytes([0xFF]) + _reference(0, 17) * 8) * 100
    data = struct.pack("<II4sI", 12 + len(body), 1_000_000, b"LZFu", 0) + body

    assert len(decompress(data, 1000)) < 1000 + 8 * 17


def _reference(offset: int, length: int) -> bytes:
    return struct.pack(">H", offset << 4 | length - 2)
