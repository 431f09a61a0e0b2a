"""Turns whatever a library raises on a damaged file into the one error the user can act on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from localrag.errors import DocumentError, UnreadableDocument
from localrag.parsing.source import Source


@contextmanager
def unreadable(source: Source, what: str) -> Iterator[None]:
    """Raises UnreadableDocument in place of any foreign exception of the block.

    Args:
        what: the kind of file in the user's words, as in "is not a readable Word document".
    """
    try:
        yield
    except (DocumentError, MemoryError):
        raise
    except Exception as error:
        # Libraries that parse binary formats raise anything on damaged bytes (TypeError and AttributeError
        # included, see the corruption tests), so no narrower list would hold. The cause stays attached.
        raise UnreadableDocument(
            f"{source.name} is damaged or is not a readable {what} ({type(error).__name__}: {_short(error, source)}).",
            path=source.name,
            hint="Open it in the program that made it, save it again, and retry.",
        ) from error


def _short(error: Exception, source: Source) -> str:
    """What the library said, with the file called as the user calls it and not as it is stored."""
    text = " ".join(str(error).replace(str(source.path), source.name).split())
    return text if len(text) <= 160 else f"{text[:160]}…"
