"""The page that puts documents into the library and shows what is there."""

from __future__ import annotations

import streamlit as st

from localrag.app import RAG, supported_types
from localrag.errors import LocalRagError
from localrag.types import Failure
from localrag.ui import activity, document_table, labels
from localrag.ui.notices import show_error
from localrag.ui.safe import plain, render_safe
from localrag.ui.samples import sample_button
from localrag.ui.session import Session
from localrag.ui.worker import LibraryWorker


def draw(session: Session) -> None:
    """The whole page."""
    st.title("Upload documents", anchor=False)
    _take_uploads(session.worker, session.rag.settings.max_file_mb)
    activity.draw(session.worker)
    try:
        documents = session.rag.documents()
        failures = session.rag.failures()
        if documents:
            document_table.draw(session.rag, documents)
        else:
            _empty(session)
        _failures(session.rag, failures)
    except LocalRagError as error:
        show_error(error)
    if documents:
        sample_button(session)


def _take_uploads(worker: LibraryWorker, max_file_mb: int) -> None:
    """Hands every new file to the worker once, then empties the uploader, so that a rerun finds nothing to do."""
    generation = st.session_state.setdefault("uploader_generation", 0)
    files = st.file_uploader(
        "Drop files here, or choose them",
        accept_multiple_files=True,
        key=f"uploader_{generation}",
        help=f"Types: {supported_types()}. Kept in the data folder of this machine under their content hash.",
    )
    st.caption(
        "PDF, Office, OpenDocument, mail, web, e-book, table and text files, source code and archives of them; "
        f"up to {max_file_mb} MB each. For whole folders: `localrag ingest FOLDER`"
    )
    if files:
        for file in files:
            worker.submit(file.file_id, file.name, file.getvalue())
        st.session_state.uploader_generation = generation + 1
        st.rerun()


def _empty(session: Session) -> None:
    if session.worker.state().busy:
        return
    with st.container(border=True):
        st.markdown("**No documents yet.** Add your own above, or load the samples to look around.")
        sample_button(session, primary=True)


def _failures(rag: RAG, failures: list[Failure]) -> None:
    if not failures:
        return
    with st.expander(f"Could not be read ({len(failures)})", icon=":material/error:"):
        for failure in failures:
            with st.container(horizontal=True, vertical_alignment="center"):
                st.markdown(_failure_text(failure), width="stretch")
                if st.button("Dismiss", key=f"dismiss_{failure.uri}", type="tertiary"):
                    rag.dismiss_failure(failure.uri)
                    st.rerun()


def _failure_text(failure: Failure) -> str:
    kind = f":red-badge[{plain(failure.kind.replace('_', ' '))}]"
    head = f"**{plain(failure.name)}** {kind} :small[{plain(labels.moment(failure.failed_at))}]"
    return f"{head}  \n{plain(failure.message)} {render_safe(failure.hint)}"
