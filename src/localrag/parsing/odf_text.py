"""Text of an OpenDocument file -> blocks: paragraphs, headings, lists, tables, notes, comments, boxes.

The text is that of the accepted document: what was deleted under change tracking stands apart and is not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from localrag.parsing.lists import Nesting, indent
from localrag.parsing.odf import DC, DRAW, OFFICE, TABLE, TEXT, whole_number
from localrag.parsing.odf_styles import Styles, number_text
from localrag.parsing.odf_tables import TextTable, text_table
from localrag.parsing.printed_pages import AUTHORED_BREAK, RENDERED_BREAK, PageCollector, as_text
from localrag.parsing.tables import table_pieces

_PARAGRAPHS = (f"{TEXT}p", f"{TEXT}h")
_TRANSPARENT = frozenset(f"{TEXT}{name}" for name in ("index-body", "index-title", "numbered-paragraph", "list-item"))
_INDEXES = frozenset(
    f"{TEXT}{name}"
    for name in ("table-of-content", "illustration-index", "table-index", "object-index", "user-index",
                 "alphabetical-index", "bibliography")
)  # fmt: skip
# What stands in a paragraph and is not part of its text.
_SILENT = frozenset(
    {
        f"{OFFICE}annotation-end",
        f"{TEXT}ruby-text",
        f"{TEXT}tracked-changes",
        f"{OFFICE}forms",
        f"{OFFICE}event-listeners",
    }
)
_LITERAL = {f"{TEXT}s": " ", f"{TEXT}tab": " ", f"{TEXT}line-break": "\n", f"{TEXT}soft-page-break": RENDERED_BREAK}
_SPACE = re.compile(r"[ \t\r\n]+")
_AROUND_BREAK = re.compile(r" *\n *")


@dataclass(slots=True)
class Line:
    """The text of a paragraph or of a table's cells, and what hangs on it."""

    parts: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    comments: list[str] = field(default_factory=list)
    boxes: list[Any] = field(default_factory=list)

    def take(self) -> str:
        """The text so far, which is empty then."""
        text = _AROUND_BREAK.sub("\n", re.sub(" {2,}", " ", "".join(self.parts))).strip(" \n")
        self.parts.clear()
        return text


