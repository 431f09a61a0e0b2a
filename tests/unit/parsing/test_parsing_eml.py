"""Internet mail: headers, bodies, what is quoted, attachments; and mailboxes of it."""

from __future__ import annotations

import random
from collections.abc import Callable
from email.message import EmailMessage
from pathlib import Path

import pytest

from localrag.errors import DocumentError, EmptyDocument, EncryptedDocument, UnreadableDocument
from localrag.parsing import eml, mbox, mime
from localrag.parsing.dispatch import read_document
from localrag.parsing.mail import split_quoted
from localrag.parsing.source import Limits
from localrag.types import ParsedDocument

Read = Callable[[str | bytes, str], ParsedDocument]
HEAD = "From: Ann <ann@example.org>\nTo: bob@example.org\nSubject: Lease\n"


def _message(subject: str, text: str) -> EmailMessage:
    message = EmailMessage()
    message["From"] = "Ann <ann@example.org>"
    message["Subject"] = subject
    message.set_content(text)
    return message


def _texts(document: ParsedDocument) -> list[tuple[str | None, str]]:
    return [(page.label, page.markdown) for page in document.pages]


def test_headers_and_body_are_one_page(read_content: Read) -> None:
    document = read_content(
        f"{HEAD}Cc: carl@example.org\nDate: Tue, 2 Jan 2024 10:00:00 +0100\nX-Spam: no\n\nHello Bob.\n", "a.eml"
    )

    assert document.media_type == "message/rfc822"
    assert document.title == "Lease"
    assert _texts(document) == [
        (
            "message",
            "# Lease\n\nFrom: Ann <ann@example.org>\nTo: bob@example.org\nCc: carl@example.org\n"
            "Date: 2024-01-02 10:00 +0100\n\nHello Bob.",
        )
    ]


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("=?utf-8?q?J=C3=BCrgen_M=2E?= <j@example.org>", "Jürgen M. <j@example.org>"),
        ("=?ISO-8859-1?B?R3L832U=?=", "Grüße"),
        ("=?utf-8?b?w6TD?=\n =?utf-8?b?tsO8?=", "äöü"),  # cut inside the ö
        ("=?utf-8?q?a?= =?iso-8859-1?q?=E4?= b", "aä b"),
        ("=?utf-8*de?q?Gr=C3=BCn?=", "Grün"),
        ("=?utf-8?b?w6Q?= x", "ä x"),  # padding left out
        ("=?nonsense?q?a=62c?=", "abc"),
        ("=?broken?= x", "=?broken?= x"),
        ("plain", "plain"),
    ],
)
def test_encoded_words_in_headers(read_content: Read, written: str, shown: str) -> None:
    assert read_content(f"Subject: {written}\n\nx\n", "a.eml").title == shown


def test_headers_in_a_raw_encoding_are_decoded(read_content: Read) -> None:
    assert read_content("Subject: Größe der Wohnung\n\nx".encode("cp1252"), "a.eml").title == "Größe der Wohnung"
    assert read_content("Subject: Größe der Wohnung\n\nx".encode(), "a.eml").title == "Größe der Wohnung"


@pytest.mark.parametrize("date", ["yesterday", "Tue, 99 Foo 2024", "Mon, 1 Jan 99999999 10:00:00 +0000"])
def test_a_date_that_is_none_is_shown_as_written(read_content: Read, date: str) -> None:
    assert f"Date: {date}" in read_content(f"Date: {date}\nSubject: x\n\ny", "a.eml").pages[0].markdown


def test_the_charset_of_the_body_is_minded(read_content: Read) -> None:
    body = "Content-Type: text/plain; charset={}\nContent-Transfer-Encoding: 8bit\n\n"

    assert read_content(body.format("koi8-r").encode() + "Привет, мир".encode("koi8-r"), "a.eml").pages[0].markdown == (
        "Привет, мир"
    )
    assert read_content(body.format("nope").encode() + "Grüße".encode("cp1252"), "a.eml").pages[0].markdown == "Grüße"


def test_html_alone_brings_its_tables_and_own_charset(read_content: Read) -> None:
    table = "<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>"
    html = f'<meta charset="windows-1251"><p>Счёт</p>{table}'

    document = read_content(b"Content-Type: text/html\n\n" + html.encode("cp1251"), "a.eml")

    assert document.pages[0].markdown == "Счёт\n\n| a | b |\n| --- | --- |\n| 1 | 2 |"


