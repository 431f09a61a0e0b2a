"""The shapes of a slide -> Markdown blocks in the order in which one reads them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from localrag.parsing.charts import chart_markdown, diagram_markdown
from localrag.parsing.docx_text import math_text
from localrag.parsing.lists import Nesting, indent
from localrag.parsing.ooxml import Package
from localrag.parsing.tables import header_height, joined_header, markdown_table

A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
P = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_MC = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_MATH = "{http://schemas.openxmlformats.org/officeDocument/2006/math}oMath"

TITLES = ("title", "ctrTitle")
RUNNING = ("ftr", "hdr", "dt")
# Shapes whose tops differ by less than this part of the slide's height stand in one row and are read left to right.
_ROW = 0.05
_LABEL_CHARS = 100  # a merged label is repeated in each cell it covers; a paragraph is not
_MAX_SPAN = 1_000  # PowerPoint allows 75 columns; a damaged file may say anything
_FILE_NAME = re.compile(r"\S+\.(png|jpe?g|gif|svg|bmp|tiff?|emf|wmf)", re.IGNORECASE)

Position = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Shape:
    """A shape on a slide: `kind` is its placeholder's type, "" for a shape of its own; `top`, `left` in EMU."""

    node: Any
    kind: str
    top: int
    left: int


class Shapes:
    """Reads the shapes of one slide.

    Args:
        related: relations of the slide's part.
        inherited: placeholder index or type -> position (top, left), from the slide's layout and master.
        height: of the slide, in EMU.
    """

    def __init__(
        self,
        package: Package,
        related: Mapping[str, tuple[str, str]],
        inherited: Mapping[str, Position],
        height: int,
    ) -> None:
        self._package = package
        self._related = related
        self._inherited = inherited
        self._height = height

    def ordered(self, tree: Any) -> list[Shape]:
        """The shapes right under `tree`, top row first, each row from left to right."""
        shapes = sorted((self._placed(node) for node in _nodes(tree)), key=lambda shape: (shape.top, shape.left))
        rows: list[list[Shape]] = []
        for shape in shapes:
            if rows and shape.top - rows[-1][0].top < _ROW * self._height:
                rows[-1].append(shape)
            else:
                rows.append([shape])
        return [shape for row in rows for shape in sorted(row, key=lambda shape: shape.left)]

    def markdown(self, shape: Shape) -> str:
        """The shape's text, table, chart data, diagram or alternative text; "" for mere decoration."""
        blocks = self._blocks(shape)
        return "\n\n".join(block for block in blocks if block)

    def _blocks(self, shape: Shape) -> Iterator[str]:
        node = shape.node
        if node.tag == f"{P}grpSp":
            for child in self.ordered(node):
                yield self.markdown(child)
        elif node.tag == f"{P}graphicFrame":
            yield from self._graphic(node)
        elif node.tag == f"{P}pic":
            yield _alternative_text(node)
        elif (body := node.find(f"{P}txBody")) is not None:
            yield text_markdown(body, bulleted=shape.kind in ("body", "obj"))

    def _graphic(self, node: Any) -> Iterator[str]:
        for table in node.iter(f"{A}tbl"):
            yield table_markdown(table)
        for reference in node.iter("{http://schemas.openxmlformats.org/drawingml/2006/chart}chart"):
            yield from self._part(reference.get(f"{R}id", ""), chart_markdown)
        for reference in node.iter("{http://schemas.openxmlformats.org/drawingml/2006/diagram}relIds"):
            yield from self._part(reference.get(f"{R}dm", ""), diagram_markdown)

    def _part(self, relation: str, render: Any) -> Iterator[str]:
        _, part = self._related.get(relation, ("", ""))
        if self._package.has(part):
            yield render(self._package.xml(part))

    def _placed(self, node: Any) -> Shape:
        placeholder = next(node.iter(f"{P}ph"), None) if node.tag != f"{P}grpSp" else None
        kind = "" if placeholder is None else placeholder.get("type", "obj")
        top, left = own_position(node) or self._inherited_position(placeholder, kind)
        return Shape(node=node, kind=kind, top=top, left=left)

    def _inherited_position(self, placeholder: Any, kind: str) -> Position:
        if placeholder is None:
            return 0, 0
        return self._inherited.get(placeholder.get("idx", ""), self._inherited.get(kind, (0, 0)))


def own_position(node: Any) -> Position | None:
    """(top, left) in EMU as the shape itself says, None when it leaves that to its layout."""
    for path in (f"{P}spPr/{A}xfrm/{A}off", f"{P}grpSpPr/{A}xfrm/{A}off", f"{P}xfrm/{A}off"):
        if (offset := node.find(path)) is not None:
            return int(offset.get("y", "0")), int(offset.get("x", "0"))
    return None


