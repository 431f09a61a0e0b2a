"""Tags and collections as they are stored and asked for: one spelling for each."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping

from localrag.errors import LabelError

_MAX_CHARS = 500
"""Of a tag's key or value, or of a collection's path: OpenSearch indexes no keyword over 32,766 bytes."""


def checked_collection(path: str) -> str:
    """The path with its parts trimmed: ` legal / 2026 ` is `legal/2026`.

    Raises:
        LabelError: a part is empty, or it holds what cannot be shown.
    """
    parts = [_checked(part, what=f"The collection {path!r}") for part in path.split("/")]
    if not all(parts):
        raise LabelError(
            f"The collection {path!r} has an empty part.", hint="Write it as legal/contracts, without // or outer /."
        )
    return "/".join(parts)


def checked_tags(tags: Mapping[str, str]) -> dict[str, str]:
    """The tags with key and value trimmed.

    Raises:
        LabelError: a key is empty or holds `=`, or one of them holds what cannot be shown.
    """
    checked = {}
    for key, value in tags.items():
        what = f"The tag {key!r}"
        name = _checked(key, what=what)
        if not name or "=" in name:
            raise LabelError(f"{what} has no usable key.", hint="Write a tag as year=2026.")
        checked[name] = _checked(value, what=what)
    return checked


def checked_labels(tags: Mapping[str, str] | None, collection: str | None) -> tuple[dict[str, str] | None, str | None]:
    """Both as the functions above have them; None stays None. Raises as they do."""
    return (
        None if tags is None else checked_tags(tags),
        None if collection is None else checked_collection(collection),
    )


def _checked(text: str, *, what: str) -> str:
    trimmed = unicodedata.normalize("NFC", text).strip()
    if any(unicodedata.category(char) in ("Cc", "Cs") for char in trimmed):
        raise LabelError(f"{what} holds control characters or broken text.", hint="Use letters, digits and spaces.")
    if len(trimmed) > _MAX_CHARS:
        raise LabelError(f"{what} is longer than {_MAX_CHARS} characters.", hint="Use a shorter name.")
    return trimmed
