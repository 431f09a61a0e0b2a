"""The index made anew for the settings, where the library was built with others: an offer, then a bar."""

from __future__ import annotations

import streamlit as st

from localrag.app.rebuilding import rebuild_library
from localrag.errors import LocalRagError
from localrag.library.rebuilding import RebuildProgress
from localrag.settings import load_settings
from localrag.ui import labels
from localrag.ui.notices import show_error

_STAGES = {
    "waiting": "Waiting for a rebuild in another window or terminal",
    "cutting": "Cutting documents",
    "embedding": "Making vectors",
    "switching": "Switching to the new index",
}


def offer() -> None:
    """A button that makes the index anew and then opens the library."""
    st.caption(
        "The new index is made from the stored text, so no file is read again. Leaving this page interrupts it; "
        "what is done is kept, and the old index goes on answering to the old settings until the new one is whole."
    )
    if not st.button("Rebuild the index for these settings", type="primary", icon=":material/autorenew:"):
        return
    bar = st.progress(0.0, text="Opening the index …")

    def show(state: RebuildProgress) -> None:
        bar.progress(share(state), text=text(state))

    try:
        rebuild_library(load_settings(), on_progress=show)
    except LocalRagError as error:
        show_error(error)
        return
    st.rerun()


def share(state: RebuildProgress) -> float:
    """How much of the stage is done, in [0, 1]."""
    return min(1.0, state.done / state.total) if state.total else 0.0


def text(state: RebuildProgress) -> str:
    """`Making vectors: 120 of 400, 2 min left`."""
    told = _STAGES[state.stage]
    if state.total:
        told += f": {state.done:,} of {state.total:,}"
    if state.seconds_left:
        told += f", {labels.seconds(state.seconds_left)} left"
    return told
