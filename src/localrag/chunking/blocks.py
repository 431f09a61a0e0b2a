"""The blocks of a Markdown page with their character offsets: what may be cut where.

This reads structure only as far as cutting needs it; nothing is rendered and every line belongs to one block.
All work is linear in the page: long lines and long runs of one character are checked by string methods, because a
backtracking pattern over a hostile page would take minutes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

BlockKind: TypeAlias = Literal["heading", "paragraph", "list", "table", "code"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A run of whole lines `[start, end)`, without the blank lines around it.

    level, title: of a heading (1 to 6, and its raw text).
    cuts: where the block is best cut: the starts of list items, of table rows after the first, of lines of code.
    header: the header row of a table.
    """

    kind: BlockKind
    start: int
    end: int
    level: int = 0
    title: str = ""
    cuts: tuple[int, ...] = ()
    header: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fence:
    """An open code fence: its character and length. Its closing line has at least as many of the same."""

    mark: str
    length: int


class Line(NamedTuple):
    """A line `[start, end)` without its line break; `next` is where the following one starts."""

    start: int
    end: int
    next: int
    text: str

    @property
    def blank(self) -> bool:
        return not self.text or self.text.isspace()


_BULLET = re.compile(r"[ \t]{0,40}(?:[-*+]|\d{1,9}[.)])(?=[ \t]|$)")
_LINE_BREAK = re.compile(r"\r\n|\n|\r")
# Blocks of raw HTML in which nothing is Markdown, and what ends them (CommonMark 0.31, 4.6, kinds 1 and 2).
_RAW = {"<!--": "-->", "<pre": "</pre>", "<script": "</script>", "<style": "</style>", "<textarea": "</textarea>"}


@dataclass(slots=True)
class _Reader:
    lines: list[Line]
    fence: Fence | None
    blocks: list[Block] = field(default_factory=list)


def read_blocks(text: str, fence: Fence | None = None) -> tuple[list[Block], Fence | None]:
    """The page's blocks in order, and the code fence still open at its end.

    Args:
        text: the Markdown of one page.
        fence: a fence left open by the page before, where pages are pieces of one text.
    """
    reader = _Reader(lines=list(_lines(text)), fence=fence)
    at = 0
    if fence is not None:
        at = _read_fence(reader, 0, fence)
    elif reader.lines and reader.lines[0].text.rstrip() == "---":
        at = _read_front_matter(reader)
    while at < len(reader.lines):
        at = _read_block(reader, at)
    return reader.blocks, reader.fence


def _lines(text: str) -> Iterator[Line]:
    start = 0
    for match in _LINE_BREAK.finditer(text):
        yield Line(start=start, end=match.start(), next=match.end(), text=text[start : match.start()])
        start = match.end()
    if start < len(text):
        yield Line(start=start, end=len(text), next=len(text), text=text[start:])


def _read_block(reader: _Reader, at: int) -> int:
    """Appends the block that starts at line `at` and returns the line after it."""
    line = reader.lines[at]
    if line.blank:
        return at + 1
    opened = _opening_fence(line.text, in_list=False)
    if opened is not None:
        return _read_fence(reader, at, opened)
    heading = _atx(line.text)
    if heading is not None:
        level, title = heading
        reader.blocks.append(Block(kind="heading", start=line.start, end=line.end, level=level, title=title))
        return at + 1
    if _is_setext(reader, at):
        return _read_setext(reader, at)
    if _is_table(reader, at):
        return _read_table(reader, at)
    end_mark = _raw_end(line.text)
    if end_mark is not None:
        return _read_raw(reader, at, end_mark)
    if _BULLET.match(line.text) and not _is_rule(line.text):
        return _read_list(reader, at)
    return _read_paragraph(reader, at)


def _append(reader: _Reader, kind: BlockKind, first: int, after: int, cuts: tuple[int, ...] = ()) -> int:
    """Appends lines `first` to `after` as one block, without blank lines at its end."""
    last = after - 1
    while last > first and reader.lines[last].blank:
        last -= 1
    start, end = reader.lines[first].start, reader.lines[last].end
    reader.blocks.append(Block(kind=kind, start=start, end=end, cuts=tuple(cut for cut in cuts if cut < end)))
    return after


