"""How deep a list item stands, from the level its file gives it."""

from __future__ import annotations


class Nesting:
    """Turns given levels into depths without gaps: a list that begins at level 3 begins at depth 0 all the same.

    Markdown takes an item that is indented without a parent for code.
    """

    def __init__(self) -> None:
        self._open: list[int] = []

    def depth(self, level: int) -> int:
        """Depth from 0 of the next item, given its level."""
        while self._open and self._open[-1] >= level:
            self._open.pop()
        self._open.append(level)
        return len(self._open) - 1

    def close(self) -> None:
        """Ends the list: the next item begins a new one."""
        self._open.clear()


def indent(depth: int) -> str:
    """Leading spaces that put an item under one of the depth above it, bulleted (`- `) or numbered (`1. `)."""
    return "   " * depth
