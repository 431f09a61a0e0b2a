"""A plain text file, source code or settings -> pages of some hundred lines, each labelled with its line numbers.

The text is kept as it stands (line ends become LF). Nothing is escaped: a quotation must be found in the file, and the
media type, `text/plain` or `text/x-...`, tells whoever reads the pages that a leading `#` is no heading there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from localrag.parsing.encoding import decode_text
from localrag.parsing.source import Source
from localrag.types import Page, ParsedDocument

# A block a reader can scan in one look: two printed pages. The chunker cuts it further; it never joins blocks.
PAGE_LINES = 100
PAGE_CHARS = 6_000

_LINE_END = re.compile(r"\r\n|\r|\n")


def read(source: Source) -> ParsedDocument:
    """The text in pages of at most 100 lines, cut at empty lines where there are any."""
    text, _ = decode_text(source.read_bytes())
    lines = split_lines(text)
    pages = line_pages(lines, _paragraph_cuts(lines))
    return ParsedDocument(media_type=source.media_type or "text/plain", pages=tuple(pages))


def split_lines(text: str) -> list[str]:
    """The lines as an editor numbers them: ended by LF, CRLF or CR, not by the other marks `str.splitlines` knows."""
    lines = _LINE_END.split(text)
    return lines[:-1] if lines[-1] == "" and len(lines) > 1 else lines


def line_label(first: int, last: int) -> str:
    """`line 4` or `lines 4-90`; lines count from 1."""
    return f"line {first}" if first == last else f"lines {first}-{last}"


def line_pages(lines: Sequence[str], cuts: Sequence[int]) -> Iterator[Page]:
    """Pages of lines, none of them blank.

    Args:
        lines: the whole text.
        cuts: ascending half-open ends of the pieces, as indices into lines; the last one is `len(lines)`.
    """
    start = 0
    ordinal = 0
    for end in cuts:
        first, last = start, end
        while first < last and not lines[first].strip():
            first += 1
        while last > first and not lines[last - 1].strip():
            last -= 1
        start = end
        if first < last:
            ordinal += 1
            yield Page(ordinal=ordinal, label=line_label(first + 1, last), markdown="\n".join(lines[first:last]))


def _paragraph_cuts(lines: Sequence[str]) -> list[int]:
    """Where pages end: at the last empty line of a full page's second half, else where the page is full."""
    cuts = []
    start = 0
    while start < len(lines):
        end = _full_page(lines, start)
        if end < len(lines):
            middle = start + (end - start) // 2
            end = next((at for at in range(end, middle, -1) if not lines[at - 1].strip()), end)
        cuts.append(end)
        start = end
    return cuts


def _full_page(lines: Sequence[str], start: int) -> int:
    """The end of the longest page from `start`; at least one line, however long."""
    end, chars = start, 0
    while end < len(lines) and end - start < PAGE_LINES:
        chars += len(lines[end]) + 1
        if chars > PAGE_CHARS and end > start:
            break
        end += 1
    return end


__all__ = ["PAGE_CHARS", "PAGE_LINES", "decode_text", "line_label", "line_pages", "read", "split_lines"]
