"""Which documents a question means: by file name, by part of one, or close to one."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence

from localrag.retrieval.naming import documents_named
from localrag.retrieval.words import content_words
from localrag.types import Document

_ENDINGS = (
    "pdf|docx?|pptx?|xlsx?|csv|tsv|txt|md|html?|epub|eml|msg|mbox|json|xml|odt|ods|odp|rtf|zip|ipynb|png|jpe?g|tiff?"
)
_FILE = re.compile(rf"(?P<name>[^\s\"'“”„?]+\.(?:{_ENDINGS}))(?!\w)", re.IGNORECASE)
_CLOSE = 5


def meant(words: str, documents: Sequence[Document]) -> list[Document]:
    """The documents of this name or whose names hold all of these words; none when no name does."""
    bare = words.strip(" \"'“”„.?!").casefold()
    exact = [document for document in documents if bare in (document.name.casefold(), _stem(document.name))]
    if exact:
        return exact
    named = documents_named(words, documents)
    if named:
        return [document for document in documents if document.id in named]
    wanted = content_words(re.sub(r"[._-]+", " ", words))
    if not wanted or file_name(words):
        return []
    return [document for document in documents if wanted <= content_words(re.sub(r"[._-]+", " ", document.name))]


def file_name(words: str) -> str:
    """What looks like the name of a file in these words, or nothing."""
    found = _FILE.search(words)
    return found["name"] if found else ""


def close_names(name: str, documents: Sequence[Document]) -> list[str]:
    """Names that are written almost like this one, or share a word with it."""
    names = {document.name.casefold(): document.name for document in documents}
    close = difflib.get_close_matches(name.casefold(), names, n=_CLOSE, cutoff=0.3)
    return [names[one] for one in close]


def _stem(name: str) -> str:
    return (name.rpartition(".")[0] or name).casefold()
