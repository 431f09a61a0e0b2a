"""A Markdown file -> pages, kept verbatim and never cut inside a fenced block, a table or a paragraph.

Headings stay where they are. A page that begins in the middle of a section does not repeat its heading: chunking
carries the heading stack from page to page, and a repeated heading would not be found in the file.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from localrag.parsing.encoding import decode_text
from localrag.parsing.source import Source
from localrag.parsing.text import PAGE_CHARS, PAGE_LINES, line_pages, split_lines
from localrag.types import ParsedDocument

_FENCE = re.compile(r"^ {0,3}(?:>\s?)*\s{0,3}(`{3,}|~{3,})(.*)$")
_HEADING = re.compile(r"^ {0,3}#{1,6}(?:\s|$)")
_TITLE = re.compile(r"^ {0,3}#\s+(.+?)(?:\s+#+)?\s*$")
_FRONT_TITLE = re.compile(r"""^title:\s*["']?(.+?)["']?\s*$""")


def read(source: Source) -> ParsedDocument:
    """The file in pages of about two printed pages, cut at headings where possible."""
    text, _ = decode_text(source.read_bytes())
    lines = split_lines(text)
    blocks = block_ends(lines)
    pages = tuple(line_pages(lines, _page_cuts(lines, blocks)))
    return ParsedDocument(media_type="text/markdown", pages=pages, title=_title(lines))


def block_ends(lines: Sequence[str]) -> list[int]:
    """Half-open ends of the blocks that must stay whole: fenced code, front matter, and runs of non-empty lines."""
    ends: list[int] = []
    at = _front_matter_end(lines)
    if at:
        ends.append(at)
    while at < len(lines):
        at = _block_end(lines, at)
        ends.append(at)
    return ends


def _block_end(lines: Sequence[str], start: int) -> int:
    """The end of the block that begins at `start`, with the empty lines after it."""
    at = start
    while at < len(lines) and lines[at].strip():
        if at > start and _HEADING.match(lines[at]):
            return at
        fence = _FENCE.match(lines[at])
        if fence and not (fence[1][0] == "`" and "`" in fence[2]):
            at = _fence_end(lines, at, fence[1])
            continue
        at += 1
    while at < len(lines) and not lines[at].strip():
        at += 1
    return at


def _fence_end(lines: Sequence[str], start: int, fence: str) -> int:
    """The line after the closing fence; the end of the text when it is never closed (as CommonMark has it)."""
    closing = re.compile(rf"^\s{{0,3}}(?:>\s?)*\s*{re.escape(fence[0])}{{{len(fence)},}}\s*$")
    return next((at + 1 for at in range(start + 1, len(lines)) if closing.match(lines[at])), len(lines))


def _front_matter_end(lines: Sequence[str]) -> int:
    if not lines or lines[0].rstrip() != "---":
        return 0
    return next((at + 1 for at in range(1, min(len(lines), 200)) if lines[at].rstrip() in ("---", "...")), 0)


def _page_cuts(lines: Sequence[str], blocks: Sequence[int]) -> list[int]:
    """Block ends at which pages end: before a heading once the page is half full, else before it would overflow."""
    cuts: list[int] = []
    page_start, block_start, chars = 0, 0, 0
    for end in blocks:
        size = sum(len(line) + 1 for line in lines[block_start:end])
        full = chars + size > PAGE_CHARS or end - page_start > PAGE_LINES
        half = chars > PAGE_CHARS // 2 or block_start - page_start > PAGE_LINES // 2
        if block_start > page_start and (full or (half and _HEADING.match(lines[block_start]))):
            cut = _before_headings(lines, page_start, block_start)
            cuts.append(cut)
            chars = sum(len(line) + 1 for line in lines[cut:block_start])
            page_start = cut
        chars += size
        block_start = end
    return [*cuts, len(lines)]


def _before_headings(lines: Sequence[str], page_start: int, cut: int) -> int:
    """The cut moved up so that no heading is left alone at the foot of a page."""
    at = cut
    while at > page_start and (not lines[at - 1].strip() or _HEADING.match(lines[at - 1])):
        at -= 1
    moved = next((line for line in range(at, cut) if _HEADING.match(lines[line])), cut)
    return moved if moved > page_start else cut


def _title(lines: Sequence[str]) -> str | None:
    """The title in the front matter, else the first top-level heading outside fenced code."""
    front = _front_matter_end(lines)
    for line in lines[:front]:
        match = _FRONT_TITLE.match(line)
        if match:
            return match[1]
    start = front
    for end in block_ends(lines):
        match = _TITLE.match(lines[start]) if start < end else None
        if match:
            return match[1]
        start = end
    return None
