"""Cells as figures: thousands separators, decimal commas, percents, currencies and units, judged by the column."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice
from typing import Literal, TypeAlias

Point: TypeAlias = Literal[".", ","]

_SPACES = " \u00a0\u202f\u2009'’"
_NUMBER = re.compile(
    rf"(?P<open>\()?\s*(?P<sign>[-−+])?\s*(?P<before>[$€£¥₹]|[A-Z]{{3}}(?=[\s\d]))?\s*(?P<inner>[-−+])?"
    rf"(?P<digits>\d[\d.,{_SPACES}]*\d|\d|[.,]\d+)(?P<power>[eE][-+]?\d+)?"
    r"\s*(?P<after>%|[$€£¥₹]|°[CF]?|[^\W\d_]{1,5}[²³]?)?\s*(?P<trailing>[-−](?=\)?$))?(?P<close>\))?"
)
# How people write that there is nothing.
NOTHING = frozenset(
    ["-", "–", "—", ".", "..", "...", "n/a", "na", "n.a.", "nan", "none", "null", "#n/a", "k.a.", "tbd", "?"]
)
# So many of a column's cells must be figures; the others are left out by name, as remarks in a column of figures are.
_ENOUGH = 0.9
_SAMPLE = 100
_MOST_DECIMALS = 12
_MOST_DIGITS = 36


@dataclass(frozen=True, slots=True)
class Figures:
    """A column of figures. values: one for each row, None where there is none.

    unit: what all of them carry, such as `%` or `€`. decimals: of the longest fraction; None when they are powers of
    ten or too long to be exact. odd: texts that are no figures, with their number.
    """

    values: list[str | None]
    unit: str
    decimals: int | None
    odd: Counter[str]


def figures(cells: Sequence[str], point: Point | None) -> Figures | None:
    """The column as figures; None when it is not one, or when it cannot be told what its separators mean.

    Args:
        point: what stands before decimals in this table as far as the other columns tell.
    """
    counts = Counter(cells)  # most columns hold the same few texts again and again
    if not _looks_like_figures(counts):
        return None
    parsed = {cell: _NUMBER.fullmatch(cell) for cell in counts if not _is_nothing(cell)}
    found = [match for match in parsed.values() if match]
    odd = Counter({cell: counts[cell] for cell, match in parsed.items() if match is None})
    matched = sum(counts[cell] for cell, match in parsed.items() if match)
    if not found or matched < _ENOUGH * (matched + odd.total()) or any(_is_code(match) for match in found):
        return None
    units = {unit for match in found if (unit := match["before"] or match["after"] or "")}
    if len(units) > 1:
        return None
    point = _decided({_evidence(match["digits"]) for match in found}, point)
    if point is None:
        return None
    values = {cell: _value(match, point) for cell, match in parsed.items() if match}
    unit = units.pop() if units else ""
    return Figures([values.get(cell) for cell in cells], unit, _decimals(values.values()), odd)


def _looks_like_figures(cells: Iterable[str]) -> bool:
    """Whether one of the first few texts is a figure, so that a long column of words is told soon."""
    first = [cell for cell in islice(cells, _SAMPLE) if not _is_nothing(cell)]
    return not first or any(_NUMBER.fullmatch(cell) for cell in first)


def evidence(cells: Sequence[str]) -> set[Point]:
    """What stands before decimals in these cells for certain."""
    marks = {_evidence(match["digits"]) for cell in cells if (match := _NUMBER.fullmatch(cell))}
    found: set[Point] = set()
    if "." in marks:
        found.add(".")
    if "," in marks:
        found.add(",")
    return found


def parse_number(text: str) -> Decimal | None:
    """A figure of a question: `1,000`, `2.5`, `10k`, `3 million`."""
    text = text.strip().rstrip(".,").casefold()
    scale = 1
    for word, factor in (("thousand", 10**3), ("million", 10**6), ("billion", 10**9), ("mio", 10**6), ("k", 10**3)):
        if text.endswith(word):
            text, scale = text.removesuffix(word).strip(), factor
            break
    match = _NUMBER.fullmatch(text)
    if match is None:
        return None
    mark = _evidence(match["digits"])
    if mark == "bad":
        return None
    # `1.500` alone may be meant either way in a question; as written in English it is one and a half.
    value = _value(match, "," if mark == "," else ".")
    return Decimal(value) * scale


def _is_nothing(cell: str) -> bool:
    return not cell or cell.casefold() in NOTHING


def _is_code(match: re.Match[str]) -> bool:
    """Numbers with leading zeros are codes and are not counted with."""
    digits = match["digits"]
    return len(digits) > 1 and digits[0] == "0" and digits[1].isdigit()


def _evidence(digits: str) -> str:
    """`.` or `,` when that certainly stands before decimals; `.?` or `,?` when it may be either; "" for none; `bad`."""
    digits = digits.translate(dict.fromkeys(map(ord, _SPACES), "_"))
    if "_" in digits:
        whole = re.split(r"[.,]", digits)[0]
        if not re.fullmatch(r"\d{1,3}(?:_\d{3})+", whole):
            return "bad"
        rest = digits[len(whole) :]
        return rest[0] if re.fullmatch(r"[.,]\d+", rest) else "" if not rest else "bad"
    marks = [character for character in digits if character in ".,"]
    if not marks:
        return ""
    last = marks[-1]
    if len(set(marks)) == 2:
        whole, _, _ = digits.rpartition(last)
        return last if _grouped(whole, marks[0]) and marks.count(last) == 1 else "bad"
    if len(marks) > 1:
        return ("," if last == "." else ".") if _grouped(digits, last) else "bad"
    whole, _, fraction = digits.partition(last)
    if len(fraction) != 3 or len(whole) > 3 or whole in ("", "0"):
        return last
    return f"{last}?"


def _grouped(whole: str, mark: str) -> bool:
    return bool(re.fullmatch(rf"\d{{1,3}}(?:{re.escape(mark)}\d{{3}})+", whole))


def _decided(marks: set[str], known: Point | None) -> Point | None:
    """What stands before the column's decimals; None when its cells disagree or it cannot be told."""
    if "bad" in marks or {".", ","} <= marks:
        return None
    if "." in marks:
        return "."
    if "," in marks:
        return ","
    if known is not None:
        return known
    # `1,234` is a thousand wherever decimals are not seen to stand behind commas; `1.234` may be either.
    return None if ".?" in marks else "."


def _value(match: re.Match[str], point: Point) -> str:
    digits = re.sub(f"[{_SPACES}]", "", match["digits"])
    digits = digits.replace("," if point == "." else ".", "").replace(point, ".")
    signs = [match["sign"], match["inner"], match["trailing"]]
    negative = any(sign in ("-", "−") for sign in signs) or bool(match["open"] and match["close"])
    text = f"0{digits}" if digits.startswith(".") else digits
    return ("-" if negative else "") + text + (match["power"] or "")


def _decimals(values: Iterable[str]) -> int | None:
    most = whole = 0
    for value in values:
        if "e" in value or "E" in value:
            return None
        before, _, fraction = value.lstrip("-").partition(".")
        most, whole = max(most, len(fraction)), max(whole, len(before))
    return most if most <= _MOST_DECIMALS and most + whole + 6 <= _MOST_DIGITS else None
