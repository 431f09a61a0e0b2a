"""Text recognition by the Tesseract program, where it is installed and asked for."""

from __future__ import annotations

import io
import subprocess
from collections.abc import Sequence
from functools import lru_cache
from itertools import groupby
from typing import TYPE_CHECKING

from localrag.parsing.ocr_detect import Box
from localrag.parsing.ocr_page import Line
from localrag.parsing.ocr_read import ReadLine
from localrag.parsing.source import Tools

if TYPE_CHECKING:
    from PIL.Image import Image

_WORD = "5"  # the level of words in Tesseract's table; the levels above are lines, paragraphs, blocks and pages
_DEFAULT_LANGUAGE = "eng"
_VERSION_TIMEOUT_S = 10.0


class TesseractFailed(Exception):
    """Tesseract did not run, ran too long, or lacks the language; the message is its own."""


def read_with_tesseract(picture: Image, tools: Tools) -> list[Line]:
    """The lines on an upright RGB picture.

    Raises:
        TesseractFailed: as it says.
    """
    png = io.BytesIO()
    picture.save(png, "png")
    language = tools.ocr_language or _DEFAULT_LANGUAGE
    command = [tools.tesseract, "stdin", "stdout", "-l", language, "--psm", "3", "tsv"]
    try:
        done = subprocess.run(
            command, input=png.getvalue(), capture_output=True, timeout=4 * tools.ocr_page_s, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise TesseractFailed(f"Tesseract failed ({type(error).__name__}).") from error
    if done.returncode:
        said = " ".join(done.stderr.decode(errors="replace").split())[:200]
        raise TesseractFailed(f"Tesseract failed: {said or f'exit status {done.returncode}'}.")
    return _lines(done.stdout.decode(errors="replace"))


@lru_cache(maxsize=1)
def tesseract_version(program: str) -> str:
    """What the program calls itself: `tesseract 5.3.0`; its path when it does not say."""
    try:
        done = subprocess.run([program, "--version"], capture_output=True, timeout=_VERSION_TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return program
    return done.stdout.decode(errors="replace").partition("\n")[0].strip() or program


def _lines(table: str) -> list[Line]:
    """Tesseract's table of words -> lines. Columns: level, page to word, box, confidence, text."""
    rows = [row.split("\t") for row in table.splitlines()]
    words = [row for row in rows if len(row) == 12 and row[0] == _WORD and row[11].strip()]
    return [_line(list(group)) for _, group in groupby(words, key=lambda row: row[1:5])]


def _line(rows: Sequence[Sequence[str]]) -> Line:
    boxes = [tuple(map(int, row[6:10])) for row in rows]
    left, top = min(box[0] for box in boxes), min(box[1] for box in boxes)
    width = max(1, max(x + w for x, _, w, _ in boxes) - left)
    height = max(1, max(y + h for _, y, _, h in boxes) - top)
    words = tuple(
        (row[11].strip(), (x - left) / width, (x + w - left) / width)
        for row, (x, _, w, _) in zip(rows, boxes, strict=True)
    )
    confidence = sum(float(row[10]) for row in rows) / len(rows) / 100
    # Tesseract's boxes are tight; ours reach a fifth of the height beyond the letters on each side.
    box = Box(left + width / 2, top + height / 2, width, height * 1.4, 0.0)
    return box, ReadLine(" ".join(word for word, *_ in words), confidence, words)
