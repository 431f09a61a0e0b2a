"""Pages -> the same pages without running headers, footers and page numbers.

A line is a running one when it stands at the same height, in the same words, on several pages. A number in it may
differ when it counts pages. The first page that shows the line keeps it, so that nothing said once is lost.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Sequence

from localrag.parsing.pdf_lines import PageText, Piece

_MARGIN = 0.12  # of the page's height, at the top and at the bottom
_MAX_NUMBER = 16  # characters of `Page 117 of 204`
_MIN_PAGES = 3
_MIN_SHARE = 0.2  # of the pages: chapters have headers of their own, odd and even pages differ
_WINDOW = 5  # pages before and after, in which a number must count pages: sections are numbered anew
_COUNTED = 4  # of those pages must agree, or three where there are hardly more
_INTEGER = re.compile(r"(?<![\d.,])\d{1,6}(?![\d]|[.,]\d)")
_PAGE_ONLY = re.compile(r"(?:page |p\. ?|[-–—(] ?)?#(?: ?[-–—)]|(?: of| /|/) ?\d+)?", re.IGNORECASE)

_Key = tuple[str, int]


def drop_running_lines(pages: Sequence[PageText]) -> None:
    """Removes running lines from the pages' pieces, in place."""
    if len(pages) < _MIN_PAGES:
        return
    margins = [_margin_pieces(page) for page in pages]
    own = _page_numbers(margins)
    keys = [
        [_key(piece, page, own[index]) for piece in margin]
        for index, (page, margin) in enumerate(zip(pages, margins, strict=True))
    ]
    seen: dict[_Key, list[int]] = defaultdict(list)
    for index, page_keys in enumerate(keys):
        for key in dict.fromkeys(page_keys):
            seen[key].append(index)
    enough = max(_MIN_PAGES, _MIN_SHARE * len(pages))
    for index, (page, margin) in enumerate(zip(pages, margins, strict=True)):
        repeated = [(p, k) for p, k in zip(margin, keys[index], strict=True) if len(seen[k]) >= enough]
        _take_out(page, repeated, {key for _, key in repeated if seen[key][0] == index})


def _take_out(page: PageText, repeated: Sequence[tuple[Piece, _Key]], new: Collection[_Key]) -> None:
    """Removes repeated pieces; new ones stay, but those at the foot are put after the text they would cut."""
    gone = set()
    for piece, key in repeated:
        if _PAGE_ONLY.fullmatch(key[0]) or key not in new:
            gone.add(id(piece))
        elif piece.y0 > (page.y0 + page.y1) / 2:
            gone.add(id(piece))
            page.asides.append(piece.text)
    if gone:
        page.pieces = [piece for piece in page.pieces if id(piece) not in gone]


def _margin_pieces(page: PageText) -> list[Piece]:
    """Pieces in the page's margins, and a number in its first or last line wherever that stands."""
    depth = _MARGIN * (page.y1 - page.y0)
    texts = [piece for piece in page.pieces if piece.table is None]
    if not texts:
        return []
    first, last = min(piece.baseline for piece in texts) + 2, max(piece.baseline for piece in texts) - 2
    return [
        piece
        for piece in texts
        if piece.y1 <= page.y0 + depth
        or piece.y0 >= page.y1 - depth
        or (not first < piece.baseline < last and len(piece.text) <= _MAX_NUMBER and _INTEGER.search(piece.text))
    ]


def _page_numbers(margins: Sequence[Sequence[Piece]]) -> list[set[int]]:
    """For each page, the numbers in its margins that count pages: the pages around it go on counting."""
    offsets = [
        {int(match) - index for piece in margin for match in _INTEGER.findall(piece.text)}
        for index, margin in enumerate(margins)
    ]
    result = []
    for index, here in enumerate(offsets):
        window = offsets[max(index - _WINDOW, 0) : index + _WINDOW + 1]
        votes = Counter(offset for page in window for offset in page & here)
        enough = min(_COUNTED, max(_MIN_PAGES, len(window) - 1))
        result.append({offset + index for offset, count in votes.items() if count >= enough})
    return result


def _key(piece: Piece, page: PageText, own: Collection[int]) -> _Key:
    """What makes two lines the same: their words, with the page's own numbers as `#`, and their height."""
    text = " ".join(piece.text.split())
    if own:
        text = _INTEGER.sub(lambda match: "#" if int(match.group()) in own else match.group(), text)
    if _PAGE_ONLY.fullmatch(text):
        return text, 0  # a page number may follow the last line of a short page
    half = (page.y0 + page.y1) / 2
    height = piece.baseline - (page.y0 if piece.baseline < half else page.y1)
    return text, round(height / 4)
