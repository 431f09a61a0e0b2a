"""Answers that are computed from tables, with the query and the rows that they rest on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal

from localrag.protocols import SearchIndex
from localrag.tables.plan import LISTED, Plan
from localrag.tables.rules import asks_for_table, plan
from localrag.tables.workbook import Cell, Column, Table, TableError, Workbooks
from localrag.types import Chunk, Citation, Document, Page, cite

_TABULAR = ("text/csv", "text/tab-separated-values", "spreadsheet", "ms-excel", "sheet.macro", "sheet.template")
_MOST_BOOKS = 8
"""Spreadsheets that are looked at when the question names none of them."""
_MOST_BYTES = 64 * 1024 * 1024
_CITED = 3
_SIGNIFICANT = 12  # digits of an average: the others are noise of its division
_SAID = {
    "sum": "sum",
    "average": "average",
    "median": "median",
    "lowest": "lowest",
    "highest": "highest",
}


@dataclass(frozen=True, slots=True)
class Computed:
    """A text, which holds the query it was computed by, with the citations of the rows behind it."""

    text: str
    citations: tuple[Citation, ...] = ()


class TableQuestions:
    """Answers questions that rules understand as a computation over the rows of one table."""

    def __init__(self, index: SearchIndex) -> None:
        self._index = index
        self._books = Workbooks(index.pages)

    def answer(
        self, question: str, documents: Callable[[], Sequence[Document]], named: Callable[[], Sequence[Document]]
    ) -> Computed | None:
        """The computed answer; None when the question is none that these documents' tables certainly answer.

        Args:
            documents: those that may be looked at. named: those of them that the question names.
        """
        if not asks_for_table(question):
            return None
        chosen = list(named()) or [document for document in documents() if is_tabular(document)]
        if len(chosen) > _MOST_BOOKS or sum(document.size_bytes for document in chosen) > _MOST_BYTES:
            return None
        try:
            plans = self._plans(question, chosen, named={document.id for document in named()})
            if len(plans) == 1:
                return self._computed(plans[0])
        except TableError:
            return None  # too slow or too large to compute: it is answered from passages like any question
        return _ambiguous(plans) if plans else None

    def _plans(self, question: str, documents: Sequence[Document], *, named: set[str]) -> list[Plan]:
        plans = []
        for document in documents:
            for table in self._books.open(document).tables:
                name = _name_in(question, document) if document.id in named else ""
                if made := plan(question, table, named=name):
                    plans.append(made)
        return plans

    def _computed(self, made: Plan) -> Computed:
        names, rows = made.table.query(made.sql, limit=100_000)
        used = made.table.matching(made.used)
        parts = [_stated(made, names, rows, len(used)), f"```sql\n{made.sql}\n```"]
        if notes := _notes(made):
            parts.append(notes)
        citations = self._citations(made, rows, used)
        if citations:
            parts[0] += " " + " ".join(dict.fromkeys(citation.marker for citation in citations))
        return Computed("\n\n".join(parts), citations)

    def _citations(self, made: Plan, rows: Sequence[tuple[Cell, ...]], used: Sequence[int]) -> tuple[Citation, ...]:
        """The first rows that the value rests on, word for word, at most one of a page and three in all."""
        table = made.table
        shown = self._proving(made, rows) or used
        by_page = {table.places[row].page: table.places[row] for row in reversed(shown)}
        places = sorted(by_page.values(), key=lambda place: place.page)[:_CITED]
        chunks = self._index.document_chunks(table.document.id) if places else []
        found = []
        for place in places:
            page = self._index.page(table.document.id, place.page)
            chunk = _chunk_at(chunks, place.page, place.start)
            if page is not None and chunk is not None:
                found.append(_citation(table.document, page, chunk, place.start, place.end))
        return tuple(found)

    @staticmethod
    def _proving(made: Plan, rows: Sequence[tuple[Cell, ...]]) -> list[int]:
        """The rows of the highest or lowest value itself."""
        if made.action not in ("highest", "lowest") or made.measure is None or not rows:
            return []
        if made.group is not None and not made.single:
            return []
        value = rows[0][-1]
        if value is None:
            return []
        written = f"'{value}'" if isinstance(value, date) else str(value)
        same = f'"{made.measure.name.replace(chr(34), chr(34) * 2)}" = {written}'
        return made.table.matching(" AND ".join(part for part in (made.where, same) if part))


def is_tabular(document: Document) -> bool:
    """Whether the document is a spreadsheet or a file of rows."""
    return any(part in document.media_type for part in _TABULAR)


def _name_in(question: str, document: Document) -> str:
    """The file's name as the question writes it, with or without its extension."""
    folded = question.lower()
    return next((name for name in (document.name, document.name.rpartition(".")[0]) if name.lower() in folded), "")


def _ambiguous(plans: Sequence[Plan]) -> Computed:
    places = "\n".join(f"- {_where(made.table)}" for made in plans[:LISTED])
    more = f"\n- and {len(plans) - LISTED} more" if len(plans) > LISTED else ""
    return Computed(f"{len(plans)} tables have what this asks for. Name the file or the sheet:\n\n{places}{more}")


