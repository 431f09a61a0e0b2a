"""What was read: the text that the index holds, beside the page it came from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import streamlit as st

from localrag.app import RAG
from localrag.errors import LocalRagError
from localrag.types import Document, Page, is_verbatim
from localrag.ui import labels
from localrag.ui.notices import show_error
from localrag.ui.safe import plain, render_safe

_LONGEST = 30_000
"""Characters of one page drawn at once; past this a browser begins to stutter."""
_BESIDE_PX = 560
"""Height of the text beside the picture of a page: that of a portrait page in half the width."""
_WARNINGS = 4


def draw(rag: RAG, document: Document) -> None:
    """The warnings of the document, and an expander with its pages."""
    _warnings(document.warnings)
    with st.expander("What was read", icon=":material/visibility:", expanded=True):
        pages = rag.pages(document.id)
        if not pages:
            st.info("This document is no longer in the library.")
            return
        with st.container(horizontal=True, vertical_alignment="bottom"):
            page = pages[_choice(document, pages)]
            raw = is_verbatim(document.media_type) or st.toggle(
                "Markdown source", key="reading_raw", help="The exact text that is searched."
            )
        if _is_drawn(document, page):
            picture, text = st.columns(2)
            with text:  # first: the picture takes its time
                st.caption("Read as")
                _text(page, raw=raw, height=_BESIDE_PX)
            with picture:
                st.caption("The page")
                show_page_picture(rag, document, page.number or 1)
        else:
            _text(page, raw=raw, height="content")


def _is_drawn(document: Document, page: Page) -> bool:
    """Whether there is a picture of the page: of a PDF or picture itself, not of a file inside it."""
    if page.label is not None:
        return False
    is_pdf = document.media_type == labels.MEDIA_PDF and page.number is not None
    return is_pdf or document.media_type.startswith(labels.MEDIA_PICTURE)


def _warnings(warnings: Sequence[str]) -> None:
    """One box for all: what was not read, or was read another way than the file shows it."""
    if not warnings:
        return
    lines = [plain(warning) for warning in warnings]
    shown = lines[0] if len(lines) == 1 else "\n".join(f"- {line}" for line in lines[:_WARNINGS])
    st.warning(shown, icon=":material/warning:")
    if len(lines) > _WARNINGS:
        with st.expander(f"{labels.count(len(lines) - _WARNINGS, 'more warning')}"):
            st.markdown("\n".join(f"- {line}" for line in lines[_WARNINGS:]))


def _choice(document: Document, pages: Sequence[Page]) -> int:
    """Draws the list of pages with a step back and a step on; the index of the chosen one."""
    if len(pages) == 1:
        return 0
    key = f"reading_{document.id}_{document.content_hash[:8]}"
    at: int = st.session_state.get(key, 0)
    _step("previous", ":material/chevron_left:", key, at - 1, len(pages))
    chosen: int = st.selectbox(
        f"Page ({len(pages)})",
        range(len(pages)),
        format_func=lambda index: page_name(pages[index]),
        key=key,
    )
    _step("next", ":material/chevron_right:", key, at + 1, len(pages))
    return chosen


def _step(name: str, icon: str, key: str, to: int, count: int) -> None:
    def go() -> None:
        st.session_state[key] = to

    st.button("", icon=icon, key=f"reading_{name}", help=f"The {name} page", on_click=go, disabled=not 0 <= to < count)


def page_name(page: Page) -> str:
    """`p.3`, `sheet Q3, rows 2-40`, `docs/a.pdf, p.3`, or `part 3`."""
    parts = [page.label] if page.label else []
    if page.number is not None:
        parts.append(f"p.{page.number}")
    return ", ".join(parts) or f"part {page.ordinal}"


def _text(page: Page, *, raw: bool, height: int | Literal["content"]) -> None:
    """The text as Markdown or, when `raw`, as it is stored; it scrolls where a height is given."""
    shown = page.markdown[:_LONGEST]
    with st.container(border=not raw, height=height):
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
