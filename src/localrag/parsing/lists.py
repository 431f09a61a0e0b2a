"""How deep a list item stands, from the level its file gives it, and how its number is written."""

from __future__ import annotations

_ROMAN = ((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl"),
          (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"))  # fmt: skip


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


def counter_text(value: int, shape: str) -> str:
    """The number as decimal, decimalZero, lowerLetter, upperLetter, lowerRoman or upperRoman has it."""
    if shape in ("lowerLetter", "upperLetter") and value > 0:
        letters = chr(ord("a") + (value - 1) % 26) * ((value - 1) // 26 + 1)  # goes on with aa, bb
        return letters.upper() if shape == "upperLetter" else letters
    if shape in ("lowerRoman", "upperRoman") and 0 < value < 4000:
        text, rest = "", value
        for size, numeral in _ROMAN:
            count, rest = divmod(rest, size)
            text += numeral * count
        return text.upper() if shape == "upperRoman" else text
    return f"{value:02d}" if shape == "decimalZero" else str(value)
