"""What was read: the text that the index holds, beside the page it came from."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from localrag.app import RAG
from localrag.errors import LocalRagError
from localrag.types import Document, Page
from localrag.ui import labels
from localrag.ui.notices import show_error
from localrag.ui.safe import plain, render_safe

_LONGEST = 30_000
"""Characters of one page drawn at once; past this a browser begins to stutter."""


def draw(rag: RAG, document: Document) -> None:
    """An expander with the pages of the document and its warnings."""
    for warning in document.warnings:
        st.warning(plain(warning), icon=":material/warning:")
    with st.expander("What was read", icon=":material/visibility:", expanded=True):
        pages = rag.pages(document.id)
        if not pages:
            st.info("This document is no longer in the library.")
            return
        with st.container(horizontal=True, vertical_alignment="bottom"):
            page = pages[_choice(document, pages)]
            raw = st.toggle("Markdown source", key="reading_raw", help="The exact text that is searched.")
        if document.media_type == labels.MEDIA_PDF and page.number is not None and page.label is None:
            text, picture = st.columns(2)
            with picture:
                show_page_picture(rag, document, page.number)
        else:
            text = st.container()
        with text:
            _text(page, raw=raw)


def _choice(document: Document, pages: Sequence[Page]) -> int:
    if len(pages) == 1:
        return 0
    return st.selectbox(
        f"Page ({len(pages)})",
        range(len(pages)),
        format_func=lambda index: page_name(pages[index]),
        key=f"reading_{document.id}_{document.content_hash[:8]}",
    )


def page_name(page: Page) -> str:
    """`p.3`, `sheet Q3, rows 2-40`, `docs/a.pdf, p.3`, or `part 3`."""
    parts = [page.label] if page.label else []
    if page.number is not None:
        parts.append(f"p.{page.number}")
    return ", ".join(parts) or f"part {page.ordinal}"


def _text(page: Page, *, raw: bool) -> None:
    shown = page.markdown[:_LONGEST]
    with st.container(border=True):
        if not shown.strip():
            st.caption("There is no text on this page.")
        elif raw:
            st.code(shown, language=None, wrap_lines=True)
        else:
            st.markdown(render_safe(shown))
    if len(page.markdown) > _LONGEST:
        st.caption(f"The first {_LONGEST:,} of {len(page.markdown):,} characters. All of them are searched.")


def show_page_picture(rag: RAG, document: Document, number: int) -> None:
    """The page as it looks, or why it cannot be shown."""
    try:
        with st.spinner("Drawing the page …"):
            picture = rag.page_picture(document.id, page=number, quote="")
    except LocalRagError as error:
        show_error(error)
        return
    st.image(picture.png, width="stretch", alt=f"Page {number} of {document.name}")
