"""What of a table a question names: columns, cell values, figures, periods and comparisons, with their places."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Literal, TypeAlias

from localrag.tables import words
from localrag.tables.dates import Period, periods
from localrag.tables.numbers import parse_number
from localrag.tables.workbook import Column, Table

# "columns" is the name of a group of them.
MentionKind: TypeAlias = Literal[
    "column", "columns", "value", "number", "period", "compare", "by", "not", "or", "empty", "between"
]
_LONGEST = 7  # words of a column's name or a value


@dataclass(frozen=True, slots=True)
class Mention:
    """Something that the question names, at half-open offsets. What is filled in follows from the kind."""

    start: int
    end: int
    kind: MentionKind
    columns: tuple[Column, ...] = ()
    values: tuple[tuple[Column, str], ...] = ()
    number: Decimal | None = None
    period: Period | None = None
    text: str = ""


@dataclass(slots=True)
class Reading:
    """All mentions in order, and the words that were not understood."""

    mentions: list[Mention] = field(default_factory=list)
    unexplained: list[str] = field(default_factory=list)


def read_question(text: str, table: Table, *, explained: Iterable[tuple[int, int]], names: frozenset[str]) -> Reading:
    """What the question says about this table.

    Args:
        text: in small letters.
        explained: offsets that need no explanation: what is asked for, the name of the file.
        names: stems of the words of the file's and the sheet's names, which may stand anywhere.
    """
    taken = list(explained)
    found: list[Mention] = []

    def add(mention: Mention) -> None:
        found.append(mention)
        taken.append((mention.start, mention.end))

    for mention in [*_quoted(text, table), *_columns(text, table, names)]:
        if _is_free(mention, found):
            add(mention)
    for mention in [*_comparisons(text), *_amounts(text), *_values(text, table, taken), *_connectors(text)]:
        if _is_free(mention, found) and not _inside(mention, taken):
            add(mention)
    found.sort(key=lambda mention: mention.start)
    reading = Reading(found)
    for word in words.WORD.finditer(text):
        if not any(start <= word.start() < end for start, end in taken):
            plain = word.group()
            if plain not in words.FUNCTION | words.UNITS and words.stem(plain) not in names:
                reading.unexplained.append(plain)
    return reading


def _is_free(mention: Mention, found: Sequence[Mention]) -> bool:
    return all(mention.end <= other.start or mention.start >= other.end for other in found)


def _inside(mention: Mention, taken: Sequence[tuple[int, int]]) -> bool:
    return any(start < mention.end and mention.start < end for start, end in taken)


def _quoted(text: str, table: Table) -> Iterator[Mention]:
    for match in words.QUOTED.finditer(text):
        value = next(group for group in match.groups() if group)
        yield Mention(
            match.start(), match.end(), "value", values=tuple(table.values([value]).get(value, ())), text=value
        )


def _columns(text: str, table: Table, names: frozenset[str]) -> Iterator[Mention]:
    """Columns by the longest run of words that is a name, the last part of one, or much of just such."""
    strong, weak, groups = _names(table)
    tokens = [(match.start(), match.end(), words.stem(match.group())) for match in words.WORD.finditer(text)]
    for size in range(min(_LONGEST, len(tokens)), 0, -1):
        for at in range(len(tokens) - size + 1):
            phrase = tuple(token[2] for token in tokens[at : at + size])
            start, end = tokens[at][0], tokens[at + size - 1][1]
            if phrase in strong:
                yield Mention(start, end, "column", columns=tuple(strong[phrase]))
            elif phrase in groups:
                yield Mention(start, end, "columns", columns=tuple(groups[phrase]))
            elif phrase in weak and not names.issuperset(phrase):
                yield Mention(start, end, "column", columns=tuple(weak[phrase]))


_Names: TypeAlias = dict[tuple[str, ...], list[Column]]


def _names(table: Table) -> tuple[_Names, _Names, _Names]:
    """Columns by the stems of their names, by those of at least half of their names, and by their groups' names."""
    strong: _Names = {}
    weak: _Names = {}
    groups: _Names = {}
    for column in table.columns:
        if not column.shown:
            continue
        plain = re.sub(r"[(\[][^)\]]*[)\]]", " ", column.shown)
        *above, last = plain.split(" / ")
        variants = {words.stems(name) for name in (column.shown, plain, last)} - {()}
        for variant in variants:
            strong.setdefault(variant, []).append(column)
            for part in _parts(variant):
                held = weak.setdefault(part, [])
                if column not in held:
                    held.append(column)
        for group in above:
            groups.setdefault(words.stems(group), []).append(column)
    groups.pop((), None)
    return strong, weak, groups


def _parts(name: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    for size in range((len(name) + 1) // 2, len(name)):
        for at in range(len(name) - size + 1):
            part = name[at : at + size]
            if not all(word in _NO_NAME or word.isdigit() for word in part):
                yield part


# Words that are too common to name a column by themselves.
_NO_NAME = frozenset(words.stem(word) for word in words.FUNCTION) | frozenset(
    words.stem(word)
    for word in """how many number no name total sum average mean most least highest lowest top count or not more less
    than over under above below after before between up at all total list show first last""".split()  # noqa: SIM905
)


def _values(text: str, table: Table, taken: Sequence[tuple[int, int]]) -> Iterator[Mention]:
    """Runs of words that a cell says, the longest first."""
    tokens = [match for match in words.WORD.finditer(text) if not any(s <= match.start() < e for s, e in taken)]
    spans: dict[str, list[tuple[int, int]]] = {}
    for size in range(min(_LONGEST, len(tokens)), 0, -1):
        for at in range(len(tokens) - size + 1):
            run = tokens[at : at + size]
            if all(token.group() in words.FUNCTION and token.group() not in words.UNITS for token in run):
                continue
            start, end = run[0].start(), run[-1].end()
            phrase = text[start:end]
            spans.setdefault(phrase, []).append((start, end))
            if phrase.endswith("s") and len(phrase) > 3:
                spans.setdefault(phrase[:-1], []).append((start, end))
    held = table.values(list(spans))
    for phrase in sorted(held, key=lambda one: -len(one)):
        for start, end in spans.get(phrase, ()):
            yield Mention(start, end, "value", values=tuple(held[phrase]), text=phrase)


def _amounts(text: str) -> Iterator[Mention]:
    for start, end, period in periods(text):
        number = Decimal(text[start:end]) if text[start:end].isdigit() else None
        yield Mention(start, end, "period", period=period, number=number, text=text[start:end])
    for match in words.NUMBER.finditer(text):
        number = parse_number(match.group())
        if number is not None:
            end = match.end() - (len(match.group()) - len(match.group().rstrip(".,")))
            yield Mention(match.start(), end, "number", number=number, text=text[match.start() : end].strip())


def _comparisons(text: str) -> Iterator[Mention]:
    for match in words.EMPTY.finditer(text):
        yield Mention(match.start(), match.end(), "empty", text="not" if match["not"] else "")
    for sign, pattern in words.COMPARISONS:
        for match in pattern.finditer(text):
            yield Mention(match.start(), match.end(), "compare", text=sign)
    for match in re.finditer(r"\b(?:between|zwischen)\b", text):
        yield Mention(match.start(), match.end(), "between")


def _connectors(text: str) -> Iterator[Mention]:
    for match in words.NOT.finditer(text):
        yield Mention(match.start(), match.end(), "not")
    for match in words.GROUP_BY.finditer(text):
        yield Mention(match.start(), match.end(), "by")
    for match in words.OR.finditer(text):
        yield Mention(match.start(), match.end(), "or")
