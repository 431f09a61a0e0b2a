"""The side bar of the chat: how to search, what to search, what to do with the conversation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from localrag.settings import Settings
from localrag.types import Document
from localrag.ui import labels
from localrag.ui.conversation import Turn, to_markdown

_MOST = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Controls:
    """What the user chose. `documents` holds ids; empty is the whole library."""

    top_k: int
    semantic: float
    documents: tuple[str, ...]
    use_llm: bool
    rerank: bool
    clear: bool


def draw(settings: Settings, documents: Sequence[Document], turns: Sequence[Turn]) -> Controls:
    """Draws the side bar; the choices are kept when the user visits another page."""
    with st.sidebar:
        use_llm = st.toggle(
            "Write answers with the model",
            value=True,
            key="use_llm",
            persist_state="session",
            bind="query-params",
            help=f"{settings.llm_model} through Ollama. Off: the best sentences are quoted word for word.",
        )
        top_k = st.slider(
            "Top-K",
            1,
            max(_MOST, settings.top_k),
            settings.top_k,
            key="top_k",
            persist_state="session",
            bind="query-params",
            help="How many passages are retrieved for an answer.",
        )
        semantic = st.slider(
            "Keyword ↔ Semantic",
            0.0,
            1.0,
            settings.semantic,
            0.05,
            key="semantic",
            persist_state="session",
            bind="query-params",
            help="0 is BM25 only: exact words. 1 is vectors only: meaning. Between, both rankings are merged.",
        )
        with st.container(horizontal=True, horizontal_alignment="distribute", key="slider_ends"):
            st.caption("Keyword", width="content")
            st.caption("Semantic", width="content")
        rerank = _rerank(settings)
        chosen = _filter(documents)
        clear = _conversation_buttons(turns)
    return Controls(top_k=top_k, semantic=semantic, documents=chosen, use_llm=use_llm, rerank=rerank, clear=clear)


def _rerank(settings: Settings) -> bool:
    """Whether the best passages are read again; never where nobody is named to do it."""
    if not settings.reranker:
        missing = "Set LOCALRAG_RERANKER to `late-interaction`, `ollama`, or a cross-encoder of `localrag models list`."
        st.toggle("Rerank", value=False, key="no_reranker", disabled=True, help=missing)
        return False
    by = {"ollama": settings.llm_model, "late-interaction": settings.embedding_model}.get(
        settings.reranker, settings.reranker
    )
    return st.toggle(
        "Rerank",
        value=settings.rerank,
        key="rerank",
        persist_state="session",
        bind="query-params",
        help=f"{by} reads the best passages again and puts them in order. Takes longer.",
    )


def _filter(documents: Sequence[Document]) -> tuple[str, ...]:
    names = labels.distinct_names(documents)
    kept = [chosen for chosen in st.session_state.get("only_documents", []) if chosen in names]
    if "only_documents" in st.session_state:
        st.session_state.only_documents = kept  # a document that was deleted can no longer be chosen
    return tuple(
        st.multiselect(
            "Only these documents",
            list(names),
            format_func=lambda identity: names[identity],
            key="only_documents",
            persist_state="session",
            bind="query-params",
            placeholder="All documents",
            disabled=not documents,
        )
    )


def _conversation_buttons(turns: Sequence[Turn]) -> bool:
    st.divider()
    st.download_button(
        "Export Markdown",
        to_markdown(turns) if turns else "",
        file_name="conversation.md",
        mime="text/markdown",
        icon=":material/download:",
        disabled=not turns,
        width="stretch",
        on_click="ignore",
    )
    look: dict[str, Any] = {"icon": ":material/delete_sweep:", "width": "stretch"}
    if not turns:
        st.button("Clear conversation", disabled=True, key="nothing_to_clear", **look)
        return False
    with st.popover("Clear conversation", key="clear_asks", **look):
        st.markdown(f"{labels.count(len(turns), 'question')} with answers and sources are deleted for good.")
        return st.button("Clear", type="primary", key="clear", **look)
