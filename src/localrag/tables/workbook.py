"""Typed tables in a DuckDB of their own: in memory, without files, network, extensions or settings to change."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from localrag.tables.dates import dates
from localrag.tables.numbers import Point, evidence, figures
from localrag.tables.reading import Place, RawTable, read_tables, rows_of
from localrag.types import Document, Page

if TYPE_CHECKING:
    import duckdb

Kind: TypeAlias = Literal["number", "date", "text"]
Cell: TypeAlias = Any  # a DuckDB value: str, int, float, Decimal, date, datetime or None

ROW = "__row"
"""A column that is in every table and in none of the questions: which row it is, from 0."""

_TIMEOUT_S = 10.0
_MEMORY = "512MB"
_KEPT = 4  # documents whose tables stay in memory; 100,000 rows of ten columns take some 30 MB
_MOST_ROWS = 5_000_000
_MOST_COLUMNS = 300
_TOTALS = frozenset(
    [
        *("total", "totals", "grand total", "subtotal", "sub-total", "sub total", "sum", "overall", "overall total"),
        *("summe", "gesamt", "gesamtsumme", "zwischensumme", "endsumme", "insgesamt"),
        *("total général", "somme", "total general", "totale", "итого"),
    ]
)
_TOTAL_STARTS = ("total ", "grand total ", "summe ", "gesamt")


class TableError(Exception):
    """A query that is not allowed, is wrong, took too long, or needed too much memory."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table. `name` is unique in it and is the name in SQL; `shown` is the name in the document.

    odd: cells of a column of figures that are none, as they stand there.
    """

    name: str
    shown: str
    kind: Kind
    unit: str = ""
    ambiguous: bool = False
    odd: tuple[str, ...] = ()
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """A table that can be asked. `excluded`: the labels of rows of totals, which are left out."""

    document: Document
    name: str
    group: str
    columns: tuple[Column, ...]
    places: tuple[Place, ...]
    first_row: int | None
    last_row: int | None
    excluded: tuple[str, ...]
    book: Workbook

    @property
    def rows(self) -> int:
        return len(self.places)

    def query(self, sql: str, *, limit: int = 1_000_000) -> tuple[list[str], list[tuple[Cell, ...]]]:
        """The names and rows of the result; see Workbook.query."""
        return self.book.query(sql, limit=limit)

    def matching(self, where: str) -> list[int]:
        """Which rows meet the condition, in order."""
        clause = f" WHERE {where}" if where else ""
        return [row[0] for row in self.query(f"SELECT {ROW} FROM {quoted(self.name)}{clause} ORDER BY {ROW}")[1]]

    def values(self, phrases: Sequence[str]) -> dict[str, list[tuple[Column, str]]]:
        """For each phrase, in small letters, the cells of text columns that say just this, with their columns."""
        found: dict[str, list[tuple[Column, str]]] = {}
        if not phrases:
            return found
        wanted = ", ".join(literal(phrase) for phrase in phrases)
        texts = [(number, quoted(column.name)) for number, column in enumerate(self.columns) if column.kind == "text"]
        selects = [
            f"SELECT DISTINCT {number}, {name} FROM {quoted(self.name)} WHERE lower({name}) IN ({wanted})"
            for number, name in texts
        ]
        if selects:
            for number, value in self.query("\nUNION ALL ".join(selects) + "\nORDER BY 1, 2")[1]:
                found.setdefault(value.lower(), []).append((self.columns[number], value))
        return found


class Workbook:
    """The tables of one document."""

    def __init__(self, document: Document, pages: Sequence[Page]) -> None:
        import duckdb  # deferred: 0.2 s that only questions about tables need

        self._connection = duckdb.connect(
            ":memory:",
            config={
                "enable_external_access": "false",
                "autoinstall_known_extensions": "false",
                "autoload_known_extensions": "false",
                "memory_limit": _MEMORY,
                "max_temp_directory_size": "0B",
                "threads": "2",
            },
        )
        self._lock = threading.Lock()
        labels = {page.ordinal: page.label for page in pages}
        self.tables: list[Table] = []
        for raw in read_tables(pages):
            if len(raw.places) <= _MOST_ROWS and len(raw.names) <= _MOST_COLUMNS:
                self.tables.append(self._load(document, raw, labels))
        self._connection.execute("SET lock_configuration = true")

    def query(self, sql: str, *, limit: int = 1_000_000) -> tuple[list[str], list[tuple[Cell, ...]]]:
        """The names of the result's columns and its first rows.

        Raises:
            TableError: it is not one SELECT over these tables, is wrong, or takes too long.
        """
        import duckdb  # deferred, as above

        with self._lock:
            cursor = self._connection.cursor()
            timer = threading.Timer(_TIMEOUT_S, cursor.interrupt)
            timer.daemon = True
            timer.start()
            try:
                self._check(cursor, sql)
                cursor.execute(sql)
                names = [entry[0] for entry in cursor.description or ()]
                return names, cursor.fetchmany(limit)
            except duckdb.Error as error:
                raise TableError(str(error).partition("\n")[0]) from error
            finally:
                timer.cancel()
                cursor.close()

    def _check(self, cursor: duckdb.DuckDBPyConnection, sql: str) -> None:
        import duckdb  # deferred, as above

        statements = cursor.extract_statements(sql)
        if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
            raise TableError("Only one SELECT is allowed.")
        known = {table.name.casefold() for table in self.tables}
        used = {name.casefold() for name in cursor.get_table_names(sql)}
        if not used or not used <= known:
            raise TableError("Only the document's own tables can be asked.")

    def _load(self, document: Document, raw: RawTable, labels: dict[int, str | None]) -> Table:
        kept, excluded = _without_totals(raw)
        cells = raw.cells if len(kept) == len(raw.places) else [[texts[row] for row in kept] for texts in raw.cells]
        typed = _typed(raw.names, cells, sheet=raw.group.startswith("sheet "))
        if kept and _is_bare_total(typed):
            typed = [(column, sql, values[:-1]) for column, sql, values in typed]
            kept, excluded = kept[:-1], (*excluded, "")
        places = tuple(raw.places[row] for row in kept)
        name = self._name(raw.group, document.name)
        parts = [f"unnest($1::INTEGER[]) AS {ROW}"]
        parts += [
            f"CAST(unnest(${number}::VARCHAR[]) AS {sql}) AS {quoted(column.name)}"
            for number, (column, sql, _) in enumerate(typed, start=2)
        ]
        self._connection.execute(
            f"CREATE TABLE {quoted(name)} AS SELECT {', '.join(parts)}",
            [list(range(len(places))), *(values for _, _, values in typed)],
        )
        spans = [span for place in (raw.places[0], raw.places[-1]) if (span := rows_of(labels[place.page]))]
        return Table(
            document=document,
            name=name,
            group=raw.group,
            columns=tuple(column for column, _, _ in typed),
            places=places,
            first_row=spans[0][0] if spans else None,
            last_row=spans[-1][1] if spans else None,
            excluded=excluded,
            book=self,
        )

    def _name(self, group: str, document: str) -> str:
        """What the table is called in SQL: its sheet, or the file; a second one of that name is numbered."""
        base = group.rpartition("sheet ")[2] or document.rpartition(".")[0] or document
        taken = {table.name.casefold() for table in self.tables}
        return next(name for name in _numbered(base) if name.casefold() not in taken)


class Workbooks:
    """The tables of documents, the last few kept in memory; a document that changes has other ones."""

    def __init__(self, pages: Callable[[str], list[Page]]) -> None:
        self._pages = pages
        self._kept: OrderedDict[tuple[str, str], Workbook] = OrderedDict()
        self._lock = threading.Lock()

    def open(self, document: Document) -> Workbook:
        """The document's tables."""
        key = (document.id, document.content_hash)
        with self._lock:
            book = self._kept.pop(key, None) or Workbook(document, self._pages(document.id))
            self._kept[key] = book
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
            return book


