"""What the pages share: the open library, its background worker, and the check of the language model."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from localrag.app import RAG
from localrag.errors import IndexMismatchError, LocalRagError
from localrag.ui import rebuilding, theme
from localrag.ui.notices import show_error
from localrag.ui.probe import Probe
from localrag.ui.worker import LibraryWorker

_ICON = Path(__file__).with_name("icon.png")
"""A file of ours: for an icon by name the browser would ask a font server on the internet."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One per server process: every tab looks at the same library through it."""

    rag: RAG
    worker: LibraryWorker
    model: Probe
    samples: Path


def start(rag: RAG, samples: Path) -> Session:
    """The session of an open library; vectors that an earlier run left undone are made from now on."""
    session = Session(rag=rag, worker=LibraryWorker(rag), model=Probe(rag.llm_checks, name="Ollama"), samples=samples)
    session.worker.wake()
    return session


def page(title: str) -> None:
    """Sets the page's title and looks. First call of every page."""
    st.set_page_config(page_title=f"{title} · localrag", page_icon=_ICON, layout="wide")
    st.logo(_ICON, size="large")
    theme.apply()


@st.cache_resource(show_spinner="Opening the library …")
def _opened(samples: Path) -> Session:
    return start(RAG.open(preload=True), samples)


def open_session(samples: Path) -> Session:
    """The shared session. When the library cannot be opened, says why and what to do, and ends the page."""
    try:
        return _opened(samples)
    except LocalRagError as error:
        logger.warning("the library cannot be opened: %s", error.kind)
        st.title("The library cannot be opened", anchor=False)
        show_error(error)
        st.caption("Nothing was changed. Once it is mended, reload this page.")
        if isinstance(error, IndexMismatchError) and error.can_rebuild:
            rebuilding.offer()
        st.stop()
