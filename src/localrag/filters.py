"""One filter tree, built by the core and rendered by each index backend.

A filter is a predicate over documents; a chunk passes when its document does. The tree is small on purpose:
each backend must render every node *inside* its search (SQL, OpenSearch bool query), never after it, so that
`top_k` hits come back whenever that many match.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class DocumentIn:
    """The document id is one of these. An empty set matches nothing."""

    ids: frozenset[str]


@dataclass(frozen=True, slots=True)
class TagIs:
    """The document carries tag `key` with exactly this `value`."""

    key: str
    value: str


@dataclass(frozen=True, slots=True)
class InCollection:
    """The document's collection is `path` or lies below it (`legal` holds `legal/contracts`)."""

    path: str


@dataclass(frozen=True, slots=True)
class MediaTypeIs:
    """The document has this media type, such as `application/pdf`."""

    media_type: str


@dataclass(frozen=True, slots=True)
class IndexedBetween:
    """Indexed at or after `start` and before `end`, both time zone aware; None is unbounded."""

    start: datetime | None = None
    end: datetime | None = None


@dataclass(frozen=True, slots=True)
class ReadableBy:
    """The document's `readable_by` is empty (open to all) or shares a principal with these."""

    principals: frozenset[str]


@dataclass(frozen=True, slots=True)
class AllOf:
    """Every part matches. No parts: matches everything."""

    parts: tuple[Filter, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """At least one part matches. No parts: matches nothing."""

    parts: tuple[Filter, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """The part does not match."""

    part: Filter


Filter: TypeAlias = DocumentIn | TagIs | InCollection | MediaTypeIs | IndexedBetween | ReadableBy | AllOf | AnyOf | Not


def all_of(parts: Iterable[Filter | None]) -> Filter | None:
    """The conjunction of the parts that are not None; None when there are none."""
    present = tuple(part for part in parts if part is not None)
    if not present:
        return None
    return present[0] if len(present) == 1 else AllOf(present)
