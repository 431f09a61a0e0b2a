"""Pieces of a page -> Markdown: headings, paragraphs, lists, code and tables in reading order."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TypeAlias

from localrag.parsing.pdf_cells import build_table
from localrag.parsing.pdf_columns import regions
from localrag.parsing.pdf_continued import continue_table
from localrag.parsing.pdf_lines import PageText, Table
from localrag.parsing.pdf_marks import NOTE_START
from localrag.parsing.pdf_tables import Row, rows_of, table_spans
from localrag.parsing.pdf_text import join_lines, join_stacked
from localrag.parsing.tables import row_line, rule_line

_BULLET = re.compile(r"[•●▪◦‣■□∙·\uf0b7\uf0a7\uf0d8\uf0fc]\s*|[-–—*]\s+")
_NUMBERED = re.compile(r"(?:\(?(?:\d{1,2}|[a-zA-Z]|[ivxIVX]{2,5})\)|(?:\d{1,2}|[a-zA-Z])\.)\s+(?=\S)")
_SECTION = re.compile(
    r"(?:\d{1,2}(?:\.\d{1,2}){0,3}\.?|[A-Z]\.|[IVX]{1,5}\.|(?i:chapter|part|item|note|section|appendix) \S+)\s+\S"
)
_SENTENCE_END = re.compile(r"[.!?:;。！？][\"'”’)\]]*(?:\[\^\w{1,2}\])*$")
_LETTER = re.compile(r"[^\W\d_]")
_MAX_HEADING = 160  # characters; longer bold text is emphasis, not a heading
_MAX_ITALIC = 80  # the same for lines in italics, which are more often emphasis
_MAX_LEVELS = 4  # of headings told apart by size; bold ones come below them


Block: TypeAlias = str | Table


@dataclass(slots=True)
class Style:
    """What the document as a whole tells: its body size, the sizes above it as heading levels, its words."""

    body: float
    levels: Mapping[float, int]
    bold_level: int | None
    words: AbstractSet[str]
    outline: Mapping[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class _Paragraph:
    lines: list[Row] = field(default_factory=list)

    @property
    def last(self) -> Row:
        return self.lines[-1]


@dataclass(slots=True)
class Census:
    """What pages tell of the document's style: characters by size, in all and in bold, lines by size, words."""

    sizes: Counter[float] = field(default_factory=Counter)
    total: int = 0
    bold: int = 0
    heads: Counter[float] = field(default_factory=Counter)
    words: set[str] = field(default_factory=set)

    def add(self, page: PageText) -> None:
        """Counts one page in."""
        for piece in page.pieces:
            size, count = _rounded(piece.size), len(piece.text)
            self.sizes[size] += count
            self.total += count
            self.bold += count if piece.bold else 0
            self.heads[size] += bool(_LETTER.search(piece.text))
            self.words.update(word.strip(".,;:()[]\"'“”’").lower() for word in piece.text.split()[:-1])

    def add_all(self, later: Census) -> None:
        """Counts in what the pages after these ones tell."""
        self.sizes.update(later.sizes)
        self.heads.update(later.heads)
        self.total += later.total
        self.bold += later.bold
        self.words |= later.words

    def style(self, outline: Mapping[str, int]) -> Style:
        """The document's style; `outline` maps a bookmark's key (`outline_key`) to its level."""
        # The first of two sizes that are as frequent: both ways to count meet them in the order of the pages.
        body = self.sizes.most_common(1)[0][0] if self.sizes else 10.0
        larger = sorted((size for size in self.heads if size >= 1.15 * body and self.heads[size]), reverse=True)
        levels: dict[float, int] = {}
        for size in larger:
            levels[size] = min(len(set(levels.values())) + 1, _MAX_LEVELS)
        level = max(levels.values(), default=0) + 1
        return Style(body, levels, level if self.bold <= 0.4 * self.total else None, self.words, outline)


def read_style(pages: Iterable[PageText], outline: Mapping[str, int]) -> Style:
    """The document's style; `outline` maps a bookmark's key (`outline_key`) to its level."""
    census = Census()
    for page in pages:
        census.add(page)
    return census.style(outline)


