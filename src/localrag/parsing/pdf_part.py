"""Some consecutive pages of a PDF on their way to Markdown, step by step, as far as each page can go by itself.

Between the steps stands what needs all pages of the document: which of them OCR is to read, which lines run over
the pages, which sizes are headings, which table goes on. pdf.py decides it where one process holds all pages, and
pdf_crew.py where several do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from localrag.parsing.ocr_layout import page_text
from localrag.parsing.ocr_page import OcrPage
from localrag.parsing.pdf_grid import with_ruled_tables
from localrag.parsing.pdf_lines import PageText, Table, read_page
from localrag.parsing.pdf_markdown import (
    Block,
    Census,
    Style,
    blocks_markdown,
    continue_blocks,
    markdowns,
    page_blocks,
)
from localrag.parsing.pdf_running import Margins, Running, margins_of, take_out
from localrag.parsing.pdf_scans import PageFacts, ScannedPages, facts_of


@dataclass(frozen=True, slots=True)
class PdfText:
    """What was read on all pages of a document, in their order."""

    facts: Sequence[PageFacts]
    scans: ScannedPages
    markdowns: Sequence[str]

    @property
    def has_any(self) -> bool:
        """Whether a page holds text of its own or recognised text."""
        return bool(self.scans.read) or any(page.has_text for page in self.facts)

    @property
    def undecoded(self) -> list[int]:
        """Numbers of the pages whose text has no meaning, and on which OCR read nothing."""
        return [number for number in self.scans.without if self.facts[number - 1].undecoded]


@dataclass(slots=True)
class Part:
    """The pages with the indices [first, last) of a document."""

    first: int
    last: int
    _pages: list[PageText] = field(default_factory=list)
    _blocks: list[list[Block]] = field(default_factory=list)

    def read(self, document: Any, on_page: Callable[[], None]) -> list[PageFacts]:
        """Reads every page; what is to be known of each before the next step."""
        facts = []
        for index in range(self.first, self.last):
            page = document[index]
            text = read_page(page)
            text.pieces = with_ruled_tables(text.pieces, text.rules)
            facts.append(facts_of(page, text))
            self._pages.append(text)
            on_page()
        return facts

    def margins(self, recognised: Mapping[int, OcrPage], body: float) -> list[Margins]:
        """The margins of every page, after those that OCR has read (by number) were put in place."""
        for number, page in recognised.items():
            if self.first < number <= self.last:
                self._pages[number - 1 - self.first] = page_text(page, body)
        return [margins_of(page) for page in self._pages]

    def census(self, running: Sequence[Running]) -> Census:
        """What the pages tell of the document's style, after what runs was taken out of each."""
        census = Census()
        for page, lines in zip(self._pages, running, strict=True):
            take_out(page, lines)
            census.add(page)
        return census

    def markdowns(self, style: Style) -> Iterator[str]:
        """Each page as Markdown, where these are all pages of the document."""
        return markdowns(self._pages, style)

    def lay_out(self, style: Style) -> None:
        """Makes the blocks of every page: all that can be done before the table above this part is known."""
        for page in self._pages:
            self._blocks.append(page_blocks(page, style))
            page.pieces, page.rules = [], []  # only the blocks and asides are needed from here

    def continue_from(self, above: Table | None) -> Table | None:
        """Continues tables over the ends of pages; the one that goes on in the part after this, if any."""
        for blocks in self._blocks:
            above = continue_blocks(blocks, above)
        return above

    def written(self, style: Style) -> Iterator[str]:
        """Each page as Markdown, after `lay_out` and `continue_from`."""
        for page, blocks in zip(self._pages, self._blocks, strict=True):
            yield blocks_markdown(blocks, page.asides, style)
