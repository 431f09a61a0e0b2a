"""A picture -> where its lines of text stand: boxes that may be slanted, from a network that marks the pixels of text.

The network (PP-OCRv6 small, detection) gives each pixel a probability of belonging to the core of a line. Pixels that
touch make one line; its smallest enclosing rectangle, grown back by what the core leaves out, is its box.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from PIL.Image import Image

Floats = npt.NDArray[np.float32]

# Longer side of what the network sees. Body text of a full page is 10 pixels high there, which it still parts line by
# line; 2,000 pixels take twice as long and found the same lines of the pages in tests/shared/test_shared_ocr.py.
_LONG_SIDE = 1280
_MULTIPLE = 32  # the network halves the picture five times
_PIXEL = 0.3  # probability from which a pixel belongs to a line
_LINE = 0.5  # mean probability of a line's pixels
_GROWTH = 1.6  # area over perimeter, times this, is what the marked core lacks on each side: as it was trained
_MIN_CORE = 3  # pixels; smaller marks are specks
_UPRIGHT = 1.5  # times as high as wide: no word of letters is, and a single letter hardly
_MAX_LINES = 3000  # a page of small print has 200; more is noise, such as a halftone


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle in pixels: middle, width along the text, height, and slant in radians, clockwise as y grows down.

    Upright boxes have slants between -45 and 45 degrees; text that runs up or down has a box higher than wide.
    """

    x: float
    y: float
    width: float
    height: float
    slant: float

    @property
    def runs_up(self) -> bool:
        """Whether its text runs up or down the picture."""
        return self.height >= _UPRIGHT * self.width

    def corners(self) -> list[tuple[float, float]]:
        """Left top, right top, right bottom, left bottom, as seen along the text."""
        cos, sin = math.cos(self.slant) / 2, math.sin(self.slant) / 2
        along, down = (self.width * cos, self.width * sin), (-self.height * sin, self.height * cos)
        return [
            (self.x + a * along[0] + d * down[0], self.y + a * along[1] + d * down[1])
            for a, d in ((-1, -1), (1, -1), (1, 1), (-1, 1))
        ]


def find_lines(network: InferenceSession, picture: Image) -> list[Box]:
    """Boxes of the lines of text in an RGB picture, top to bottom."""
    from PIL import Image as Pillow  # deferred: only pictures need it

    scale = min(1.0, _LONG_SIDE / max(picture.size))
    width, height = (max(_MULTIPLE, round(side * scale / _MULTIPLE) * _MULTIPLE) for side in picture.size)
    small = picture.resize((width, height), Pillow.Resampling.BILINEAR)
    (marked,) = network.run(None, {"x": as_input(small)})
    across, down = picture.width / width, picture.height / height
    # Slants are kept: the two scales differ by less than the rounding to multiples of 32.
    boxes = [
        replace(box, x=box.x * across, y=box.y * down, width=box.width * across, height=box.height * down)
        for box in _boxes(marked[0, 0])
    ]
    return sorted(boxes, key=lambda box: box.y)


def as_input(picture: Image) -> Floats:
    """(1, 3, height, width) float32 between -1 and 1, blue first: as both networks were trained."""
    pixels = np.asarray(picture, dtype=np.float32)[:, :, ::-1]
    return np.ascontiguousarray((pixels / 127.5 - 1.0).transpose(2, 0, 1)[None])


def _boxes(marked: Floats) -> list[Box]:
    """Boxes in the pixels of the network's answer, (height, width) probabilities."""
    from scipy import ndimage  # deferred: 0.2 s, and only pictures need it

    # Growing by a pixel rightward and down closes the cracks between the letters of wide-set words.
    labels, _ = ndimage.label(ndimage.binary_dilation(marked > _PIXEL, np.ones((2, 2))), np.ones((3, 3)))
    result: list[Box] = []
    for number, place in enumerate(ndimage.find_objects(labels)[:_MAX_LINES], 1):
        inside = labels[place] == number
        rows, columns = np.nonzero(inside)
        if min(np.ptp(rows), np.ptp(columns)) < _MIN_CORE - 1 or float(marked[place][inside].mean()) < _LINE:
            continue
        box = _smallest_box(rows + place[0].start + 0.5, columns + place[1].start + 0.5)
        if min(box.width, box.height) < _MIN_CORE:
            continue
        grown = 2 * _GROWTH * box.width * box.height / (2 * (box.width + box.height))
        result.append(Box(box.x, box.y, box.width + grown, box.height + grown, box.slant))
    return result


def _smallest_box(rows: npt.NDArray[np.float64], columns: npt.NDArray[np.float64]) -> Box:
    """The rectangle of least area around the points: one of its sides lies on a side of their hull."""
    hull = _hull(rows, columns)
    sides = np.diff(np.vstack([hull, hull[:1]]), axis=0)
    # Folded to a quarter turn: a rectangle looks the same from each of its sides.
    slants = np.unique(np.round(np.mod(np.arctan2(sides[:, 1], sides[:, 0]) + math.pi / 4, math.pi / 2), 4))
    slants -= math.pi / 4
    cos, sin = np.cos(slants)[:, None], np.sin(slants)[:, None]
    along = cos * hull[:, 0] + sin * hull[:, 1]
    down = cos * hull[:, 1] - sin * hull[:, 0]
    low_a, high_a, low_d, high_d = along.min(1), along.max(1), down.min(1), down.max(1)
    best = int(np.argmin((high_a - low_a + 1) * (high_d - low_d + 1)))
    slant = float(slants[best])
    a, d = float(low_a[best] + high_a[best]) / 2, float(low_d[best] + high_d[best]) / 2
    return Box(
        x=a * math.cos(slant) - d * math.sin(slant),
        y=a * math.sin(slant) + d * math.cos(slant),
        width=float(high_a[best] - low_a[best]) + 1,
        height=float(high_d[best] - low_d[best]) + 1,
        slant=slant,
    )


def _hull(rows: npt.NDArray[np.float64], columns: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """(n, 2) x and y of the convex hull. `rows` is sorted, so that each row's ends are found by where it changes."""
    first = np.flatnonzero(np.diff(rows, prepend=-1.0))
    last = np.append(first[1:], len(rows)) - 1
    left = list(zip(columns[first].tolist(), rows[first].tolist(), strict=True))
    right = list(zip(columns[last].tolist(), rows[last].tolist(), strict=True))
    return np.array(_chain(left, -1) + _chain(right, 1)[::-1])


def _chain(points: list[tuple[float, float]], side: int) -> list[tuple[float, float]]:
    """The points, from top to bottom, that bulge to one side."""
    chain: list[tuple[float, float]] = []
    for x, y in points:
        while len(chain) > 1:
            (ax, ay), (bx, by) = chain[-2:]
            if side * ((bx - ax) * (y - ay) - (by - ay) * (x - ax)) > 0:
                break
            chain.pop()
        chain.append((x, y))
    return chain
