"""The filter tree evaluated on one document in Python: the meaning every backend's rendering must have."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

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
from localrag.types import Document

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def matches(where: Filter | None, document: Document) -> bool:
    """Whether the document passes; no filter passes all."""
    match where:
        case None:
            return True
        case DocumentIn(ids):
            return document.id in ids
        case TagIs(key, value):
            return document.tags.get(key) == value
        case InCollection(path):
            held = document.collection
            return held is not None and (held == path or held.startswith(f"{path}/"))
        case MediaTypeIs(media_type):
            return document.media_type == media_type
        case IndexedBetween(start, end):
            return _between(document.indexed_at, start, end)
        case ReadableBy(principals):
            return not document.readable_by or not document.readable_by.isdisjoint(principals)
        case AllOf(parts):
            return all(matches(part, document) for part in parts)
        case AnyOf(parts):
            return any(matches(part, document) for part in parts)
        case Not(part):
            return not matches(part, document)


def microseconds(moment: datetime) -> int:
    """Since 1970 in UTC, exact for every date."""
    return (moment - _EPOCH) // timedelta(microseconds=1)


def moment(stored: int) -> datetime:
    """The time zone aware datetime of `microseconds`, in UTC."""
    return _EPOCH + timedelta(microseconds=stored)


def _between(moment: datetime, start: datetime | None, end: datetime | None) -> bool:
    return (start is None or start <= moment) and (end is None or moment < end)