def test_the_form_with_the_table_leads_and_nothing_comes_twice(read_content: Read) -> None:
    message = _message("x", "Rent\n\na b 1 2\n\nSee https://example.org/x for more\n\nOnly in plain text")
    message.add_alternative(
        "<p>Rent</p><table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table><p>See for more</p>",
        subtype="html",
    )

    markdown = read_content(message.as_bytes(), "a.eml").pages[0].markdown

    assert markdown.endswith("Rent\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n\nSee for more\n\nOnly in plain text")


def test_text_and_html_that_differ_are_both_there(read_content: Read) -> None:
    message = _message("x", "Your program shows no HTML.")
    message.add_alternative("<p>The rent rises to 900 euros.</p><p>Your program shows no HTML.</p>", subtype="html")

    markdown = read_content(message.as_bytes(), "a.eml").pages[0].markdown

    assert markdown.endswith("Your program shows no HTML.\n\nThe rent rises to 900 euros.")


def test_bodies_between_attachments_keep_their_order(read_content: Read) -> None:
    parts = "--b\nContent-Type: text/plain\n\nfirst\n--b\nContent-Type: text/html\n\n<p>second</p>\n--b--"

    document = read_content(f"Content-Type: multipart/mixed; boundary=b\n\n{parts}", "a.eml")

    assert document.pages[0].markdown == "first\n\nsecond"


def test_attachments_are_documents_of_their_own(read_content: Read) -> None:
    message = _message("Files", "See attached.")
    message.add_attachment(b"a;b\n1;2\n", maintype="text", subtype="csv", filename="Zählung 2024.csv")
    message.add_attachment(b"\x89PNG\r\n\x1a\n", maintype="image", subtype="png", filename="plan.png")
    message.add_attachment(_message("Inner", "The garage costs 70 euros."))

    document = read_content(message.as_bytes(), "a.eml")

    assert [page.label for page in document.pages] == [
        "message",
        "attachment Zählung 2024.csv, rows 1-2",
        "attachment Inner.eml",
    ]
    assert "Attachments: Zählung 2024.csv, plan.png, Inner.eml" in document.pages[0].markdown
    assert document.pages[2].markdown.endswith("The garage costs 70 euros.")
    assert [page.ordinal for page in document.pages] == [1, 2, 3]
    assert len(document.warnings) == 1
    assert "plan.png" in document.warnings[0]


def test_names_of_attachments_in_all_their_spellings(read_content: Read) -> None:
    spellings = {
        "Content-Disposition: attachment; filename*=utf-8''%e2%82%ac%20rates.txt": "€ rates.txt",
        "Content-Disposition: attachment; filename*0*=utf-8''%e2%82%ac; filename*1=rates.txt": "€rates.txt",
        'Content-Disposition: attachment; filename="=?utf-8?B?w6QudHh0?="': "ä.txt",
        'Content-Type: text/plain; name="b.txt"': "b.txt",
        "Content-Disposition: attachment": "unnamed.plain",
    }
    for header, name in spellings.items():
        parts = f"--b\nContent-Type: text/plain\n\nbody\n--b\n{header}\n\nattached\n--b--"
        document = read_content(f"Content-Type: multipart/mixed; boundary=b\n\n{parts}", "a.eml")
        assert [page.label for page in document.pages] == ["message", f"attachment {name}, line 1"]


def test_a_digest_gives_each_of_its_messages(read_content: Read) -> None:
    parts = "--b\n\nSubject: One\n\nfirst text\n--b\n\nSubject: Two\n\nsecond text\n--b--"

    document = read_content(f"Subject: Digest\nContent-Type: multipart/digest; boundary=b\n\n{parts}", "a.eml")

    assert _texts(document)[1:] == [
        ("attachment One.eml", "# One\n\nfirst text"),
        ("attachment Two.eml", "# Two\n\nsecond text"),
    ]


def test_pictures_that_the_body_shows_are_no_attachments(read_content: Read) -> None:
    parts = (
        '--b\nContent-Type: text/html\n\n<p>Hi</p><img src="cid:logo@1">\n--b\nContent-Type: image/png; name=l.png\n'
        "Content-ID: <logo@1>\nContent-Transfer-Encoding: base64\n\niVBORw0KGgo=\n--b--"
    )

    document = read_content(f"Content-Type: multipart/related; boundary=b\n\n{parts}", "a.eml")

    assert (document.pages[0].markdown, document.warnings) == ("Hi", ())


