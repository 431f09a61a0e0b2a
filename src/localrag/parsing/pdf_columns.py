"""Pieces of a page -> regions in reading order: whole-width text and columns, each read top to bottom.

A gutter is a vertical strip that few pieces cross. It parts columns only when what stands on both sides reads like
prose (lines that fill their column); the gaps between the columns of a table fail that test. Pieces that cross a
gutter (titles, captions, wide figures) cut the page into bands, and columns are read within a band.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from localrag.parsing.pdf_lines import Piece, is_number

_DATE = re.compile(r"[\d./-]+")
_STEP = 2.0  # points per bin of the horizontal profile
_MIN_GUTTER = 5.0  # points; the narrowest seen is 9 (Federal Register), a word space is under 4
# First strips that hardly anything crosses, then those half of the lines cross (two columns under a long abstract).
_CROSSED = (0.12, 0.6)
_FEW = 8  # lines of so few that a table of close columns fills them as prose does
_FAR = 5.0  # font sizes; a stamp or a head so far from the rest is a part of its own, however small
_MAX_CUTS = 4  # blank strips tried for a page whose columns are not plain


def regions(pieces: Sequence[Piece], *, rtl: bool = False) -> list[list[Piece]]:
    """The pieces parted into regions in reading order; every piece is in exactly one."""
    if not pieces:
        return []
    return _columns(pieces, rtl) or _parts(pieces, rtl, _MAX_CUTS) or [list(pieces)]


def _columns(pieces: Sequence[Piece], rtl: bool) -> list[list[Piece]] | None:
    if len(pieces) < 4:
        return None
    profile = _profile(pieces)
    for share in _CROSSED:
        gutters = _gutters(pieces, profile, share)
        if gutters:
            return _bands(pieces, gutters, rtl)
    return None


def _parts(pieces: Sequence[Piece], rtl: bool, cuts: int) -> list[list[Piece]] | None:
    """The page cut at its widest blank strips, if that shows columns above or below (a table over two columns)."""
    ordered = sorted(pieces, key=lambda piece: piece.y0)
    gaps: list[tuple[float, int]] = []
    bottom = ordered[0].y1
    for i, piece in enumerate(ordered[1:], 1):
        least = 1 if piece.y0 - bottom > _FAR * piece.size else 4
        if piece.y0 - bottom > 0.5 * piece.size and least <= i <= len(ordered) - least:
            gaps.append((piece.y0 - bottom, i))
        bottom = max(bottom, piece.y1)
    for _, i in sorted(gaps, reverse=True)[:cuts]:
        halves = ordered[:i], ordered[i:]
        found = [_columns(half, rtl) for half in halves]
        if any(found):
            return [
                region
                for half, columns in zip(halves, found, strict=True)
                for region in columns or _parts(half, rtl, cuts // 2) or [half]
            ]
    return None


def _gutters(pieces: Sequence[Piece], profile: _Profile, share: float) -> list[float]:
    """Middles of the strips that part prose columns, left to right; empty when the page has one column."""
    strips = _thin_strips(profile, share)
    while strips:
        middles = [(start + end) / 2 for start, end in strips]
        slots = _slots(pieces, middles)
        poor = next((i for i, slot in enumerate(slots) if not _is_prose(slot)), None)
        if poor is None:
            widths = [max(p.x1 for p in slot) - min(p.x0 for p in slot) for slot in slots]
            return middles if min(widths) >= 0.45 * max(widths) else []
        # Drop the strip beside the first part that is no column: it may be a gap inside one.
        del strips[min(poor, len(strips) - 1)]
    return []


@dataclass(frozen=True, slots=True)
class _Profile:
    """How many pieces stand over each bin of the width, from `left` on."""

    left: float
    bins: list[int]


def _profile(pieces: Sequence[Piece]) -> _Profile:
    left = min([piece.x0 for piece in pieces])
    right = max([piece.x1 for piece in pieces])
    changes = [0] * (int((right - left) / _STEP) + 3)
    for piece in pieces:
        changes[int((piece.x0 - left) / _STEP)] += 1
        changes[int((piece.x1 - left) / _STEP) + 1] -= 1
    return _Profile(left, list(accumulate(changes))[:-1])


def _thin_strips(profile: _Profile, share: float) -> list[tuple[float, float]]:
    left, bins = profile.left, profile.bins
    limit = share * max(bins)
    first, last = int(0.15 * len(bins)), int(0.85 * len(bins))
    strips: list[tuple[float, float]] = []
    start: int | None = None
    for i in range(first, last + 1):
        thin = i < last and bins[i] <= limit
        if thin and start is None:
            start = i
        elif not thin and start is not None:
            if (i - start) * _STEP >= _MIN_GUTTER:
                strips.append((left + start * _STEP, left + i * _STEP))
            start = None
    return strips if len(strips) <= 4 else []


def _crosses(piece: Piece, gutters: Sequence[float]) -> bool:
    x0, x1 = piece.x0 + 1, piece.x1 - 1
    return bisect_right(gutters, x0) < bisect_left(gutters, x1)


def _slots(pieces: Sequence[Piece], gutters: Sequence[float]) -> list[list[Piece]]:
    slots: list[list[Piece]] = [[] for _ in range(len(gutters) + 1)]
    for piece in pieces:
        if not _crosses(piece, gutters):
            slots[bisect_left(gutters, (piece.x0 + piece.x1) / 2)].append(piece)
    return slots


def _is_prose(slot: Sequence[Piece]) -> bool:
    """Whether most lines fill the column and are words, not figures."""
    if len(slot) < 2:
        return False
    lines = len({round(piece.baseline) for piece in slot})
    width = max([piece.x1 for piece in slot]) - min([piece.x0 for piece in slot])
    if width <= 0 or lines < 2:
        return False
    fill = sum([piece.x1 - piece.x0 for piece in slot]) / (lines * width)
    if fill < (0.6 if lines > 3 else 0.75):
        return False
    if lines <= _FEW and len(slot) > 1.5 * lines:
        return False  # the cells of a small table, not lines
    letters = sum([len(piece.text) for piece in slot]) / lines
    figures = sum([is_number(piece.text) or _DATE.fullmatch(piece.text) is not None for piece in slot])
    return letters >= (12 if lines > 3 else 24) and figures <= 0.3 * len(slot)


def _bands(pieces: Sequence[Piece], gutters: Sequence[float], rtl: bool) -> list[list[Piece]]:
    result: list[list[Piece]] = []
    band: list[Piece] = []
    wide: list[Piece] = []

    def flush(run: list[Piece]) -> None:
        if run:
            result.extend(_read_band(run, gutters, rtl) if run is band else [list(run)])
            run.clear()

    for piece in sorted(pieces, key=lambda piece: piece.baseline):
        crossing = _crosses(piece, gutters)
        flush(band if crossing else wide)
        (wide if crossing else band).append(piece)
    flush(band)
    flush(wide)
    return result


def _read_band(band: Sequence[Piece], gutters: Sequence[float], rtl: bool) -> list[list[Piece]]:
    slots = [slot for slot in _slots(band, gutters) if slot]
    if len(slots) < 2 or (_is_table_like(band) and not any(map(_is_prose, slots))):
        return [list(band)]
    return slots[::-1] if rtl else slots


def _is_table_like(band: Sequence[Piece]) -> bool:
    return sum(is_number(piece.text) for piece in band) >= 0.25 * len(band)
