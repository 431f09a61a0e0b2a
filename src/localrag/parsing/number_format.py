"""A spreadsheet number as its cell shows it: 0.25 under `0%` is `25%`, 12553 under `#,##0` is `12,553`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import ROUND_HALF_UP, Decimal
from functools import lru_cache

# What a section is made of: quoted text, an escaped or a padding character, a bracket, an exponent, a character.
_TOKEN = re.compile(r'"([^"]*)"|\\(.)|_.|\*.|\[([^\]]*)\]|(general|e[-+]|.)', re.DOTALL | re.IGNORECASE)
_DIGITS = "0#?"
# Beyond this, digits are noise of binary fractions: a double holds 15 decimal digits for sure.
_SIGNIFICANT_DIGITS = 15


@dataclass(frozen=True, slots=True)
class _Section:
    """One `;`-separated section of a format code. `plain` is true when it is to be shown as General."""

    prefix: str
    suffix: str
    whole_digits: int
    decimals: int
    optional_decimals: int
    grouped: bool
    scale: int
    scientific: bool
    plain: bool
    has_digits: bool
    condition: str = ""


def format_number(value: float, code: str) -> str:
    """The number under an Excel format code; what the code does not cover is shown as General."""
    if code.lower() in ("general", "@", ""):
        return _general(value)
    sections = _sections(code)
    section = _choose(sections, value)
    if section.plain:
        return _general(value)
    if not section.has_digits:
        return f"{section.prefix}{section.suffix}".strip()
    # A section of its own for negatives brings its own sign or parentheses.
    own_sign = len(sections) > 1 and section is not sections[0]
    return _render(abs(value) if own_sign else value, section)


def format_date(value: datetime | date | time | timedelta) -> str:
    """ISO 8601, which every reader takes the same way; midnight and zero seconds are left out."""
    if isinstance(value, timedelta):
        minutes, seconds = divmod(round(value.total_seconds()), 60)
        return f"{minutes // 60}:{minutes % 60:02d}:{seconds:02d}"
    if isinstance(value, time):
        return value.strftime("%H:%M:%S") if value.second else value.strftime("%H:%M")
    if not isinstance(value, datetime):
        return value.isoformat()
    # Serial dates are binary fractions of a day; rounding gives 09:00:00 back where 08:59:59.999 is stored.
    rounded = (value + timedelta(milliseconds=500)).replace(microsecond=0)
    if rounded.time() == time(0):
        return rounded.date().isoformat()
    return rounded.strftime("%Y-%m-%d %H:%M:%S" if rounded.second else "%Y-%m-%d %H:%M")


def _general(value: float) -> str:
    if isinstance(value, int) or (value.is_integer() and abs(value) < 1e15):
        return str(int(value))
    return f"{value:.{_SIGNIFICANT_DIGITS}g}"


def _choose(sections: tuple[_Section, ...], value: float) -> _Section:
    for section in sections:
        if section.condition and _holds(section.condition, value):
            return section
    if any(section.condition for section in sections):
        unconditional = [section for section in sections if not section.condition]
        return unconditional[0] if unconditional else sections[0]
    if value < 0 and len(sections) > 1:
        return sections[1]
    if value == 0 and len(sections) > 2:
        return sections[2]
    return sections[0]


def _holds(condition: str, value: float) -> bool:
    match = re.fullmatch(r"(<=|>=|<>|<|>|=)(-?[\d.]+)", condition)
    if not match:
        return False
    bound = float(match[2])
    holds = {"<": value < bound, ">": value > bound, "=": value == bound}
    return {"<=": value <= bound, ">=": value >= bound, "<>": value != bound, **holds}[match[1]]


def _render(value: float, section: _Section) -> str:
    if section.scientific:
        return f"{section.prefix}{value:.{section.decimals}E}{section.suffix}".strip()
    # Decimal of the shortest repr: 1.005 is rounded as the reader sees it, not as the binary fraction is.
    scaled = Decimal(repr(value)).scaleb(section.scale)
    number = scaled.quantize(Decimal(1).scaleb(-section.decimals), rounding=ROUND_HALF_UP)
    text = f"{abs(number):{',' if section.grouped else ''}f}"
    text = "0" * (section.whole_digits - len(text.partition(".")[0])) + text
    if section.optional_decimals:
        required = section.decimals - section.optional_decimals
        whole, _, fraction = text.partition(".")
        kept = fraction[:required] + fraction[required:].rstrip("0")
        text = f"{whole}.{kept}" if kept else whole
    sign = "-" if number < 0 else ""
    return f"{sign}{section.prefix}{text}{section.suffix}".strip()


@lru_cache(maxsize=512)
def _sections(code: str) -> tuple[_Section, ...]:
    parts, current = [], ""
    for token in _TOKEN.finditer(code):
        if token[4] == ";":
            parts.append(current)
            current = ""
        else:
            current += token[0]
    return tuple(_section(part) for part in [*parts, current])


def _section(code: str) -> _Section:
    prefix, suffix, digits, condition, broken = "", "", "", "", False
    for quoted, escaped, bracket, character in (token.groups(default="") for token in _TOKEN.finditer(code)):
        literal = quoted or escaped
        if bracket.startswith("$"):
            literal = bracket[1:].split("-")[0]
        elif bracket[:1] in ("<", ">", "="):
            condition = bracket
        if character and (character in _DIGITS or character in ".,/" or len(character) == 2):
            broken = broken or bool(suffix)  # `000-00-0000`: a pattern with text between its digits
            digits += character.upper()
        elif character or literal:
            literal = literal or character
            prefix, suffix = (prefix, suffix + literal) if digits else (prefix + literal, suffix)
    # A comma or full stop before the first digit is text; fractions (`# ?/?`) and General are shown as they are.
    mantissa, exponent, _ = digits.partition("E")
    whole, _, fraction = mantissa.partition(".")
    thousands = len(digits) - len(digits.rstrip(","))
    literals = prefix + suffix
    return _Section(
        prefix=prefix,
        suffix=suffix,
        whole_digits=whole.count("0"),
        decimals=min(sum(fraction.count(mark) for mark in _DIGITS), 30),
        optional_decimals=sum(fraction.count(mark) for mark in "#?"),
        grouped="," in whole.rstrip(",") and thousands < len(digits),
        scale=(2 if "%" in literals else 0) - 3 * thousands,
        scientific=bool(exponent),
        plain=broken or "/" in digits or "general" in literals.lower() or "@" in literals,
        has_digits=any(mark in digits for mark in _DIGITS),
        condition=condition,
    )
