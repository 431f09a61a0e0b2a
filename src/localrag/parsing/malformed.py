"""What is said of files that cannot be read in whole or in part: one error, or a few warnings, in our words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from localrag.errors import DocumentError, UnreadableDocument
from localrag.parsing.source import Source

_MAX_WARNINGS = 50


def first_warnings(warnings: Sequence[str]) -> tuple[str, ...]:
    """The first 50 warnings, and how many more there are."""
    more = len(warnings) - _MAX_WARNINGS
    return tuple(warnings) if more <= 0 else (*warnings[:_MAX_WARNINGS], f"... and {more} more.")


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
