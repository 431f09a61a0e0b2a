"""An HTML tree -> Markdown blocks in document order: headings, paragraphs, list items, code, tables.

The walk is a loop, not a recursion, so that no nesting can exhaust the stack. Emphasis is left out, link targets and
pictures too: what stays is what a reader would quote. Alternative texts of pictures stay, they may be all there is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from localrag.parsing.html_tables import is_layout, table_markdown
from localrag.parsing.lists import indent

_SPACE = re.compile(r"[ \t\n\r\f\v\u00a0]+")
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_BLOCKS = frozenset({"address", "article", "aside", "blockquote", "body", "center", "dd", "details", "div", "dl", "dt",
                     "fieldset", "figcaption", "figure", "footer", "form", "header", "hgroup", "hr", "html", "legend",
                     "li", "main", "nav", "ol", "p", "section", "summary", "table", "tbody", "td", "tfoot", "th",
                     "thead", "tr", "ul", "caption", "optgroup", "option", "menu", "dir", "label"})  # fmt: skip
_MARKDOWN_START = re.compile(r"^(?:#{1,6}\s|```|~~~|\|)")


@dataclass(frozen=True, slots=True)
class Block:
    """A piece of Markdown that stands alone. `level` is 1 to 6 for a heading, else 0; `item` marks list items."""

    markdown: str
    level: int = 0
    item: bool = False


@dataclass(slots=True)
class _List:
    ordered: bool
    number: int = 0


@dataclass(slots=True)
class _Walk:
    """The text gathered since the last block ended, and the lists, quotes and headings that are open."""

    blocks: list[Block] = field(default_factory=list)
    text: list[str] = field(default_factory=list)
    lists: list[_List] = field(default_factory=list)
    marker: str = ""
    quotes: int = 0
    level: int = 0

    def flush(self) -> None:
        """Ends the block being gathered."""
        text = tidy("".join(self.text))
        self.text.clear()
        if not text:
            return
        if self.level:
            self.blocks.append(Block(f"{'#' * self.level} {' '.join(text.split())}", self.level))
        elif self.lists:
            before = indent(len(self.lists) - 1)
            lead = self.marker or " " * 2
            self.blocks.append(Block(f"{before}{lead}{text.replace(chr(10), ' ')}", item=True))
            self.marker = ""
        else:
            shown = f"\\{text}" if _MARKDOWN_START.match(text) else text
            quoted = "> " * self.quotes
            self.blocks.append(Block("\n".join(quoted + line for line in shown.split("\n")) if quoted else shown))

    def add(self, block: Block) -> None:
        """Adds a finished block."""
        self.flush()
        if block.markdown:
            self.blocks.append(block)


def blocks_of(body: Any) -> list[Block]:
    """The blocks of all that is below the element."""
    from lxml import etree  # loaded already: it made the tree

    walk = _Walk()
    events = etree.iterwalk(body, events=("start", "end"))
    for event, element in events:
        if event == "start":
            if _whole(element, walk):
                events.skip_subtree()
                continue
            _start(element, walk)
            walk.text.append(element.text or "")
        else:
            _end(element, walk)
            if element is not body:
                walk.text.append(element.tail or "")
    walk.flush()
    return walk.blocks


def _whole(element: Any, walk: _Walk) -> bool:
    """Whether the element was turned into a block at once, with all that is in it."""
    if element.tag == "pre":
        walk.add(Block(_fenced(pre_text(element))))
        return True
    if element.tag == "table" and not is_layout(element):
        walk.add(Block(table_markdown(element, inline_text)))
        return True
    return False


def _start(element: Any, walk: _Walk) -> None:
    tag = element.tag
    if tag in _HEADINGS:
        walk.flush()
        walk.level = _HEADINGS[tag]
    elif tag == "br":
        walk.text.append("\x1f")
    elif tag == "img":
        walk.text.append(_alternative(element))
    elif tag in _BLOCKS:
        walk.flush()
        if tag in ("ul", "ol", "menu", "dir"):
            walk.lists.append(_List(ordered=tag == "ol", number=_first_number(element) - 1))
        elif tag == "li" and walk.lists:
            walk.lists[-1].number += 1
            walk.marker = f"{walk.lists[-1].number}. " if walk.lists[-1].ordered else "- "
        elif tag == "blockquote":
            walk.quotes += 1


def _end(element: Any, walk: _Walk) -> None:
    tag = element.tag
    if tag in _HEADINGS:
        walk.flush()
        walk.level = 0
    elif tag in _BLOCKS:
        walk.flush()
        if tag in ("ul", "ol", "menu", "dir") and walk.lists:
            walk.lists.pop()
        elif tag == "blockquote":
            walk.quotes -= 1


def _first_number(element: Any) -> int:
    start = (element.get("start") or "1").strip()
    return int(start) if start.isascii() and start.isdigit() and len(start) < 7 else 1


def _alternative(image: Any) -> str:
    return f" {image.get('alt').strip()} " if (image.get("alt") or "").strip() else ""


def tidy(text: str) -> str:
    """The text with white space as a browser shows it; a line break stays where the page has <br>."""
    lines = (_SPACE.sub(" ", line).strip() for line in text.split("\x1f"))
    return "\n".join(line for line in lines if line)


def inline_text(element: Any) -> str:
    """All text in the element on one line; parts that a browser sets apart are separated by `; ` or a space."""
    from lxml import etree  # loaded already: it made the tree

    parts: list[str] = []

    def part() -> None:
        if parts and parts[-1] != "\x1e":
            parts.append("\x1e")

    for event, child in etree.iterwalk(element, events=("start", "end")):
        if event == "start":
            if child.tag == "br" or (child is not element and (child.tag in _BLOCKS or child.tag in _HEADINGS)):
                part()
            parts.append(_alternative(child) if child.tag == "img" else child.text or "")
        else:
            if child is not element and (child.tag in _BLOCKS or child.tag in _HEADINGS):
                part()
            if child is not element:
                parts.append(child.tail or "")
    pieces = [piece for raw in "".join(parts).split("\x1e") if (piece := _SPACE.sub(" ", raw).strip())]
    text = ""
    for piece in pieces:
        plain = not text or text.endswith((".", ",", ";", ":", "!", "?", "…")) or piece.startswith("(")
        text = f"{text}{' ' if plain else '; '}{piece}".strip()
    return text


def pre_text(element: Any) -> str:
    """The text of <pre> as it stands, line breaks and indents kept."""
    from lxml import etree  # loaded already: it made the tree

    parts: list[str] = []
    for event, child in etree.iterwalk(element, events=("start", "end")):
        if event == "start":
            parts.append("\n" if child.tag == "br" else child.text or "")
        elif child is not element:
            parts.append(child.tail or "")
    return "".join(parts).replace("\r\n", "\n").replace("\r", "\n").strip("\n").rstrip()


def _fenced(text: str) -> str:
    longest = max((len(run) for run in re.findall("`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}\n{text}\n{fence}" if text.strip() else ""
