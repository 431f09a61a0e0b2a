"""Which documents does a question name? "In report_march.pdf, what ..." should look there first."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from localrag.types import Document, DocumentId

_MIN_BARE_NAME = 6
"""A name without its extension counts only from this length: `a.txt` must not claim every question with "a"."""


def documents_named(question: str, documents: Iterable[Document]) -> frozenset[DocumentId]:
    """Ids of the documents whose file name stands in the question, with or without its extension.

    A bare name counts when it is long and looks like a file name (holds a digit, `_` or `-`), so that a file
    called `contract.pdf` does not claim every question about contracts.
    """
    text = _fold(question)
    return frozenset(document.id for document in documents if _is_named(_fold(document.name), text))


def _is_named(name: str, text: str) -> bool:
    if not name:
        return False
    if _stands_in(name, text):
        return True
    stem, dot, _ = name.rpartition(".")
    looks_like_a_file = bool(re.search(r"[\d_-]", stem))
    return bool(dot) and len(stem) >= _MIN_BARE_NAME and looks_like_a_file and _stands_in(stem, text)


def _stands_in(name: str, text: str) -> bool:
    """Whole name only: `report.pdf` does not stand in `annual_report.pdf`."""
    # The plain look-up first: a library has thousands of names, and a question holds one of them or none.
    return name in text and re.search(rf"(?<![\w./-]){re.escape(name)}(?![\w-]|\.\w)", text) is not None


def _fold(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()