def outline_key(title: str) -> str:
    """A heading's letters and digits in lower case: bookmarks differ from headings in spaces and dots."""
    return "".join(filter(str.isalnum, title.lower()))


def markdowns(pages: Iterable[PageText], style: Style) -> Iterator[str]:
    """Each page as Markdown; empty when it holds no text."""
    above: Table | None = None  # the table that the page before ended with
    for page in pages:
        blocks = page_blocks(page, style)
        above = continue_blocks(blocks, above)
        yield blocks_markdown(blocks, page.asides, style)


def page_blocks(page: PageText, style: Style) -> list[Block]:
    """The page's paragraphs, headings and tables in reading order, each page for itself."""
    return [
        block
        for region in regions(page.pieces, rtl=page.rtl)
        for block in _region_blocks(page, rows_of(region, rtl=page.rtl), style)
        if block
    ]


def continue_blocks(blocks: Sequence[Block], above: Table | None) -> Table | None:
    """Continues the table that the page before ended with, if this page begins with its rest.

    Returns:
        The table that this page ends with, for the next page.
    """
    if above and blocks and isinstance(blocks[0], Table):
        continue_table(blocks[0], above)
    return blocks[-1] if blocks and isinstance(blocks[-1], Table) else None


def page_markdown(page: PageText, style: Style) -> str:
    """One page by itself as Markdown."""
    return next(markdowns([page], style))


def blocks_markdown(blocks: Sequence[Block], asides: Sequence[str], style: Style) -> str:
    """The page's blocks as Markdown, and what stands aside after them."""
    texts: list[str] = []
    for block in blocks:
        texts += [block.caption, _table_markdown(block, style.words)] if isinstance(block, Table) else [block]
    texts += [_escaped(join_lines([aside])) for aside in asides]
    return "\n\n".join(text for text in _merged_lists(texts) if text)


def _rounded(size: float) -> float:
    return round(size * 2) / 2


def _region_blocks(page: PageText, rows: Sequence[Row], style: Style) -> list[Block]:
    blocks: list[Block] = []
    done = 0
    for start, end in _all_tables(rows):
        table = rows[start].pieces[0].table or build_table(rows[start:end], page.rules, rtl=page.rtl)
        if table is None:
            continue
        blocks += _prose(rows[done:start], style)
        blocks.append(table)
        done = end
    return [*blocks, *_prose(rows[done:], style)]


def _all_tables(rows: Sequence[Row]) -> list[tuple[int, int]]:
    """Spans of ruled tables (one row each) and, between them, of tables found by alignment."""
    spans: list[tuple[int, int]] = []
    start = 0
    for i in range(len(rows) + 1):
        if i == len(rows) or rows[i].pieces[0].table:
            spans += [(start + first, start + last) for first, last in table_spans(rows[start:i])]
            if i < len(rows):
                spans.append((i, i + 1))
            start = i + 1
    return spans


def _table_markdown(table: Table, words: Collection[str]) -> str:
    rows = [table.header or [""] * len(table.body[0]), *table.body]
    width = len(rows[0])
    lines = [row_line([join_stacked(cell, words) for cell in row], width) for row in rows]
    lines.insert(1, rule_line(width))
    return "\n".join(lines)


def _prose(rows: Sequence[Row], style: Style) -> list[str]:
    if not rows:
        return []
    left, right = min(row.x0 for row in rows), max(row.x1 for row in rows)
    pitch = _pitch(rows)
    paragraphs: list[_Paragraph] = []
    for row in rows:
        if paragraphs and _continues(paragraphs[-1], row, left, right, pitch):
            paragraphs[-1].lines.append(row)
        else:
            paragraphs.append(_Paragraph([row]))
    return [_paragraph_markdown(paragraph, style) for paragraph in paragraphs]


