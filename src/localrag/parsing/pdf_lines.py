"""One PDF page -> its pieces of text and its ruled lines, upright, with the geometry the layout steps need.

A piece is a run of words on one baseline without a wide gap: a line of a paragraph, or one cell of a table row.
MuPDF already groups glyphs into lines, but splits one line where the font changes (`T` `able of` `Contents`) and
joins cells that stand close (`34,229 $`), so pieces are rebuilt from words and their gaps.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from localrag.parsing.pdf_marks import NOTE, Mark, attach_raised, marks_of, with_marks, without_marks
from localrag.parsing.pdf_notes import comments_of, has_dingbats, with_signs
from localrag.parsing.pdf_rules import Rule, read_rules, turned

SOFT_HYPHEN = "\u00ad"
# Zero-width and bidi controls carry no text; the soft hyphen stays until lines are joined.
_INVISIBLE = re.compile("[\u0000-\u0008\u000b-\u001f\u007f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")
# Latin ligatures and Arabic presentation forms: shapes of other letters, which no one types into a search box.
_PRESENTATION = re.compile("[\ufb00-\ufb06\ufb50-\ufdff\ufe70-\ufefe]+")
_NUMBER = re.compile(r"[$€£¥(]*[-–—+]?[$€£¥]?\(?[\d.,]*\d[\d.,]*\)?[%)*x]*|[-–—]+%?|N/?[AM]|n/?[am]|nm", re.ASCII)
_HEADING_NUMBER = re.compile(r"(?:FY|Q[1-4] ?)?(?:19|20)\d\d[*†]?(?: ?\(\w{1,2}\))*|Q[1-4]")
_FOOTNOTE = re.compile(r"(?:\(\d{1,2}\),? ?)+")
_CURRENCY = ("$", "€", "£", "¥", "US$", "($", "$(")
_RTL = ("R", "AL")
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]")

# In units of the font size. A space is 0.25 to 0.33, justified text stretches it to about 0.8; columns of numbers
# may stand as close as 0.5. Below _GLUE two parts of one word were split by a font change.
_CELL_GAP = 1.0
_NUMBER_GAP = 0.45
_GLUE = 0.12
_MAX_WALLS = 400  # vertical rules; a page with more is a drawing, and each word is held against each of them


@dataclass(slots=True)
class Table:
    """Cells by row, every row as long as the header; the header is None when the table shows none.

    edges: the borders of a ruled table's columns; else where each column begins and ends, one after the other.
    header_rows, bold: how many rows made the header, all bold or not; header_as_body: they as rows, if it may be none.
    """

    header: list[str] | None
    body: list[list[str]]
    caption: str = ""
    edges: tuple[float, ...] = ()
    ruled: bool = False
    header_rows: int = 1
    bold: bool = False
    header_as_body: list[list[str]] = field(default_factory=list)


@dataclass(slots=True)
class Piece:
    """A run of words on one baseline. y grows downward; `size` is the font size in points.

    A ruled table is one piece too, so that it keeps its place in the reading order; `table` holds its cells.
    """

    x0: float
    y0: float
    x1: float
    y1: float
    baseline: float
    size: float
    bold: bool
    italic: bool
    mono: bool
    text: str
    space_before: bool = False
    space_after: bool = False
    table: Table | None = None

    @property
    def width(self) -> float:
        return self.x1 - self.x0

    @property
    def middle(self) -> float:
        return (self.x0 + self.x1) / 2


@dataclass(slots=True)
class PageText:
    """What stands on a page. `asides` are lines that run in another direction than most of the page."""

    x0: float
    y0: float
    x1: float
    y1: float
    pieces: list[Piece] = field(default_factory=list)
    asides: list[str] = field(default_factory=list)
    rules: list[Rule] = field(default_factory=list)
    rtl: bool = False
    size: float = 10.0


@dataclass(slots=True)
class _Word:
    x0: float
    y0: float
    x1: float
    y1: float
    text: str
    spaced: bool  # white space before it


@dataclass(slots=True)
class _Line:
    words: list[_Word]
    baseline: float
    size: float
    bold: bool
    italic: bool
    mono: bool
    space_after: bool


def mupdf() -> Any:
    """PyMuPDF, which has few types; MuPDF's own messages on damaged files are kept off the terminal."""
    # Deferred: 60 MB of native code that no other format needs.
    import pymupdf

    engine: Any = pymupdf
    engine.TOOLS.mupdf_display_errors(False)
    engine.TOOLS.mupdf_display_warnings(False)
    return engine


