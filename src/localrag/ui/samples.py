"""The sample documents that come with localrag."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from localrag.ui.session import Session

_KEY = "samples"


def sample_files(folder: Path) -> list[Path]:
    """The samples, by name."""
    return sorted(path for path in folder.iterdir() if path.is_file())


def sample_button(session: Session, *, primary: bool = False) -> None:
    """A button that hands the sample documents to the worker and goes to the page that shows its progress."""
    loading = any(job.key == _KEY and job.status in ("waiting", "reading") for job in session.worker.state().jobs)
    if st.button(
        "Load sample documents",
        icon=":material/library_books:",
        type="primary" if primary else "secondary",
        disabled=loading or not session.samples.is_dir(),
        key="load_samples",
    ):
        session.worker.submit_paths(_KEY, "Sample documents", sample_files(session.samples))
        st.switch_page("pages/1_Upload_Documents.py")
