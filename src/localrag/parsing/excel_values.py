"""A stored cell value of Excel -> the text its cell shows: serial dates as ISO dates, numbers by their format."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from functools import lru_cache

from localrag.parsing.number_format import format_date, format_number

# Formats that files name by number only (ECMA-376 part 1, 18.8.30); the others are written out.
_BUILT_IN = {0: "General", 1: "0", 2: "0.00", 3: "#,##0", 4: "#,##0.00", 9: "0%", 10: "0.00%", 11: "0.00E+00",
             12: "# ?/?", 13: "# ??/??", 14: "yyyy-mm-dd", 15: "d-mmm-yy", 16: "d-mmm", 17: "mmm-yy", 18: "h:mm",
             19: "h:mm:ss", 20: "h:mm", 21: "h:mm:ss", 22: "m/d/yy h:mm", 37: "#,##0;(#,##0)", 38: "#,##0;(#,##0)",
             39: "#,##0.00;(#,##0.00)", 40: "#,##0.00;(#,##0.00)", 41: '#,##0;(#,##0);"-"', 42: '#,##0;(#,##0);"-"',
             43: '#,##0.00;(#,##0.00);"-"', 44: '#,##0.00;(#,##0.00);"-"', 45: "mm:ss", 46: "[h]:mm:ss",
             47: "mm:ss.0", 48: "0.0E+0", 49: "@"}  # fmt: skip
# What of a format code is no date letter: quoted text, escapes, fills, colours and currencies in brackets.
_NO_LETTERS = re.compile(r'"[^"]*"|\\.|_.|\*.|\[(?!h+\]|m+\]|s+\])[^\]]*\]|general', re.IGNORECASE)
_ELAPSED = re.compile(r"\[(h+|m+|s+)\]", re.IGNORECASE)
_EPOCH_1900 = datetime.fromisoformat("1899-12-30")
_EPOCH_1904 = datetime.fromisoformat("1904-01-01")
_FEBRUARY_1900 = 60  # Excel believes in 29 February 1900; before it, day numbers are one less than the calendar's


def built_in_format(number: int) -> str:
    """The format code behind a number, General for those that depend on the country or are unknown."""
    return _BUILT_IN.get(number, "General")


@lru_cache(maxsize=512)
def is_date_format(code: str) -> bool:
    """Whether numbers under the code are dates, times or lengths of time."""
    letters = _NO_LETTERS.sub("", code.split(";")[0])
    return bool(_ELAPSED.search(letters) or re.search("[dmyhs]", letters, re.IGNORECASE))


def shown(value: float, code: str, *, since_1904: bool = False) -> str:
    """The number as its cell shows it. `since_1904`: the workbook counts days from 1 January 1904."""
    return shown_date(value, code, since_1904=since_1904) if is_date_format(code) else format_number(value, code)


def shown_date(value: float, code: str, *, since_1904: bool) -> str:
    """The serial number as a date, a time of day, or under `[h]` as a length of time."""
    try:
        if _ELAPSED.search(code):
            return format_date(timedelta(days=value))
        if 0 <= value < 1:
            return format_date((_EPOCH_1900 + _days(value)).time())
        if since_1904:
            return format_date(_EPOCH_1904 + _days(value))
        return format_date(_EPOCH_1900 + _days(value + 1 if value < _FEBRUARY_1900 else value))
    except (OverflowError, ValueError):
        return format_number(value, "General")  # a number that no calendar reaches, under a date format


def _days(value: float) -> timedelta:
    # A double counts days to some 10 microseconds; whole seconds are what people entered.
    return timedelta(seconds=round(value * 86_400, 3))
