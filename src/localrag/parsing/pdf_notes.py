"""What people put onto a PDF page beside its text: comments, and check marks of forms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

# Kinds that carry a comment in a pop-up; text typed onto the page (FreeText) is drawn, and read with the page.
_COMMENTED = ("Text", "Highlight", "Underline", "Squiggly", "StrikeOut", "Caret", "Ink", "Square", "Circle", "Line")
_MAX_COMMENTS = 500  # on one page
# Zapf Dingbats by the letters that its glyphs are typed with: what forms draw into boxes and bullets.
_DINGBATS = str.maketrans("34568HlnquvwyJ", "✓✔✕✖✘★●■❑◆❖◗❚☺")


def comments_of(page: Any) -> list[str]:
    """The page's comments in their order in the file: `Comment by Ana: Check this.`"""
    if page.first_annot is None:
        return []
    found: list[str] = []
    for annotation in page.annots():
        text = " ".join(str(annotation.info.get("content") or "").split())
        if annotation.type[1] in _COMMENTED and text:
            author = " ".join(str(annotation.info.get("title") or "").split())
            found.append(f"Comment by {author}: {text}" if author else f"Comment: {text}")
        if len(found) == _MAX_COMMENTS:
            break
    return found


def has_dingbats(spans: Sequence[Any]) -> bool:
    """Whether a part of the line is set in signs that the file stores as letters."""
    return any("Dingbats" in span["font"] for span in spans)


def with_signs(spans: Sequence[Any]) -> list[Any]:
    """The spans, letters in Zapf Dingbats replaced by the signs they show."""
    return [
        {**span, "text": span["text"].translate(_DINGBATS)} if "Dingbats" in span["font"] else span for span in spans
    ]
