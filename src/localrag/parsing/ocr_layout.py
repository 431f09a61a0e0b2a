"""Lines that were recognised -> the pieces that the layout of PDF pages works on: columns, headings, lists, tables."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from localrag.parsing.ocr_page import OcrLine, OcrPage, OcrWord
from localrag.parsing.pdf_lines import PageText, Piece, is_number

# In units of a line's box, which reaches beyond the letters: what a font of that size takes of it.
_FONT = 0.69
_BELOW_BASELINE = 0.28
# In font sizes. The gaps are those of pdf_lines, widened by what the places of words are inexact here.
_CELL_GAP, _NUMBER_GAP, _JOIN_GAP = 1.2, 0.7, 0.7
_SAME_ROW = 0.35
# A box is lower by a fifth where a line has neither ascenders nor descenders. So only what is clearly larger or
# smaller than the rest counts as another size, and sizes are rounded to these multiples of the usual one.
_SIZES = ((0.0, 0.7), (0.62, 1.0), (1.35, 1.5), (1.8, 2.0), (2.6, 3.0))


def page_text(page: OcrPage, body: float = 10.0) -> PageText:
    """The page with its usual line set in `body` points, whatever the resolution of the picture."""
    lines = [line for line in page.lines if not line.runs_up]
    usual = _usual_height(lines)
    scale = body / (_FONT * usual)
    pieces = [piece for line in lines for piece in _pieces(line, scale, _size(line, usual) * body)]
    result = PageText(0.0, 0.0, page.width * scale, page.height * scale)
    result.asides = [line.text for line in page.lines if line.runs_up]
    result.pieces = _joined(_on_rows(pieces))
    result.size = body
    return result


def _usual_height(lines: Sequence[OcrLine]) -> float:
    """The median height of lines, each counted by its characters."""
    heights = [line.y1 - line.y0 for line in lines for _ in line.text]
    return max(1.0, median(heights)) if heights else 1.0


def _size(line: OcrLine, usual: float) -> float:
    ratio = (line.y1 - line.y0) / usual
    return next(size for least, size in reversed(_SIZES) if ratio >= least)


def _pieces(line: OcrLine, scale: float, size: float) -> list[Piece]:
    """The line cut where its words stand apart as cells do."""
    runs: list[list[OcrWord]] = []
    for word in line.words:
        if runs and not _is_cell_gap(runs[-1][-1], word, scale, size):
            runs[-1].append(word)
        else:
            runs.append([word])
    return [_piece(line, run, scale, size) for run in runs]


def _is_cell_gap(left: OcrWord, right: OcrWord, scale: float, size: float) -> bool:
    gap = (right.x0 - left.x1) * scale / size
    return gap >= (_NUMBER_GAP if is_number(left.text) and is_number(right.text) else _CELL_GAP)


def _piece(line: OcrLine, words: Sequence[OcrWord], scale: float, size: float) -> Piece:
    whole = len(words) == len(line.words)
    height = line.y1 - line.y0
    rim = height * (1 - _FONT) / 2  # how far the box reaches beyond the letters, on every side
    x0, x1 = (line.x0 + rim, line.x1 - rim) if whole else (words[0].x0, words[-1].x1)
    return Piece(
        x0=min(x0, x1) * scale,
        y0=(line.y0 + rim) * scale,
        x1=max(x0, x1) * scale,
        y1=(line.y1 - rim) * scale,
        baseline=(line.y1 - _BELOW_BASELINE * height) * scale,
        size=size,
        bold=False,
        italic=False,
        mono=False,
        text=" ".join(word.text for word in words),
        space_before=True,
        space_after=True,
    )


def _on_rows(pieces: Sequence[Piece]) -> list[Piece]:
    """The pieces by rows, those of a row put on one baseline: each box was measured by itself."""
    ordered = sorted(pieces, key=lambda piece: piece.y0 + piece.y1)
    start = 0
    for i in range(1, len(ordered) + 1):
        first = ordered[start]
        if i < len(ordered):
            apart = (ordered[i].y0 + ordered[i].y1 - first.y0 - first.y1) / 2
            if apart <= _SAME_ROW * min(first.size, ordered[i].size):
                continue
        baseline = median(piece.baseline for piece in ordered[start:i])
        for piece in ordered[start:i]:
            piece.baseline = baseline
        ordered[start:i] = sorted(ordered[start:i], key=lambda piece: piece.x0)
        start = i
    return ordered


def _joined(pieces: Sequence[Piece]) -> list[Piece]:
    """Neighbours on a row that the detector parted inside a line of text are one piece again."""
    result: list[Piece] = []
    for piece in pieces:
        last = result[-1] if result else None
        if last is not None and _joins(last, piece):
            last.text = f"{last.text} {piece.text}"
            last.x1, last.y0, last.y1 = max(last.x1, piece.x1), min(last.y0, piece.y0), max(last.y1, piece.y1)
        else:
            result.append(piece)
    return result


def _joins(left: Piece, right: Piece) -> bool:
    if left.baseline != right.baseline or left.size != right.size:
        return False
    if is_number(left.text) and is_number(right.text):
        return False
    return -0.5 * left.size < right.x0 - left.x1 < _JOIN_GAP * left.size
