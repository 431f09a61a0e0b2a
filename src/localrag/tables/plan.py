"""What is to be computed from a table, and the SQL that does it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from localrag.tables.workbook import Column, Table, quoted

Action: TypeAlias = Literal["count", "distinct", "sum", "average", "median", "lowest", "highest", "list"]

FUNCTIONS: dict[Action, str] = {
    "sum": "sum",
    "average": "avg",
    "median": "median",
    "lowest": "min",
    "highest": "max",
}
LISTED = 20
"""Rows and groups shown at most."""


@dataclass(frozen=True, slots=True)
class Condition:
    """What rows must meet, as SQL and in words."""

    sql: str
    words: str


@dataclass(frozen=True, slots=True)
class Plan:
    """One computation.

    group: the column whose values are told apart. top: only the best so many of the groups, or with `single` of the
    rows; `descending` tells which ones are best.
    """

    table: Table
    action: Action
    measure: Column | None = None
    group: Column | None = None
    conditions: tuple[Condition, ...] = ()
    top: int | None = None
    descending: bool = True
    single: bool = False

    @property
    def where(self) -> str:
        return " AND ".join(condition.sql for condition in self.conditions)

    @property
    def sql(self) -> str:
        """The query whose result is the answer."""
        source = f"FROM {quoted(self.table.name)}" + (f"\nWHERE {self.where}" if self.conditions else "")
        if self.single:
            return f"SELECT {self._single_columns}\n{source}\n{self._best(quoted(self._measured.name))}"
        if self.action == "list":
            return f"SELECT {self._listed}\n{source}"
        if self.group is None:
            return f"SELECT {self._value}\n{source}"
        group = quoted(self.group.name)
        order = self._best(self._value) if self.top else "ORDER BY 2 DESC, 1"
        return f"SELECT {group}, {self._value}\n{source}\nGROUP BY {group}\n{order}"

    @property
    def used(self) -> str:
        """The condition for the rows that the value is made from."""
        parts = [condition.sql for condition in self.conditions]
        if self.measure is not None and self.action != "list":
            parts.append(f"{quoted(self.measure.name)} IS NOT NULL")
        return " AND ".join(parts)

    @property
    def _measured(self) -> Column:
        if self.measure is None:
            raise ValueError("this plan measures nothing")
        return self.measure

    @property
    def _value(self) -> str:
        if self.action == "count":
            return "count(*)"
        if self.action == "distinct":
            return f"count(DISTINCT {quoted(self._measured.name)})"
        return f"{FUNCTIONS[self.action]}({quoted(self._measured.name)})"

    @property
    def _single_columns(self) -> str:
        columns = [column for column in (self.group, self.measure) if column is not None]
        return ", ".join(quoted(column.name) for column in columns)

    @property
    def _listed(self) -> str:
        if self.group is not None:
            return f"DISTINCT {quoted(self.group.name)}"
        return ", ".join(quoted(column.name) for column in self.table.columns)

    def _best(self, value: str) -> str:
        direction = "DESC" if self.descending else "ASC"
        first = "1" if self.group else value
        # `rank` keeps all that share the last place.
        return (
            f"QUALIFY rank() OVER (ORDER BY {value} {direction} NULLS LAST) <= {self.top}\n"
            f"ORDER BY {value} {direction}, {first}"
        )
