"""The sources of an answer: exactly those that it cites, in its order; what else was found stands apart."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import streamlit as st

from localrag.app import RAG
from localrag.errors import LocalRagError
from localrag.types import Answer, Chunk, Citation, Document, DocumentId, Hit, cite
from localrag.ui import labels
from localrag.ui.conversation import cited
from localrag.ui.marking import Excerpt, excerpt, table_excerpt
from localrag.ui.notices import show_error
from localrag.ui.safe import badge, plain, render_safe

_PREVIEW = 500
_PAGE = 8_000
_UNDER_PICTURE = 900


def draw(rag: RAG, answer: Answer, documents: Mapping[DocumentId, Document], *, key: str, open_now: bool) -> None:
    """Two expanders: the cited sources, and what else was retrieved."""
    groups = cited(answer)
    hits = {hit.chunk.id: hit for hit in answer.hits}
    if groups:
        title = f"Sources ({len(groups)})"
        panel = st.expander(title, icon=":material/format_quote:", expanded=open_now)
        with panel, st.container(key=f"sources_{key}"):
            for number, citations in enumerate(groups):
                _source(rag, citations, hits.get(citations[0].chunk_id), documents, key=f"{key}_{number}")
    used = {citations[0].chunk_id for citations in groups}
    others = [hit for hit in answer.hits if hit.chunk.id not in used]
    if others:
        panel = st.expander(f"Also retrieved ({len(others)})", icon=":material/search:")
        with panel, st.container(key=f"others_{key}"):
            for hit in others:
                _other(rag, hit, documents, key=f"{key}_other_{hit.rank}")


def _source(
    rag: RAG, citations: Sequence[Citation], hit: Hit | None, documents: Mapping[DocumentId, Document], *, key: str
) -> None:
    first = citations[0]
    document = documents.get(first.document_id)
    with st.container(border=True, gap="xsmall"):
        with st.container(horizontal=True, vertical_alignment="center"):
            checked = "" if any(citation.verified for citation in citations) else " :orange-badge[not verified]"
            st.markdown(f"{badge(first.marker, 'blue')}{checked}", width="stretch")
            _open_button(rag, citations, document, key=key)
        if hit is not None:
            st.caption(labels.scores(hit))
        shown = source_preview(citations, hit)
        st.markdown(render_safe(shown.text, highlights=shown.highlights))


def _other(rag: RAG, hit: Hit, documents: Mapping[DocumentId, Document], *, key: str) -> None:
    chunk = hit.chunk
    with st.container(border=True, gap="xsmall"):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(badge(cite(hit.document, chunk.page, chunk.label)), width="stretch")
            _open_button(rag, [passage_citation(hit)], documents.get(chunk.document_id), key=key)
        st.caption(labels.scores(hit))
        st.markdown(render_safe(_preview(chunk, []).text))


def source_preview(citations: Sequence[Citation], hit: Hit | None) -> Excerpt:
    """Some 500 characters of the passage around the quotes; the quotes alone when the passage is not at hand."""
    if hit is None:
        return Excerpt(text="\n\n".join(citation.quote for citation in citations))
    chunk = hit.chunk
    spans = [(citation.start - chunk.start, citation.end - chunk.start) for citation in citations]
    return _preview(chunk, [span for span in spans if 0 <= span[0] < span[1] <= len(chunk.text)])


def _preview(chunk: Chunk, spans: Sequence[tuple[int, int]]) -> Excerpt:
    """An excerpt that holds all spans; rows of a table stay rows, under the names of their columns."""
    header = _header(chunk)
    if spans and (rows := table_excerpt(chunk.text, spans, header=header)):
        return rows
    reach = max((end for _, end in spans), default=0) - min((start for start, _ in spans), default=0)
    length = max(_PREVIEW, reach)
    if not header or not chunk.text.startswith("|"):
        return excerpt(chunk.text, spans, length=length)
    shift = len(header) + 1
    moved = [(start + shift, end + shift) for start, end in spans]
    return excerpt(f"{header}\n{chunk.text}", moved, length=length)


def _header(chunk: Chunk) -> str:
    """The column names of a table that began in an earlier chunk, and the rule below them; else empty."""
    head = [line for line in chunk.prefix.splitlines() if line.startswith("|")]
    if len(head) == 1:
        columns = len(re.findall(r"(?<!\\)\|", head[0].rstrip().removesuffix("|")))
        head.append("|" + " --- |" * columns)
    return "\n".join(head)


def passage_citation(hit: Hit) -> Citation:
    """The whole passage as a quote, so that a passage that was not cited can be opened too."""
    chunk = hit.chunk
    return Citation(
        marker=cite(hit.document, chunk.page, chunk.label),
        chunk_id=chunk.id,
        document_id=chunk.document_id,
        document=hit.document,
        page=chunk.page,
        label=chunk.label,
        page_ordinal=chunk.page_ordinal,
        quote=chunk.text,
        start=chunk.start,
        end=chunk.end,
        verified=False,
    )


def _open_button(rag: RAG, citations: Sequence[Citation], document: Document | None, *, key: str) -> None:
    pictured = has_picture(citations[0], document)
    if st.button(
        "Show page" if pictured else "Show text",
        icon=":material/pageview:" if pictured else ":material/article:",
        key=f"open_{key}",
        disabled=document is None,
        help="This document is no longer in the library." if document is None else None,
    ):
        title = plain(citations[0].marker[1:-1])
        st.dialog(title, width="medium")(_show)(rag, citations, pictured)


def has_picture(citation: Citation, document: Document | None) -> bool:
    """Whether the cited page can be drawn: of the PDF or picture itself, not of a file inside it."""
    if document is None or citation.label is not None:
        return False
    is_pdf = document.media_type == labels.MEDIA_PDF and citation.page is not None
    return is_pdf or document.media_type.startswith(labels.MEDIA_PICTURE)


def _show(rag: RAG, citations: Sequence[Citation], pictured: bool) -> None:
    """The inside of the dialog: one quote at a time, the first to begin with."""
    chosen = 0
    if len(citations) > 1:
        chosen = st.segmented_control(
            "Quote",
            range(len(citations)),
            default=0,
            required=True,
            format_func=lambda number: f"Quote {number + 1}",
            key=f"quote_of_{citations[0].chunk_id}",
            label_visibility="collapsed",
        )
    citation = citations[chosen]
    try:
        if pictured:
            _show_picture(rag, citation)
        else:
            _show_text(rag, citation)
    except LocalRagError as error:
        show_error(error)


def _show_picture(rag: RAG, citation: Citation) -> None:
    try:
        with st.spinner("Drawing the page …"):
            picture = rag.page_picture(citation.document_id, page=citation.page or 1, quote=citation.quote)
    except LocalRagError as error:
        show_error(error)
        st.caption("This is the text that was indexed:")
        _show_text(rag, citation)
        return
    if picture.found:
        quoted = excerpt(citation.quote, [(0, len(citation.quote))], length=_UNDER_PICTURE)
        st.caption("Marked on the page:")
        st.markdown(render_safe(quoted.text, highlights=quoted.highlights))
    else:
        st.info("The quote was not found on this page, so nothing is marked.", icon=":material/info:")
    st.image(picture.png, width="stretch", alt=f"Page {citation.page or 1} of {citation.document}")


def _show_text(rag: RAG, citation: Citation) -> None:
    page = next((page for page in rag.pages(citation.document_id) if page.ordinal == citation.page_ordinal), None)
    if page is None:
        st.info("This page is no longer in the library.", icon=":material/info:")
        return
    span = quote_span(page.markdown, citation)
    if span is None:
        st.info("The quote was not found in this text, so nothing is marked.", icon=":material/info:")
    shown = excerpt(page.markdown, [span] if span else [], length=_PAGE)
    with st.container(border=True):
        st.markdown(render_safe(shown.text, highlights=shown.highlights))


def quote_span(markdown: str, citation: Citation) -> tuple[int, int] | None:
    """Where the quote stands on the page now: at its offsets, or wherever the same words are."""
    if citation.quote and markdown[citation.start : citation.end] == citation.quote:
        return citation.start, citation.end
    at = markdown.find(citation.quote) if citation.quote else -1
    return (at, at + len(citation.quote)) if at >= 0 else None
