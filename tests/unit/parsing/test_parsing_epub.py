"""The e-book reader: spine order, chapter labels, locks and damage, on books zipped here."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from localrag.errors import EmptyDocument, EncryptedDocument, UnreadableDocument, UnsupportedDocument
from localrag.parsing import epub
from localrag.parsing.source import Source
from localrag.types import ParsedDocument

CONTAINER = """<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>
<rootfile full-path="OEBPS/book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>"""
ADEPT = "http://www.w3.org/2001/04/xmlenc#aes128-cbc"
FONTS = "http://www.idpf.org/2008/embedding"


def no_child(_: bytes, name: str) -> ParsedDocument:
    raise UnsupportedDocument(f"No reader for {name}.", path=name)


def read(path: Path) -> ParsedDocument:
    return epub.read(Source(path=path, name="book.epub", read_child=no_child))


def package(items: str, spine: str, toc: str = "") -> str:
    return f"""<?xml version="1.0"?><package xmlns="http://www.idpf.org/2007/opf" version="3.0">
    <metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>The  Book</dc:title></metadata>
    <manifest>{items}</manifest><spine{toc}>{spine}</spine></package>"""


def chapter(body: str) -> str:
    return f"""<?xml version="1.0" encoding="utf-8"?><html xmlns="http://www.w3.org/1999/xhtml"
    xmlns:epub="http://www.idpf.org/2007/ops"><head><title/></head><body>{body}</body></html>"""


def item(name: str, kind: str = "application/xhtml+xml", more: str = "") -> str:
    return f'<item id="{name}" href="{name}" media-type="{kind}" {more}/>'


def spine(*names: str) -> str:
    return "".join(f'<itemref idref="{name}"/>' for name in names)


def build(tmp_path: Path, members: dict[str, str]) -> Path:
    path = tmp_path / "book.epub"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mimetype", "application/epub+zip")
        archive.writestr("META-INF/container.xml", CONTAINER)
        for name, text in members.items():
            archive.writestr(name, text)
    return path


def test_chapters_come_in_spine_order_and_count_those_without_text(tmp_path: Path) -> None:
    nav = chapter('<nav epub:type="toc"><ol><li><a href="two.xhtml#x">The  Storm</a></li></ol></nav>')
    items = item("one.xhtml") + item("two.xhtml") + item("cover.svg", "image/svg+xml")
    items += item("nav.xhtml", more='properties="nav"')
    path = build(
        tmp_path,
        {
            "OEBPS/book.opf": package(items, spine("cover.svg", "two.xhtml", "one.xhtml", "gone")),
            "OEBPS/one.xhtml": chapter("<h2>Calm</h2><p>It was calm.</p><aside>A note.</aside>"),
            "OEBPS/two.xhtml": chapter("<h2>II</h2><p>It rained.</p>"),
            "OEBPS/cover.svg": "<svg/>",
            "OEBPS/nav.xhtml": nav,
        },
    )
    parsed = read(path)
    assert parsed.title == "The Book"
    assert [(page.ordinal, page.number, page.label, page.markdown) for page in parsed.pages] == [
        (1, None, "chapter 2: The Storm", "## II\n\nIt rained."),
        (2, None, "chapter 3: Calm", "## Calm\n\nIt was calm.\n\nA note."),
    ]
    assert parsed.warnings == ("Chapter 4 is missing from the file.",)


def test_titles_come_from_the_older_table_of_contents_too(tmp_path: Path) -> None:
    ncx = """<ncx xmlns="http://www.daisy.org/z3986/2005/ncx/"><navMap><navPoint><navLabel><text>One</text></navLabel>
    <content src="a%20b.xhtml#top"/></navPoint></navMap></ncx>"""
    items = item("a%20b.xhtml") + item("toc.ncx", "application/x-dtbncx+xml")
    members = {
        "OEBPS/book.opf": package(items, spine("a%20b.xhtml"), ' toc="toc.ncx"'),
        "OEBPS/a b.xhtml": chapter("<p>Text.</p>"),
        "OEBPS/toc.ncx": ncx,
    }
    assert [page.label for page in read(build(tmp_path, members)).pages] == ["chapter 1: One"]


def test_a_file_of_many_chapters_names_each(tmp_path: Path) -> None:
    filler = "<p>" + "A sentence of ordinary length. " * 60 + "</p>"  # 1,860 characters, over the smallest page
    body = "".join(f"<h2>{name}</h2>{filler}" for name in ("Dawn", "Noon")) + f"<h2>Dusk</h2>{filler * 4}"
    members = {"OEBPS/book.opf": package(item("a"), spine("a")), "OEBPS/a": chapter(body)}
    assert [page.label for page in read(build(tmp_path, members)).pages] == [
        "chapter 1: Dawn",
        "chapter 1: Noon",
        "chapter 1: Dusk, part 1",
        "chapter 1: Dusk, part 2",
    ]


@pytest.mark.parametrize(("method", "locked"), [(ADEPT, True), (FONTS, False)])
def test_copy_protection_is_told_from_scrambled_fonts(method: str, locked: bool, tmp_path: Path) -> None:
    target = "OEBPS/a" if locked else "OEBPS/font.otf"
    encryption = f"""<encryption xmlns="urn:oasis:names:tc:opendocument:xmlns:container"
    xmlns:enc="http://www.w3.org/2001/04/xmlenc#"><enc:EncryptedData><enc:EncryptionMethod Algorithm="{method}"/>
    <enc:CipherData><enc:CipherReference URI="{target}"/></enc:CipherData></enc:EncryptedData></encryption>"""
    members = {"OEBPS/book.opf": package(item("a"), spine("a")), "OEBPS/a": chapter("<p>Text.</p>")}
    path = build(tmp_path, {**members, "META-INF/encryption.xml": encryption})
    if locked:
        with pytest.raises(EncryptedDocument, match="copy protection"):
            read(path)
    else:
        assert read(path).pages[0].markdown == "Text."


def test_a_broken_zip_is_unreadable(tmp_path: Path) -> None:
    whole = build(tmp_path, {"OEBPS/book.opf": package(item("a"), spine("a")), "OEBPS/a": chapter("<p>Text.</p>")})
    whole.write_bytes(whole.read_bytes()[:200])
    with pytest.raises(UnreadableDocument, match=r"book\.epub"):
        read(whole)


@pytest.mark.parametrize("package_text", ["", "no xml at all"])
def test_a_book_without_a_package_is_unreadable(package_text: str, tmp_path: Path) -> None:
    with pytest.raises(UnreadableDocument, match="package file"):
        read(build(tmp_path, {"OEBPS/book.opf": package_text}))


def test_a_book_of_pictures_is_empty(tmp_path: Path) -> None:
    members = {"OEBPS/book.opf": package(item("a"), spine("a")), "OEBPS/a": chapter("<img src='a.png'/>")}
    with pytest.raises(EmptyDocument, match="1 part"):
        read(build(tmp_path, members))


def test_entities_in_the_package_are_not_fetched(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("TOPSECRET")
    evil = f'<!DOCTYPE package [<!ENTITY s SYSTEM "{secret.as_uri()}">]>'
    opf = package(item("a"), spine("a")).replace('<?xml version="1.0"?>', evil).replace("The  Book", "&s; x")
    members = {"OEBPS/book.opf": opf, "OEBPS/a": evil.replace("package", "html") + chapter("<p>&s; Text.</p>")}
    parsed = read(build(tmp_path, members))
    assert "TOPSECRET" not in f"{parsed}"
    assert "Text." in parsed.pages[0].markdown
