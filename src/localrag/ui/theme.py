"""The few looks that the theme file cannot give. Constants of ours only: foreign text never comes through here."""

from __future__ import annotations

import streamlit as st

_STYLE = """
<style>
[data-testid="stMainBlockContainer"] { max-width: 68rem; padding-top: 3.25rem; padding-bottom: 4rem; }
[data-testid="stMainBlockContainer"] h1 { font-size: 1.9rem; padding: 0 0 .5rem; }
[data-testid="stMainBlockContainer"] h2 { font-size: 1.2rem; padding: .75rem 0 .25rem; }
[data-testid="stSidebarNav"] { padding-bottom: .5rem; }
.st-key-slider_ends { margin-top: -1.25rem; }
/* It rounds 512 MB up to 1 GB; the caption below the box says it right. */
[data-testid="stFileUploaderDropzoneInstructions"] { display: none; }
.stMarkdownColoredBackground { padding: .05em .15em; border-radius: .2rem; }
[data-testid="stChatMessage"] { padding: .75rem 1rem; }
[class*="st-key-sources_"] p, [class*="st-key-sources_"] li, [class*="st-key-sources_"] td,
[class*="st-key-others_"] p, [class*="st-key-others_"] li, [class*="st-key-others_"] td { font-size: .9rem; }
[data-testid="stImage"] img { border: 1px solid rgba(128, 128, 128, .35); border-radius: .25rem; }
@media (max-width: 640px) {
  [data-testid="stMainBlockContainer"] { padding: 4.25rem 1rem 3rem; }
  [data-testid="stChatMessage"] { padding: .5rem .25rem; }
}
</style>
"""


def apply() -> None:
    """Puts the style on the page."""
    st.html(_STYLE)
