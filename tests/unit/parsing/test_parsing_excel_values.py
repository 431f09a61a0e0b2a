import pytest

from localrag.parsing.excel_values import built_in_format, is_date_format, shown


@pytest.mark.parametrize(
    "code", ["yyyy-mm-dd", "d/m/yy", "h:mm", "[h]:mm:ss", "[mm]:ss", "[$-407]d. mmmm yyyy", "mm:ss.0"]
)
def test_date_formats_are_told(code: str) -> None:
    assert is_date_format(code)


@pytest.mark.parametrize(
    "code", ["General", "0.00", "#,##0", "0%", '0 "days"', "[Red]0.00", r"0\d", "_d0", "[$USD] 0", "@", "0.00E+00"]
)
def test_number_formats_are_told(code: str) -> None:
    assert not is_date_format(code)


@pytest.mark.parametrize(
    ("value", "code", "since_1904", "text"),
    [
        (44197, "d/m/yy", False, "2021-01-01"),
        (42735, "d/m/yy", True, "2021-01-01"),  # 44197 - 1462 days between the two epochs
        (44197.75, "d/m/yy h:mm", False, "2021-01-01 18:00"),
        (44197.374999999, "d/m/yy h:mm", False, "2021-01-01 09:00"),  # 08:59:59.9999 is what a double made of 9:00
        (1, "d/m/yy", False, "1900-01-01"),
        (59, "d/m/yy", False, "1900-02-28"),
        (61, "d/m/yy", False, "1900-03-01"),  # 60 is the 29 February that never was
        (0.25, "h:mm", False, "06:00"),
        (1.5, "[h]:mm", False, "36:00:00"),
        (1e12, "d/m/yy", False, "1000000000000"),  # beyond the calendar
        (12.5, "0.0", False, "12.5"),
    ],
)
def test_serial_numbers_are_shown_as_dates(value: float, code: str, since_1904: bool, text: str) -> None:
    assert shown(value, code, since_1904=since_1904) == text


def test_formats_known_by_number_only() -> None:
    assert [built_in_format(number) for number in (9, 14, 46, 163)] == ["0%", "yyyy-mm-dd", "[h]:mm:ss", "General"]