# -- fenced code, raw HTML, front matter: nothing inside is Markdown ---------------------------------------------


def _opening_fence(text: str, *, in_list: bool) -> Fence | None:
    stripped = text.lstrip(" \t")
    if not in_list and (len(text) - len(stripped) > 3 or text.startswith("\t")):
        return None
    mark = stripped[:1]
    if mark not in ("`", "~"):
        return None
    rest = stripped.lstrip(mark)
    length = len(stripped) - len(rest)
    if length < 3 or (mark == "`" and "`" in rest):
        return None
    return Fence(mark=mark, length=length)


def _closes(text: str, fence: Fence) -> bool:
    stripped = text.strip()
    return len(stripped) >= fence.length and not stripped.strip(fence.mark)


def _after_fence(reader: _Reader, at: int, fence: Fence) -> int:
    """The line after the one that closes the fence, searched from line `at`; notes a fence that stays open."""
    while at < len(reader.lines):
        if _closes(reader.lines[at].text, fence):
            reader.fence = None
            return at + 1
        at += 1
    reader.fence = fence
    return at


def _read_fence(reader: _Reader, at: int, fence: Fence) -> int:
    continued = reader.fence is not None
    after = _after_fence(reader, at if continued else at + 1, fence)
    while at < after and reader.lines[at].blank:
        at += 1
    return _append(reader, "code", at, after, _line_starts(reader, at + 1, after)) if at < after else after


def _read_raw(reader: _Reader, at: int, end_mark: str) -> int:
    after = at
    while after < len(reader.lines):
        after += 1
        if end_mark in reader.lines[after - 1].text.lower():
            break
    return _append(reader, "code", at, after, _line_starts(reader, at + 1, after))


def _raw_end(text: str) -> str | None:
    head = text.lstrip(" ")[:10].lower()
    return next((end for start, end in _RAW.items() if head.startswith(start)), None)


def _read_front_matter(reader: _Reader) -> int:
    """YAML between two `---` at the very top; without the second it is a rule, read as usual."""
    for at in range(1, min(len(reader.lines), 200)):
        if reader.lines[at].text.rstrip() in ("---", "..."):
            return _append(reader, "code", 0, at + 1, _line_starts(reader, 1, at + 1))
    return 0


def _line_starts(reader: _Reader, first: int, after: int) -> tuple[int, ...]:
    return tuple(line.start for line in reader.lines[first:after] if not line.blank)


# -- headings ------------------------------------------------------------------------------------------------------


def _atx(text: str) -> tuple[int, str] | None:
    """Level and raw title of `## Title ##`; None for anything else, `#hashtag` and empty headings included."""
    stripped = text.lstrip(" ")
    if len(text) - len(stripped) > 3:
        return None
    rest = stripped.lstrip("#")
    level = len(stripped) - len(rest)
    if not 1 <= level <= 6 or not rest.startswith((" ", "\t")):
        return None
    title = rest.strip()
    bare = title.rstrip("#")
    if bare != title and (not bare or bare[-1] in " \t"):
        title = bare.rstrip()
    return (level, title) if title else None


def _underline_level(text: str) -> int | None:
    """1 for `===`, 2 for `---` under a title. CommonMark takes a single `-`; mail signatures end in `--`, so 3."""
    stripped = text.rstrip()
    body = stripped.lstrip(" ")
    if len(stripped) - len(body) > 3 or len(body) < 3:
        return None
    if not body.strip("="):
        return 1
    return 2 if not body.strip("-") else None


def _is_setext(reader: _Reader, at: int) -> bool:
    """True for one line of text, alone in its paragraph, with an underline below it.

    CommonMark lets a whole paragraph be the heading; text taken out of other formats has rules right below
    paragraphs far more often than headings of several lines.
    """
    if at + 1 >= len(reader.lines) or _underline_level(reader.lines[at + 1].text) is None:
        return False
    text = reader.lines[at].text
    if text.startswith(("    ", "\t")) or text.lstrip().startswith((">", "|", "<!--")):
        return False
    return not _BULLET.match(text) and not _is_rule(text) and _underline_level(text) is None


