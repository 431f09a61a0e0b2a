"""Reasoning blocks of a model's reply, taken out while it streams."""

from __future__ import annotations

_OPEN = ("<think>", "<thinking>")
_CLOSE = ("</think>", "</thinking>")


class ThinkingFilter:
    """The reply without its `<think>` blocks, piece by piece.

    A tag may be split over pieces, so text that could begin a tag is held back until it is known. A block that is
    never closed hides all that follows. An end tag without a beginning is passed on, never split: some chat templates
    put the opening tag into the prompt, so everything before such an end tag was thinking, which only the reader of
    the whole reply can take back.
    """

    def __init__(self) -> None:
        self._held = ""
        self._inside = False
        self._at_start = True

    def feed(self, piece: str) -> str:
        """What of the reply may be shown now."""
        text = self._held + piece
        shown: list[str] = []
        while True:
            tags = _CLOSE if self._inside else _OPEN
            at, tag = _first(text, tags)
            if at < 0:
                break
            if not self._inside:
                shown.append(text[:at])
            text = text[at + len(tag) :]
            self._inside = not self._inside
        keep = _unfinished(text, (*_OPEN, *_CLOSE))
        self._held = text[len(text) - keep :]
        if not self._inside:
            shown.append(text[: len(text) - keep])
        return self._trimmed("".join(shown))

    def close(self) -> str:
        """What was held back, now that nothing follows."""
        held, self._held = self._held, ""
        return "" if self._inside else self._trimmed(held)

    def _trimmed(self, text: str) -> str:
        """Without the blank lines that models put between their thinking and the answer."""
        if self._at_start:
            text = text.lstrip()
            self._at_start = not text
        return text


def _first(text: str, tags: tuple[str, ...]) -> tuple[int, str]:
    found = [(at, tag) for tag in tags if (at := text.find(tag)) >= 0]
    return min(found, default=(-1, ""))


def _unfinished(text: str, tags: tuple[str, ...]) -> int:
    """How many characters at the end of the text could be the beginning of a tag."""
    longest = min(len(text), max(map(len, tags)) - 1)
    return next((n for n in range(longest, 0, -1) if any(tag.startswith(text[-n:]) for tag in tags)), 0)
