"""Bytes to text: proof first, likelihood where there is none."""

from __future__ import annotations

import codecs

import pytest

from localrag.parsing.encoding import decode_text, sniff_unicode


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("café", "cp1252"),
        ("naïve résumé — “quoted”", "cp1252"),
        ("Preis: 5 €", "cp1252"),
        ("it’s", "cp1252"),
        ("Temperature 20°C ±2", "cp1252"),
        ("© 2020 Acme", "cp1252"),
        ("name,city\nJosé,São Paulo\n", "cp1252"),
        ("Wszyscy ludzie rodzą się wolni", "cp1250"),
        ("Všichni lidé rodí se svobodní", "iso8859_2"),
        ("Привет", "cp1251"),
        ("привет мир", "koi8_r"),
        ("тест данных", "cp866"),
        ("товар;цена\nхлеб;10\n", "cp1251"),
        ("Όλοι οι άνθρωποι γεννιούνται ελεύθεροι", "cp1253"),
        ("Bütün insanlar hür, haysiyet ve haklar bakımından eşit doğarlar", "cp1254"),
        ("כל בני האדם נולדו בני חורין", "cp1255"),
        ("يولد جميع الناس أحرارا", "cp1256"),
        ("มนุษย์ทั้งหลายเกิดมามีอิสระ", "cp874"),
        ("日本", "cp932"),
        ("名前,年齢\r\n", "cp932"),
        ("名前は何ですか", "euc_jp"),
        ("中国", "gb18030"),
        ("姓名,城市\n张伟,北京\n", "gb18030"),
        ("你好，世界", "gb18030"),
        ("繁體中文", "big5"),
        ("안녕하세요", "cp949"),
        ("日本語の文", "iso2022_jp"),
        ("plain ASCII", "ascii"),
        ("grüße 日本 🎉", "utf-8"),
    ],
)
def test_short_text_in_a_common_encoding_is_read(text: str, encoding: str) -> None:
    assert decode_text(text.encode(encoding))[0] == text


@pytest.mark.parametrize(
    ("mark", "encoding"),
    [
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
        (codecs.BOM_UTF32_LE, "utf-32-le"),
        (codecs.BOM_UTF32_BE, "utf-32-be"),
    ],
)
def test_a_byte_order_mark_decides_and_is_no_text(mark: bytes, encoding: str) -> None:
    assert decode_text(mark + "Zoë, 山".encode(encoding))[0] == "Zoë, 山"


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("text", ["Hamburgers\n", "Привет, мир! Как дела?\n", "这是 一个 测试。\n第二行\n"])
def test_utf_16_without_a_mark_is_seen(text: str, encoding: str) -> None:
    assert decode_text(text.encode(encoding))[0] == text


def test_a_stray_nul_does_not_make_utf_16() -> None:
    assert sniff_unicode(b"a,b,c\n\x00,2,3") is None
    assert decode_text(b"a,b,c\n\x00,2,3")[0] == "a,b,c\n\x00,2,3"


@pytest.mark.parametrize(
    ("data", "declared", "text"),
    [
        ("Zażółć".encode("iso8859_2"), "iso-8859-2", "Zażółć"),
        ("“x”".encode("cp1252"), "iso-8859-1", "“x”"),  # browsers read the label as its superset
        ("①".encode("cp932"), "Shift_JIS", "①"),
        ("déjà".encode(), "iso-8859-1", "déjà"),  # valid UTF-8 proves the label wrong
        ("déjà".encode("cp1252"), "no-such-codec", "déjà"),
        ("déjà".encode("cp1252"), "utf-8", "déjà"),
        (b"plain", "utf-16", "plain"),
    ],
)
def test_a_declared_encoding_is_used_unless_the_bytes_prove_it_wrong(data: bytes, declared: str, text: str) -> None:
    assert decode_text(data, declared)[0] == text


def test_utf_8_with_a_damaged_byte_stays_utf_8() -> None:
    text = "Die Straße führt über die Brücke. " * 20
    data = bytearray(text.encode())
    data[10:10] = b"\xff"  # behind "Die Straß", nine characters in ten bytes
    assert decode_text(bytes(data)) == (text[:9] + "\ufffd" + text[9:], "utf-8")


def test_a_long_file_is_told_by_its_lines_that_are_not_ascii() -> None:
    text = "plain line\n" * 50_000 + "Les élèves étaient là.\n"
    assert decode_text(text.encode("cp1252")) == (text, "cp1252")


def test_bytes_of_no_encoding_are_replaced_not_raised() -> None:
    text, _ = decode_text(b"abc \x81\xff\xfe\xfd\x8d\x00 def")
    assert text.startswith("abc ")
