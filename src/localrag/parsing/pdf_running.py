"""Pages -> the same pages without running headers, footers and page numbers.

A line is a running one when it stands at the same height, in the same words, on several pages. A number in it may
differ when it counts pages. The first page that shows the line keeps it, so that nothing said once is lost.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from localrag.parsing.pdf_lines import PageText

_MARGIN = 0.12  # of the page's height, at the top and at the bottom
_MAX_NUMBER = 16  # characters of `Page 117 of 204`
_MIN_PAGES = 3
_MIN_SHARE = 0.2  # of the pages: chapters have headers of their own, odd and even pages differ
_WINDOW = 5  # pages before and after, in which a number must count pages: sections are numbered anew
_COUNTED = 4  # of those pages must agree, or three where there are hardly more
# Not `ABC-000123` nor `DEF10234`: such numbers count the pages of a case, and each page is asked for by its own.
_INTEGER = re.compile(r"(?<![\d.,])(?!0\d{3})\d{1,4}(?![\d]|[.,]\d)")
_PAGE_ONLY = re.compile(r"(?:page |p\. ?|[-–—(] ?)?#(?: ?[-–—)]|(?: of| /|/) ?\d+)?", re.IGNORECASE)

_Key = tuple[str, int]


@dataclass(frozen=True, slots=True)
class MarginLine:
    """A line that may be a running one. `place`: its index in the pieces of its page; `text` is as it stands there."""

    place: int
    text: str
    baseline: float
    y0: float


@dataclass(frozen=True, slots=True)
class Margins:
    """Upper and lower edge of a page, and the lines near them."""

    y0: float
    y1: float
    lines: tuple[MarginLine, ...]


@dataclass(frozen=True, slots=True)
class Running:
    """What is to be taken out of a page, by place: `gone` for good, `aside` to be put after the page's text."""

    gone: tuple[int, ...] = ()
    aside: tuple[int, ...] = ()


def drop_running_lines(pages: Sequence[PageText]) -> None:
    """Removes running lines from the pages' pieces, in place."""
    for page, running in zip(pages, find_running([margins_of(page) for page in pages]), strict=True):
        take_out(page, running)


def find_running(pages: Sequence[Margins]) -> list[Running]:
    """What runs, page by page, by the margins of all pages of the document."""
    if len(pages) < _MIN_PAGES:
        return [Running()] * len(pages)
    own = _page_numbers(pages)
    keys = [[_key(line, page, own[index]) for line in page.lines] for index, page in enumerate(pages)]
    seen: dict[_Key, list[int]] = defaultdict(list)
    for index, page_keys in enumerate(keys):
        for key in dict.fromkeys(page_keys):
            seen[key].append(index)
    enough = max(_MIN_PAGES, _MIN_SHARE * len(pages))
    result = []
    for index, page in enumerate(pages):
        repeated = [(line, k) for line, k in zip(page.lines, keys[index], strict=True) if len(seen[k]) >= enough]
        result.append(_running(page, repeated, {key for _, key in repeated if seen[key][0] == index}))
    return result


def take_out(page: PageText, running: Running) -> None:
    """Removes what runs from the page's pieces, in place."""
    page.asides += [page.pieces[place].text for place in running.aside]
    if gone := {*running.gone, *running.aside}:
        page.pieces = [piece for place, piece in enumerate(page.pieces) if place not in gone]


def _running(page: Margins, repeated: Sequence[tuple[MarginLine, _Key]], new: Collection[_Key]) -> Running:
    """Repeated lines; new ones stay, but those at the foot are put after the text they would cut."""
    gone, aside = [], []
    for line, key in repeated:
        if _PAGE_ONLY.fullmatch(key[0]) or key not in new:
            gone.append(line.place)
        elif line.y0 > (page.y0 + page.y1) / 2:
            aside.append(line.place)
    return Running(tuple(gone), tuple(aside))


def margins_of(page: PageText) -> Margins:
    """The lines in the page's margins, and a number in its first or last line wherever that stands."""
    depth = _MARGIN * (page.y1 - page.y0)
    texts = [(place, piece) for place, piece in enumerate(page.pieces) if piece.table is None]
    if not texts:
        return Margins(page.y0, page.y1, ())
    first = min(piece.baseline for _, piece in texts) + 2
    last = max(piece.baseline for _, piece in texts) - 2
    lines = tuple(
        MarginLine(place, piece.text, piece.baseline, piece.y0)
        for place, piece in texts
        if piece.y1 <= page.y0 + depth
        or piece.y0 >= page.y1 - depth
        or (not first < piece.baseline < last and len(piece.text) <= _MAX_NUMBER and _INTEGER.search(piece.text))
    )
    return Margins(page.y0, page.y1, lines)


def _page_numbers(pages: Sequence[Margins]) -> list[set[int]]:
    """For each page, the numbers in its margins that count pages: the pages around it go on counting."""
    offsets = [
        {int(match) - index for line in page.lines for match in _INTEGER.findall(line.text)}
        for index, page in enumerate(pages)
    ]
    result = []
    for index, here in enumerate(offsets):
        window = offsets[max(index - _WINDOW, 0) : index + _WINDOW + 1]
        votes = Counter(offset for page in window for offset in page & here)
        enough = min(_COUNTED, max(_MIN_PAGES, len(window) - 1))
        result.append({offset + index for offset, count in votes.items() if count >= enough})
    return result


def _key(line: MarginLine, page: Margins, own: Collection[int]) -> _Key:
    """What makes two lines the same: their words, with the page's own numbers as `#`, and their height."""
    text = " ".join(line.text.split())
    if own:
        text = _INTEGER.sub(lambda match: "#" if int(match.group()) in own else match.group(), text)
    if _PAGE_ONLY.fullmatch(text):
        return text, 0  # a page number may follow the last line of a short page
    half = (page.y0 + page.y1) / 2
    height = line.baseline - (page.y0 if line.baseline < half else page.y1)
    return text, round(height / 4)
