"""Calendars (ics) -> a page for each event, task and journal entry."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date, timedelta

from localrag.errors import EmptyDocument, UnreadableDocument
from localrag.parsing.content_lines import Component, Property, read_components, unescape
from localrag.parsing.malformed import unreadable
from localrag.parsing.source import Source
from localrag.types import Page, ParsedDocument

MEDIA_TYPE = "text/calendar"

_KINDS = {"VEVENT": "event", "VTODO": "task", "VJOURNAL": "journal entry"}
_MOMENT = re.compile(r"(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)\d\d(Z)?)?")
_DURATION = re.compile(r"P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?")
_UNITS = ("weeks", "days", "h", "min", "s")
_MAX_SUMMARY = 80


def read(source: Source) -> ParsedDocument:
    """The entries in their order, labelled `event 3: Summary`.

    Raises:
        EmptyDocument, UnreadableDocument
    """
    with unreadable(source, "calendar"):
        calendars = [one for one in read_components(source.read_bytes()) if one.name == "VCALENDAR"]
        if not calendars:
            raise UnreadableDocument(
                f"{source.name} holds no calendar.", path=source.name, hint="Export it again as iCalendar (.ics)."
            )
        entries = [child for calendar in calendars for child in calendar.children if child.name in _KINDS]
        pages = tuple(_pages(entries))
    if not pages:
        raise EmptyDocument(f"{source.name} holds no event.", path=source.name, hint="Nothing to index.")
    title = next((name for one in calendars if (name := one.text("X-WR-CALNAME") or one.text("NAME"))), None)
    return ParsedDocument(media_type=MEDIA_TYPE, pages=pages, title=title)


def _pages(entries: Sequence[Component]) -> Iterator[Page]:
    counts = dict.fromkeys(_KINDS, 0)
    ordinal = 0
    for entry in entries:
        counts[entry.name] += 1
        summary = entry.text("SUMMARY")
        fields = "\n".join(f"- {name}: {text}" for name, text in _fields(entry) if text)
        texts = [" ".join(line.split()) for line in unescape(_raw(entry, "DESCRIPTION")).split("\n")]
        description = re.sub(r"\n{3,}", "\n\n", "\n".join(texts)).strip()
        blocks = [f"# {summary}" if summary else "", fields, re.sub(r"(?m)^(#{1,6} )", r"\\\1", description)]
        if any(blocks):
            ordinal += 1
            label = f"{_KINDS[entry.name]} {counts[entry.name]}"
            label = f"{label}: {summary[:_MAX_SUMMARY]}" if summary else label
            yield Page(ordinal=ordinal, label=label, markdown="\n\n".join(filter(None, blocks)))


def _raw(entry: Component, name: str) -> str:
    found = entry.first(name)
    return found.raw if found else ""


def _fields(entry: Component) -> Iterator[tuple[str, str]]:
    yield "When", _when(entry)
    yield "Due", _shown(entry.first("DUE"))
    yield "Repeats", _rule(entry.text("RRULE"))
    yield "Except", ", ".join(_moment(part)[0] for one in entry.all("EXDATE") for part in one.parts(","))
    yield "Where", entry.text("LOCATION")
    yield "Organizer", ", ".join(_person(one) for one in entry.all("ORGANIZER"))
    yield "Attendees", ", ".join(_person(one) for one in entry.all("ATTENDEE"))
    yield "Status", entry.text("STATUS").capitalize()
    yield "Categories", ", ".join(part for one in entry.all("CATEGORIES") for part in one.parts(","))
    yield "Web", entry.text("URL")
    yield "Comment", "; ".join(one.text for one in entry.all("COMMENT"))


def _when(entry: Component) -> str:
    """`2024-05-01 10:00 to 11:30 (Europe/Berlin)`; a whole day as `2024-05-01`."""
    start = entry.first("DTSTART")
    if start is None:
        return ""
    begins, is_day = _moment(start.text)
    ends = ""
    if (end := entry.first("DTEND")) is not None:
        ends, _ = _moment(end.text)
        if is_day:
            ends = _day_before(ends)  # the end of whole days is the day after
        ends = "" if ends == begins else ends.removeprefix(begins[:11]) if not is_day else ends
    elif (length := entry.first("DURATION")) is not None:
        return f"{begins} for {_duration(length.text)}{_zone(start)}"
    return f"{begins} to {ends}{_zone(start)}" if ends else f"{begins}{_zone(start)}"


def _shown(moment: Property | None) -> str:
    return "" if moment is None else _moment(moment.text)[0] + _zone(moment)


def _zone(moment: Property) -> str:
    zone = moment.parameter("TZID")
    return f" ({zone})" if zone else ""


def _moment(text: str) -> tuple[str, bool]:
    """The moment in words of numbers, and whether it is a whole day; what is no moment stays as it is."""
    match = _MOMENT.fullmatch(text)
    if match is None:
        return text, False
    year, month, day, hour, minute, utc = match.groups()
    time = f" {hour}:{minute}{' UTC' if utc else ''}" if hour else ""
    return f"{year}-{month}-{day}{time}", not hour


def _day_before(day: str) -> str:
    try:
        return (date.fromisoformat(day) - timedelta(days=1)).isoformat()
    except (ValueError, OverflowError):
        return day


def _duration(text: str) -> str:
    match = _DURATION.fullmatch(text)
    if match is None:
        return text
    return " ".join(f"{int(count)} {unit}" for count, unit in zip(match.groups(), _UNITS, strict=True) if count)


def _rule(text: str) -> str:
    """`weekly; byday: MO, WE; until: 2024-12-31`."""
    parts: list[str] = []
    for part in filter(None, text.split(";")):
        key, _, value = part.partition("=")
        if key.upper() == "FREQ":
            parts.insert(0, value.lower())
        elif key.upper() == "UNTIL":
            parts.append(f"until: {_moment(value)[0]}")
        else:
            parts.append(f"{key.lower()}: {value.replace(',', ', ')}")
    return "; ".join(parts)


def _person(one: Property) -> str:
    address = re.sub(r"^mailto:", "", one.text, flags=re.IGNORECASE)
    name = one.parameter("CN")
    return f"{name} <{address}>" if name and name != address else address
