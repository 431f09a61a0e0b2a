"""The filter tree as OpenSearch queries over fields that every chunk carries.

Lucene counts the clauses of a whole query and refuses more than 1,024, so tests of one field are joined into one
`terms` clause, which counts as one.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

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
from localrag.types import Document

Query = dict[str, Any]

# Lucene takes terms of up to 32,766 bytes, and a `terms` clause up to 65,536 values.
_LONGEST_TERM = 1_000
_MOST_VALUES = 60_000


def filter_fields(document: Document) -> dict[str, Any]:
    """What `render` asks for, as fields of the document and of each of its chunks."""
    return {
        "document": document.id,
        "media_type": exact(document.media_type),
        "tags": [tag_term(key, value) for key, value in sorted(document.tags.items())],
        "collections": [] if document.collection is None else _with_ancestors(document.collection),
        "readable_by": [exact(principal) for principal in sorted(document.readable_by)],
        "indexed_at": microseconds(document.indexed_at),
    }


def render(where: Filter) -> Query:
    """The filter as one query, to stand in filter context."""
    match where:
        case DocumentIn() | TagIs() | InCollection() | MediaTypeIs():
            field, values = _field_test(where)
            return any_value(field, values)
        case IndexedBetween(start, end):
            bounds = {"gte": start, "lt": end}
            told = {sign: microseconds(at) for sign, at in bounds.items() if at is not None}
            return {"range": {"indexed_at": told}} if told else {"match_all": {}}
        case ReadableBy(principals):
            return {
                "bool": {
                    "should": [
                        {"bool": {"must_not": [{"exists": {"field": "readable_by"}}]}},
                        any_value("readable_by", [exact(each) for each in principals]),
                    ],
                    "minimum_should_match": 1,
                }
            }
        case AllOf(parts):
            wanted = [render(part) for part in parts if not isinstance(part, Not)]
            # not a and not b is not (a or b), whose tests can be joined
            unwanted = _any(part.part for part in parts if isinstance(part, Not))
            return {"bool": {"filter": wanted or [{"match_all": {}}], "must_not": unwanted}}
        case AnyOf(parts):
            queries = _any(parts)
            return {"bool": {"should": queries, "minimum_should_match": 1}} if queries else {"match_none": {}}
        case Not(part):
            return {"bool": {"must_not": [render(part)]}}


def any_value(field: str, values: Iterable[str]) -> Query:
    """Matches where the field holds one of the values, however many there are."""
    ordered = sorted(values)
    parts = [ordered[at : at + _MOST_VALUES] for at in range(0, len(ordered), _MOST_VALUES)] or [[]]
    if len(parts) == 1:
        return {"terms": {field: parts[0]}}
    return {"bool": {"should": [{"terms": {field: part}} for part in parts], "minimum_should_match": 1}}


def exact(value: str) -> str:
    """The value as one term, whatever its length."""
    if len(value) <= _LONGEST_TERM:
        return value
    return f"sha256:{hashlib.sha256(value.encode('utf-8', 'surrogatepass')).hexdigest()}"


def tag_term(key: str, value: str) -> str:
    """Key and value as one term; JSON keeps where the key ends."""
    return exact(json.dumps([key, value]))


def _any(parts: Iterable[Filter]) -> list[Query]:
    """Queries of which one must match for one of the parts to match."""
    values: dict[str, set[str]] = defaultdict(set)
    others: list[Query] = []
    for part in parts:
        match part:
            case DocumentIn() | TagIs() | InCollection() | MediaTypeIs():
                field, more = _field_test(part)
                values[field].update(more)
            case _:
                others.append(render(part))
    return [*(any_value(field, each) for field, each in values.items()), *others]


def _field_test(where: DocumentIn | TagIs | InCollection | MediaTypeIs) -> tuple[str, Sequence[str]]:
    match where:
        case DocumentIn(ids):
            return "document", sorted(ids)
        case TagIs(key, value):
            return "tags", [tag_term(key, value)]
        case InCollection(path):
            return "collections", [exact(path)]
        case MediaTypeIs(media_type):
            return "media_type", [exact(media_type)]


def _with_ancestors(collection: str) -> list[str]:
    """`a/b/c` lies in a, a/b and a/b/c."""
    cuts = [at for at, character in enumerate(collection) if character == "/"]
    return [exact(collection[:at]) for at in (*cuts, len(collection))]