def text_markdown(body: Any, *, bulleted: bool) -> str:
    """The paragraphs of a text body.

    Args:
        bulleted: whether paragraphs that do not say otherwise have bullets, as in the body of a slide.
    """
    paragraphs = [(node, text) for node in body.iter(f"{A}p") if (text := paragraph_text(node))]
    blocks: list[str] = []
    numbers: dict[int, int] = {}
    nesting = Nesting()
    in_list = False
    for node, text in paragraphs:
        properties = node.find(f"{A}pPr")
        level = min(int(properties.get("lvl", "0")), 8) if properties is not None else 0
        marker = _marker(properties, level, numbers, bulleted=bulleted and len(paragraphs) > 1)
        if not marker:
            nesting.close()
        line = f"{indent(nesting.depth(level))}{marker} {text}" if marker else text
        if marker and in_list:
            blocks[-1] += f"\n{line}"
        else:
            blocks.append(line)
        in_list = bool(marker)
    return "\n\n".join(blocks)


def paragraph_text(node: Any) -> str:
    """The words of a paragraph in one line; slide numbers are left out."""
    return " ".join("".join(_pieces(node)).split())


def table_markdown(table: Any) -> str:
    """The table, each merged cell's text in all cells it covers."""
    rows: list[list[str]] = []
    spans: list[list[tuple[int, int]]] = []
    covered: dict[tuple[int, int], str] = {}
    for y, row in enumerate(table.iter(f"{A}tr")):
        cells = []
        spans.append([])
        for x, cell in enumerate(row.iter(f"{A}tc")):
            text = " ".join(text for part in cell.iter(f"{A}p") if (text := paragraph_text(part)))
            if len(text) <= _LABEL_CHARS:
                width, height = (min(int(cell.get(name, "1")), _MAX_SPAN) for name in ("gridSpan", "rowSpan"))
                if width > 1:
                    spans[y].append((x, x + width))
                if width * height > 1:
                    covered.update({(y + j, x + i): text for j in range(height) for i in range(width)})
            cells.append(text or covered.get((y, x), ""))
        rows.append(cells)
    height = header_height(rows, spans) if rows else 0
    return markdown_table([joined_header(rows[:height]), *rows[height:]] if height > 1 else rows)


def _nodes(tree: Any) -> Iterator[Any]:
    for node in tree:
        if node.tag == f"{_MC}AlternateContent":
            forms = [form for form in node if list(_nodes(form))]
            yield from _nodes(forms[0]) if forms else ()
        elif node.tag in (f"{P}sp", f"{P}grpSp", f"{P}graphicFrame", f"{P}pic", f"{P}cxnSp"):
            yield node


def _pieces(node: Any) -> Iterator[str]:
    for child in node:
        if child.tag == f"{A}t":
            yield child.text or ""
        elif child.tag in (f"{A}br", f"{A}tab"):
            yield " "
        elif child.tag == _MATH:
            yield math_text(child)
        elif child.tag == f"{_MC}AlternateContent":
            yield from _pieces(child[0]) if len(child) else ()
        elif not (child.tag == f"{A}fld" and child.get("type") == "slidenum"):
            yield from _pieces(child)


def _marker(properties: Any, level: int, numbers: dict[int, int], *, bulleted: bool) -> str:
    """`-`, `1.` or "": what stands before a paragraph. `numbers` counts by level."""
    tags = {child.tag for child in properties} if properties is not None else set()
    for deeper in [i for i in numbers if i > level]:
        del numbers[deeper]
    if f"{A}buAutoNum" in tags:
        start = int(properties.find(f"{A}buAutoNum").get("startAt", "1"))
        numbers[level] = numbers.get(level, start - 1) + 1
        return f"{numbers[level]}."
    numbers.pop(level, None)
    if f"{A}buNone" in tags:
        return ""
    return "-" if bulleted or tags & {f"{A}buChar", f"{A}buBlip"} else ""


def _alternative_text(node: Any) -> str:
    properties = next(node.iter(f"{P}cNvPr"), None)
    text = " ".join((properties.get("descr") or "").split()) if properties is not None else ""
    return f"[Picture: {text}]" if text and not _FILE_NAME.fullmatch(text) else ""


def placeholder_positions(trees: Iterable[Any]) -> dict[str, Position]:
    """Placeholder index and type -> position, from a layout and its master; the first that tells wins."""
    found: dict[str, Position] = {}
    for tree in trees:
        for node in tree.iter(f"{P}sp"):
            placeholder = next(node.iter(f"{P}ph"), None)
            position = own_position(node)
            if placeholder is None or position is None:
                continue
            for key in (placeholder.get("idx"), placeholder.get("type", "obj")):
                if key:
                    found.setdefault(key, position)
    return found
