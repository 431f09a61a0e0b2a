"""Word documents (docx, docm): text with headings, lists, tables, notes, comments and text boxes, by printed page."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from localrag.errors import EmptyDocument
from localrag.parsing.charts import chart_markdown, diagram_markdown
from localrag.parsing.docx_styles import Styles, W
from localrag.parsing.docx_tables import TableRow, is_layout, table_rows
from localrag.parsing.docx_text import Aside, children, note_keys, paragraph_text
from localrag.parsing.lists import Nesting
from localrag.parsing.malformed import unreadable
from localrag.parsing.ooxml import Package, open_package
from localrag.parsing.printed_pages import AUTHORED_BREAK, PageCollector, as_text, is_page_number
from localrag.parsing.source import Source
from localrag.parsing.tables import TABLE_CHARS, header_height, joined_header, markdown_table
from localrag.types import Page, ParsedDocument

MEDIA_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"


def read(source: Source) -> ParsedDocument:
    """The document as its reader sees it with all changes accepted.

    Pages are the printed ones, numbered, where the file records them; otherwise they follow its sections.

    Raises:
        EncryptedDocument, EmptyDocument, UnreadableDocument, DocumentTooLarge
    """
    with unreadable(source, "Word document"), open_package(source) as package:
        part = package.main_part("word/document.xml")
        body = _Body(package, part)
        body.read_body(package.xml(part).find(f"{W}body"))
        pages = body.pages()
        title = package.title() or body.title
    if not pages:
        raise EmptyDocument(f"{source.name} holds no text.", path=source.name, hint="Nothing to index.")
    return ParsedDocument(media_type=MEDIA_TYPE, pages=tuple(pages), title=title)


class _Body:
    """Reads the body block by block into a PageCollector."""

    def __init__(self, package: Package, part: str) -> None:
        self._package = package
        self._part = part
        self._related = package.related(part)
        self._styles = Styles(package, part)
        self._collector = PageCollector()
        self._notes = self._note_texts()
        self._note_numbers: dict[str, str] = {}
        self._comments = self._comment_texts()
        self._section_starts: list[str] = []  # how the sections after the current one begin
        self._nesting = Nesting()
        self._carried = ""  # text of a paragraph whose end mark was deleted: it goes on in the next one
        self.title: str | None = None

    def read_body(self, body: Any) -> None:
        """Adds the blocks of the document. Notes are numbered in the order in which they are cited."""
        cited = dict.fromkeys(key for key in note_keys(body) if key in self._notes)
        self._note_numbers = {key: str(number) for number, key in enumerate(cited, start=1)}
        sections = [node for node in body.iter(f"{W}sectPr") if node.getparent().tag in (f"{W}pPr", f"{W}body")]
        self._section_starts = [_section_type(section) for section in sections[1:]]
        self._read(body)

    def _read(self, container: Any) -> None:
        """Adds the blocks of a body, a text box or a cell."""
        for node in children(container):
            if node.tag == f"{W}p":
                self._paragraph(node)
            elif node.tag == f"{W}tbl":
                self._table(node)

    def pages(self) -> list[Page]:
        """What was read, running headers and footers once on the first page."""
        self._flush_carried()
        self._collector.add_to_first(self._running("header"), self._running("footer"))
        return self._collector.pages(self._noted_page_count())

    def _paragraph(self, node: Any) -> None:
        properties = node.find(f"{W}pPr")
        aside = Aside()
        text = self._carried + paragraph_text(node, self._note_numbers, aside)
        self._carried = ""
        if properties is not None and properties.find(f"{W}rPr/{W}del") is not None:
            self._carried = text
        elif text := text.strip(" \n"):
            self._put(text, properties, breaks_before=_is_on(properties, "pageBreakBefore"))
        self._put_aside(aside)
        # A section's own properties say how it begins, and they stand at its end.
        ends_section = properties is not None and properties.find(f"{W}sectPr") is not None
        if ends_section and self._section_starts and self._section_starts.pop(0) != "continuous":
            self._collector.page_break(AUTHORED_BREAK)

    def _put(self, text: str, properties: Any, *, breaks_before: bool) -> None:
        if breaks_before:
            self._collector.page_break(AUTHORED_BREAK)
        level = self._styles.heading_level(properties)
        item = self._styles.list_item(properties)
        if level is not None:
            self._nesting.close()
            words = " ".join([item.number, text] if item and item.number else [text])
            heading = re.sub(r"[^\S\f\v]+", " ", words).strip(" ")
            if heading.strip("\f\v"):
                self._note_title(heading, properties)
                text = f"{'#' * min(level, 6)} {heading}" if heading[0] not in "\f\v" else _mark_first(heading, level)
            self._collector.add(text)
        elif item is not None:
            self._collector.add_item(text, item.number, self._nesting.depth(item.level))
        else:
            self._nesting.close()
            self._collector.add(as_text(text))

    def _put_aside(self, aside: Aside) -> None:
        for box in aside.boxes:
            self._read(box)
        for relations, render in ((aside.charts, chart_markdown), (aside.diagrams, diagram_markdown)):
            self._put_parts(relations, render)
        for comment in aside.comments:
            if comment in self._comments:
                self._collector.add(f"> {self._comments[comment]}")
        for key in aside.notes:
            self._collector.add_note(f"[^{self._note_numbers[key]}]: {self._notes[key]}")

    def _put_parts(self, relations: list[str], render: Callable[[Any], str]) -> None:
        for relation in relations:
            _, part = self._related.get(relation, ("", ""))
            if self._package.has(part) and (text := render(self._package.xml(part))):
                self._collector.add(text)

    def _table(self, node: Any) -> None:
        self._flush_carried()
        self._nesting.close()
        aside = Aside()
        rows = table_rows(node, lambda paragraph: paragraph_text(paragraph, self._note_numbers, aside))
        if is_layout(rows):
            for row in children(node):
                for cell in children(row):
                    self._read(cell)
            return
        while rows and rows[0].spans_all and len(rows) > 1:
            self._collector.add(rows.pop(0).cells[0])
        for breaks, piece in _pieces(rows):
            for mark in breaks:
                self._collector.page_break(mark)
            self._collector.add(markdown_table(piece))
        self._put_aside(aside)

    def _flush_carried(self) -> None:
        if self._carried:
            self._collector.add(self._carried)
            self._carried = ""

    def _note_title(self, text: str, properties: Any) -> None:
        if self.title is None and self._styles.name(properties) == "title":
            self.title = text.strip("\f\v ")

    def _note_texts(self) -> dict[str, str]:
        """Key -> text of the footnotes and endnotes; the lines that separate them from the text are no notes."""
        return {
            f"{kind} {node.get(f'{W}id', '')}": text
            for kind in ("footnote", "endnote")
            for root in self._parts(f"{kind}s")
            for node in root.iter(f"{W}{kind}")
            if node.get(f"{W}type") is None and (text := self._plain(node))
        }

    def _comment_texts(self) -> dict[str, str]:
        texts = {}
        for root in self._parts("comments"):
            for node in root.iter(f"{W}comment"):
                author = " ".join(node.get(f"{W}author", "").split())
                label = f"Comment by {author}" if author else "Comment"
                if text := self._plain(node):
                    texts[node.get(f"{W}id", "")] = f"{label}: {text}"
        return texts

    def _running(self, kind: str) -> list[str]:
        """Texts of all headers (or footers), each once; page numbers alone say nothing."""
        texts = []
        for root in self._parts(kind):
            text = self._plain(root)
            if text and not is_page_number(text) and text not in texts:
                texts.append(text)
        return texts

    def _plain(self, node: Any) -> str:
        """All text under the node in one line."""
        paragraphs = (paragraph_text(paragraph, {}, Aside()) for paragraph in node.iter(f"{W}p"))
        return " ".join(" ".join(paragraphs).split())

    def _parts(self, kind: str) -> Iterator[Any]:
        for name, part in self._related.values():
            if name == kind and self._package.has(part):
                yield self._package.xml(part)

    def _noted_page_count(self) -> int:
        for kind, part in self._package.related("").values():
            if kind == "extended-properties" and self._package.has(part):
                pages = self._package.xml(part).findtext("{*}Pages") or "0"
                return int(pages) if pages.isdigit() else 0
        return 0


def _mark_first(heading: str, level: int) -> str:
    """A heading that begins with a page break: the break comes before the `#`."""
    words = heading.lstrip("\f\v ")
    return f"{heading[: len(heading) - len(words)]}{'#' * min(level, 6)} {words}"


def _is_on(properties: Any, name: str) -> bool:
    node = properties.find(f"{W}{name}") if properties is not None else None
    return node is not None and node.get(f"{W}val") not in ("0", "false", "off")


def _section_type(section: Any) -> str:
    node = section.find(f"{W}type")
    return str(node.get(f"{W}val", "nextPage")) if node is not None else "nextPage"


def _pieces(rows: list[TableRow]) -> Iterator[tuple[str, list[tuple[str, ...]]]]:
    """The table in pieces under one header: a new one at each page break and after TABLE_CHARS.

    Yields:
        The breaks before the piece, and its rows, header first.
    """
    marked = next((i for i, row in enumerate(rows) if not row.header), len(rows))
    heads = max(marked, header_height([row.cells for row in rows], [row.spans for row in rows]))
    header = joined_header([row.cells for row in rows[:heads]])
    breaks = "".join(row.breaks for row in rows[:heads])
    piece: list[tuple[str, ...]] = []
    chars = 0
    for row in rows[heads:]:
        size = sum(len(text) for text in row.cells)
        if piece and (row.breaks or chars + size > TABLE_CHARS):
            yield breaks, [header, *piece]
            breaks, piece, chars = "", [], 0
        breaks += row.breaks
        piece.append(row.cells if not row.spans_all else row.cells[:1])
        chars += size
    yield breaks, [header, *piece]
