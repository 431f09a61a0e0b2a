"""HTML inside another document (a mail's body, a notebook's output) -> one piece of Markdown."""

from __future__ import annotations

from localrag.parsing.html import read_text
from localrag.parsing.html_pages import Section


def html_to_markdown(html: str) -> str:
    """All visible text of the HTML; "" when there is none."""
    _, blocks, _ = read_text(html, whole=True)
    return Section(first=None, last=None, blocks=blocks).markdown
