"""What rows must meet, as SQL and in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date

from localrag.tables.mentions import Mention
from localrag.tables.plan import Condition
from localrag.tables.workbook import Column, literal, quoted

_SIGN_WORDS = {">": "over", ">=": "at least", "<": "under", "<=": "at most"}


@dataclass(slots=True)
class Conditions:
    """Equal values by column, and conditions that are complete."""

    values: dict[tuple[str, bool], list[tuple[Column, str]]] = field(default_factory=dict)
    done: list[Condition] = field(default_factory=list)
    last: str = ""

    def add_values(self, column: Column, values: Sequence[str], *, negated: bool) -> None:
        """The column is, or is not, one of these values."""
        self.values.setdefault((column.name, negated), []).extend((column, value) for value in values)

    def all(self) -> tuple[Condition, ...]:
        """All conditions, those of equal values first."""
        equal = [_equal([*held], negated=negated) for (_, negated), held in self.values.items()]
        return (*equal, *self.done)


def _equal(held: Sequence[tuple[Column, str]], *, negated: bool) -> Condition:
    column = held[0][0]
    values = list(dict.fromkeys(value for _, value in held))
    name = quoted(column.name)
    listed = ", ".join(map(literal, values))
    shown = column.shown or "a column without a name"
    said = " or ".join(f"“{value}”" for value in values)
    if negated:
        sql = f"({name} IS NULL OR {name} NOT IN ({listed}))"
        return Condition(sql, f"{shown} is not {said}")
    return Condition(f"{name} = {listed}" if len(values) == 1 else f"{name} IN ({listed})", f"{shown} is {said}")


def dated(column: Column, operator: Mention, limits: Sequence[Mention]) -> Condition:
    """The rows before, after or between days."""
    name = quoted(column.name)
    spans = [limit.period for limit in limits if limit.period is not None]
    if operator.kind == "between":
        sql = f"{name} >= {day(spans[0].start)} AND {name} < {day(spans[1].end)}"
        return Condition(sql, f"{column.shown} is from {limits[0].text.title()} to {limits[1].text.title()}")
    # After March means after its last day, and before March before its first.
    sql = {
        ">": f"{name} >= {day(spans[0].end)}",
        ">=": f"{name} >= {day(spans[0].start)}",
        "<": f"{name} < {day(spans[0].start)}",
        "<=": f"{name} < {day(spans[0].end)}",
    }[operator.text]
    said = {">": "after", ">=": "from", "<": "before", "<=": "up to"}[operator.text]
    return Condition(sql, f"{column.shown} is {said} {limits[0].text.title()}")


def numbered(column: Column, operator: Mention, limits: Sequence[Mention]) -> Condition:
    """The rows with a figure above, below or between others."""
    name = quoted(column.name)
    if operator.kind == "between":
        low, high = limits
        words_ = f"{column.shown} is from {low.text} to {high.text}"
        return Condition(f"{name} BETWEEN {low.number} AND {high.number}", words_)
    sign = operator.text
    return Condition(f"{name} {sign} {limits[0].number}", f"{column.shown} is {_SIGN_WORDS[sign]} {limits[0].text}")


def day(day: date) -> str:
    """The day as SQL writes it."""
    return f"DATE '{day.isoformat()}'"
