"""An HTML page -> pages of its main content, labelled by section."""

from __future__ import annotations

from collections.abc import Sequence

from localrag.errors import EmptyDocument
from localrag.parsing.encoding import decode_text
from localrag.parsing.html_blocks import Block, blocks_of
from localrag.parsing.html_pages import Section, numbered, sections
from localrag.parsing.html_tree import (
    TooDeepError,
    declared_encoding,
    drop_unseen,
    main_content,
    parse,
    plain_text,
    title,
)
from localrag.parsing.malformed import unreadable
from localrag.parsing.source import Source
from localrag.types import Page, ParsedDocument

MEDIA_TYPE = "text/html"
_MAX_LABEL = 80  # characters of a heading that a label shows


def read(source: Source) -> ParsedDocument:
    """What a reader of the page would read: no navigation, no hidden text, tables with every cell under its header.

    Raises:
        EmptyDocument: no text is visible.
    """
    with unreadable(source, "HTML page"):
        data = source.read_bytes()
        text, _ = decode_text(data, declared_encoding(data))
        name, blocks, warnings = read_text(text, whole=False)
    if not blocks:
        raise EmptyDocument(
            f"{source.name} shows no text.",
            path=source.name,
            hint="Pages filled by scripts are empty when saved as source; save the page as shown, or as PDF.",
        )
    parts = sections(blocks)
    pages = tuple(
        Page(ordinal=i, label=label, markdown=part.markdown)
        for i, (part, label) in enumerate(zip(parts, _labels(parts), strict=True), 1)
    )
    return ParsedDocument(media_type=MEDIA_TYPE, pages=pages, title=name, warnings=warnings)


def read_text(text: str, *, whole: bool) -> tuple[str | None, list[Block], tuple[str, ...]]:
    """Title, blocks and warnings; `whole` keeps asides and footers, as a chapter of a book has notes there."""
    try:
        root = parse(text)
    except TooDeepError:
        warning = "The page is nested too deeply: its text was read without headings, lists and tables."
        return None, [Block(paragraph) for paragraph in plain_text(text)], (warning,)
    if root is None:
        return None, [], ()
    name = title(root)
    drop_unseen(root)
    body = root.find("body") if whole else main_content(root)
    return name, blocks_of(root if body is None else body), ()


def _labels(parts: Sequence[Section]) -> list[str]:
    return list(numbered([_name(part) for part in parts]))


def _name(part: Section) -> str:
    if part.first is None:
        return "text" if part.last is None else f"start to section {_short(part.last)}"
    if part.last is None or part.first == part.last:
        return f"section {_short(part.first)}"
    return f"sections {_short(part.first)} to {_short(part.last)}"


def _short(heading: str) -> str:
    return heading if len(heading) <= _MAX_LABEL else f"{heading[: _MAX_LABEL - 1].rstrip()}…"
