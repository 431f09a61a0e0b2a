from datetime import date, datetime, time, timedelta

import pytest

from localrag.parsing.number_format import format_date, format_number


@pytest.mark.parametrize(
    ("value", "code", "shown"),
    [
        (5.0, "General", "5"),
        (0.1 + 0.2, "General", "0.3"),  # 15 significant digits, as Excel shows
        (5, "GENERAL", "5"),  # Excel 5 writes it so
        (12553, "#,##0", "12,553"),
        (-81, r"#,##0\ ;\(#,##0\)", "(81)"),  # a section for negatives brings its own sign
        (-3.5, '"$"#,##0.00', "-$3.50"),
        (-3.5, '"$"#,##0.00_);[Red]("$"#,##0.00)', "($3.50)"),
        (0, '_(* #,##0_);_(* \\(#,##0\\);_(* "—"_);_(@_)', "—"),
        (0.256, "0%", "26%"),
        (0.256, "0.0%", "25.6%"),
        (1234.5, "[$€-407] #,##0.00", "€ 1,234.50"),
        (31.23, '0.00"°"', "31.23°"),
        (1_234_567, '0.0,,"M"', "1.2M"),  # each comma after the digits divides by a thousand
        (12345.678, "0.00E+00", "1.23E+04"),
        (1.005, "0.00", "1.01"),  # rounded as written, though the binary fraction is 1.00499...
        (7, "00000", "00007"),
        (1.5, "0.##", "1.5"),
        (1, "0.##", "1"),
        (123456789, "000-00-0000", "123456789"),  # text between digits: shown as General
        (3.5, "# ?/?", "3.5"),  # fractions too
        (55, '[<100]"few";0', "few"),
        (155, '[<100]"few";0', "155"),
        (-5, "0", "-5"),
        (0.2, "0", "0"),
    ],
)
def test_a_number_is_shown_as_its_cell_shows_it(value: float, code: str, shown: str) -> None:
    assert format_number(value, code) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (date(2021, 1, 2), "2021-01-02"),
        (datetime.fromisoformat("2021-01-02"), "2021-01-02"),
        (datetime.fromisoformat("2021-01-02T09:30"), "2021-01-02 09:30"),
        (datetime.fromisoformat("2021-01-02T08:59:59.999900"), "2021-01-02 09:00"),  # a binary fraction of a day
        (time(9, 30), "09:30"),
        (time(9, 30, 5), "09:30:05"),
        (timedelta(days=10, hours=15, minutes=10, seconds=10), "255:10:10"),  # 10 x 24 + 15 hours
    ],
)
def test_dates_are_iso_8601(value: datetime | date | time | timedelta, shown: str) -> None:
    assert format_date(value) == shown
