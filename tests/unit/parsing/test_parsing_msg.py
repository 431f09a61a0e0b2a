import io
import struct
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from localrag.errors import DocumentError, EmptyDocument, UnreadableDocument, UnsupportedDocument
from localrag.parsing import msg
from localrag.parsing.source import Limits, Source
from localrag.types import Page, ParsedDocument

OFFICE = Path(__file__).resolve().parents[2] / "data/office"

Sources = Callable[..., Source]
Tree = Mapping[str, Any]


class FakeOle:
    """An OLE file held in memory: a tree of storages (dicts) and streams (bytes)."""

    def __init__(self, tree: Tree) -> None:
        self._streams = dict(_flat(tree, ()))

    def listdir(self) -> list[list[str]]:
        return [list(path) for path in self._streams]

    def exists(self, path: list[str]) -> bool:
        return any(stream[: len(path)] == tuple(path) for stream in self._streams)

    def openstream(self, path: list[str]) -> io.BytesIO:
        return io.BytesIO(self._streams[tuple(path)])

    def get_size(self, path: list[str]) -> int:
        return len(self._streams[tuple(path)])


def _flat(tree: Tree, path: tuple[str, ...]) -> Any:
    for name, value in tree.items():
        if isinstance(value, bytes):
            yield (*path, name), value
        else:
            yield from _flat(value, (*path, name))


def text(tag: str, value: str) -> Tree:
    """A Unicode property."""
    return {f"__substg1.0_{tag}001F": value.encode("utf-16-le")}


def numbers(header_bytes: int, **integers: int) -> Tree:
    """The stream of fixed properties, `x0C15=1` for tag 0C15."""
    entries = (struct.pack("<HHIi4x", 3, int(tag[1:], 16), 6, value) for tag, value in integers.items())
    return {"__properties_version1.0": bytes(header_bytes) + b"".join(entries)}


def recipient(kind: int, name: str, address: str) -> Tree:
    return {**numbers(8, x0C15=kind), **text("3001", name), **text("39FE", address)}


def attached(name: str, data: bytes) -> Tree:
    return {**numbers(8), **text("3707", name), "__substg1.0_37010102": data}


@pytest.fixture
def read(source: Sources, tmp_path: Path) -> Callable[..., ParsedDocument]:
    """Reads a message made of properties."""

    def run(*parts: Tree, read_child: Any = None, limits: Limits | None = None) -> ParsedDocument:
        tree: dict[str, Any] = {"__properties_version1.0": bytes(32)}
        for part in parts:
            tree.update(part)
        path = tmp_path / "mail.msg"
        made = source(path, read_child) if read_child else source(path)
        return msg.read_message(FakeOle(tree), replace(made, limits=limits or Limits()))

    return run


def child(data: bytes, name: str) -> ParsedDocument:
    """Reads an embedded file of a kind of its own: `pages` has two, `bad` none."""
    if data == b"bad":
        raise UnsupportedDocument(f"{name} is of no known type.", path=name)
    pages = (Page(ordinal=1, number=1, markdown="one"), Page(ordinal=2, number=2, label="sheet A", markdown="two"))
    return ParsedDocument(media_type="x", pages=pages, warnings=("a page is missing",))


def test_a_real_message(source: Sources) -> None:
    document = msg.read(source(OFFICE / "test_outlook_msg.msg"))

    assert document.title == "Test Email Message"
    assert [(page.ordinal, page.number, page.label) for page in document.pages] == [(1, None, "message")]
    assert document.pages[0].markdown == (
        "# Test Email Message\n\n"
        "From: M. C. Kurtuluş <test.sender@example.com>\n"
        "To: test.recipient@example.com\n"
        "Date: 2024-12-22 08:23 UTC\n\n"
        "This is the body of the test email message"
    )


def test_attachments_and_messages_inside_messages(source: Sources) -> None:
    document = msg.read(source(OFFICE / "testMSG_att_msg.msg", child))

    assert [(page.ordinal, page.number, page.label) for page in document.pages] == [
        (1, None, "message"),
        (2, None, "attachment Test Attachment.msg"),
        (3, 1, "attachment smbprn.00009008.KdcPjl.pdf"),
        (4, 2, "attachment smbprn.00009008.KdcPjl.pdf, sheet A"),
    ]
    assert document.pages[0].markdown.endswith("Test email with 1 msg attachment, 1 pdf")
    assert document.pages[1].markdown.endswith("Blah blah blah")
    assert document.warnings == ("smbprn.00009008.KdcPjl.pdf: a page is missing",)


def test_recipients_by_kind(read: Callable[..., ParsedDocument]) -> None:
    document = read(
        text("0C1A", "Ann"),
        text("0C1F", "/O=ACME/OU=X/CN=ANN"),  # an address that only the server knows
        {
            "__recip_version1.0_#00000000": recipient(1, "'Bob'", "bob@example.org"),
            "__recip_version1.0_#00000001": recipient(2, "carl@example.org", "carl@example.org"),
            "__recip_version1.0_#00000002": recipient(3, "", "dora@example.org"),
        },
        text("1000", "Hello"),
    )

    assert document.pages[0].markdown == (
        "From: Ann\nTo: Bob <bob@example.org>\nCc: carl@example.org\nBcc: dora@example.org\n\nHello"
    )


