"""Collects a document's blocks and gives them out as pages: the printed ones where known, else by section."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from localrag.parsing.lists import indent
from localrag.types import Page

# Marks in a text. XML admits neither character, and readers of other formats leave them out of what they read, so no
# document can bring its own.
RENDERED_BREAK = "\f"  # the program began a new page here when it last laid the document out
AUTHORED_BREAK = "\v"  # the author asked for a new page

# A page without a number is a place to cite: about two printed pages at most, and a new one at a heading once it
# holds some half printed page.
FLOW_CHARS = 8_000
_SECTION_CHARS = 1_500

_SENTENCE_END = re.compile(r"[.!?][\"'”’)\]]*(?=\s|$)|[。！？][」』”’）]*")
_PAGE_NUMBER = re.compile(r"(page|seite|p\.)?\s*\d*\s*((of|von|/|-)\s*\d*)?", re.IGNORECASE)
_HEADING = re.compile(r"(#{1,6}) (.+)")


@dataclass(slots=True)
class _Block:
    text: str
    tight: bool = False  # a list item, joined to the one before it without an empty line


@dataclass(slots=True)
class _Sheet:
    """One printed page, or the whole flow when pages are not known."""

    blocks: list[_Block] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


class PageCollector:
    """Takes blocks in reading order.

    `rendered` is true when the file records where Word broke its pages. The author's own breaks come with such a
    record, so they are told apart from it: the pair is one break.
    """

    def __init__(self) -> None:
        self._sheets = [_Sheet()]
        self._authored_pending = False
        self.rendered = False
        self.authored = 0

    def add(self, text: str, *, tight: bool = False) -> None:
        """Adds a block whose text may hold break marks. A sentence that runs over a break stays whole before it."""
        pieces = re.split(f"([{RENDERED_BREAK}{AUTHORED_BREAK}])", text)
        rest = pieces[0]
        for mark, following in zip(pieces[1::2], pieces[2::2], strict=True):
            kept, following = _sentence_rest(rest, following)
            self._put(rest + kept, tight)
            self.page_break(mark)
            rest = following
        self._put(rest, tight)

    def page_break(self, mark: str) -> None:
        """Begins a new page, unless `mark` records the break that the author has just asked for."""
        if mark == RENDERED_BREAK:
            self.rendered = True
            if self._authored_pending:
                self._authored_pending = False
                return
        else:
            self.authored += 1
            self._authored_pending = True
        self._sheets.append(_Sheet())

    def add_note(self, text: str) -> None:
        """Adds a footnote or endnote to the end of the current page."""
        self._sheets[-1].notes.append(text)

    def add_to_first(self, header: list[str], footer: list[str]) -> None:
        """Puts running headers and footers on the first page, once."""
        first = self._sheets[0]
        first.blocks[:0] = [_Block(text) for text in header]
        first.blocks.extend(_Block(text) for text in footer)

    def add_heading(self, text: str, level: int) -> None:
        """Adds a heading on one line."""
        self.add(f"{'#' * min(level, 6)} {' '.join(text.split())}")

    def add_item(self, text: str, marker: str, depth: int) -> None:
        """Adds an item of a list.

        Args:
            marker: what stands before it in the document, "" for a bullet. depth: from 0.
        """
        margin = indent(depth)
        lines = text.replace("\n", f"\n{margin}  ")
        self.add(f"{margin}{list_marker(marker)} {lines}", tight=True)

    def pages(self, noted_count: int) -> list[Page]:
        """The printed pages where the file tells them, else pages by section.

        Breaks the author set are all there are when together they make the page count that the program noted;
        programs that do not lay out pages note 1 whatever the length.
        """
        printed = self.printed_pages()
        short = all(len(page.markdown) <= FLOW_CHARS for page in printed)
        if self.rendered or (self.authored + 1 == noted_count and short):
            return printed
        return self.flow_pages()

    def printed_pages(self) -> list[Page]:
        """One Page per printed page that holds text, numbered as printed."""
        texts = [_join(sheet.blocks, sheet.notes) for sheet in self._sheets]
        filled = [(number, text) for number, text in enumerate(texts, start=1) if text]
        return [
            Page(ordinal=ordinal, number=number, markdown=text)
            for ordinal, (number, text) in enumerate(filled, start=1)
        ]

    def flow_pages(self) -> list[Page]:
        """Pages cut at headings, or at about FLOW_CHARS, labelled by their heading or their paragraphs."""
        blocks = [block for sheet in self._sheets for block in sheet.blocks]
        notes = [note for sheet in self._sheets for note in sheet.notes]
        parts: list[list[_Block]] = [[]]
        chars = 0
        for block in blocks:
            over = chars + len(block.text) > FLOW_CHARS or (chars > _SECTION_CHARS and _HEADING.match(block.text))
            if parts[-1] and over and not _HEADING.match(parts[-1][-1].text):
                parts.append([])
                chars = 0
            parts[-1].append(block)
            chars += len(block.text)
        return _labelled(parts, notes)

    def _put(self, text: str, tight: bool) -> None:
        if text.strip():
            self._authored_pending = False
            self._sheets[-1].blocks.append(_Block(text.strip("\n").rstrip(" "), tight))


def list_marker(number: str) -> str:
    """`-`, `1.` or `- (a)`: Markdown knows bullets and plain numbers only."""
    if not number:
        return "-"
    return number if re.fullmatch(r"\d{1,9}[.)]", number) else f"- {number}"


def is_page_number(text: str) -> bool:
    """Whether a running header or footer only counts the pages."""
    return bool(_PAGE_NUMBER.fullmatch(text))


def as_text(text: str) -> str:
    """Text that Markdown would take for a heading or a fence at its start is escaped."""
    return re.sub(r"^([\f\v]*)(#{1,6} |```|~~~)", r"\1\\\2", text)


def _sentence_rest(before: str, after: str) -> tuple[str, str]:
    """What of `after` belongs to the sentence begun in `before`, and the rest."""
    words = before.rstrip()
    ended = not words or [match.end() for match in _SENTENCE_END.finditer(words)][-1:] == [len(words)]
    if ended:
        return "", after
    end = _SENTENCE_END.search(after)
    return (after[: end.end()], after[end.end() :].lstrip(" ")) if end else (after, "")


def _join(blocks: list[_Block], notes: list[str]) -> str:
    parts: list[str] = []
    for i, block in enumerate(blocks):
        tight = i > 0 and block.tight and blocks[i - 1].tight
        parts += ["\n" if tight else "\n\n" if i else "", block.text]
    return "\n\n".join(part for part in ["".join(parts), *notes] if part)


def _labelled(parts: list[list[_Block]], notes: list[str]) -> list[Page]:
    pages: list[Page] = []
    heading, first = "", 1
    for ordinal, blocks in enumerate(parts, start=1):
        opening = _HEADING.match(blocks[0].text) if blocks else None
        heading = opening[2] if opening else heading
        place = f"section {heading}" if heading else f"paragraphs {first}-{first + len(blocks) - 1}"
        text = _join(blocks, notes if ordinal == len(parts) else [])
        if text:
            pages.append(Page(ordinal=ordinal, label=place if heading or len(parts) > 1 else None, markdown=text))
        first += len(blocks)
        headings = [match[2] for block in blocks if (match := _HEADING.match(block.text))]
        heading = headings[-1] if headings else heading
    return pages
