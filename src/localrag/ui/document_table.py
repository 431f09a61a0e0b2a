"""The library as a table: search, read what was read, delete."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
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
_CLICK = "delete_clicked"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Whether to delete these documents, asked while these rows, by id, were ticked."""

    ticked: tuple[str, ...]
    doomed: tuple[Document, ...]


class Row(TypedDict):
    """One line of the table."""

    Name: str
    Size: int
    Pages: int
    Chunks: int
    Status: str
    Warnings: str
    Added: datetime
    Delete: str


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
    st.caption(
        f"{labels.count(len(shown), 'document')}. Tick one to read what was indexed, several to delete them together."
    )
    chosen = _table(shown)
    _deletion(rag, chosen, clicked=_clicked(shown))
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
            Warnings=f"⚠ {len(document.warnings)}" if document.warnings else "",
            Added=document.indexed_at.astimezone().replace(tzinfo=None),
            Delete=":material/delete:",
        )
        for document in documents
    ]


def _table(documents: Sequence[Document]) -> list[Document]:
    """Draws the table; the selected documents."""
    listed = hashlib.sha256("\n".join(document.id for document in documents).encode()).hexdigest()[:16]
    # The key names the rows: a selection by position must not outlive a change of what stands there.
    warned = any(document.warnings for document in documents)
    event: Any = st.dataframe(
        rows(documents),
        key=f"documents_{listed}",
        hide_index=True,
        width="stretch",
        height=_ROW_PX * (min(len(documents), _MOST_ROWS) + 1) + 3,
        on_select="rerun",
        selection_mode="multi-row",
        column_config={
            "Name": st.column_config.TextColumn(width=225 if warned else 290),
            "Size": st.column_config.NumberColumn(format="bytes", width="small"),
            "Pages": st.column_config.NumberColumn(width="small", help="Pages, slides, sheets or other parts."),
            "Chunks": st.column_config.NumberColumn(width="small"),
            "Warnings": st.column_config.TextColumn(
                width=80, help="What was not read, or read another way than shown. Tick the document to see."
            )
            if warned
            else None,
            "Added": st.column_config.DatetimeColumn(format="YYYY-MM-DD HH:mm"),
            "Delete": st.column_config.ButtonColumn(width=60, type="tertiary", help="Asks first.", key=_CLICK),
        },
    )
    return [documents[row] for row in event.selection.rows if row < len(documents)]


def _clicked(documents: Sequence[Document]) -> Document | None:
    """The document whose delete button brought about this run."""
    click: Any = st.session_state.get(_CLICK)
    return documents[click["row"]] if click and click["row"] < len(documents) else None


def _deletion(rag: RAG, chosen: Sequence[Document], *, clicked: Document | None) -> None:
    """Offers to delete the ticked rows, and asks before any deletion. Ticking other rows takes the question back."""
    ticked = tuple(document.id for document in chosen)
    if clicked:
        st.session_state.confirm_delete = Question(ticked=ticked, doomed=(clicked,))
    question: Question | None = st.session_state.get("confirm_delete")
    if question and question.ticked == ticked:
        _confirm(rag, question.doomed)
    elif chosen:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f"**{_names(chosen)}**", width="stretch")
            if st.button("Delete", icon=":material/delete:", key="delete"):
                st.session_state.confirm_delete = Question(ticked=ticked, doomed=tuple(chosen))
                st.rerun()


def _confirm(rag: RAG, doomed: Sequence[Document]) -> None:
    with st.container(horizontal=True, vertical_alignment="center", border=True):
        st.markdown(f"Delete **{_names(doomed)}** from the library? Files in your own folders stay.", width="stretch")
        if st.button("Keep", key="delete_no"):
            del st.session_state.confirm_delete
            st.rerun()
        if st.button("Delete", icon=":material/delete:", type="primary", key="delete_yes"):
            _delete(rag, doomed)


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
