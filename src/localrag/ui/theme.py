"""The few looks and moves that the theme file cannot give. Constants of ours only: no foreign text comes this way."""

from __future__ import annotations

import streamlit as st

_STYLE = """
<style>
[data-testid="stMainBlockContainer"] { max-width: 68rem; padding-top: 3.25rem; padding-bottom: 4rem; }
[data-testid="stMainBlockContainer"] h1 { font-size: 1.9rem; padding: 0 0 .5rem; }
[data-testid="stMainBlockContainer"] h2 { font-size: 1.2rem; padding: .75rem 0 .25rem; }
[data-testid="stSidebarNav"] { padding-bottom: .5rem; }
[class*="st-key-scroll_to_"] { display: none; }
.st-key-slider_ends { margin-top: -1.25rem; }
/* It rounds 512 MB up to 1 GB; the caption below the box says it right. */
[data-testid="stFileUploaderDropzoneInstructions"] { display: none; }
.stMarkdownColoredBackground { padding: .05em .15em; border-radius: .2rem; }
[data-testid="stChatMessage"] { padding: .75rem 1rem; scroll-margin-top: 1rem; }
[class*="st-key-sources_"] p, [class*="st-key-sources_"] li, [class*="st-key-sources_"] td,
[class*="st-key-others_"] p, [class*="st-key-others_"] li, [class*="st-key-others_"] td { font-size: .9rem; }
[class*="st-key-found_"] li { font-size: .9rem; }
/* A wide table scrolls by itself instead of running over the edge of its box. */
[data-testid="stMarkdownContainer"] table { display: block; overflow-x: auto; max-width: 100%; }
[class*="st-key-sources_"] th, [class*="st-key-others_"] th { font-size: .9rem; }
[data-testid="stImage"] img { border: 1px solid rgba(128, 128, 128, .35); border-radius: .25rem; }
@media (max-width: 640px) {
  [data-testid="stMainBlockContainer"] { padding: 4.25rem 1rem 3rem; }
  [data-testid="stChatMessage"] { padding: .5rem .25rem; scroll-margin-top: 4.25rem; }
}
</style>
"""


# At the end of the page Streamlit keeps to it as the page grows.
_SHOW_END = """
<script>
(() => {
  const page = document.querySelector("main");
  if (page) page.scrollTop = page.scrollHeight;
})();
</script>
"""

# Streamlit follows a growing answer to its end. The reader begins at the question: the last message but one. A wheel
# event ends Streamlit's own scrolling; it may begin again while the parts of the answer arrive and replace what was
# there, so this holds on until nothing has moved for a second, at most five, or the reader moves.
_SHOW_LAST_QUESTION = """
<script>
(() => {
  const page = document.querySelector("main");
  if (!page) return;
  const start = performance.now();
  let moved = start;
  let free = false;
  const letGo = (event) => { free = free || event.isTrusted; };
  const moves = ["wheel", "pointerdown", "keydown", "touchstart"];
  moves.forEach((move) => page.addEventListener(move, letGo, {passive: true}));
  const hold = () => {
    const question = [...page.querySelectorAll('[data-testid="stChatMessage"]')].at(-2);
    if (question && !free) {
      const off = question.getBoundingClientRect().top - parseFloat(getComputedStyle(question).scrollMarginTop);
      const below = page.scrollHeight - page.scrollTop - page.clientHeight;
      if (off < -2 || (off > 2 && below > 2)) {
        page.dispatchEvent(new WheelEvent("wheel"));
        question.scrollIntoView();
        moved = performance.now();
      }
    }
    if (!free && performance.now() < Math.min(moved + 1000, start + 5000)) requestAnimationFrame(hold);
    else moves.forEach((move) => page.removeEventListener(move, letGo));
  };
  hold();
})();
</script>
"""


def apply() -> None:
    """Puts the style on the page."""
    st.html(_STYLE)


def show_last_question(answered: int) -> None:
    """Puts the last question at the top of the page, once for each number of answered questions; 0 is none."""
    script = _SHOW_LAST_QUESTION if answered else ""
    _move("question", f"<span>{answered}</span>{script}")


def show_end() -> None:
    """Scrolls to the end of the page, where a new question and its answer appear."""
    _move("end", _SHOW_END)


def _move(to: str, script: str) -> None:
    with st.container(key=f"scroll_to_{to}"):
        st.html(script, unsafe_allow_javascript=True)
