"""Numbers are equal when they mean the same, in any notation."""

from __future__ import annotations

import pytest

from localrag.answering.figures import figures, missing_figures


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("1,234.50", [{"1234.5"}]),
        ("1.234,5", [{"1234.5"}]),
        ("1 234", [{"1234"}]),
        ("1\u202f234,5", [{"1234.5"}]),
        ("1'234'567", [{"1234567"}]),
        ("1,234", [{"1234", "1.234"}]),
        ("0.125", [{"0.125"}]),
        ("12.5%", [{"12.5"}]),
        ("2 million", [{"2000000"}]),
        ("1.5 Mio", [{"1500000"}]),
        ("007", [{"7"}]),
        ("１２３", [{"123"}]),
        ("٤٥", [{"45"}]),
        ("01.05.2024", [{"1"}, {"5"}, {"2024"}]),
        ("10:30", [{"10"}, {"30"}]),
        ("version 1.2.3", [{"1"}, {"2"}, {"3"}]),
        ("2019 100 people", [{"2019"}, {"100"}]),
        ("no number", []),
    ],
)
def test_a_number_is_read_in_every_notation(written: str, read: list[set[str]]) -> None:
    assert [set(readings) for readings in figures(written)] == read


@pytest.mark.parametrize(
    ("claim", "source", "missing"),
    [
        ("It is 1234.5.", "| Q3 | 1,234.50 |", []),
        ("It is 1235.", "| Q3 | 1,234.50 |", ["1235"]),
        ("5 billion", "5 million", ["5"]),
        ("1.5 million", "1,500,000", []),
        ("5 million", "| 5 | (in millions)", []),
        ("on 2024-05-01", "on 1 May 2024", []),
        ("on 2024-06-01", "on 1 May 2024", ["06"]),
        ("3 days", "three days", []),
        ("4 days", "three days", ["4"]),
        ("in 2023 and 2024", "in 2023", ["2024"]),
        ("no figures", "", []),
    ],
)
def test_figures_that_the_source_lacks_are_named(claim: str, source: str, missing: list[str]) -> None:
    assert missing_figures(claim, source) == missing
