"""Numbers of a text, whatever their notation: a claim with a wrong figure is a wrong claim."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from decimal import Decimal

_SPACES = " \u00a0\u202f"
_NUMBER = re.compile(rf"(?<!\d)[1-9]\d{{0,2}}(?:[{_SPACES}'’]\d{{3}})+(?:[.,]\d+)?(?!\d)|\d+(?:[.,]\d+)*")
_MAGNITUDE = re.compile(
    rf"[{_SPACES}]?(thousand|million|billion|trillion|mn|bn|tausend|million(?:en)?|milliarden?|mio|mrd)\b",
    re.IGNORECASE,
)
_POWER = {
    "thousand": 3, "tausend": 3, "million": 6, "millionen": 6, "mn": 6, "mio": 6, "billion": 9, "bn": 9,
    "milliarde": 9, "milliarden": 9, "mrd": 9, "trillion": 12,
}  # fmt: skip
_SPELLED = {
    "zero": "0", "one": "1", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7",
    "eight": "8", "nine": "9", "ten": "10", "eleven": "11", "twelve": "12", "thirteen": "13", "fourteen": "14",
    "fifteen": "15", "sixteen": "16", "seventeen": "17", "eighteen": "18", "nineteen": "19", "twenty": "20",
    "first": "1", "second": "2", "third": "3", "fourth": "4", "fifth": "5", "once": "1", "twice": "2",
}  # fmt: skip
MONTHS = {
    month: str(value)
    for value, names in enumerate(
        (
            "january jan januar", "february feb februar", "march mar märz", "april apr", "may mai", "june jun juni",
            "july jul juli", "august aug", "september sep sept", "october oct oktober okt", "november nov",
            "december dec dezember dez",
        ),
        start=1,
    )
    for month in names.split()
}  # fmt: skip

Readings = frozenset[str]


def figures(text: str) -> list[Readings]:
    """Every number in order, each with what it can mean, as plain decimals.

    `1,234.50` and `1.234,5` are both 1234.5; `1,234` may be 1234 or 1.234; `2 million` is 2000000. Dates, times,
    ranges and version numbers are their parts.
    """
    return [readings for readings, _ in _numbers(text)]


def missing_figures(claim: str, source: str) -> list[str]:
    """The claim's numbers, as written, that the source does not have.

    The source may spell a number to twenty or a month in words. A number of the claim before a word such as
    "million" is also found without it, since tables say "in millions" once for all.
    """
    present = {reading for readings, _ in _numbers(source) for reading in readings} | _in_words(source)
    return [
        written
        for readings, written in _numbers(claim)
        if not present & (readings | (_readings(written) if _is_single(written) else frozenset()))
    ]


def _numbers(text: str) -> Iterator[tuple[Readings, str]]:
    text = _with_ascii_digits(text)
    for match in _NUMBER.finditer(text):
        written = match.group()
        magnitude = _MAGNITUDE.match(text, match.end())
        for part in [written] if _is_single(written) else re.split(r"[.,]", written):
            readings = _readings(part)
            if magnitude:
                power = _POWER[magnitude.group(1).casefold()]
                readings = frozenset(_plain(Decimal(reading).scaleb(power)) for reading in readings)
            yield readings, part


def _is_single(written: str) -> bool:
    """Whether this is one number; `01.05.2024` and `1.2.3` are several."""
    separators = [c for c in written if c in ".,"]
    if len(separators) <= 1:
        return True
    head, *groups = re.split(r"[.,]", written)
    grouped = [*groups] if len(set(separators)) == 1 else groups[:-1]
    return len(head) <= 3 and all(len(group) == 3 for group in grouped) and len(set(separators[: len(grouped)])) == 1


def _readings(written: str) -> Readings:
    compact = re.sub(rf"[{_SPACES}'’]", "", written)
    separators = [c for c in compact if c in ".,"]
    whole = re.sub(r"[.,]", "", compact)
    if not separators or (len(separators) > 1 and len(set(separators)) == 1):
        return frozenset({_plain(Decimal(whole))})
    decimals = len(compact) - 1 - max(compact.rfind("."), compact.rfind(","))
    decimal = _plain(Decimal(whole).scaleb(-decimals))
    # 1,234 and 1.234: a group of three after one to three digits, the first not 0, may be thousands.
    if len(separators) == 1 and compact == written and re.fullmatch(r"[1-9]\d{0,2}[.,]\d{3}", compact):
        return frozenset({decimal, _plain(Decimal(whole))})
    return frozenset({decimal})


def _plain(number: Decimal) -> str:
    """Without exponent, leading or trailing zeros."""
    text = f"{number:f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text) or "0"


def _in_words(text: str) -> set[str]:
    names = _SPELLED | MONTHS
    return {names[word] for word in re.findall(r"[^\W\d_]+", text.casefold()) if word in names}


def _with_ascii_digits(text: str) -> str:
    if text.isascii():
        return text
    return "".join(str(unicodedata.decimal(c)) if c.isdecimal() and not c.isascii() else c for c in text)