def quoted(name: str) -> str:
    """The name as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """The text as SQL writes it."""
    return "'" + text.replace("'", "''") + "'"


def _typed(
    names: Sequence[str], cells: Sequence[Sequence[str]], *, sheet: bool
) -> list[tuple[Column, str, Sequence[str | None]]]:
    """Each column with its SQL type and its values as text."""
    point: Point | None = "."  # how cells of spreadsheets are written out
    if not sheet:
        marks = {mark for texts in cells for mark in evidence(texts[:1000])}
        point = marks.pop() if len(marks) == 1 else None
    taken: set[str] = {ROW}
    typed: list[tuple[Column, str, Sequence[str | None]]] = []
    for shown, texts in zip(names, cells, strict=True):
        name = next(one for one in _numbered(shown or "unnamed") if one.casefold() not in taken)
        taken.add(name.casefold())
        twice = not shown or names.count(shown) > 1
        if found := dates(texts):
            sql = "TIMESTAMP" if found.clock else "DATE"
            typed.append((Column(name, shown, "date", ambiguous=twice), sql, found.values))
        elif numbers := figures(texts, point):
            sql = "DOUBLE" if numbers.decimals is None else f"DECIMAL(38, {numbers.decimals})"
            odd, whole = tuple(numbers.odd.elements()), numbers.decimals == 0
            column = Column(name, shown, "number", unit=numbers.unit, ambiguous=twice, odd=odd, whole=whole)
            typed.append((column, sql, numbers.values))
        else:
            typed.append((Column(name, shown, "text", ambiguous=twice), "VARCHAR", [text or None for text in texts]))
    return typed


def _without_totals(raw: RawTable) -> tuple[list[int], tuple[str, ...]]:
    """The rows that are no totals, and the labels of those that are."""
    count = len(raw.places)
    labels = [next((texts[row] for texts in raw.cells if texts[row]), "") for row in range(count)]
    end = count
    excluded: list[str] = []
    while end and (_is_total(labels[end - 1]) or labels[end - 1].casefold().startswith(_TOTAL_STARTS)):
        end -= 1
        excluded.insert(0, labels[end])
    if end == 0:  # nothing but totals: then they are what the table is about
        return list(range(count)), ()
    kept = [row for row in range(end) if not _is_total(labels[row])]
    inside = [labels[row] for row in range(end) if _is_total(labels[row])]
    return kept, (*inside, *excluded)


def _is_total(label: str) -> bool:
    return label.casefold().strip(" :*") in _TOTALS


def _is_bare_total(typed: Sequence[tuple[Column, str, Sequence[str | None]]]) -> bool:
    """Whether the last row only holds figures, and they are the sums of those above."""
    words = [values for column, _, values in typed if column.kind != "number"]
    sums = [values for column, _, values in typed if column.kind == "number" and values and values[-1] is not None]
    if not words or not sums or len(sums[0]) < 3 or any(values[-1] for values in words):
        return False
    return all(sum(Decimal(value) for value in values[:-1] if value) == Decimal(values[-1] or 0) for values in sums)


def _numbered(base: str) -> Iterator[str]:
    yield base
    number = 2
    while True:
        yield f"{base} ({number})"
        number += 1
