"""The filter tree as SQL over `documents d`, every value bound."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from localrag.filters import (
    AllOf,
    AnyOf,
    DocumentIn,
    Filter,
    InCollection,
    IndexedBetween,
    MediaTypeIs,
    Not,
    ReadableBy,
    TagIs,
)
from localrag.index.filters import microseconds


@dataclass(frozen=True, slots=True)
class Sql:
    """An expression that is 0 or 1 and never NULL, with the values of its `?`."""

    text: str
    values: tuple[str | int, ...] = ()


def render(where: Filter) -> Sql:
    """The filter as an expression over one row of `documents d`."""
    match where:
        case DocumentIn(ids):
            return Sql("d.id IN (SELECT value FROM json_each(?))", (_json_list(ids),))
        case TagIs(key, value):
            found = "EXISTS (SELECT 1 FROM tags t WHERE t.document_key = d.key AND t.key = ? AND t.value = ?)"
            return Sql(found, (key, value))
        case InCollection(path):
            below = "ifnull(d.collection = ? OR substr(d.collection, 1, length(?)) = ?, 0)"  # LIKE ignores case
            return Sql(below, (path, f"{path}/", f"{path}/"))
        case MediaTypeIs(media_type):
            return Sql("d.media_type = ?", (media_type,))
        case IndexedBetween(start, end):
            bounds = [(">=", start), ("<", end)]
            parts = [Sql(f"d.indexed_at {sign} ?", (microseconds(at),)) for sign, at in bounds if at is not None]
            return _every(parts)
        case ReadableBy(principals):
            shared = "r.principal IN (SELECT value FROM json_each(?))"
            readers = "SELECT 1 FROM readers r WHERE r.document_key = d.key"
            return Sql(f"(NOT EXISTS ({readers}) OR EXISTS ({readers} AND {shared}))", (_json_list(principals),))
        case AllOf(parts):
            return _every(render(part) for part in parts)
        case AnyOf(parts):
            return _in_list("1 IN", [render(part) for part in parts])
        case Not(part):
            inner = render(part)
            return Sql(f"(NOT {inner.text})", inner.values)


def documents_passing(where: Filter) -> Sql:
    """A query for the keys of the documents that pass."""
    condition = render(where)
    return Sql(f"SELECT d.key FROM documents d WHERE {condition.text}", condition.values)


def _every(parts: Iterable[Sql]) -> Sql:
    return _in_list("0 NOT IN", list(parts))


def _in_list(operator: str, parts: list[Sql]) -> Sql:
    """One flat list however many parts: a chain of AND or OR of 1,000 is too deep for SQLite."""
    texts = ", ".join(part.text for part in parts)
    return Sql(f"({operator} ({texts}))", tuple(value for part in parts for value in part.values))


def _json_list(values: Iterable[str]) -> str:
    return json.dumps(sorted(values))