def test_signatures_are_passed_over_and_reports_read(read_content: Read) -> None:
    parts = (
        "--b\nContent-Type: text/plain\n\nsigned text\n--b\nContent-Type: application/pgp-signature; name=s.asc\n\nxx\n"
        "--b\nContent-Type: message/delivery-status\n\nReporting-MTA: dns; mx\n\nStatus: 5.1.1\n--b--"
    )

    document = read_content(f"Content-Type: multipart/signed; boundary=b\n\n{parts}", "a.eml")

    assert document.pages[0].markdown == "signed text\n\nReporting-MTA: dns; mx\n\nStatus: 5.1.1"
    assert document.warnings == ()


@pytest.mark.parametrize(
    "kind", ["multipart/encrypted; boundary=b", "application/pkcs7-mime; smime-type=enveloped-data; name=smime.p7m"]
)
def test_an_encrypted_message_is_said_to_be_so(read_content: Read, kind: str) -> None:
    with pytest.raises(EncryptedDocument, match="key"):
        read_content(f"Subject: secret\nContent-Type: {kind}\n\n--b\n\nx\n--b--", "a.eml")


def test_a_damaged_boundary_leaves_the_text(read_content: Read) -> None:
    document = read_content("Content-Type: multipart/mixed; boundary=other\n\n--b\n\nThe text\n--b--", "a.eml")

    assert "The text" in document.pages[0].markdown


def test_nesting_is_limited(read_content: Read) -> None:
    message = _message("0", "innermost")
    for level in range(1, 15):
        outer = _message(str(level), "body")
        outer.add_attachment(message)
        message = outer

    document = read_content(message.as_bytes(), "a.eml")

    assert len(document.pages) == 1 + Limits().depth
    assert "nested too deep" in document.warnings[0]


def test_a_multipart_nested_without_end_is_refused_and_does_not_crash(read_content: Read) -> None:
    levels = 3_000
    head = "".join(f"Content-Type: multipart/mixed; boundary=b{i}\n\n--b{i}\n" for i in range(levels))

    with pytest.raises(UnreadableDocument):
        read_content(head + "Content-Type: text/plain\n\nx", "a.eml")


def test_a_message_without_text_is_empty(read_content: Read) -> None:
    with pytest.raises(EmptyDocument):
        read_content("\n\n", "a.eml")


def test_a_heading_in_the_text_is_none(read_content: Read) -> None:
    assert read_content("X-A: b\n\n# 1 priority", "a.eml").pages[0].markdown == "\\# 1 priority"


ANSWER = "Agreed, 70 euros.\n\nAnn"


@pytest.mark.parametrize(
    "quoted",
    [
        "On Tue, 2 Jan 2024 at 10:00, Bob <bob@example.org> wrote:\n> Is 70 fine?\n>\n> Bob",
        "On Tue, 2 Jan 2024 at 10:00, Bob Longname\n<bob@example.org> wrote:\n\n> Is 70 fine?",
        "Am 02.01.24 um 10:00 schrieb Bob:\n> Sind 70 recht?",
        "> Is 70 fine?",
        "-----Original Message-----\nFrom: Bob\nSent: Tuesday\n\nIs 70 fine?",
        "________________________________\nFrom: Bob <bob@example.org>\nSent: 2 January\nTo: Ann\nSubject: Key\n\nOk?",
        "Von: Bob\nGesendet: Dienstag\nAn: Ann\nBetreff: Garage\n\nSind 70 recht?",
        "---------- Forwarded message ---------\nFrom: Bob\n\nIs 70 fine?",
    ],
)
def test_what_is_quoted_stands_apart(quoted: str) -> None:
    assert split_quoted(f"{ANSWER}\n\n{quoted}") == (ANSWER, quoted)


@pytest.mark.parametrize(
    "body",
    [
        "> Is 70 fine?\n\nYes.\n\n> And the key?\n\nHere.",  # answers between the lines
        "On Tue, Bob wrote:\n> only a quote",  # nothing but a quote
        "---------- Forwarded message ---------\nFrom: Bob\n\nthe text",
        "From: the desk of Ann\n\nNothing is quoted.",
        "He wrote:\n\nno quote follows",
        "The original message\nwas lost.",
    ],
)
def test_what_cannot_be_told_apart_stays_together(body: str) -> None:
    assert split_quoted(body) == (body, "")