def clean(text: str) -> str:
    """The text without control characters, with ligatures and presentation forms as plain letters."""
    if text.isascii() and text.isprintable():
        return text
    text = _INVISIBLE.sub("", text)
    return _PRESENTATION.sub(lambda match: unicodedata.normalize("NFKC", match.group()), text)


@lru_cache(maxsize=16_384)  # every step of the layout asks, and cells repeat
def is_number(text: str) -> bool:
    """Whether a table cell holds a figure: `1,234`, `$ (5.2)%`, a dash, N/A."""
    return _NUMBER.fullmatch(without_marks(text).replace(" ", "").replace("\u00a0", "")) is not None


def is_heading_number(text: str) -> bool:
    """Whether a figure may stand in a heading: a year or a quarter."""
    return _HEADING_NUMBER.fullmatch(without_marks(text)) is not None


def has_figures(label: str, values: Sequence[str]) -> bool:
    """Whether a row holds figures, as a row of headings does not: years and quarters do not count.

    `(1)` is a footnote's number where all of the row is such, and a loss of 1 beside a label.
    """
    figures = [text for text in values if is_number(text) and not is_heading_number(text)]
    return bool(figures) and not (all(map(_FOOTNOTE.fullmatch, figures)) and (not label or _FOOTNOTE.fullmatch(label)))


def read_page(page: Any) -> PageText:
    """The page's pieces in reading direction, top to bottom, and its rules."""
    pymupdf = mupdf()
    flags = (
        pymupdf.TEXT_PRESERVE_LIGATURES
        | pymupdf.TEXT_PRESERVE_WHITESPACE
        | pymupdf.TEXT_MEDIABOX_CLIP
        | pymupdf.TEXT_COLLECT_VECTORS
    )
    textpage = page.get_textpage(flags=flags)
    blocks = textpage.extractDICT()["blocks"]
    words: dict[tuple[int, int], list[Any]] = {}
    for word in textpage.extractWORDS():
        words.setdefault((word[5], word[6]), []).append(word)
    texts = [block for block in blocks if block["type"] == 0]
    turn = _main_direction(texts)
    box = turned(tuple(page.cropbox if page.rotation else page.rect), turn)
    result = PageText(*box)
    lines: list[_Line] = []
    for block_number, block in enumerate(texts):
        for line_number, line in enumerate(block["lines"]):
            if _direction(line["dir"]) == turn:
                lines.append(_read_line(line, words.get((block_number, line_number), []), turn))
            elif text := clean("".join(span["text"] for span in line["spans"])).strip():
                result.asides.append(text)
    result.rules = read_rules([block for block in blocks if block["type"] == 3], turn)
    walls = [rule for rule in result.rules if rule.x0 == rule.x1]
    walls = walls if len(walls) <= _MAX_WALLS else []
    lines = _once([line for line in lines if line.words])
    result.size = _usual_size(lines)
    result.rtl = _is_rtl(lines)
    result.pieces = _pieces(lines, walls, result.rtl)
    result.asides += map(clean, comments_of(page))
    return result


def _direction(vector: tuple[float, float]) -> int:
    """Quarter turns: 0 reads rightward, 1 downward, 2 leftward, 3 upward; slight slants count as straight."""
    dx, dy = vector
    if abs(dx) >= abs(dy):
        return 0 if dx > 0 else 2
    return 1 if dy > 0 else 3


def _main_direction(blocks: list[Any]) -> int:
    votes: Counter[int] = Counter()
    for block in blocks:
        for line in block["lines"]:
            votes[_direction(line["dir"])] += sum(len(span["text"]) for span in line["spans"])
    return votes.most_common(1)[0][0] if votes else 0