def _stated(made: Plan, names: Sequence[str], rows: Sequence[tuple[Cell, ...]], used: int) -> str:
    """What came out, and from which rows."""
    basis = f"{_count(used, 'row')} of {_where(made.table)}{_conditions(made)}"
    if made.action == "list" or made.group is not None:
        return _table(made, names, rows, basis)
    value = rows[0][0] if rows else None
    if made.action == "count":
        return f"**{used:,}** {'row' if used == 1 else 'rows'} of {_where(made.table)}{_conditions(made)}."
    measure = made.measure
    if measure is None:
        raise AssertionError("only counting needs no column")
    if made.action == "distinct":
        return f"**{value:,}** different values of {_shown(measure)}, in {basis}."
    if value is None:
        return f"There is no value: {measure.shown} is empty in every row of {_where(made.table)}{_conditions(made)}."
    return f"**{_written(value, measure)}** is the {_SAID[made.action]} of {_shown(measure)}, from {basis}."


def _table(made: Plan, names: Sequence[str], rows: Sequence[tuple[Cell, ...]], basis: str) -> str:
    """Groups or rows as a Markdown table, at most LISTED of them."""
    if not rows:
        return f"No row of {_where(made.table)}{_conditions(made)}."
    columns = {column.name: column for column in made.table.columns}
    heads = [columns[name].shown or " " if name in columns else _measured(made) for name in names]
    lines = ["| " + " | ".join(map(_cell, heads)) + " |", "|" + " --- |" * len(heads)]
    for row in rows[:LISTED]:
        cells = [_written(value, columns.get(name) or made.measure) for name, value in zip(names, row, strict=True)]
        lines.append("| " + " | ".join(map(_cell, cells)) + " |")
    more = f"\n\nand {len(rows) - LISTED:,} more" if len(rows) > LISTED else ""
    lead = _lead(made, rows)
    return f"{lead}From {basis}:\n\n" + "\n".join(lines) + f"{more}\n\nRows:"


def _lead(made: Plan, rows: Sequence[tuple[Cell, ...]]) -> str:
    if made.top != 1 or made.group is None:
        return ""
    best = [str(row[0]) if row[0] is not None else "(empty)" for row in rows[:LISTED]]
    value = _written(rows[0][-1], None if made.action in ("count", "distinct") else made.measure)
    which = "single " if made.single else ""
    how = f"{'highest' if made.descending else 'lowest'} {which}{_measured(made)}"
    verb = "have" if len(best) > 1 else "has"
    return f"**{', '.join(best)}** {verb} the {how}: **{value}**. "


def _measured(made: Plan) -> str:
    if made.action == "count":
        return "number of rows"
    name = made.measure.shown if made.measure else ""
    if made.single:
        return name
    return f"number of different {name}" if made.action == "distinct" else f"{_SAID[made.action]} of {name}"


def _where(table: Table) -> str:
    rows = f", rows {table.first_row}-{table.last_row}" if table.first_row and table.last_row else ""
    return f"{table.document.name}{f', {table.group}' if table.group else ''}{rows}"


def _conditions(made: Plan) -> str:
    said = " and ".join(condition.words for condition in made.conditions)
    return f" where {said}" if said else ""


def _notes(made: Plan) -> str:
    """What a reader must know of the rows that were not counted with."""
    notes = []
    table = made.table
    if table.excluded:
        labels = ", ".join(f"“{label}”" if label else "a last row of sums" for label in dict.fromkeys(table.excluded))
        notes.append(f"Left out as totals: {_count(len(table.excluded), 'row')} ({labels}).")
    if made.measure is not None and made.measure.odd:
        odd = Counter(made.measure.odd)
        shown = ", ".join(f"“{text}”" for text in list(odd)[:5])
        notes.append(f"{_count(odd.total(), 'cell')} of {made.measure.shown} hold no figure and are left out: {shown}.")
    if made.measure is not None and made.measure.kind == "number" and made.action not in ("count", "distinct"):
        notes.append("Figures are taken as their cells show them.")
    return " ".join(notes)


def _shown(column: Column) -> str:
    return column.shown or "a column without a name"


def _written(value: Cell, column: Column | None) -> str:
    """The value as a reader writes it, with the column's unit."""
    if value is None:
        return "(empty)"
    if isinstance(value, float):
        value = Decimal(f"{value:.{_SIGNIFICANT}g}")
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%d %H:%M")
    if isinstance(value, int | Decimal):
        is_label = column is not None and column.whole and "year" in column.shown.casefold()
        text = f"{value:f}" if is_label else f"{value:,f}" if isinstance(value, Decimal) else f"{value:,}"
        unit = column.unit if column is not None else ""
        return (
            f"{text}{unit}" if unit in ("%", "°") else f"{unit}{text}" if unit in "$£¥₹" else f"{text} {unit}".strip()
        )
    return str(value)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _chunk_at(chunks: Sequence[Chunk], page: int, at: int) -> Chunk | None:
    """The passage that holds this place of the page."""
    return next((chunk for chunk in chunks if chunk.page_ordinal == page and chunk.start <= at < chunk.end), None)


def _citation(document: Document, page: Page, chunk: Chunk, start: int, end: int) -> Citation:
    return Citation(
        marker=cite(document.name, page.number, page.label),
        chunk_id=chunk.id,
        document_id=document.id,
        document=document.name,
        page=page.number,
        label=page.label,
        page_ordinal=page.ordinal,
        quote=page.markdown[start:end],
        start=start,
        end=end,
        verified=True,
    )
