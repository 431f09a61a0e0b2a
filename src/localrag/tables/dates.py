"""Cells and words as dates."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from itertools import islice

_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "january jan januar jänner", "february feb februar", "march mar märz maerz mrz", "april apr", "may mai",
            "june jun juni", "july jul juli", "august aug", "september sep sept", "october oct oktober okt",
            "november nov", "december dec dezember dez",
        ),
        start=1,
    )
    for name in names.split()
}  # fmt: skip
# `may` and `mar` are words too: a month in a question needs a year or a day beside it, which the patterns ask for.
_MONTH = "|".join(sorted(_MONTHS, key=len, reverse=True))
_CLOCK = r"(?:[ T](?P<clock>\d{1,2}:\d{2}(?::\d{2})?)(?:\.\d+)?Z?)?"
_ISO = re.compile(rf"(?P<y>\d{{4}})[-/](?P<m>\d{{1,2}})[-/](?P<d>\d{{1,2}}){_CLOCK}")
_DOTTED = re.compile(rf"(?P<d>\d{{1,2}})\.\s?(?P<m>\d{{1,2}})\.\s?(?P<y>\d{{4}}){_CLOCK}")
_SLASHED = re.compile(rf"(?P<a>\d{{1,2}})/(?P<b>\d{{1,2}})/(?P<y>\d{{4}}){_CLOCK}")
_WORDED = re.compile(
    rf"(?P<d>\d{{1,2}})(?:st|nd|rd|th|\.)?[ -](?:of )?(?P<m>{_MONTH})\.?,?[ -](?P<y>\d{{4}})"
    rf"|(?P<m2>{_MONTH})\.? (?P<d2>\d{{1,2}})(?:st|nd|rd|th)?,? (?P<y2>\d{{4}})",
    re.IGNORECASE,
)
_ENOUGH = 0.9
_SAMPLE = 100


@dataclass(frozen=True, slots=True)
class Dates:
    """A column of dates in ISO form, None where there is none; `clock` tells that some have a time of day."""

    values: list[str | None]
    clock: bool


@dataclass(frozen=True, slots=True)
class Period:
    """Days from `start` up to, but without, `end`."""

    start: date
    end: date


def dates(cells: Sequence[str]) -> Dates | None:
    """The column as dates; None when it is not one, or when day and month cannot be told apart."""
    counts = Counter(cell for cell in cells if cell)
    if not any(_is_like_date(cell) for cell in islice(counts, _SAMPLE)):
        return None
    slashed = [match for cell in counts if (match := _SLASHED.fullmatch(cell))]
    day_first = any(int(match["a"]) > 12 for match in slashed)
    month_first = any(int(match["b"]) > 12 for match in slashed)
    if slashed and day_first == month_first:
        return None
    read = {cell: _cell(cell, day_first=day_first) for cell in counts}
    if sum(counts[cell] for cell, value in read.items() if value) < _ENOUGH * counts.total():
        return None
    return Dates([read.get(cell) for cell in cells], any(" " in value for value in read.values() if value))


def _is_like_date(cell: str) -> bool:
    return _cell(cell, day_first=True) is not None or _cell(cell, day_first=False) is not None


def _cell(text: str, *, day_first: bool) -> str | None:
    if match := _ISO.fullmatch(text) or _DOTTED.fullmatch(text):
        year, month, day = match["y"], match["m"], match["d"]
    elif match := _SLASHED.fullmatch(text):
        day, month = (match["a"], match["b"]) if day_first else (match["b"], match["a"])
        year = match["y"]
    else:
        found = _worded(_WORDED.fullmatch(text))
        return found.isoformat() if found else None
    day_ = _date(int(year), int(month), int(day))
    if day_ is None:
        return None
    clock = match["clock"]
    return f"{day_.isoformat()} {_time(clock)}" if clock else day_.isoformat()


def _time(clock: str) -> str:
    return datetime.strptime(clock, "%H:%M:%S" if clock.count(":") == 2 else "%H:%M").strftime("%H:%M:%S")  # noqa: DTZ007  a time of day


def _worded(match: re.Match[str] | None) -> date | None:
    if match is None:
        return None
    year, month, day = match["y"] or match["y2"], match["m"] or match["m2"], match["d"] or match["d2"]
    return _date(int(year), _MONTHS[month.casefold()], int(day))


def _date(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


_PERIOD = re.compile(
    rf"(?P<iso>\d{{4}}-\d{{2}}-\d{{2}})|(?P<dotted>\d{{1,2}}\.\d{{1,2}}\.\d{{4}})|(?P<worded>{_WORDED.pattern})"
    rf"|(?P<month>\b(?:{_MONTH})\b),? (?P<year>\d{{4}})|(?P<quarter>\bq[1-4]|\b[1-4]\. quartal) (?P<qyear>\d{{4}})"
    r"|(?P<only>\b(?:19|20)\d{2}\b)",
    re.IGNORECASE,
)


def periods(text: str) -> list[tuple[int, int, Period]]:
    """The days, months, quarters and years that the text names, with their offsets."""
    found = ((match.start(), match.end(), _period(match)) for match in _PERIOD.finditer(text))
    return [(start, end, period) for start, end, period in found if period is not None]


def _period(match: re.Match[str]) -> Period | None:
    if match["only"]:
        year = int(match["only"])
        return Period(date(year, 1, 1), date(year + 1, 1, 1))
    if match["month"]:
        return _months(int(match["year"]), _MONTHS[match["month"].casefold()], 1)
    if match["quarter"]:
        number = int(next(character for character in match["quarter"] if character.isdigit()))
        return _months(int(match["qyear"]), 3 * number - 2, 3)
    if match["worded"]:
        day = _worded(match)
    else:
        text = _cell(match["iso"] or match["dotted"], day_first=True)
        day = date.fromisoformat(text) if text else None
    return None if day is None else Period(day, day + timedelta(days=1))


def _months(year: int, month: int, count: int) -> Period:
    after = year * 12 + month - 1 + count
    return Period(date(year, month, 1), date(after // 12, after % 12 + 1, 1))
