"""Verbatim words of a page as proof of a citation."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from localrag.answering.context import Passage
from localrag.answering.sentences import Span
from localrag.types import Citation, DocumentId, Page

PageLookup: TypeAlias = Callable[[DocumentId, int], Page | None]


def quote(passage: Passage, span: Span, page: PageLookup, *, verified: bool) -> Citation:
    """The citation of these characters of the passage.

    It is verified only when the page still reads so: the document may have been replaced since it was searched.
    """
    chunk = passage.hit.chunk
    start, end = chunk.start + span[0], chunk.start + span[1]
    words = passage.text[span[0] : span[1]]
    held = page(chunk.document_id, chunk.page_ordinal) if verified else None
    return Citation(
        marker=passage.marker,
        chunk_id=chunk.id,
        document_id=chunk.document_id,
        document=passage.hit.document,
        page=chunk.page,
        label=chunk.label,
        page_ordinal=chunk.page_ordinal,
        quote=words,
        start=start,
        end=end,
        verified=held is not None and held.markdown[start:end] == words,
    )
