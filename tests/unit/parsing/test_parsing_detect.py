"""The type of a file: from its content first, from its extension second."""

from __future__ import annotations

import importlib
import io
import json
import os
import random
import zipfile
from pathlib import Path

import pytest

from localrag.errors import DocumentError, UnreadableDocument, UnsupportedDocument
from localrag.parsing.detect import detect, extension
from localrag.parsing.formats import BY_EXTENSION, FORMATS, MAIN_TYPES
from localrag.parsing.source import Limits

ODF = "application/vnd.oasis.opendocument"
OFFICE = "application/vnd.openxmlformats-officedocument"


def _detected(tmp_path: Path, name: str, content: bytes) -> str:
    path = tmp_path / "content"
    path.write_bytes(content)
    return detect(path, name, Limits()).name


def _zip(members: dict[str, str]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return buffer.getvalue()


def _package(main: str) -> bytes:
    types = f'<Types><Override PartName="/x/main.xml" ContentType="{OFFICE}.{main}.main+xml"/></Types>'
    return _zip({"[Content_Types].xml": types, "x/main.xml": "<x/>"})


def _macro_package(main: str) -> bytes:
    types = f'<Types><Override PartName="/x/m.xml" ContentType="application/vnd.ms-{main}.main+xml"/></Types>'
    return _zip({"[Content_Types].xml": types, "x/m.xml": "<x/>"})


NOTEBOOK = json.dumps({"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()


@pytest.mark.parametrize(
    ("name", "content", "found"),
    [
        ("a.pdf", b"%PDF-1.7\n", "pdf"),
        ("a.txt", b"%PDF-1.7\n", "pdf"),
        ("a.pdf", b"junk before\n%PDF-1.4\n", "pdf"),
        ("about-pdf.md", b"A file begins with %PDF-1.4.\n", "md"),
        ("a.pdf", _package("wordprocessingml.document"), "docx"),
        ("a.zip", _package("presentationml.slideshow"), "pptx"),
        ("a.docx", _package("spreadsheetml.sheet"), "xlsx"),
        ("a.bin", _zip({"[Content_Types].xml": "<Types/>", "word/document.xml": "<x/>"}), "docx"),
        ("a.zip", _zip({"mimetype": "application/epub+zip", "x": ""}), "epub"),
        ("a.zip", _zip({"META-INF/container.xml": "<x/>"}), "epub"),
        ("a.docx", _zip({"notes.txt": "x"}), "zip"),
        ("a.zip", _zip({}), "zip"),
        ("a.xls", b"\x09\x04\x06\x00\x00\x00\x10\x00" + bytes(20), "xls"),
        ("a.txt", b"<!DOCTYPE html><p>x", "html"),
        ("a.xml", b'<?xml version="1.0"?>\n<!DOCTYPE html PUBLIC "x" "y"><html>', "html"),
        ("a.txt", b"<!-- c -->\n <HTML lang=en>", "html"),
        ("a.htm", b"no tags at all", "html"),
        ("a.html", '<?xml version="1.0"?><html>'.encode("utf-16"), "html"),
        ("a.txt", b'<?xml version="1.0"?><a/>', "xml"),
        ("a.txt", '<?xml version="1.0"?><a/>'.encode("utf-16"), "xml"),
        ("a.unknown", b"<records><r>1</r></records>", "xml"),
        ("readme.md", b"<h1 align=center>Title</h1>\ntext", "md"),
        ("a.ipynb", NOTEBOOK, "ipynb"),
        ("a.json", NOTEBOOK, "ipynb"),
        ("a", NOTEBOOK, "ipynb"),
        ("a.json", b'{"x": {"nbformat": 4}}', "json"),
        ("a.json", b"[1,", "json"),
        ("a", b'{"x": 1}', "json"),
        ("a", b"{not json}", "txt"),
        ("a.txt", b'{"x": 1}', "txt"),
        ("a.csv", b"a,b\n1,2\n", "csv"),
        ("a.tsv", b"a\tb\n", "tsv"),
        ("a.csv", b"a,b,c\n\x00,2,3\n", "csv"),
        ("a.xls", b"a\tb\n1\t2\n", "tsv"),
        ("A.MARKDOWN", b"# x", "md"),
        ("README", b"words", "txt"),
        ("main.py", b"print(1)", "py"),
        ("main.PYI", b"x: int", "py"),
        ("list.py", b"[1, 2]", "py"),
        ("page.php", b"<?php echo 1 ?>\n<html>", "php"),
        ("saved.py", b"<!doctype html><p>Not found", "html"),
        ("app_de.ts", b'<?xml version="1.0"?><!DOCTYPE TS><TS/>', "xml"),
        ("conf.yml", b"a: 1", "yaml"),
        ("Makefile", b"all:\n\techo", "txt"),
        ("server.log", b"12:00 up", "txt"),
        ("a.odt", _zip({"mimetype": f"{ODF}.text"}), "odt"),
        ("a.zip", _zip({"mimetype": f"{ODF}.spreadsheet-template"}), "ods"),
        ("a.ods", _zip({"META-INF/manifest.xml": f'<m t="{ODF}.presentation"/>'}), "odp"),
        ("a.odg", _zip({"mimetype": f"{ODF}.graphics"}), "odg"),
        ("a.rtf", b"{\\rtf1 x}", "rtf"),
        ("a.doc", b"\n{\\rtf1 x}", "rtf"),
        ("a.eml", b"Subject: x\n\ny", "eml"),
        ("a.mbox", b"From a@b Sat Jan  3 01:05:34 1996\nSubject: x\n\ny", "mbox"),
        ("part.shtml", b"<p>x", "html"),
        ("a.docm", _package("wordprocessingml.document"), "docx"),
        ("a.dotx", _package("wordprocessingml.template"), "docx"),
        ("a.xltx", _package("spreadsheetml.template"), "xlsx"),
        ("a.potx", _package("presentationml.template"), "pptx"),
        ("a.docm", _macro_package("word.document.macroEnabled"), "docx"),
        ("a.xlsm", _macro_package("excel.sheet.macroEnabled"), "xlsx"),
        ("a.ppsm", _macro_package("powerpoint.slideshow.macroEnabled"), "pptx"),
        ("a.txt", b"BM25 is a ranking function.", "txt"),
        ("a.txt", b"MZ is a prefix", "txt"),
        ("a.txt", "schön".encode("utf-16-le"), "txt"),
    ],
)
def test_content_decides_and_the_extension_chooses_among_texts(
    tmp_path: Path, name: str, content: bytes, found: str
) -> None:
    assert _detected(tmp_path, name, content) == found


BINARY = random.Random(3).randbytes(5000)


@pytest.mark.parametrize(
    ("name", "content", "kind", "word"),
    [
        ("a.heic", bytes(4) + b"ftypheic" + BINARY, UnsupportedDocument, "HEIC picture"),
        ("a.png", b"just words", UnreadableDocument, "plain text"),
        ("a.jpg", BINARY, UnreadableDocument, "damaged"),
        ("a.exe", b"MZ\x90\x00" + bytes(60), UnsupportedDocument, "program"),
        ("a.7z", b"7z\xbc\xaf\x27\x1c" + BINARY, UnsupportedDocument, "7-Zip"),
        ("a.tar", bytes(257) + b"ustar" + bytes(200), UnsupportedDocument, "tar"),
        ("a.bin", BINARY, UnsupportedDocument, "unknown binary"),
        ("a.doc", b"Subject: x\n\ny", UnreadableDocument, "plain text"),
        ("a.mp3", b"ID3\x03" + BINARY, UnsupportedDocument, "sound"),
        ("a.rtf", b"just words", UnreadableDocument, "plain text"),
        ("a.odf", _zip({"mimetype": f"{ODF}.formula"}), UnsupportedDocument, "OpenDocument"),
        ("a.odt", b"not a zip", UnreadableDocument, "plain text"),
        ("a.xlsb", _zip({"xl/workbook.bin": "x"}), UnsupportedDocument, "xlsb"),
        ("a.txt", BINARY, UnreadableDocument, "binary data"),
        ("a.csv", b"\x00\x01\x02" * 50, UnreadableDocument, "binary data"),
        ("a.pdf", BINARY, UnreadableDocument, "damaged"),
        ("a.pdf", b"just words", UnreadableDocument, "plain text"),
        ("a.docx", b"PK\x03\x04" + BINARY, UnreadableDocument, "central directory"),
        ("a.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + BINARY, UnreadableDocument, "OLE"),
    ],
)
def test_what_cannot_be_read_is_refused_with_what_it_is(
    tmp_path: Path, name: str, content: bytes, kind: type[DocumentError], word: str
) -> None:
    with pytest.raises(kind) as caught:
        _detected(tmp_path, name, content)
    assert word in caught.value.message
    assert name in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize(
    ("name", "content", "advice"),
    [
        ("scan.heic", bytes(4) + b"ftypheic" + BINARY, "Save it as PNG or JPEG"),
        ("talk.mp3", b"ID3\x03" + BINARY, "transcript"),
        ("old.ps", b"words", "Convert it to PDF"),
        ("a.xlsb", _zip({"xl/workbook.bin": "x"}), "Save it as .xlsx"),
        ("a.bin", BINARY, MAIN_TYPES),
    ],
)
def test_the_hint_says_what_to_do(tmp_path: Path, name: str, content: bytes, advice: str) -> None:
    with pytest.raises(UnsupportedDocument) as caught:
        _detected(tmp_path, name, content)
    assert advice in caught.value.hint


@pytest.mark.parametrize(
    ("head", "found"),
    [
        (b"\x89PNG\r\n\x1a\n", "png"),
        (b"\xff\xd8\xff\xe0", "jpg"),
        (b"II*\x00", "tiff"),
        (b"MM\x00*", "tiff"),
        (b"RIFF\x10\x00\x00\x00WEBPVP8 ", "webp"),
        (b"BM\x46\x00\x00\x00" + bytes(4) + b"\x36\x00\x00\x00\x28\x00\x00\x00", "bmp"),
        (b"GIF89a", "gif"),
    ],
)
def test_pictures_are_told_by_their_signature(tmp_path: Path, head: bytes, found: str) -> None:
    assert _detected(tmp_path, "upload", head + BINARY) == found


def test_every_format_has_a_reader_and_a_media_type_of_its_own() -> None:
    readers = {one.module for one in FORMATS.values()}
    assert all(callable(importlib.import_module(module).read) for module in readers)
    assert len({one.media_type for one in FORMATS.values()}) == len(FORMATS)


def test_no_extension_is_claimed_twice() -> None:
    assert len(BY_EXTENSION) == sum(len(one.extensions) for one in FORMATS.values())


def test_the_readme_lists_exactly_the_supported_types() -> None:
    readme = (Path(__file__).parents[3] / "README.md").read_text(encoding="utf-8")
    section = readme.split("## What it reads")[1].split("\n## ")[0]
    rows = [line.split("|")[2] for line in section.splitlines() if line.startswith("|")][2:]

    listed = [extension for row in rows for extension in row.split()]
    assert sorted(listed) == sorted(BY_EXTENSION)


@pytest.mark.parametrize(
    ("name", "found"),
    [("a.PDF", "pdf"), ("dir.d/name", ""), ("dir\\a.Txt", "txt"), (".gitignore", ""), ("a.tar.gz", "gz"), ("", "")],
)
def test_the_extension_is_that_of_the_last_part(name: str, found: str) -> None:
    assert extension(name) == found


def test_truncated_and_flipped_archives_never_raise_anything_else(tmp_path: Path) -> None:
    whole = _package("wordprocessingml.document")
    chance = random.Random(7)
    outcomes = set()
    for turn in range(300):
        data = bytearray(whole if turn % 2 else whole[: chance.randrange(4, len(whole))])
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        try:
            outcomes.add(_detected(tmp_path, "a.docx", bytes(data)))
        except DocumentError as error:
            outcomes.add(error.kind)
    assert {"docx", "unreadable"} <= outcomes
    assert os.listdir(tmp_path) == ["content"]  # noqa: PTH208 - nothing was unpacked beside it