def _pitch(rows: Sequence[Row]) -> float:
    """The usual distance between baselines, in font sizes."""
    steps = sorted(
        (below.baseline - above.baseline) / below.size
        for above, below in pairwise(rows)
        if below.baseline > above.baseline
    )
    return min(max(steps[len(steps) // 3], 1.0), 2.5) if steps else 1.2


def _continues(paragraph: _Paragraph, row: Row, left: float, right: float, pitch: float) -> bool:
    above = paragraph.last
    gap = (row.baseline - above.baseline) / row.size
    if not 0 <= gap <= 1.3 * pitch or _style_of(above) != _style_of(row):
        return False
    if _is_mono(row):
        return True
    text = _text(row)
    if _BULLET.match(text) or _NUMBERED.match(text) or NOTE_START.match(text):
        return False
    if _is_bold(row):
        return True
    first = paragraph.lines[0]
    listed = _BULLET.match(_text(first)) or _NUMBERED.match(_text(first))
    ended = _SENTENCE_END.search(_text(above)) is not None
    short = above.x1 < right - 0.12 * (right - left)
    indented = row.x0 > above.x0 + 0.8 * row.size and above.x0 < left + 2 * row.size and not listed
    outdented = len(paragraph.lines) > 1 and row.x0 < above.x0 - 0.8 * row.size
    return not ((short and ended) or (indented and (short or ended)) or outdented)


def _style_of(row: Row) -> tuple[bool, bool, bool, int]:
    return _is_bold(row), _is_italic(row) and len(_text(row)) <= _MAX_ITALIC, _is_mono(row), round(row.size)


def _is_bold(row: Row) -> bool:
    return all(piece.bold for piece in row.pieces)


def _is_italic(row: Row) -> bool:
    return all(piece.italic for piece in row.pieces)


def _is_mono(row: Row) -> bool:
    return all(piece.mono for piece in row.pieces)


def _text(row: Row) -> str:
    return " ".join(piece.text for piece in row.pieces)


def _paragraph_markdown(paragraph: _Paragraph, style: Style) -> str:
    lines = paragraph.lines
    if all(map(_is_mono, lines)) and len(lines) > 1:
        return _code(lines)
    text = join_lines((_text(row) for row in lines), style.words)
    if not text.strip("… "):
        return ""
    if bullet := _BULLET.match(text):
        rest = text[bullet.end() :]
        return f"- {rest}" if rest else ""
    level = _heading_level(text, lines, style)
    return f"{'#' * level} {text}" if level else _escaped(text)


def _heading_level(text: str, lines: Sequence[Row], style: Style) -> int:
    """1 to 6, or 0 for text that is no heading."""
    if len(text) > _MAX_HEADING or len(lines) > 4 or not _LETTER.search(text):
        return 0
    if listed := style.outline.get(outline_key(text)):
        return min(listed, 6)
    level = style.levels.get(_rounded(lines[0].size))
    if level:
        return level if len(text) > 1 else 0
    small = lines[0].size < 0.9 * style.body
    if style.bold_level is None or small:
        return 0
    if not all(map(_is_bold, lines)):
        return min(style.bold_level + 1, 6) if _is_italic_heading(text, lines) else 0
    if len(lines) > 3 or (text.endswith((".", ",", ";")) and not _SECTION.match(text)):
        return 0
    return min(style.bold_level, 6)


def _is_italic_heading(text: str, lines: Sequence[Row]) -> bool:
    if len(lines) > 1 or not _is_italic(lines[0]) or len(text) > _MAX_ITALIC:
        return False
    return text[0].isupper() and not text.endswith(",") and not _SENTENCE_END.search(text)


def _code(lines: Sequence[Row]) -> str:
    left = min(row.x0 for row in lines)
    texts = []
    for row in lines:
        # A monospaced glyph is 0.6 of the font size wide; the indent is given back in such steps.
        indent = round((row.x0 - left) / (0.6 * row.size))
        texts.append(" " * min(indent, 40) + _text(row))
    fence = "````" if any("```" in text for text in texts) else "```"
    return "\n".join([fence, *texts, fence])


def _escaped(text: str) -> str:
    """The text so that its first characters do not read as a Markdown heading or fence."""
    return f"\\{text}" if text.startswith(("#", "```", "~~~")) else text


def _merged_lists(blocks: Sequence[str]) -> list[str]:
    """Neighbouring bullets as one block, a line each."""
    result: list[str] = []
    for block in blocks:
        if result and block.startswith("- ") and result[-1].startswith("- "):
            result[-1] = f"{result[-1]}\n{block}"
        else:
            result.append(block)
    return result
