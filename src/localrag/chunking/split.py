"""Document -> chunks: passages within the embedder's limit that give their page's text back exactly."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

from localrag.chunking.blocks import Block, Fence, read_blocks
from localrag.chunking.headings import HeadingStack, same_lines, same_text
from localrag.chunking.pack import Packer
from localrag.chunking.prefix import header_prefix, section_prefix
from localrag.chunking.ruler import Ruler
from localrag.protocols import Tokenizer
from localrag.types import Chunk, DocumentId, Page

# [CLS] and [SEP] (or <s> and </s>): what every encoder localrag loads puts around a text.
SPECIAL_TOKENS = 2
# The body has at least this many tokens, or half of a smaller budget, however long the section's path is.
BODY_FLOOR_TOKENS = 64
LEAST_CHUNK_TOKENS = 16

_VISIBLE = re.compile(r"\S")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Section:
    """The slice `[start, end)` of a page under one heading path."""

    start: int
    end: int
    path: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Passage:
    start: int
    end: int
    prefix: str
    token_count: int


class Chunker:
    """Cuts documents into chunks of at most `chunk_tokens`, counted as the embedder will count them.

    - A chunk lies within one page and one section, so it is cited under one place and one heading path. Only a
      heading with nothing below it joins what follows, or at the foot of a page what came before.
    - A section runs on over numbered pages, line ranges and cells; it ends where another archive member, sheet or
      chapter begins.
    - Body is packed by block, then item, row or line, then sentence, then word, then anywhere between visible
      characters. What fits whole is kept whole where that leaves no crumb.
    - The prefix `Section: A > B`, and inside a split table its header row, is counted in the budget.
    - `chunk.text == page.markdown[chunk.start:chunk.end]`, and no visible character of a page is in no chunk.

    Args:
        tokenizer: the embedding model's.
        chunk_tokens: budget of a chunk with its prefix and special tokens; the model's limit if that is lower.
        overlap_tokens: at most so many tokens of whole sentences are repeated from the chunk before in its section.

    Raises:
        ValueError: the budget is under 16 tokens or the overlap is negative.
    """

    def __init__(self, tokenizer: Tokenizer, chunk_tokens: int, overlap_tokens: int) -> None:
        if chunk_tokens < LEAST_CHUNK_TOKENS or overlap_tokens < 0:
            raise ValueError(
                f"chunk_tokens must be at least {LEAST_CHUNK_TOKENS} (found {chunk_tokens}) "
                f"and overlap_tokens not negative (found {overlap_tokens})"
            )
        self._tokenizer = tokenizer
        self._limit = min(chunk_tokens, tokenizer.max_tokens)
        self._overlap_tokens = min(overlap_tokens, self._limit // 2)
        self._floor = min(BODY_FLOOR_TOKENS, self._limit // 2)
        # The chunks of a section share its prefix, and those of a table its header: each is counted once.
        self._prefix_tokens = lru_cache(maxsize=256)(tokenizer.count)
        self._header = lru_cache(maxsize=64)(partial(header_prefix, tokenizer=tokenizer))

    def chunk(self, document_id: DocumentId, pages: Sequence[Page]) -> list[Chunk]:
        """The document's chunks in reading order, with ids `{document_id}_0`, `_1` and so on.

        A line `# So` is no heading on a verbatim page but a comment, a number or a tag; underlined headings are
        headings everywhere.
        """
        chunks: list[Chunk] = []
        stack = HeadingStack()
        fence: Fence | None = None
        before: Page | None = None
        for page in pages:
            if before is not None and not same_text(before, page):
                stack.clear()
            if before is None or not same_lines(before, page):
                fence = None
            blocks, fence = read_blocks(page.markdown, fence)
            if page.verbatim:
                blocks = [_without_hash(block, page.markdown) for block in blocks]
            for section, passage in self._page(page.markdown, blocks, stack):
                chunks.append(_chunk(document_id, len(chunks), page, section, passage))
            before = page
        return chunks

    def _page(self, text: str, blocks: list[Block], stack: HeadingStack) -> Iterator[tuple[_Section, _Passage]]:
        ruler = Ruler(text, self._tokenizer)
        packer = Packer(text, ruler, blocks)
        room = self._limit - SPECIAL_TOKENS - self._floor
        for section in self._sections(text, blocks, stack, ruler):
            prefix = section_prefix(section.path, room, self._tokenizer)
            for passage in self._section(text, section, prefix, packer):
                yield section, passage

    def _sections(self, text: str, blocks: list[Block], stack: HeadingStack, ruler: Ruler) -> list[_Section]:
        """The page's sections, which cover it; a heading without a body belongs to the section after it."""
        sections: list[_Section] = []
        start, path, has_body = 0, stack.path, False
        for block in blocks:
            if block.kind != "heading":
                has_body = True
                continue
            if has_body:
                sections.append(_Section(start=start, end=block.start, path=path))
                start, has_body = block.start, False
            stack.push(block.level, block.title)
            path = stack.path
        last = _Section(start=start, end=len(text), path=path)
        if sections and not has_body:
            joined = _Section(start=sections[-1].start, end=len(text), path=sections[-1].path)
            prefix = section_prefix(joined.path, self._limit - SPECIAL_TOKENS - self._floor, self._tokenizer)
            if ruler.count(joined.start, joined.end) <= self._budget(prefix):
                return [*sections[:-1], joined]
        return [*sections, last]

    def _section(self, text: str, section: _Section, prefix: str, packer: Packer) -> Iterator[_Passage]:
        before, low = section.start, section.start
        while _VISIBLE.search(text, low, section.end):
            start = self._start(before, low, section, prefix, packer)
            passage, cut = self._fitted(text, start, low, section, prefix, packer)
            yield passage
            before, low = low, cut

    def _start(self, before: int, low: int, section: _Section, prefix: str, packer: Packer) -> int:
        """Where the next passage begins: at new text, or earlier by its overlap with the one before."""
        if low == section.start or self._overlap_tokens == 0:
            return low
        budget = self._budget(prefix)
        start = packer.overlap_start(before, low, min(self._overlap_tokens, budget // 2))
        if start == low:
            return low
        # The overlap gives way where it would cut a block, or the section's end, that fits without it.
        alone = packer.cut(low, low, section.end, budget)
        if packer.ends_block(alone, section.end) and packer.cut(start, low, section.end, budget) < alone:
            return low
        return start

    def _fitted(
        self, text: str, start: int, low: int, section: _Section, prefix: str, packer: Packer
    ) -> tuple[_Passage, int]:
        """The passage from `start` and where it was cut, counted with the tokenizer itself and shrunk until it fits."""
        full = self._with_header(prefix, packer.table_at(start))
        budget = self._budget(full)
        while True:
            cut = packer.cut(start, low, section.end, budget)
            passage = self._passage(text, start, cut, full)
            over = passage.token_count - self._limit
            if over <= 0 or cut - start <= 1:
                return passage, cut
            if start < low:
                start = low
                full = self._with_header(prefix, packer.table_at(start))
                budget = self._budget(full)
            elif budget > 1:
                budget = max(1, budget - max(over, 1))
            else:
                section = _Section(start=start, end=start + max(1, (cut - start) // 2), path=section.path)

    def _passage(self, text: str, start: int, cut: int, prefix: str) -> _Passage:
        start, end = _trimmed(text, start, cut)
        body = text[start:end]
        seen = f"{prefix}\n\n{body}" if prefix else body
        count = SPECIAL_TOKENS + self._tokenizer.count(seen)
        return _Passage(start=start, end=end, prefix=prefix, token_count=count)

    def _with_header(self, prefix: str, table: Block | None) -> str:
        """The prefix of a passage that begins inside a table: its section, then the header row of its columns."""
        if table is None:
            return prefix
        room = self._budget(prefix) - self._floor
        header = self._header(table.header, room) if room > 0 else ""
        return "\n\n".join(part for part in (prefix, header) if part)

    def _budget(self, prefix: str) -> int:
        """Tokens left for the body beside the prefix and the special tokens."""
        taken = self._prefix_tokens(prefix) if prefix else 0
        return max(1, self._limit - SPECIAL_TOKENS - taken)


def _without_hash(block: Block, text: str) -> Block:
    """The block, as a paragraph where it is a heading only by its `#`."""
    is_hash = block.kind == "heading" and text[block.start : block.end].lstrip().startswith("#")
    return Block(kind="paragraph", start=block.start, end=block.end) if is_hash else block


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """The slice without white space at its end and blank lines at its start; indentation says something and stays."""
    visible = _VISIBLE.search(text, start, end)
    if visible is None:
        return start, end
    first = visible.start()
    line = max(text.rfind("\n", start, first), text.rfind("\r", start, first)) + 1
    begin = line if line > start else start
    return begin, begin + len(text[begin:end].rstrip())


def _chunk(document_id: DocumentId, index: int, page: Page, section: _Section, passage: _Passage) -> Chunk:
    return Chunk(
        id=f"{document_id}_{index}",
        document_id=document_id,
        index=index,
        page_ordinal=page.ordinal,
        page=page.number,
        label=page.label,
        heading_path=section.path,
        text=page.markdown[passage.start : passage.end],
        start=passage.start,
        end=passage.end,
        token_count=passage.token_count,
        prefix=passage.prefix,
    )
