"""A question as a computation, by rules. Whatever is not understood in full gives none: a wrong sum is worse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from localrag.tables import words
from localrag.tables.conditions import Conditions, dated, day, numbered
from localrag.tables.heads import Head, folded, head_of, without
from localrag.tables.mentions import Mention, Reading, read_question
from localrag.tables.plan import Action, Condition, Plan
from localrag.tables.workbook import Column, Table, quoted


def asks_for_table(question: str) -> bool:
    """Whether the question begins like one that a table could answer; the tables themselves decide."""
    return head_of(folded(question)) is not None


def plan(question: str, table: Table, *, named: str = "", anchored: bool = False) -> Plan | None:
    """The computation that the question asks for, None when any of its words is not understood.

    Args:
        named: the name of the file as it stands in the question; empty when it does not.
        anchored: the question is surely about this table, so that a single column is enough to go by.
    """
    text = without(folded(question), named)
    head = head_of(text)
    if head is None:
        return None
    names = frozenset(words.stems(f"{table.group} {table.document.name.rpartition('.')[0]}"))
    explained = [*head.spans, *((found.start(), found.end()) for found in words.OVERALL.finditer(text))]
    reading = read_question(text, table, explained=explained, names=names)
    builder = _Builder(table, text, head, reading, names)
    made = builder.build()
    if made is None:
        return None
    sure = anchored or bool(named) or words.ROWS.search(text) or names.intersection(words.stems(text))
    return made if sure or builder.grounded >= 2 else None


class _Builder:
    """Puts the mentions of one question together. `grounded` counts the columns and values that it used."""

    def __init__(self, table: Table, text: str, head: Head, reading: Reading, names: frozenset[str]) -> None:
        self._table = table
        self._text = text
        self._head = head
        self._names = names
        self._unexplained = list(reading.unexplained)
        self._mentions = self._settled(reading.mentions)
        self._conditions = Conditions()
        self._free: list[tuple[int, Column]] = []
        self._groups: list[tuple[int, tuple[Column, ...]]] = []
        self._group: Column | None = None
        self._pending = False  # whether the mention just read was a column
        self.grounded = 0

    def build(self) -> Plan | None:
        if self._mentions is None or self._unexplained or not self._read(self._mentions):
            return None
        if self._head.action not in ("count", "list") and len(self._free) > 1:
            # "The amount of the orders" measures no column Order in orders.csv.
            self._free = [(at, one) for at, one in self._free if not self._names.issuperset(words.stems(one.shown))]
        columns = [column for _, column in self._free]
        conditions = self._conditions.all()
        self.grounded = len(columns) + len(conditions) + len(self._groups) + (self._group is not None)
        if any(column.ambiguous for column in [*columns, *([self._group] if self._group else [])]):
            return None
        made = self._made(conditions)
        if made is None or (made.action == "list" and not conditions):
            return None
        return made

    # -------------------------------------------------------------- columns

    def _settled(self, mentions: Sequence[Mention]) -> list[Mention] | None:
        """The mentions with one column each; the words of a column's group may tell which of several is meant."""
        settled: list[Mention] = []
        hinted = [column for mention in mentions if mention.kind == "columns" for column in mention.columns]
        for mention in mentions:
            grouped = [one for one in mention.columns if one in hinted] if mention.kind == "column" else []
            if len(grouped) == 1:
                settled.append(replace(mention, columns=tuple(grouped)))
                continue
            if mention.kind != "column" or len(mention.columns) == 1:
                settled.append(mention)
                continue
            left = {words.stem(word): word for word in self._unexplained}
            shared = [(len(left.keys() & set(words.stems(column.shown))), column) for column in mention.columns]
            most = max(count for count, _ in shared)
            best = [column for count, column in shared if count == most]
            if most == 0 or len(best) > 1:
                return None
            for stem in left.keys() & set(words.stems(best[0].shown)):
                self._unexplained.remove(left[stem])
            settled.append(replace(mention, columns=(best[0],)))
        return settled

    # ----------------------------------------------------------- conditions

    def _read(self, mentions: Sequence[Mention]) -> bool:
        """Sorts the mentions into conditions, the group and columns that are left; False when one fits nowhere."""
        at = 0
        while at < len(mentions):
            used = self._step(mentions, at)
            if not used:
                return False
            self._pending = mentions[at + used - 1].kind == "column" and used == 1
            at += used
        return True

    def _step(self, mentions: Sequence[Mention], at: int) -> int:
        """How many mentions from `at` on were understood together."""
        mention = mentions[at]
        after = mentions[at + 1] if at + 1 < len(mentions) else None
        match mention.kind:
            case "column":
                self._free.append((mention.start, mention.columns[0]))
                return 1
            case "columns":
                self._groups.append((mention.start, mention.columns))
                return 1
            case "by":
                return self._read_by(after)
            case "value":
                return self._read_value(mention, after, negated=False)
            case "not":
                if after is None or after.kind != "value":
                    return 0
                used = self._read_value(after, mentions[at + 2] if at + 2 < len(mentions) else None, negated=True)
                return used and used + 1
            case "empty":
                return self._read_empty(mention)
            case "compare" | "between":
                return self._read_comparison(mentions, at)
            case "number":
                return self._read_equal_number(mention)
            case "period":
                return self._read_period(mention)
            case "or":
                # Fine between values of one column, which are any of each other anyway.
                before = mentions[at - 1] if at else None
                if before is None or after is None or not before.kind == after.kind == "value":
                    return 0
                return int(bool(_columns_of(before) & _columns_of(after)))
        return 0

    def _read_by(self, after: Mention | None) -> int:
        if after is None or after.kind != "column" or self._group is not None or self._head.top is not None:
            return 0
        self._group = after.columns[0]
        return 2

    def _read_value(self, mention: Mention, after: Mention | None, *, negated: bool) -> int:
        """A cell's value, told apart by the column that is named just before or after it, if any is."""
        held: dict[str, list[str]] = {}
        columns = {column.name: column for column, _ in mention.values}
        for column, value in mention.values:
            held.setdefault(column.name, []).append(value)
        used = 1
        if self._pending and self._free[-1][1].name in held and not self._is_subject(self._free[-1]):
            name = self._free.pop()[1].name
        elif after is not None and after.kind == "column" and after.columns[0].name in held:
            name, used = after.columns[0].name, 2
        elif len(held) == 1:
            name = next(iter(held))
        elif self._conditions.last in held:
            name = self._conditions.last
        else:
            return 0
        if columns[name].ambiguous and columns[name].shown:
            return 0
        self._conditions.add_values(columns[name], held[name], negated=negated)
        self._conditions.last = name
        return used

    def _is_subject(self, free: tuple[int, Column]) -> bool:
        """Whether the column is what is counted or measured, being the first after the question's head."""
        start, _ = free
        end = max((stop for _, stop in self._head.spans), default=0)
        return self._head.action in ("count", "list") and not self._text[end:start].strip()

    def _read_empty(self, mention: Mention) -> int:
        if not self._pending:
            return 0
        column = self._free.pop()[1]
        known = "NOT " if mention.text else ""
        words_ = f"{column.shown} is {'not ' if mention.text else ''}empty"
        self._conditions.done.append(Condition(f"{quoted(column.name)} IS {known}NULL", words_))
        return 1

    def _read_comparison(self, mentions: Sequence[Mention], at: int) -> int:
        operator, bounds, used = mentions[at], mentions[at + 1 :], 2
        if operator.kind == "between":
            if len(bounds) < 2 or "and" not in self._text[bounds[0].end : bounds[1].start].replace("und", "and"):
                return 0
            used = 3
        limits = bounds[: used - 1]
        if not limits or any(limit.kind not in ("number", "period") for limit in limits):
            return 0
        following = bounds[used - 1] if len(bounds) >= used else None
        column, extra = self._compared(limits, following)
        if column is None or column.ambiguous:
            return 0
        if column.kind == "date":
            if any(limit.period is None for limit in limits):
                return 0
            self._conditions.done.append(dated(column, operator, limits))
        else:
            self._conditions.done.append(numbered(column, operator, limits))
        return used + extra

    def _compared(self, limits: Sequence[Mention], following: Mention | None) -> tuple[Column | None, int]:
        """The column that a comparison is about: the one just before it, the one just after, or the only date."""
        full_dates = all(limit.number is None for limit in limits)
        wanted = ("date",) if full_dates else ("number", "date")
        if self._pending and self._free[-1][1].kind in wanted and not self._is_subject(self._free[-1]):
            # The measure may be compared itself: "the sum of amounts over 100".
            column = self._free[-1][1]
            if not self._measures_alone():
                self._free.pop()
            return column, 0
        adjoining = following is not None and not self._text[limits[-1].end : following.start].strip()
        if not full_dates and adjoining and following is not None and following.kind == "column":
            return (following.columns[0], 1) if following.columns[0].kind == "number" else (None, 0)
        dates = [column for column in self._table.columns if column.kind == "date"]
        if len(dates) == 1 and all(limit.period is not None for limit in limits):
            return dates[0], 0
        return None, 0

    def _measures_alone(self) -> bool:
        """Whether the last free column is the only candidate for what is measured."""
        measured = self._head.action not in ("count", "list")
        return measured and sum(column.kind == "number" for _, column in self._free) == 1 and not self._head.top

    def _read_equal_number(self, mention: Mention) -> int:
        if not self._pending or self._free[-1][1].kind != "number" or self._measures_alone():
            return 0
        column = self._free.pop()[1]
        if column.ambiguous:
            return 0
        self._conditions.done.append(
            Condition(f"{quoted(column.name)} = {mention.number}", f"{column.shown} is {mention.text}")
        )
        return 1

    def _read_period(self, mention: Mention) -> int:
        """ "in March 2024": in the date column just named, or the only one; a bare year may be a figure too."""
        period = mention.period
        if period is None:
            return 0
        if self._pending and self._free[-1][1].kind == "date" and not self._is_subject(self._free[-1]):
            column = self._free.pop()[1]
        elif (
            mention.number is not None
            and self._pending
            and self._free[-1][1].kind == "number"
            and not self._measures_alone()
        ):
            return self._read_equal_number(mention)
        else:
            dates = [column for column in self._table.columns if column.kind == "date"]
            years = [c for c in self._table.columns if c.kind == "number" and words.stems(c.shown) in _YEARS]
            if not dates and len(years) == 1 and mention.number is not None:
                year = Condition(f"{quoted(years[0].name)} = {mention.number}", f"{years[0].shown} is {mention.text}")
                self._conditions.done.append(year)
                return 1
            if len(dates) != 1:
                return 0
            column = dates[0]
        if column.ambiguous:
            return 0
        name = quoted(column.name)
        sql = f"{name} >= {day(period.start)} AND {name} < {day(period.end)}"
        self._conditions.done.append(Condition(sql, f"{column.shown} is in {mention.text.title()}"))
        return 1

    # ----------------------------------------------------------- the answer

    def _made(self, conditions: tuple[Condition, ...]) -> Plan | None:
        columns = [column for _, column in self._free]
        base = Plan(self._table, self._head.action, conditions=conditions, group=self._group)
        if self._head.top is not None:
            return self._made_top(base)
        match self._head.action:
            case "count":
                return self._made_count(base, columns)
            case "list":
                if len(columns) > 1 or self._group is not None:
                    return None
                return replace(base, group=columns[0] if columns else None)
        if len(columns) != 1 or not _measurable(columns[0], self._head.action):
            return None
        return replace(base, measure=columns[0])

    def _made_count(self, base: Plan, columns: list[Column]) -> Plan | None:
        if not columns:
            # Without a subject of its own: rows, or what the file or sheet is named after.
            leads = bool(base.conditions) or base.group is not None
            return base if self._head.rows or leads or self._is_about_rows() else None
        if len(columns) > 1 or (self._head.rows and not self._head.distinct):
            return None
        return replace(base, action="distinct", measure=columns[0])

    def _is_about_rows(self) -> bool:
        """Whether what is counted is what the sheet is named after, or the file where that is one table."""
        single = len(self._table.book.tables) == 1
        name = self._table.group or (self._table.document.name.rpartition(".")[0] if single else "")
        last = words.stems(name)[-1:]
        return bool(last) and last[0] in words.stems(self._text)

    def _made_top(self, base: Plan) -> Plan | None:
        split = self._head.split or 0
        before = [column for start, column in self._free if start < split]
        after = [column for start, column in self._free if start >= split]
        plan = replace(base, top=self._head.top, descending=self._head.descending)
        if not before:
            before = self._named_things(split)
        if len(before) != 1 or len(after) > 1 or before[0].kind == "number":
            return None
        group = before[0]
        if self._head.action == "count" and (not after or after[0].kind != "number"):
            counted = replace(plan, action="count", group=group)
            return counted if not after else replace(counted, action="distinct", measure=after[0])
        measure = after[0] if after else self._only_amount(group)
        if measure is None or not _measurable(measure, self._head.action):
            return None
        if self._head.action == "count":  # "the most sales" of a column of figures
            return replace(plan, action="sum", group=group, measure=measure)
        if self._head.action in ("highest", "lowest"):
            return replace(plan, action="highest", group=group, measure=measure, single=True)
        return replace(plan, group=group, measure=measure)

    def _named_things(self, split: int) -> list[Column]:
        """The column that tells which row it is, where the question names a group of columns or the file's things."""
        for start, columns in self._groups:
            if start < split:
                return [column for column in columns if column.kind == "text"]
        nouns = [words.stem(word) for word in words.WORD.findall(self._text[:split])]
        texts = [column for column in self._table.columns if column.kind == "text" and column.shown]
        return texts[:1] if self._names.intersection(nouns) else []

    def _only_amount(self, group: Column) -> Column | None:
        """The one column of figures that are amounts, for "the highest total"."""
        if self._head.action != "sum":
            return None
        amounts = [
            column
            for column in self._table.columns
            if column.kind == "number" and column is not group and not _is_label(column)
        ]
        return amounts[0] if len(amounts) == 1 else None


_YEARS = {words.stems("year"), words.stems("jahr")}
_LABELS = frozenset(
    words.stem(word)
    for word in ("id", "number", "no", "nr", "year", "month", "day", "zip", "code", "index", "jahr", "row")
)


def _is_label(column: Column) -> bool:
    return bool(_LABELS & set(words.stems(column.shown)))


def _measurable(column: Column, action: Action) -> bool:
    if column.kind == "date":
        return action in ("highest", "lowest")
    return column.kind == "number"


def _columns_of(mention: Mention) -> set[str]:
    return {column.name for column, _ in mention.values}