def test_quotes_are_pages_of_their_own(read_content: Read) -> None:
    document = read_content(f"{HEAD}\n{ANSWER}\n\nOn Tue, Bob wrote:\n> Is 70 fine?\n", "a.eml")

    assert _texts(document)[1:] == [("message, quoted", "On Tue, Bob wrote:\n> Is 70 fine?")]


def test_a_message_is_known_without_its_extension(read_content: Read) -> None:
    head = "Received: from mx\nMessage-ID: <1@x>\nFrom: a@example.org\nSubject: S\n\nHello"

    assert read_content(head, "download").title == "S"
    assert read_content("From: me\nTo: you\n\nA letter", "letter").media_type == "text/plain"
    assert read_content(head, "notes.txt").media_type == "text/plain"


def test_binary_data_under_the_extension_is_unreadable(read_content: Read) -> None:
    with pytest.raises(UnreadableDocument):
        read_content(random.Random(1).randbytes(3_000), "a.eml")


MAILBOX = (
    "From ann@example.org Sat Jan  3 01:05:34 1996\nSubject: First\n\nFrom here on it rains.\n>From then too.\n\n"
    "From - Sat Jan  4 01:05:34 1997\nSubject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\n\nYes.\n\n> quoted\n\n"
    "From x Sat Jan  5 01:05:34 1998\n\nwithout a subject\n"
)


def test_a_mailbox_gives_each_message(read_content: Read) -> None:
    document = read_content(MAILBOX, "inbox.mbox")

    assert document.media_type == "application/mbox"
    assert _texts(document) == [
        ("message 1: First", "# First\n\nFrom here on it rains.\nFrom then too."),
        ("message 2: Grüße", "# Grüße\n\nYes."),
        ("message 2: Grüße, quoted", "> quoted"),
        ("message 3", "without a subject"),
    ]
    assert [page.ordinal for page in document.pages] == [1, 2, 3, 4]
    assert _texts(read_content(MAILBOX, "Inbox")) == _texts(document)


def test_attachments_in_a_mailbox_are_found_by_message(read_content: Read) -> None:
    message = _message("Files", "See attached.")
    message.add_attachment(b"one", maintype="text", subtype="plain", filename="a.txt")
    message.add_attachment(b"\x89PNG\r\n\x1a\n", maintype="image", subtype="png", filename="b.png")

    document = read_content(b"From x Sat Jan  3 01:05:34 1996\n" + message.as_bytes(), "in.mbox")

    assert [page.label for page in document.pages] == ["message 1: Files", "message 1: Files, attachment a.txt, line 1"]
    assert document.warnings[0].startswith("message 1: Files: Attachment b.png was not read")


def test_a_mailbox_without_a_message_is_empty(read_content: Read) -> None:
    with pytest.raises(EmptyDocument):
        read_content("From x Sat Jan  3 01:05:34 1996\n\n\n", "in.mbox")


def _damaged(data: bytes) -> list[bytes]:
    copies = [data[: len(data) * step // 30] for step in range(1, 31)]
    for seed in range(30):
        chance = random.Random(seed)
        changed = bytearray(data)
        for _ in range(len(data) // 100):
            changed[chance.randrange(len(data))] = chance.randrange(256)
        copies.append(bytes(changed))
    return copies


@pytest.mark.parametrize(("reader", "name"), [(eml, "a.eml"), (mbox, "a.mbox")])
def test_damaged_mail_is_read_as_far_as_it_goes(tmp_path: Path, reader: object, name: str) -> None:
    message = _message("Grüße", "Rent is due.")
    message.add_alternative("<p>Rent is <b>due</b>.</p>", subtype="html")
    message.add_attachment(b"a;b\n1;2\n", maintype="text", subtype="csv", filename="Zähl.csv")
    message.add_attachment(_message("Inner", "garage"))
    start = b"From x Sat Jan  3 01:05:34 1996\n" if reader is mbox else b""
    path = tmp_path / "copy"
    outcomes = []
    for data in _damaged(start + message.as_bytes()):
        path.write_bytes(data)
        try:
            outcomes.append(len(read_document(path, name, Limits()).pages))
        except DocumentError:
            outcomes.append(0)
    assert outcomes[29] == 3  # the whole file: message, csv, inner message
    assert sum(1 for pages in outcomes if pages) >= 50


def test_bytes_of_no_base64_are_decoded_as_far_as_they_go() -> None:
    part = mime.parse(b"Content-Transfer-Encoding: base64\n\nSGVsbG8!!")

    assert mime.data_of(part).startswith(b"Hello")