class TextReader:
    """Reads blocks into a PageCollector. `title` is the text of the first paragraph styled as title."""

    def __init__(self, styles: Styles, collector: PageCollector) -> None:
        self.title: str | None = None
        self._styles = styles
        self._collector = collector
        self._nesting = Nesting()
        self._note_count = 0
        self._outline: dict[int, int] = {}
        self._counts: dict[str, dict[int, int]] = {}
        self._begun = False
        self._framed = False
        self._break_pending = False

    def read(self, container: Iterable[Any]) -> None:
        """Adds the blocks in the container."""
        for node in container:
            if node.tag in _PARAGRAPHS:
                self._paragraph(node)
            elif node.tag == f"{TEXT}list":
                self._list(node, 1, "")
            elif node.tag == f"{TABLE}table":
                self._table(node)
            elif node.tag == f"{TEXT}soft-page-break":
                self._collector.page_break(RENDERED_BREAK)
            elif node.tag in _INDEXES:
                self.read(node.iterchildren(f"{TEXT}index-body"))
            elif node.tag in _TRANSPARENT or (node.tag == f"{TEXT}section" and node.get(f"{TEXT}display") != "none"):
                self.read(node)
            elif is_drawing(node):
                self.read_drawing(node)

    def read_drawing(self, node: Any) -> None:
        """Adds the text in a frame, a shape, or a group of them. No page ends inside it, whatever its styles say."""
        outside, self._framed = self._framed, True
        for child in node:
            if is_drawing(child):
                self.read_drawing(child)
            else:
                self.read([child])
        self._framed = outside

    def _paragraph(self, node: Any, marker: str | None = None, depth: int | None = None) -> None:
        """Adds a paragraph.

        Args:
            marker: of the list item it begins, "" for a bullet. depth: of the item that it belongs to.
        """
        line = Line()
        self.inline(node, line)
        style = node.get(f"{TEXT}style-name", "")
        self._break_page("paragraph", style)
        text = line.take()
        level = self._level(node, style)
        number = self._outline_number(node, level) if node.tag == f"{TEXT}h" else ""
        if text:
            self._begun = True
            if level and text.strip(RENDERED_BREAK):
                self._heading(text, marker or number, level, style)
            elif depth is not None:
                self._item(text, marker, depth)
            else:
                self._nesting.close()
                self._collector.add(as_text(text))
        self._put_aside(line)

    def _heading(self, text: str, number: str, level: int, style: str) -> None:
        self._nesting.close()
        for _ in range(text.count(RENDERED_BREAK)):
            self._collector.page_break(RENDERED_BREAK)
        text = text.replace(RENDERED_BREAK, " ")
        if self.title is None and self._styles.is_title(style):
            self.title = " ".join(text.split())
        self._collector.add_heading(f"{number} {text}", level)

    def _item(self, text: str, marker: str | None, depth: int) -> None:
        if marker is None:
            self._collector.add(indent(depth + 1) + text, tight=True)
        else:
            self._collector.add_item(text, marker, depth)

    def _level(self, node: Any, style: str) -> int:
        if node.tag == f"{TEXT}h":
            return max(whole_number(node, f"{TEXT}outline-level", 1), 1)
        return self._styles.heading_level(style)

    def _outline_number(self, node: Any, level: int) -> str:
        if node.get(f"{TEXT}is-list-header") == "true" or level not in self._styles.outline:
            return ""
        start = self._styles.outline[level].start
        self._outline[level] = self._outline.get(level, start - 1) + 1
        for deeper in [one for one in self._outline if one > level]:
            del self._outline[deeper]
        return number_text(self._outline, level, self._styles.outline)

    def _break_page(self, family: str, style: str) -> None:
        if self._framed:
            return
        before, after = self._styles.breaks(family, style)
        if self._begun and (before or self._break_pending):
            self._collector.page_break(AUTHORED_BREAK)
        self._break_pending = after

    def _list(self, node: Any, level: int, inherited: str) -> None:
        style = node.get(f"{TEXT}style-name") or inherited
        continued = node.get(f"{TEXT}continue-numbering") == "true" or node.get(f"{TEXT}continue-list")
        if level == 1 and not continued:
            self._counts[style] = {}
        counts = self._counts.setdefault(style, {})
        for item in node.iterchildren(f"{TEXT}list-item", f"{TEXT}list-header"):
            marker: str | None = None
            if item.tag == f"{TEXT}list-item" and any(child.tag in _PARAGRAPHS for child in item):
                marker = self._count(item, style, level, counts)
            self._list_item(item, marker, level, style)
        if level == 1:
            self._nesting.close()

    def _list_item(self, item: Any, marker: str | None, level: int, style: str) -> None:
        depth: int | None = None
        for child in item:
            if child.tag in _PARAGRAPHS:
                depth = self._nesting.depth(level) if depth is None else depth
                self._paragraph(child, marker, depth)
                marker = None
            elif child.tag == f"{TEXT}list":
                self._list(child, level + 1, style)
            else:
                self.read([child])

    def _count(self, item: Any, style: str, level: int, counts: dict[int, int]) -> str:
        """Counts the item and gives its number as printed."""
        levels = {one: self._styles.list_level(style, one) for one in range(1, level + 1)}
        following = counts.get(level, levels[level].start - 1) + 1
        counts[level] = whole_number(item, f"{TEXT}start-value", following)
        for deeper in [one for one in counts if one > level]:
            del counts[deeper]
        return number_text(counts, level, levels)

    def _table(self, node: Any) -> None:
        self._nesting.close()
        self._break_page("table", node.get(f"{TABLE}style-name", ""))
        aside = Line()
        table = text_table(node, lambda cell: self._cell_text(cell, aside))
        if table.is_layout:
            for cell in table.cells:
                self.read_drawing(cell)
            return
        self._begun = True
        for text in table.titles:
            self._collector.add(as_text(text))
        self._put_rows(table)
        self._put_aside(aside)

    def _put_rows(self, table: TextTable) -> None:
        for piece in table.pieces:
            if piece is not table.pieces[0]:
                self._collector.page_break(RENDERED_BREAK)
            for block in table_pieces([table.header, *piece]):
                self._collector.add(block)

    def _cell_text(self, cell: Any, aside: Line) -> str:
        return " ".join(text for text in self._flat(cell, aside) if text)

    def _flat(self, node: Any, aside: Line) -> Iterator[str]:
        """The texts in a cell, nested lists, tables and boxes included."""
        for child in node:
            if child.tag in _PARAGRAPHS:
                self.inline(child, aside)
                yield aside.take().replace(RENDERED_BREAK, "")
                boxes, aside.boxes = aside.boxes, []
                for box in boxes:
                    yield from self._flat(box, aside)
            elif child.tag == f"{TABLE}table":
                rows = (", ".join(filter(None, self._flat(row, aside))) for row in child.iter(f"{TABLE}table-row"))
                yield "; ".join(filter(None, rows))
            elif isinstance(child.tag, str) and child.tag not in _SILENT and child.tag != f"{OFFICE}annotation":
                yield from self._flat(child, aside)

    def inline(self, node: Any, line: Line) -> None:
        """Adds the text of a paragraph to the line."""
        line.parts.append(_SPACE.sub(" ", node.text or ""))
        for child in node:
            if isinstance(child.tag, str):
                self._inline_child(child, line)
            line.parts.append(_SPACE.sub(" ", child.tail or ""))

    def _inline_child(self, node: Any, line: Line) -> None:
        tag = node.tag
        if tag in _LITERAL:
            line.parts.append(_LITERAL[tag])
        elif tag == f"{TEXT}note":
            self._note_count += 1
            line.parts.append(f"[^{self._note_count}]")
            line.notes.append(f"[^{self._note_count}]: {self.plain(node.find(f'{TEXT}note-body'))}")
        elif tag == f"{OFFICE}annotation":
            line.comments.append(self.comment(node))
        elif is_drawing(node):
            line.boxes.append(node)
        elif tag not in _SILENT and not self._is_hidden(node):
            self.inline(node, line)

    def _is_hidden(self, node: Any) -> bool:
        if node.tag in (f"{TEXT}hidden-text", f"{TEXT}hidden-paragraph"):
            return bool(node.get(f"{TEXT}is-hidden") == "true")
        return node.tag == f"{TEXT}span" and self._styles.is_hidden(node.get(f"{TEXT}style-name", ""))

    def paragraph_text(self, node: Any) -> str:
        """The text of one paragraph, without what hangs on it."""
        line = Line()
        self.inline(node, line)
        return line.take()

    def plain(self, node: Any | None) -> str:
        """All text under the node in one line, "" when there is no node."""
        if node is None:
            return ""
        return " ".join(" ".join(self._flat(node, Line())).split())

    def comment(self, node: Any) -> str:
        """A comment as a quotation, "" when it says nothing."""
        author = " ".join((node.findtext(f"{DC}creator") or "").split())
        text = self.plain(node)
        return f"> Comment{f' by {author}' if author else ''}: {text}" if text else ""

    def _put_aside(self, line: Line) -> None:
        for box in line.boxes:
            self.read_drawing(box)
        for comment in filter(None, line.comments):
            self._collector.add(comment)
        for note in line.notes:
            self._collector.add_note(note)


def is_drawing(node: Any) -> bool:
    """Whether the element is a frame, a shape or a group of them."""
    return isinstance(node.tag, str) and node.tag.startswith(DRAW)
