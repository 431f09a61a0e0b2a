"""A line of text in a picture -> its characters, with where each word stands on the line."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from localrag.parsing.ocr_detect import Box, as_input

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from PIL.Image import Image

_HEIGHT = 48  # pixels of a line as the network reads it
_MIN_WIDTH, _MAX_WIDTH = 320, 48 * 100  # it was trained on lines padded to 320 pixels


@dataclass(frozen=True, slots=True)
class ReadLine:
    """A line's text, how sure the network is of it (0 to 1), and its words with their span on the line, 0 to 1."""

    text: str
    confidence: float
    words: tuple[tuple[str, float, float], ...] = ()


class LineReader:
    """Reads lines, one a run: a batch would pad all of them to the longest and take longer."""

    def __init__(self, network: InferenceSession) -> None:
        self._network = network
        characters = network.get_modelmeta().custom_metadata_map["character"].splitlines()
        # The first class says that nothing new begins here, the last one is the space.
        self._characters = ["", *characters, " "]

    def read(self, picture: Image, box: Box, *, overhead: bool = False) -> ReadLine:
        """What stands in the box; `overhead`: as seen from the other side of the table."""
        line = cut_out(picture, box)
        if overhead:
            line = line.rotate(180)
        wide = min(max(round(line.width * _HEIGHT / line.height), 1), _MAX_WIDTH)
        pixels = as_input(line.resize((wide, _HEIGHT)))
        if wide < _MIN_WIDTH:
            pixels = np.pad(pixels, ((0, 0), (0, 0), (0, 0), (0, _MIN_WIDTH - wide)))
        (classes,) = self._network.run(None, {"x": pixels})
        return self._decoded(classes[0], max(wide, _MIN_WIDTH) / wide)

    def _decoded(self, classes: np.ndarray[tuple[int, int], np.dtype[np.float32]], stretch: float) -> ReadLine:
        """The text of (steps, classes) probabilities: the best class of each step, repeats counted once."""
        best = classes.argmax(axis=1)
        fresh = np.flatnonzero((best != 0) & (np.diff(best, prepend=0) != 0))
        if not len(fresh):
            return ReadLine("", 0.0)
        step = stretch / len(best)
        words: list[tuple[str, float, float]] = []
        word, start = "", 0.0
        for at, kind in zip(fresh.tolist(), best[fresh].tolist(), strict=True):
            character = self._characters[kind]
            if character.isspace():
                if word:
                    words.append((word, start, min(at * step, 1.0)))
                word = ""
                continue
            if not word:
                start = min(at * step, 1.0)
            word += character
        if word:
            words.append((word, start, min((int(fresh[-1]) + 1) * step, 1.0)))
        confidence = float(classes[fresh, best[fresh]].mean())
        return ReadLine(" ".join(text for text, *_ in words), confidence, tuple(words))


def cut_out(picture: Image, box: Box) -> Image:
    """The box's part of the picture, slant taken out; text that runs upward is laid down."""
    from PIL import Image as Pillow  # deferred: only pictures need it

    width, height = max(1, math.ceil(box.width)), max(1, math.ceil(box.height))
    left_top, right_top, right_bottom, left_bottom = box.corners()
    quad = (*left_top, *left_bottom, *right_bottom, *right_top)
    line = picture.transform((width, height), Pillow.Transform.QUAD, quad, Pillow.Resampling.BICUBIC)
    return line.transpose(Pillow.Transpose.ROTATE_270) if box.runs_up else line