def test_headers_fill_in_for_missing_properties(read: Callable[..., ParsedDocument]) -> None:
    headers = "From: =?utf-8?q?J=C3=BCrgen?= <j@example.org>\r\nDate: Tue, 2 Jan 2024 10:00:00 +0100\r\n\r\n"

    markdown = read(text("007D", headers), text("1000", "Hello")).pages[0].markdown

    assert markdown == "From: Jürgen <j@example.org>\nDate: Tue, 02 Jan 2024 10:00:00 +0100\n\nHello"


def test_text_that_is_no_unicode_is_read_in_the_code_page_of_the_message(read: Callable[..., ParsedDocument]) -> None:
    body = {"__substg1.0_1000001E": "Привет, мир".encode("cp1251")}

    assert read(numbers(32, x3FFD=1251), body).pages[0].markdown == "Привет, мир"


def test_an_html_body_is_used_for_its_tables_or_when_it_is_all_there_is(read: Callable[..., ParsedDocument]) -> None:
    table = "<p>Grüße</p><table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>"
    html = {"__substg1.0_10130102": table.encode("cp1252")}
    plain_html = {"__substg1.0_10130102": b"<p>From HTML</p>"}

    with_table = read(numbers(32, x3FDE=1252), html, text("1000", "Grüße a b 1 2"))

    assert with_table.pages[0].markdown == "Grüße\n\n| a | b |\n| --- | --- |\n| 1 | 2 |"
    assert read(plain_html).pages[0].markdown == "From HTML"
    assert read(plain_html, text("1000", "From  html")).pages[0].markdown == "From  html"
    assert read(plain_html, text("1000", "From text")).pages[0].markdown == "From text\n\nFrom HTML"  # they differ


def test_a_body_that_is_only_rich_text_is_read(read: Callable[..., ParsedDocument]) -> None:
    def stored(rtf: bytes) -> Tree:
        return {"__substg1.0_10090102": struct.pack("<II4sI", 12 + len(rtf), len(rtf), b"MELA", 0) + rtf}

    assert read(stored(rb"{\rtf1\ansi Hello\par there}")).pages[0].markdown == "Hello\nthere"
    assert read(stored(rb"{\rtf1\fromhtml1 {\*\htmltag64 <p>}Hi{\*\htmltag64 </p>}}")).pages[0].markdown == "Hi"


def test_an_attachment_that_cannot_be_read_is_a_warning(read: Callable[..., ParsedDocument]) -> None:
    document = read(
        text("1000", "See attached"),
        {"__attach_version1.0_#00000000": attached("song.mp3", b"bad"), "__attach_version1.0_#00000001": numbers(8)},
        read_child=child,
    )

    assert [page.label for page in document.pages] == ["message"]
    assert document.warnings == (
        "Attachment song.mp3 was not read: song.mp3 is of no known type.",
        "Attachment unnamed was not read: unnamed holds no data of its own.",
    )


def test_pictures_that_the_body_shows_are_no_attachments(read: Callable[..., ParsedDocument]) -> None:
    logo = {**attached("logo.png", b"bad"), **text("3712", "logo@1")}
    html = {"__substg1.0_10130102": b'<p>Hi</p><img src="cid:logo@1">'}

    document = read(html, {"__attach_version1.0_#00000000": logo}, read_child=child)

    assert document.pages[0].markdown == "Hi"
    assert document.warnings == ()


def test_nesting_is_limited(read: Callable[..., ParsedDocument]) -> None:
    message: Tree = {**numbers(24), **text("1000", "innermost")}
    for _ in range(3):
        holder = {**numbers(8), **text("3001", "inner"), "__substg1.0_3701000D": message}
        message = {**numbers(24), **text("1000", "body"), "__attach_version1.0_#00000000": holder}

    whole = read(message)
    cut = read(message, limits=Limits(depth=2))

    assert [page.label for page in whole.pages] == [
        "message",
        "attachment inner.msg",
        "attachment inner.msg, attachment inner.msg",
        "attachment inner.msg, attachment inner.msg, attachment inner.msg",
    ]
    assert [page.markdown.splitlines()[-1] for page in cut.pages] == ["body", "body", "body"]
    assert len(cut.warnings) == 1
    assert "nested too deep" in cut.warnings[0]


def test_a_line_like_a_heading_stays_text(read: Callable[..., ParsedDocument]) -> None:
    assert read(text("1000", "# 1 priority\r\nfine")).pages[0].markdown == "\\# 1 priority\nfine"


def test_a_message_without_text_is_empty(read: Callable[..., ParsedDocument]) -> None:
    with pytest.raises(EmptyDocument):
        read()


def test_another_file_under_the_extension_is_unreadable(source: Sources, tmp_path: Path) -> None:
    path = tmp_path / "mail.msg"
    path.write_text("From: a@example.org\n\nHello")

    with pytest.raises(UnreadableDocument):
        msg.read(source(path))


def test_a_stream_that_is_cut_off_is_not_taken_for_whole(source: Sources, tmp_path: Path) -> None:
    data = (OFFICE / "testMSG_att_msg.msg").read_bytes()
    path = tmp_path / "cut.msg"
    path.write_bytes(data[: len(data) // 2])

    with pytest.raises(DocumentError):
        msg.read(source(path, child))


def test_damaged_files_are_refused_in_our_words(failures_when_damaged: Callable[[object, Path], int]) -> None:
    assert failures_when_damaged(msg.read, OFFICE / "fake-email-attachment.msg") >= 15
