"""Archives: every member under its own name, and no bomb gets further than its central directory."""

from __future__ import annotations

import io
import resource
import struct
import time
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from email.message import EmailMessage
from pathlib import Path

import pytest

from localrag.errors import DocumentTooLarge, EmptyDocument, EncryptedDocument, UnreadableDocument, UnsupportedDocument
from localrag.parsing.archive import check_ooxml, inflate_member, open_zip_safely
from localrag.parsing.dispatch import read_document
from localrag.parsing.frames import document_from_json, document_to_json
from localrag.parsing.isolated import IsolatedParser
from localrag.parsing.source import Limits, Source
from localrag.types import ParsedDocument

MEBIBYTE = 1024 * 1024
PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)
SOUND = b"ID3\x03" + bytes(range(256))


def _zip(members: Mapping[str, bytes | str], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def _read(tmp_path: Path, content: bytes, limits: Limits | None = None, name: str = "a.zip") -> ParsedDocument:
    path = tmp_path / "content"
    path.write_bytes(content)
    return read_document(path, name, limits or Limits())


def _source(tmp_path: Path, content: bytes, limits: Limits | None = None) -> Source:
    path = tmp_path / "content"
    path.write_bytes(content)

    def no_child(_: bytes, name: str) -> ParsedDocument:
        raise AssertionError(f"{name} was read")

    return Source(path=path, name="a.docx", limits=limits or Limits(), read_child=no_child)


def test_members_are_read_in_order_of_their_names_and_labelled_with_them(tmp_path: Path) -> None:
    content = _zip({"z.txt": "last", "docs/b.md": "# Middle\n\ntext", "a.csv": "h,i\n1,2\n", "docs/": ""})
    document = _read(tmp_path, content)
    assert document.media_type == "application/zip"
    assert [(page.ordinal, page.label) for page in document.pages] == [
        (1, "a.csv, rows 1-2"),
        (2, "docs/b.md, lines 1-3"),
        (3, "z.txt, line 1"),
    ]


def test_an_archive_in_an_archive_continues_the_path(tmp_path: Path) -> None:
    inner = _zip({"docs/a.txt": "deep words"})
    document = _read(tmp_path, _zip({"inner.zip": inner}))
    assert [page.label for page in document.pages] == ["inner.zip/docs/a.txt, line 1"]


def test_code_stays_code_and_markdown_markdown_in_archives_and_mails(tmp_path: Path) -> None:
    mail = EmailMessage()
    mail.set_content("# no heading in a mail's plain text")
    mail.add_attachment("# a comment\n", filename="settings.py")
    content = _zip(
        {"a.py": "# a comment\n", "b.md": "# A heading\n", "in.zip": _zip({"c.sh": "# c"}), "m.eml": bytes(mail)}
    )

    sent = document_from_json(document_to_json(_read(tmp_path, content)))

    assert {page.label: page.verbatim for page in sent.pages} == {
        "a.py, line 1": True,
        "b.md, line 1": False,
        "in.zip/c.sh, line 1": True,
        "m.eml, message": False,
        "m.eml, attachment settings.py, line 1": True,
    }


def test_what_cannot_be_read_becomes_a_warning(tmp_path: Path) -> None:
    document = _read(tmp_path, _zip({"a.txt": "words", "b.png": PNG, "c.pdf": "no pdf", "d.txt": ""}))
    assert [page.label for page in document.pages] == ["a.txt, line 1"]
    assert len(document.warnings) == 3
    for warning, name in zip(document.warnings, ("b.png", "c.pdf", "d.txt"), strict=True):
        assert warning.startswith(name)


def test_litter_of_operating_systems_is_passed_over_in_silence(tmp_path: Path) -> None:
    litter = {"__MACOSX/._a.txt": b"\x00\x05\x16\x07", ".DS_Store": b"\x00\x00", "docs/Thumbs.db": b"\xd0\xcf"}
    document = _read(tmp_path, _zip({"a.txt": "words", **litter}))
    assert document.warnings == ()
    assert len(document.pages) == 1


@pytest.mark.parametrize("name", ["../../evil.txt", "..\\..\\evil.txt", "/etc/evil.txt", "C:\\evil.txt", "a\nb.txt"])
def test_a_member_name_is_shown_but_never_used_as_a_path(tmp_path: Path, name: str) -> None:
    work = tmp_path / "a" / "b"
    work.mkdir(parents=True)
    document = _read(work, _zip({name: "harmless words"}))
    assert document.pages[0].label == name.replace("\\", "/").replace("\n", "\ufffd") + ", line 1"
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["content"]


def test_a_hostile_name_writes_nothing_through_the_parser_process(tmp_path: Path) -> None:
    target = tmp_path / "evil.txt"
    path = tmp_path / "slip.zip"
    path.write_bytes(_zip({str(target): "words", "../../../../.." + str(target): "words"}))
    with IsolatedParser() as parser:
        assert len(parser.parse(path, name="slip.zip").pages) == 2
    assert not target.exists()


def _renamed(content: bytes, old: bytes, new: bytes) -> bytes:
    assert len(old) == len(new)
    return content.replace(old, new)


@pytest.mark.parametrize(
    ("name", "encoding"),
    [
        ("文件/说明书.txt", "gb18030"),
        ("資料/説明書のコピー.txt", "cp932"),
        ("Отчёт за май.txt", "cp866"),
        ("Grüße.txt", "utf-8"),
        ("Übersicht.txt", "cp437"),
    ],
)
def test_names_without_the_utf_8_flag_are_decoded(tmp_path: Path, name: str, encoding: str) -> None:
    raw = name.encode(encoding)
    content = _renamed(_zip({"x" * len(raw): "words"}), b"x" * len(raw), raw)
    assert _read(tmp_path, content).pages[0].label == f"{name}, line 1"


@pytest.mark.parametrize(
    ("members", "kind", "word"),
    [
        ({}, EmptyDocument, "no files"),
        ({"a.txt": ""}, EmptyDocument, "a.txt"),
        ({"a.mp3": SOUND}, UnsupportedDocument, "a.mp3"),
        ({"a.mp3": SOUND, "b.pdf": "broken", "c.txt": ""}, UnreadableDocument, "b.pdf"),
    ],
)
def test_an_archive_without_text_gives_the_most_telling_error(
    tmp_path: Path, members: dict[str, bytes], kind: type[Exception], word: str
) -> None:
    with pytest.raises(kind, match=r"a\.zip") as caught:
        _read(tmp_path, _zip(members))
    assert word in str(caught.value)


def _encrypted(content: bytes) -> bytes:
    """The same archive with the encryption flag set on every member."""
    data = bytearray(content)
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = data.find(signature)
        while at >= 0:
            data[at + offset] |= 1
            at = data.find(signature, at + 1)
    return bytes(data)


def test_an_encrypted_archive_asks_for_a_password(tmp_path: Path) -> None:
    with pytest.raises(EncryptedDocument, match="password"):
        _read(tmp_path, _encrypted(_zip({"a.txt": "words"})))


def test_an_encrypted_member_does_not_hide_the_others(tmp_path: Path) -> None:
    inner = _encrypted(_zip({"secret.txt": "words"}))
    document = _read(tmp_path, _zip({"a.txt": "words", "inner.zip": inner}))
    assert len(document.pages) == 1
    assert "password" in document.warnings[0]


# Bombs


def _inflated(content: bytes, name: bytes, mebibytes: int) -> bytes:
    """The archive with that stored member replaced by that many MiB of "A", deflated.

    A full flush makes each compressed MiB independent of the others, so it is compressed once and repeated.
    """
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    piece = packer.compress(b"A" * MEBIBYTE) + packer.flush(zlib.Z_FULL_FLUSH)
    deflated = piece * mebibytes + packer.flush()
    # An archive whose member already has the deflated bytes as its content; only method and size must be changed.
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {info.filename: archive.read(info) for info in archive.infolist()}
    data = bytearray(_zip({**members, name.decode(): deflated}, zipfile.ZIP_STORED))
    for start, method, size in ((data.index(name) - 30, 8, 22), (data.rindex(name) - 46, 10, 24)):
        struct.pack_into("<H", data, start + method, zipfile.ZIP_DEFLATED)
        struct.pack_into("<L", data, start + size, mebibytes * MEBIBYTE)
    return bytes(data)


def _ratio_bomb() -> bytes:
    bomb = _inflated(_zip({"a.txt": ""}), b"a.txt", 200)
    assert len(bomb) < 300_000  # some 200 KB for 200 MB
    return bomb


def _docx_bomb() -> bytes:
    return _inflated(_zip({"[Content_Types].xml": "<Types/>"}), b"word/document.xml", 1025)


def _overlapping_bomb() -> bytes:
    """Directory entries that all point at one member: 1,000 names for the same bytes."""
    content = _zip({"a" * 8: b"words " * 50_000})
    start = content.index(b"PK\x01\x02")
    end = content.index(b"PK\x05\x06")
    entry, tail = content[start:end], bytearray(content[end:])
    entries = b"".join(entry.replace(b"a" * 8, f"{number:08}".encode()) for number in range(1000))
    struct.pack_into("<HHL", tail, 8, 1000, 1000, len(entries))
    return content[:start] + entries + bytes(tail)


def _member_bomb() -> bytes:
    return _zip({f"{number}.txt": "x" for number in range(10_001)}, zipfile.ZIP_STORED)


def _nested_bomb(levels: int = 60) -> bytes:
    content = _zip({"a.txt": "words"})
    for _ in range(levels):
        content = _zip({"inner.zip": content}, zipfile.ZIP_STORED)
    return content


@pytest.fixture(scope="module")
def bombs() -> dict[str, bytes]:
    return {"ratio": _ratio_bomb(), "docx": _docx_bomb(), "overlap": _overlapping_bomb(), "members": _member_bomb(),
            "nested": _nested_bomb()}  # fmt: skip


@pytest.fixture(scope="module")
def parser() -> Iterator[IsolatedParser]:
    """With 100 MB of memory beyond idle, so that a bomb that goes off is a crash and not a DocumentTooLarge."""
    with IsolatedParser(Limits(memory_mb=100)) as parser:
        yield parser


@pytest.mark.parametrize(
    ("bomb", "word"),
    [
        ("ratio", "compressed more than 100:1"),
        ("docx", "over the limit of 1,073,741,824"),
        ("overlap", "shares its bytes"),
        ("members", "10,001 members"),
        ("nested", "more than 10 levels"),
    ],
)
def test_a_bomb_is_refused_at_once_in_little_memory(
    tmp_path: Path, parser: IsolatedParser, bombs: dict[str, bytes], bomb: str, word: str
) -> None:
    path = tmp_path / "bomb.zip"
    path.write_bytes(bombs[bomb])
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    started = time.monotonic()
    with pytest.raises(DocumentTooLarge, match=word):
        parser.parse(path, name="bomb.docx" if bomb == "docx" else "bomb.zip")
    assert time.monotonic() - started < 5  # measured 0.02 to 0.3 s
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime == before  # the child lives on


def test_a_bomb_among_good_members_costs_only_itself(tmp_path: Path, bombs: dict[str, bytes]) -> None:
    document = _read(tmp_path, _zip({"a.txt": "words", "bomb.zip": bombs["ratio"]}, zipfile.ZIP_STORED))
    assert [page.label for page in document.pages] == ["a.txt, line 1"]
    assert "zip bomb" in document.warnings[0]


def test_all_levels_share_one_budget(tmp_path: Path) -> None:
    # Three inner archives of 400 KB text each, 1.2 MB together, under a limit of 1 MB.
    inner = {f"{n}.zip": _zip({"a.txt": "0123456789abcdef" * 25_000}, zipfile.ZIP_STORED) for n in range(3)}
    limits = Limits(inflated_bytes=1_000_000, ratio_floor_bytes=10_000_000)
    document = _read(tmp_path, _zip(inner), Limits(ratio_floor_bytes=10_000_000))
    assert len({page.label.partition("/")[0] for page in document.pages if page.label}) == 3
    with pytest.raises(DocumentTooLarge, match="over the limit of 1,000,000"):
        _read(tmp_path, _zip(inner), limits)


def test_members_of_all_levels_are_counted_together(tmp_path: Path) -> None:
    inner = _zip({f"{number}.txt": "words" for number in range(4)})
    document = _read(tmp_path, _zip({"a.zip": inner, "b.zip": inner}), Limits(members=7))
    # a.zip and its four, b.zip and one of its four make seven.
    assert len(document.pages) == 5
    assert sum("more than 7 files" in warning for warning in document.warnings) == 3


def test_a_header_that_lies_about_the_size_cannot_inflate_more(tmp_path: Path) -> None:
    content = bytearray(_zip({"a.txt": b"A" * (20 * MEBIBYTE)}))
    at = content.index(b"PK\x01\x02")
    struct.pack_into("<L", content, at + 24, 1000)  # the directory now says a thousand bytes
    source = _source(tmp_path, bytes(content))
    with open_zip_safely(source) as archive, pytest.raises((UnreadableDocument, DocumentTooLarge)):
        inflate_member(archive, archive.infolist()[0], source)
    assert source.budget.inflated_bytes <= MEBIBYTE


def test_real_bytes_are_counted_while_inflating(tmp_path: Path) -> None:
    source = _source(tmp_path, _zip({"a": bytes(range(256)) * 4000}, zipfile.ZIP_STORED))
    with open_zip_safely(source) as archive:
        assert len(inflate_member(archive, archive.infolist()[0], source)) == 1_024_000
        assert source.budget.inflated_bytes == 1_024_000
        source.budget.inflated_bytes = source.limits.inflated_bytes - 1000
        with pytest.raises(DocumentTooLarge, match="unpacks to more than"):
            inflate_member(archive, archive.infolist()[0], source)


# Office packages

DOCTYPE = '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>'


@pytest.mark.parametrize(
    "part",
    [
        f"<?xml version='1.0'?>{DOCTYPE}<x>&a;</x>",
        f"<?xml version='1.0'?><!-- {'c' * 1000} -->{DOCTYPE}<x/>",
        f"<?xml version='1.0' encoding='UTF-16'?>{DOCTYPE}<x/>".encode("utf-16"),
        f"<?xml version='1.0'?>{DOCTYPE}<x/>".encode("utf-16-be"),
        "<?xml version='1.0' encoding='UTF-7'?>+ADwAIQ-DOCTYPE x+AD4-<x/>",
    ],
)
def test_an_office_part_with_a_document_type_is_refused(tmp_path: Path, part: str | bytes) -> None:
    source = _source(tmp_path, _zip({"word/document.xml": "<x/>", "word/settings.xml": part}))
    with pytest.raises(UnreadableDocument, match=r"word/settings\.xml"):
        check_ooxml(source)


def test_an_ordinary_office_package_passes_and_is_charged(tmp_path: Path) -> None:
    part = "<?xml version='1.0' encoding='UTF-8' standalone='yes'?><w:p>text with &lt;!DOCTYPE in it</w:p>"
    source = _source(tmp_path, _zip({"word/document.xml": part, "word/media/a.png": PNG}))
    check_ooxml(source)
    assert source.budget.inflated_bytes == len(part) + len(PNG)


def test_an_encrypted_office_package_asks_for_a_password(tmp_path: Path) -> None:
    with pytest.raises(EncryptedDocument, match="password"):
        check_ooxml(_source(tmp_path, _encrypted(_zip({"word/document.xml": "<x/>"}))))
