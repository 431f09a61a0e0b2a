"""The library as a table: search, read what was read, delete."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import datetime
from typing import Any, TypedDict

import streamlit as st

from localrag.app import RAG
from localrag.errors import LocalRagError
from localrag.types import Document
from localrag.ui import labels, reading
from localrag.ui.notices import show_error
from localrag.ui.safe import plain

_ROW_PX = 35
_MOST_ROWS = 12
_NAMED = 5


class Row(TypedDict):
    """One line of the table."""

    Name: str
    Size: int
    Pages: int
    Chunks: int
    Status: str
    Added: datetime


def draw(rag: RAG, documents: Sequence[Document]) -> None:
    """Search box, table, and what can be done with the selected rows."""
    st.header("Documents", anchor=False)
    wanted = st.text_input(
        "Search documents", key="document_search", placeholder="Name, type or place", label_visibility="collapsed"
    )
    shown = matching(documents, wanted)
    if not shown:
        st.info(f"None of {labels.count(len(documents), 'document')} matches {plain(wanted)}.")
        return
    chosen = _table(shown)
    if not chosen:
        count = labels.count(len(shown), "document")
        st.caption(f"{count}. Select a row to read what was indexed, or to delete it.")
        return
    _delete_bar(rag, chosen)
    if len(chosen) == 1:
        reading.draw(rag, chosen[0])


def matching(documents: Sequence[Document], wanted: str) -> list[Document]:
    """The documents whose name, place or type holds every word; all when there is none."""
    words = wanted.casefold().split()
    return [
        document
        for document in documents
        if all(word in f"{document.name} {document.uri} {document.media_type}".casefold() for word in words)
    ]


def rows(documents: Sequence[Document]) -> list[Row]:
    """The documents as lines of the table."""
    return [
        Row(
            Name=document.name,
            Size=document.size_bytes,
            Pages=document.page_count,
            Chunks=document.chunk_count,
            Status=labels.status(document),
            Added=document.indexed_at.astimezone().replace(tzinfo=None),
        )
        for document in documents
    ]


def _table(documents: Sequence[Document]) -> list[Document]:
    """Draws the table; the selected documents."""
    listed = hashlib.sha256("\n".join(document.id for document in documents).encode()).hexdigest()[:16]
    # The key names the rows: a selection by position must not outlive a change of what stands there.
    event: Any = st.dataframe(
        rows(documents),
        key=f"documents_{listed}",
        hide_index=True,
        width="stretch",
        height=_ROW_PX * (min(len(documents), _MOST_ROWS) + 1) + 3,
        on_select="rerun",
        selection_mode="multi-row",
        column_config={
            "Name": st.column_config.TextColumn(width=330),
            "Size": st.column_config.NumberColumn(format="bytes", width="small"),
            "Pages": st.column_config.NumberColumn(width="small", help="Pages, slides, sheets or other parts."),
            "Chunks": st.column_config.NumberColumn(width="small"),
            "Added": st.column_config.DatetimeColumn(format="YYYY-MM-DD HH:mm"),
        },
    )
    return [documents[row] for row in event.selection.rows if row < len(documents)]


def _delete_bar(rag: RAG, chosen: Sequence[Document]) -> None:
    """Asks before it deletes. The question is tied to the selection: choosing other rows takes it back."""
    ids = tuple(document.id for document in chosen)
    asking = st.session_state.get("confirm_delete") == ids
    with st.container(horizontal=True, vertical_alignment="center"):
        if not asking:
            st.markdown(f"**{_names(chosen)}**", width="stretch")
            if st.button("Delete", icon=":material/delete:", key="delete"):
                st.session_state.confirm_delete = ids
                st.rerun()
            return
        st.markdown(f"Delete **{_names(chosen)}** from the library? Files in your own folders stay.", width="stretch")
        if st.button("Keep", key="delete_no"):
            del st.session_state.confirm_delete
            st.rerun()
        if st.button("Delete", icon=":material/delete:", type="primary", key="delete_yes"):
            _delete(rag, chosen)


def _names(chosen: Sequence[Document]) -> str:
    if len(chosen) > _NAMED:
        return labels.count(len(chosen), "document")
    return ", ".join(plain(document.name) for document in chosen)


def _delete(rag: RAG, chosen: Sequence[Document]) -> None:
    del st.session_state.confirm_delete
    try:
        chunks = sum(rag.delete(document.id).chunks for document in chosen)
    except LocalRagError as error:
        show_error(error)
        return
    st.toast(f"Deleted {labels.count(len(chosen), 'document')} with {labels.count(chunks, 'chunk')}.")
    st.rerun()