def _read_setext(reader: _Reader, at: int) -> int:
    line, under = reader.lines[at], reader.lines[at + 1]
    level = _underline_level(under.text) or 1
    reader.blocks.append(Block(kind="heading", start=line.start, end=under.end, level=level, title=line.text.strip()))
    return at + 2


def _is_rule(text: str) -> bool:
    """A thematic break: three or more of `-`, `*` or `_` and nothing else but spaces."""
    marks = set(text) - {" ", "\t"}
    return len(marks) == 1 and marks <= {"-", "*", "_"} and sum(text.count(mark) for mark in marks) >= 3


# -- tables, lists, paragraphs -------------------------------------------------------------------------------------


def _is_table(reader: _Reader, at: int) -> bool:
    if at + 1 >= len(reader.lines) or "|" not in reader.lines[at].text:
        return False
    return _is_delimiter_row(reader.lines[at + 1].text)


def _is_delimiter_row(text: str) -> bool:
    stripped = text.strip()
    if "|" not in stripped or "-" not in stripped or stripped.strip("|:- \t"):
        return False
    cells = stripped.strip("|").split("|")
    return all(_is_delimiter_cell(cell.strip()) for cell in cells)


def _is_delimiter_cell(cell: str) -> bool:
    dashes = cell.removeprefix(":").removesuffix(":")
    return bool(dashes) and not dashes.strip("-")


def _read_table(reader: _Reader, at: int) -> int:
    after = at + 2
    while after < len(reader.lines) and "|" in reader.lines[after].text:
        after += 1
    # The header stays with its first row, so rows can be parted from the second on.
    cuts = _line_starts(reader, at + 3, after)
    header, last = reader.lines[at], reader.lines[after - 1]
    reader.blocks.append(
        Block(kind="table", start=header.start, end=last.end, cuts=cuts, header=" ".join(header.text.split()))
    )
    return after


def _read_list(reader: _Reader, at: int) -> int:
    """A list with its nested items, their paragraphs and their fenced code."""
    first, cuts = at, [reader.lines[at].start]
    at += 1
    while at < len(reader.lines):
        line = reader.lines[at]
        if line.blank:
            after = _after_blank(reader, at)
            if not _list_goes_on(reader, after):
                break
            at = after
            continue
        opened = _opening_fence(line.text, in_list=True)
        if opened is not None:
            if not line.text.startswith((" ", "\t")):
                break
            at = _after_fence(reader, at + 1, opened)
            continue
        if _starts_other_block(reader, at):
            break
        if _BULLET.match(line.text):
            cuts.append(line.start)
        at += 1
    return _append(reader, "list", first, at, tuple(cuts[1:]))


def _after_blank(reader: _Reader, at: int) -> int:
    while at < len(reader.lines) and reader.lines[at].blank:
        at += 1
    return at


def _list_goes_on(reader: _Reader, at: int) -> bool:
    """After blank lines a list goes on with another item or with something indented under the last one."""
    if at == len(reader.lines):
        return False
    text = reader.lines[at].text
    return text.startswith(("  ", "\t")) or (_BULLET.match(text) is not None and not _is_rule(text))


def _starts_other_block(reader: _Reader, at: int) -> bool:
    text = reader.lines[at].text
    return _atx(text) is not None or _is_table(reader, at) or (not text.startswith(" ") and _is_rule(text))


def _read_paragraph(reader: _Reader, at: int) -> int:
    first = at
    at += 1
    while at < len(reader.lines):
        line = reader.lines[at]
        if line.blank or _opening_fence(line.text, in_list=False) or _starts_other_block(reader, at):
            break
        if _BULLET.match(line.text) or _raw_end(line.text):
            break
        at += 1
    return _append(reader, "paragraph", first, at)
