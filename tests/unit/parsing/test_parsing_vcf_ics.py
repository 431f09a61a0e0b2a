"""Contacts and calendars: fields with their names, folded lines, old and new encodings."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from localrag.errors import DocumentError, EmptyDocument, UnreadableDocument
from localrag.types import ParsedDocument

Read = Callable[[str | bytes, str], ParsedDocument]


def _card(*lines: str) -> str:
    return "\r\n".join(["BEGIN:VCARD", "VERSION:3.0", *lines, "END:VCARD", ""])


def test_each_contact_is_a_page_with_a_line_for_each_field(read_content: Read) -> None:
    ann = _card(
        "FN:Ann Smith", "N:Smith;Ann;;;", "ORG:ACME\\, Inc.;Sales", "TITLE:Head of sales",
        "EMAIL;TYPE=INTERNET:ann@example.org",
        'TEL;TYPE=CELL,PREF:+49 30 1', 'TEL;VALUE=uri;TYPE="home,voice":tel:+49-30-2',
        "ADR;TYPE=WORK:;;Main St 1;Berlin;;10115;Germany", "BDAY:1990-05-01", "NOTE:Likes tea\\; no\\nmilk",
        "X-SKYPE:ann.s", "PHOTO;ENCODING=b;TYPE=JPEG:AAAA", "UID:1",
    )  # fmt: skip

    document = read_content(ann + _card("N:Jones;Bob;M.;Dr.;", "item1.TEL:1", "item1.X-ABLabel:_$!<Boat>!$_"), "a.vcf")

    assert document.media_type == "text/vcard"
    assert [(page.ordinal, page.label) for page in document.pages] == [
        (1, "contact 1: Ann Smith"),
        (2, "contact 2: Dr. Bob M. Jones"),
    ]
    assert document.pages[0].markdown == (
        "# Ann Smith\n\n- Organisation: ACME, Inc., Sales\n- Title: Head of sales\n- E-mail: ann@example.org\n"
        "- Phone (cell): +49 30 1\n- Phone (home): +49-30-2\n- Address (work): Main St 1, Berlin, 10115, Germany\n"
        "- Birthday: 1990-05-01\n- Note: Likes tea; no milk\n- Skype: ann.s"
    )
    assert document.pages[1].markdown == "# Dr. Bob M. Jones\n\n- Phone (Boat): 1"


def test_folded_lines_are_joined_even_inside_a_character(read_content: Read) -> None:
    data = _card("FN:Grüße an alle").encode().replace("ü".encode(), b"\xc3\r\n \xbc")

    assert read_content(data, "a.vcf").pages[0].label == "contact 1: Grüße an alle"


def test_quoted_printable_of_old_phones(read_content: Read) -> None:
    name = "N;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:M=C3=BC=\nller;Ann"
    card = f"BEGIN:VCARD\nVERSION:2.1\n{name}\nTEL;HOME;CELL:1\nEND:VCARD"

    assert read_content(card, "a.vcf").pages[0].markdown == "# Ann Müller\n\n- Phone (home, cell): 1"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
def test_files_saved_by_an_editor(read_content: Read, encoding: str) -> None:
    assert read_content(_card("FN:Änn").encode(encoding), "a.vcf").pages[0].label == "contact 1: Änn"


def test_contacts_and_calendars_are_known_by_their_content(read_content: Read) -> None:
    assert read_content(_card("FN:Ann"), "export.txt").media_type == "text/vcard"
    assert read_content(_calendar("BEGIN:VEVENT", "SUMMARY:x", "END:VEVENT"), "download").media_type == "text/calendar"


@pytest.mark.parametrize("name", ["a.vcf", "a.ics"])
def test_other_text_is_unreadable(read_content: Read, name: str) -> None:
    with pytest.raises(UnreadableDocument):
        read_content("just: words\nand more", name)


def test_without_any_field_it_is_empty(read_content: Read) -> None:
    with pytest.raises(EmptyDocument):
        read_content(_card("UID:1", "FN: "), "a.vcf")
    with pytest.raises(EmptyDocument):
        read_content(_calendar("X-WR-CALNAME:Empty"), "a.ics")


def _calendar(*lines: str) -> str:
    return "\r\n".join(["BEGIN:VCALENDAR", "VERSION:2.0", *lines, "END:VCALENDAR", ""])


def _event(*lines: str) -> tuple[str, ...]:
    return ("BEGIN:VEVENT", *lines, "END:VEVENT")


def test_each_entry_is_a_page_with_its_fields(read_content: Read) -> None:
    event = _event(
        "SUMMARY:Board meeting", "DTSTART;TZID=Europe/Berlin:20240501T100000",
        "DTEND;TZID=Europe/Berlin:20240501T113000",
        "RRULE:FREQ=WEEKLY;BYDAY=MO,WE;UNTIL=20241231T000000Z", "EXDATE:20240508T100000Z", "LOCATION:Room 2\\, Berlin",
        "ORGANIZER;CN=Ann Smith:mailto:ann@example.org", "ATTENDEE:MAILTO:bob@example.org",
        "ATTENDEE;CN=\"C: D\":mailto:c@x.org",
        "STATUS:CONFIRMED", "CATEGORIES:work,board", "DESCRIPTION:Agenda:\\n# 1 rents\\n\\n\\n\\nBring the lease.",
        "BEGIN:VALARM", "DESCRIPTION:Reminder", "END:VALARM",
    )  # fmt: skip
    zone = ("BEGIN:VTIMEZONE", "TZID:Europe/Berlin", "END:VTIMEZONE")
    task = ("BEGIN:VTODO", "SUMMARY:Pay", "DUE;VALUE=DATE:20240503", "END:VTODO")

    document = read_content(_calendar("X-WR-CALNAME:Team", *zone, *event, *task), "a.ics")

    assert document.title == "Team"
    assert [page.label for page in document.pages] == ["event 1: Board meeting", "task 1: Pay"]
    assert document.pages[0].markdown == (
        "# Board meeting\n\n- When: 2024-05-01 10:00 to 11:30 (Europe/Berlin)\n"
        "- Repeats: weekly; byday: MO, WE; until: 2024-12-31 00:00 UTC\n- Except: 2024-05-08 10:00 UTC\n"
        "- Where: Room 2, Berlin\n- Organizer: Ann Smith <ann@example.org>\n"
        "- Attendees: bob@example.org, C: D <c@x.org>\n- Status: Confirmed\n- Categories: work, board\n\n"
        "Agenda:\n\\# 1 rents\n\nBring the lease."
    )
    assert document.pages[1].markdown == "# Pay\n\n- Due: 2024-05-03"


@pytest.mark.parametrize(
    ("lines", "shown"),
    [
        (["DTSTART;VALUE=DATE:20240501", "DTEND;VALUE=DATE:20240502"], "2024-05-01"),
        (["DTSTART;VALUE=DATE:20240501", "DTEND;VALUE=DATE:20240504"], "2024-05-01 to 2024-05-03"),
        (["DTSTART:20240501T220000Z", "DTEND:20240502T010000Z"], "2024-05-01 22:00 UTC to 2024-05-02 01:00 UTC"),
        (["DTSTART:20240501T100000", "DURATION:P1DT2H30M"], "2024-05-01 10:00 for 1 days 2 h 30 min"),
        (["DTSTART:20240501T100000"], "2024-05-01 10:00"),
        (["DTSTART:soon", "DTEND:later"], "soon to later"),
        (["DTSTART;VALUE=DATE:20240501", "DTEND;VALUE=DATE:99999999"], "2024-05-01 to 9999-99-99"),
    ],
)
def test_times_are_told_in_words(read_content: Read, lines: list[str], shown: str) -> None:
    assert read_content(_calendar(*_event(*lines)), "a.ics").pages[0].markdown == f"- When: {shown}"


def test_an_entry_that_is_never_ended_is_read(read_content: Read) -> None:
    document = read_content("BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:cut off\nEND:VALARM\nLOCATION:here", "a.ics")

    assert document.pages[0].markdown == "# cut off\n\n- Where: here"


@pytest.mark.parametrize("name", ["a.vcf", "a.ics"])
def test_damaged_files_are_read_as_far_as_they_go(read_content: Read, name: str) -> None:
    cards = "".join(_card(f"FN:Ann {i}", "TEL;TYPE=HOME:1") for i in range(20))
    events = [line for i in range(20) for line in _event(f"SUMMARY:Meeting {i}", "DTSTART:20240501T100000Z")]
    data = cards.encode() if name == "a.vcf" else _calendar(*events).encode()
    outcomes = []
    for step in range(60):
        chance = random.Random(step)
        changed = bytearray(data if step >= 30 else data[: len(data) * (step + 1) // 30])
        for _ in range(len(changed) // 100 if step >= 30 else 0):
            changed[chance.randrange(len(changed))] = chance.randrange(256)
        try:
            outcomes.append(len(read_content(bytes(changed), name).pages))
        except DocumentError:
            outcomes.append(0)
    assert outcomes[29] == 20  # the whole file
    assert outcomes[14] in (9, 10)  # half of it
    assert sum(1 for pages in outcomes if pages) >= 50
