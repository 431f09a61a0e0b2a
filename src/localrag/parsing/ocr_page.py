"""What was read on one picture of a page: its lines, where they stand, and the same as bytes for the cache."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from localrag.parsing.ocr_detect import Box
from localrag.parsing.ocr_read import ReadLine

Rect = tuple[float, float, float, float]
Line = tuple[Box, ReadLine]

# Below it the text is a guess at a drawing or a stamp. Single characters are guessed more easily.
_SURE, _SURE_ALONE = 0.5, 0.8


@dataclass(frozen=True, slots=True)
class OcrWord:
    """A word: its span in pixels along its line, and its box in shares of the picture as it was given."""

    text: str
    x0: float
    x1: float
    box: Rect


@dataclass(frozen=True, slots=True)
class OcrLine:
    """Words on one line, and its box in pixels of the picture turned upright and straight."""

    words: tuple[OcrWord, ...]
    x0: float
    y0: float
    x1: float
    y1: float

    @property
    def text(self) -> str:
        return " ".join(word.text for word in self.words)

    @property
    def runs_up(self) -> bool:
        """Whether it runs up or down a page whose other lines lie, as notes in a margin do."""
        return self.y1 - self.y0 >= 1.5 * (self.x1 - self.x0)


@dataclass(frozen=True, slots=True)
class OcrPage:
    """Size in pixels of the upright picture, and its lines from top to bottom."""

    width: float
    height: float
    lines: tuple[OcrLine, ...]

    @property
    def characters(self) -> int:
        return sum(len(word.text) for line in self.lines for word in line.words)

    def to_bytes(self) -> bytes:
        """The page as JSON."""
        lines = [
            [
                [line.x0, line.y0, line.x1, line.y1],
                [[word.text, word.x0, word.x1, word.box] for word in line.words],
            ]
            for line in self.lines
        ]
        return json.dumps([self.width, self.height, lines], ensure_ascii=False, separators=(",", ":")).encode()

    @staticmethod
    def from_bytes(data: bytes) -> OcrPage:
        """The page that `to_bytes` wrote.

        Raises:
            ValueError, TypeError: the bytes are no such page.
        """
        width, height, lines = json.loads(data)
        return OcrPage(
            width,
            height,
            tuple(
                OcrLine(tuple(OcrWord(text, x0, x1, tuple(box)) for text, x0, x1, box in words), *place)
                for place, words in lines
            ),
        )


def page_of(lines: Sequence[Line], size: tuple[int, int], turns: int) -> OcrPage:
    """The page that holds the lines of which the engine is sure enough.

    Args:
        lines: boxes in a picture turned upright by `turns` quarter turns against the clock, and what they hold.
        size: width and height of that upright picture.
        turns: 0 to 3.
    """
    sure = [line for line in lines if line[1].confidence >= (_SURE if len(line[1].text) > 1 else _SURE_ALONE)]
    slant = _slant([box for box, _ in sure])
    placed = [_placed(box, read, slant, size, turns) for box, read in sure]
    return OcrPage(float(size[0]), float(size[1]), tuple(sorted(placed, key=lambda line: (line.y0 + line.y1) / 2)))


def _slant(boxes: Sequence[Box]) -> float:
    """How far the page as a whole is turned: the slant of its long lines, as short words are too short to tell."""
    lying = sorted((box for box in boxes if not box.runs_up), key=lambda box: -box.width)
    return median(box.slant for box in lying[: max(1, len(lying) // 2)]) if lying else 0.0


def _placed(box: Box, read: ReadLine, slant: float, size: tuple[int, int], turns: int) -> OcrLine:
    middle_x, middle_y = size[0] / 2, size[1] / 2
    cos, sin = math.cos(-slant), math.sin(-slant)
    straight = [
        (middle_x + (x - middle_x) * cos - (y - middle_y) * sin, middle_y + (x - middle_x) * sin + (y - middle_y) * cos)
        for x, y in box.corners()
    ]
    x0, x1 = min(x for x, _ in straight), max(x for x, _ in straight)
    y0, y1 = min(y for _, y in straight), max(y for _, y in straight)
    words = tuple(
        OcrWord(
            text, round(x0 + start * (x1 - x0), 1), round(x0 + end * (x1 - x0), 1), _part(box, start, end, size, turns)
        )
        for text, start, end in read.words
    )
    return OcrLine(words, round(x0, 1), round(y0, 1), round(x1, 1), round(y1, 1))


def _part(box: Box, start: float, end: float, size: tuple[int, int], turns: int) -> Rect:
    """The part of the line from `start` to `end`, as shares of the picture before it was turned."""
    left_top, right_top, right_bottom, left_bottom = box.corners()
    if box.runs_up:  # its text begins at the bottom
        left_top, right_top, right_bottom, left_bottom = left_bottom, left_top, right_top, right_bottom
    points = [
        (a[0] + share * (b[0] - a[0]), a[1] + share * (b[1] - a[1]))
        for a, b in ((left_top, right_top), (left_bottom, right_bottom))
        for share in (start, end)
    ]
    shares = [_turned_back(x / size[0], y / size[1], turns) for x, y in points]
    across, down = [x for x, _ in shares], [y for _, y in shares]
    return tuple(round(value, 4) for value in (min(across), min(down), max(across), max(down)))  # type: ignore[return-value]


def _turned_back(x: float, y: float, turns: int) -> tuple[float, float]:
    """Where the point was before `turns` quarter turns against the clock; in shares of width and height."""
    for _ in range(turns):
        x, y = 1 - y, x
    return x, y
