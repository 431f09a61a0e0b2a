"""The start page: does everything work, what is there, and where to go."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

import streamlit as st

from localrag.errors import LocalRagError, without_password
from localrag.settings import Settings
from localrag.types import Check, IndexStats
from localrag.ui import labels
from localrag.ui.notices import advice, show_error
from localrag.ui.samples import sample_button
from localrag.ui.session import Session

_EMBEDDING = "embedding model"
_OPTIONAL = "Language model"
_NOT_INDEX = frozenset({"settings", _EMBEDDING, "vectors"})


def draw(session: Session) -> None:
    """The whole page."""
    st.title("localrag", anchor=False)
    st.markdown("Ask your own documents. Every claim is cited to its page, and nothing leaves this machine.")
    try:
        stats = session.rag.stats()
        checks = session.rag.library_checks(deep=False)
    except LocalRagError as error:
        show_error(error)
        return
    _counts(stats)
    _next_step(session, stats)
    st.header("Status", anchor=False)
    _status(checks, session.model.checks())
    st.header("Settings", anchor=False)
    _settings(session.rag.settings)


def _counts(stats: IndexStats) -> None:
    ready = stats.embedded / stats.chunks if stats.chunks else 1.0
    with st.container(horizontal=True):
        st.metric("Documents", f"{stats.documents:,}", border=True)
        st.metric("Chunks", f"{stats.chunks:,}", border=True, help="The passages that are searched and cited.")
        st.metric(
            "Vectors ready",
            f"{ready:.0%}" if stats.chunks else "–",
            border=True,
            help="Keyword search covers every chunk at once; search by meaning covers those that have their vector.",
        )
        st.metric("Index size", labels.size(stats.size_bytes), border=True)
    if ready < 1.0:
        done = f"{stats.embedded:,} of {labels.count(stats.chunks, 'chunk')} can be found by meaning so far"
        st.progress(ready, text=f"{done}; the rest by keyword.")


def _next_step(session: Session, stats: IndexStats) -> None:
    if stats.documents:
        with st.container(horizontal=True):
            st.page_link("pages/2_Chat.py", label="Ask a question", icon=":material/forum:")
            st.page_link("pages/1_Upload_Documents.py", label="Add documents", icon=":material/upload_file:")
        return
    with st.container(border=True):
        st.markdown(
            "**First steps**\n\n"
            "1. Add documents, or load the samples to look around.\n"
            "2. Ask a question in Chat. Text can be found as soon as a file is read.\n"
            "3. For answers in full sentences, start Ollama. Without it the best sentences are quoted."
        )
        with st.container(horizontal=True, vertical_alignment="center"):
            sample_button(session, primary=True)
            st.page_link("pages/1_Upload_Documents.py", label="Add documents", icon=":material/upload_file:")


def _status(library: Sequence[Check], model: Sequence[Check]) -> None:
    index = [check for check in library if check.name not in _NOT_INDEX]
    embedding = [check for check in library if check.name == _EMBEDDING]
    for column, (title, checks) in zip(
        st.columns(3), [("Index", index), ("Embedding model", embedding), (_OPTIONAL, model)], strict=True
    ):
        with column, st.container(border=True, height="stretch"):
            _card(title, checks)


def _card(title: str, checks: Sequence[Check]) -> None:
    wrong = [check for check in checks if not check.ok]
    state = ":orange-badge[:material/build: Needs action]" if wrong else ":green-badge[:material/check: OK]"
    if wrong and title == _OPTIONAL:
        state = ":orange-badge[:material/cloud_off: Not ready]"
    st.markdown(f"**{title}** {state}")
    for check in wrong:
        st.markdown(f":small[{advice(check)}]")
    if wrong and title == _OPTIONAL:
        st.caption("Optional: until then, answers quote the best sentences.")
    if checks and not wrong:
        st.markdown(f":small[{advice(checks[0])}]")


class _Row(TypedDict):
    Setting: str
    Value: str


def setting_rows(settings: Settings) -> list[_Row]:
    """Every setting by the name of its variable, with the value in force."""
    rows = []
    for name, field in type(settings).model_fields.items():
        variable = str(field.validation_alias or f"LOCALRAG_{name.upper()}")
        value = settings.resolved_index_url if name == "index_url" else getattr(settings, name)
        rows.append(_Row(Setting=variable, Value="" if value is None else without_password(str(value))))
    return rows


def _settings(settings: Settings) -> None:
    st.caption("The values in force. Change them in `.env` or the environment, then restart.")
    st.dataframe(setting_rows(settings), hide_index=True, width="stretch", height="content")
