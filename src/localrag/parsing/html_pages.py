"""Markdown blocks -> pages of a readable size, each labelled with the headings it stands under."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain

from localrag.parsing.html_blocks import Block

PAGE_CHARS = 6_000
# A section shorter than this shares its page with the next one: many pages of a line or two help nobody.
_SMALL = 1_500
_BREAK = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？])|\n")


@dataclass(slots=True)
class Section:
    """Consecutive blocks that make one page. `first` and `last` are the headings in force at its ends."""

    first: str | None
    last: str | None
    blocks: list[Block] = field(default_factory=list)
    chars: int = 0

    @property
    def markdown(self) -> str:
        """The blocks, list items on neighbouring lines."""
        parts: list[str] = []
        for i, block in enumerate(self.blocks):
            if i:
                parts.append("\n" if block.item and self.blocks[i - 1].item else "\n\n")
            parts.append(block.markdown)
        return "".join(parts)


def sections(blocks: Sequence[Block]) -> list[Section]:
    """The blocks as pages of at most 6,000 characters, cut before headings where possible."""
    result: list[Section] = []
    heading: str | None = None
    for block in chain.from_iterable(map(split_block, blocks)):
        if block.level:
            heading = block.markdown.lstrip("# ")
        page = result[-1] if result else None
        full = page is not None and page.chars + len(block.markdown) > PAGE_CHARS
        enough = page is not None and bool(block.level) and page.chars >= _SMALL and not page.blocks[-1].level
        if page is None or full or enough:
            page = Section(heading, heading)
            _carry_headings(result[-1] if result else None, page)
            result.append(page)
        page.blocks.append(block)
        page.chars += len(block.markdown) + 2
        page.last = heading
    return result


def _carry_headings(before: Section | None, page: Section) -> None:
    """Moves headings that ended the page before to the page whose text they head."""
    while before is not None and len(before.blocks) > 1 and before.blocks[-1].level:
        block = before.blocks.pop()
        before.chars -= len(block.markdown) + 2
        page.blocks.insert(0, block)
        page.chars += len(block.markdown) + 2
        page.first = block.markdown.lstrip("# ")
        headings = [b.markdown.lstrip("# ") for b in before.blocks if b.level]
        before.last = headings[-1] if headings else before.first


def numbered(names: Sequence[str]) -> Iterator[str]:
    """The names; those that come several times with `, part N` from 1."""
    totals: dict[str, int] = {}
    for name in names:
        totals[name] = totals.get(name, 0) + 1
    seen: dict[str, int] = {}
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        yield f"{name}, part {seen[name]}" if totals[name] > 1 else name


def split_block(block: Block) -> Iterator[Block]:
    """The block, or parts of it that fit a page: a table by rows, code by lines, text by sentences."""
    text = block.markdown
    if len(text) <= PAGE_CHARS:
        yield block
    elif text.startswith("```"):
        fence = text[: len(text) - len(text.lstrip("`"))]
        yield from _packed(text[len(fence) + 1 : -len(fence) - 1].split("\n"), "\n", f"{fence}\n", f"\n{fence}")
    elif "\n| --- |" in text:
        head, _, body = text.partition("\n|" + " --- |" * _width(text) + "\n")
        caption, _, header = head.rpartition("\n\n")
        if caption:
            yield from split_block(Block(caption))
        lead = f"{header}\n|{' --- |' * _width(text)}\n"
        yield from _packed(body.split("\n"), "\n", lead, "")
    else:
        yield from _packed(_BREAK.split(text), " ", "", "")


def _width(table: str) -> int:
    return table[table.index("\n| --- |") + 1 :].split("\n", 1)[0].count("---")


def _packed(parts: Sequence[str], glue: str, before: str, after: str) -> Iterator[Block]:
    """Parts joined up to a page's size; a part that is longer by itself is cut hard."""
    room = max(PAGE_CHARS - len(before) - len(after), 1_000)
    held = ""
    for part in parts:
        for start in range(0, max(len(part), 1), room):
            piece = part[start : start + room]
            if held and len(held) + len(glue) + len(piece) > room:
                yield Block(f"{before}{held}{after}")
                held = piece
            else:
                held = f"{held}{glue}{piece}" if held else piece
    if held.strip():
        yield Block(f"{before}{held}{after}")