def _read_line(line: Any, words: list[Any], turn: int) -> _Line:
    spans = line["spans"]
    signs = has_dingbats(spans)
    spans = with_signs(spans) if signs else spans
    sizes: dict[float, int] = {}
    bold = italic = mono = total = 0
    for span in spans:
        count = len(span["text"].strip())
        size, flags = round(span["size"], 1), span["flags"]
        sizes[size] = sizes.get(size, 0) + count
        total += count
        if flags & 16:
            bold += count
        if flags & 2:
            italic += count
        if flags & 8:
            mono += count
    ox, oy = spans[0]["origin"]
    baseline = turned((ox, oy, ox, oy), turn)[1] if turn else oy
    text = spans[0]["text"] if len(spans) == 1 else "".join(span["text"] for span in spans)
    if signs or sum([len(word[4]) for word in words]) < len("".join(text.split())):
        # MuPDF's words leave out private-use characters, which is what bullets of symbol fonts are.
        words = [(*span["bbox"], span["text"].strip()) for span in spans if span["text"].strip()]
    return _Line(
        words=_spaced_words(text, words, turn, marks_of(spans)),
        space_after=text[-1:].isspace(),
        baseline=baseline,
        size=max(max(sizes, key=sizes.__getitem__), 1.0),
        bold=total > 0 and bold >= 0.8 * total,
        italic=total > 0 and italic >= 0.8 * total,
        mono=total > 0 and mono >= 0.8 * total,
    )


def _spaced_words(text: str, words: list[Any], turn: int, marks: list[Mark]) -> list[_Word]:
    """The words of one line, each told apart from a part of a word by the white space in the line's own text."""
    result = []
    position = 0
    plain = text.isascii() and text.isprintable()
    for word in words:
        x0, y0, x1, y1, content = word[:5]
        found = text.find(content, position)
        spaced = found > position or found < 0
        position = found + len(content) if found >= 0 else position
        if marks and found >= 0:
            content = with_marks(content, found, marks)
            spaced = spaced and not NOTE.match(content)
        if turn:
            x0, y0, x1, y1 = turned(word, turn)
        if cleaned := content if plain else clean(content).strip():
            result.append(_Word(x0, y0, x1, y1, cleaned, spaced))
    return result


def _once(lines: list[_Line]) -> list[_Line]:
    """The lines without those printed again in the same place, as some programs do to make them bold."""
    result: list[_Line] = []
    texts: set[str] = set()
    taken: dict[tuple[str, int, int], tuple[float, float]] = {}
    for line in lines:
        text = "".join([word.text for word in line.words])
        x, y = line.words[0].x0, line.baseline
        column, row = int(x / 2), int(y / 2)
        if text in texts:
            near = [taken.get((text, column + dx, row + dy)) for dx in (-1, 0, 1) for dy in (-1, 0, 1)]
            if any(place and abs(place[0] - x) <= 1.5 and abs(place[1] - y) <= 1.5 for place in near):
                continue
        texts.add(text)
        taken[text, column, row] = (x, y)
        result.append(line)
    return result


def _usual_size(lines: list[_Line]) -> float:
    sizes: Counter[float] = Counter()
    for line in lines:
        sizes[round(line.size * 2) / 2] += sum([len(word.text) for word in line.words])
    return sizes.most_common(1)[0][0] if sizes else 10.0


def _is_rtl(lines: list[_Line]) -> bool:
    text = "".join([word.text for line in lines for word in line.words])
    if text.isascii() or not _RIGHT_TO_LEFT.search(text):
        return False
    strong = [kind for kind in map(unicodedata.bidirectional, text) if kind in ("L", *_RTL)]
    return sum(kind in _RTL for kind in strong) * 2 > len(strong)


