"""Numbers, sizes, times and places in the words of the pages."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from localrag.types import Confidence, Document, Hit

MEDIA_PDF = "application/pdf"
MEDIA_PICTURE = "image/"  # what the types of pictures begin with

CONFIDENCE_COLOUR: dict[Confidence, str] = {"high": "green", "medium": "orange", "low": "red", "none": "gray"}

_STEP = 1024


def size(size_bytes: int) -> str:
    """`812 B`, `3.4 KB`, `120 MB`."""
    amount = float(size_bytes)
    for unit in ("B", "KB", "MB"):
        if amount < _STEP:
            return f"{amount:.0f} {unit}" if unit == "B" or amount >= 100 else f"{amount:.1f} {unit}"
        amount /= _STEP
    return f"{amount:.1f} GB"


def count(number: int, noun: str) -> str:
    """`1 chunk`, `1,204 chunks`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def seconds(amount: float) -> str:
    """`8 s`, `3 min 20 s`, `2 h 5 min`."""
    whole = max(0, round(amount))
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def milliseconds(amount: float) -> str:
    """`40 ms`, `1.2 s`."""
    return f"{amount:.0f} ms" if amount < 1000 else f"{amount / 1000:.1f} s"


def moment(when: datetime) -> str:
    """`2026-11-30 15:04` in the machine's own time."""
    return when.astimezone().strftime("%Y-%m-%d %H:%M")


def status(document: Document) -> str:
    """`Ready`, or how far its vectors are."""
    if document.status == "indexed":
        return "Ready"
    return f"Embedding {document.embedded_count}/{document.chunk_count}"


def rank(number: int | None) -> str:
    """`#3`, or a dash when that leg did not find it."""
    return f"#{number}" if number is not None else "–"


def scores(hit: Hit) -> str:
    """`Score 0.0328 · keyword #1 · semantic #2`."""
    parts = [f"Score {hit.score:.4f}", f"keyword {rank(hit.lexical_rank)}", f"semantic {rank(hit.vector_rank)}"]
    if hit.rerank_score is not None:
        parts.append(f"rerank {hit.rerank_score:.4f}")
    return " · ".join(parts)


def distinct_names(documents: Sequence[Document]) -> dict[str, str]:
    """The name of each document by id; documents that share a name are told apart by their place."""
    names = [document.name for document in documents]
    return {
        document.id: document.name if names.count(document.name) == 1 else f"{document.name} ({document.uri})"
        for document in documents
    }