def _pieces(lines: list[_Line], walls: list[Rule], rtl: bool) -> list[Piece]:
    """Words to pieces: cut at wide gaps and at vertical rules; neighbours on one baseline without a gap are joined."""
    runs = attach_raised([run for line in lines for run in _split(line, walls)])
    runs.sort(key=lambda run: (round(run.baseline), -run.x1 if rtl else run.x0))
    result: list[Piece] = []
    for run in runs:
        before = result[-1] if result else None
        if before is not None and _joins(before, run, rtl) and not _walled(before, run, walls):
            _join(before, run, rtl)
        else:
            result.append(run)
    return result


def _split(line: _Line, walls: list[Rule]) -> Iterable[Piece]:
    walls = _walls_near(line, walls)
    start, words = 0, line.words
    for at in range(1, len(words)):
        left, right = words[at - 1], words[at]
        if _is_cell_gap(left, right, line.size) or (walls and _walled(left, right, walls)):
            yield _piece(words[start:at], line)
            start = at
    yield _piece(words[start:], line)


def _walls_near(line: _Line, walls: list[Rule]) -> list[Rule]:
    """The vertical rules that cross the line: most lines have none, and each word need not be held against all."""
    if not walls:
        return walls
    first, last = line.words[0], line.words[-1]
    x0, x1 = min(first.x0, last.x0) - 1, max(first.x1, last.x1) + 1
    middle = (first.y0 + first.y1) / 2
    reach = 2 * line.size
    return [w for w in walls if x0 <= w.x0 <= x1 and w.y0 <= middle + reach and w.y1 >= middle - reach]


def _is_cell_gap(left: _Word, right: _Word, size: float) -> bool:
    gap = right.x0 - left.x1
    if gap < 0:  # text that runs leftward
        gap = max(gap, left.x0 - right.x1)
    if gap >= _CELL_GAP * size:
        return True
    if right.text in _CURRENCY and is_number(left.text):
        return True
    return gap >= _NUMBER_GAP * size and is_number(left.text) and is_number(right.text) and left.text not in _CURRENCY


def _walled(left: _Word | Piece, right: _Word | Piece, walls: list[Rule]) -> bool:
    """Whether a vertical rule stands between the two."""
    if left.x0 > right.x0:
        left, right = right, left
    middle = (left.y0 + left.y1) / 2
    return any(left.x1 - 1 <= wall.x0 <= right.x0 + 1 and wall.y0 <= middle <= wall.y1 for wall in walls)


def _piece(words: list[_Word], line: _Line) -> Piece:
    text = words[0].text
    if len(words) > 1:
        text += "".join([f" {word.text}" if word.spaced else word.text for word in words[1:]])
    return Piece(
        x0=min([word.x0 for word in words]),
        y0=min([word.y0 for word in words]),
        x1=max([word.x1 for word in words]),
        y1=max([word.y1 for word in words]),
        baseline=line.baseline,
        size=line.size,
        bold=line.bold,
        italic=line.italic,
        mono=line.mono,
        text=text,
        space_before=words[0].spaced,
        space_after=words[-1] is not line.words[-1] or line.space_after,
    )


def _joins(left: Piece, right: Piece, rtl: bool) -> bool:
    size = max(left.size, right.size)
    if abs(left.baseline - right.baseline) > 0.35 * size:
        return False
    gap = left.x0 - right.x1 if rtl else right.x0 - left.x1
    if right.text in _CURRENCY or (is_number(right.text) and is_number(left.text)):
        return -0.3 * size < gap < _GLUE * size
    return -0.5 * size < gap < 0.6 * size


def _join(left: Piece, right: Piece, rtl: bool) -> None:
    gap = left.x0 - right.x1 if rtl else right.x0 - left.x1
    spaced = left.space_after or right.space_before or gap >= _GLUE * max(left.size, right.size)
    if len(right.text) > len(left.text):
        left.size, left.baseline = right.size, right.baseline
        left.bold, left.italic, left.mono = right.bold, right.italic, right.mono
    left.text = f"{left.text} {right.text}" if spaced else f"{left.text}{right.text}"
    left.space_after = right.space_after
    left.x0, left.y0 = min(left.x0, right.x0), min(left.y0, right.y0)
    left.x1, left.y1 = max(left.x1, right.x1), max(left.y1, right.y1)
