"""The text of a Word paragraph as the reader of the accepted document sees it.

Insertions count, deletions and hidden text do not. Bold, italic and links leave no mark: a phrase must stay findable
and quotable when part of it is bold or leads somewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from localrag.parsing.docx_styles import W
from localrag.parsing.printed_pages import AUTHORED_BREAK, RENDERED_BREAK

M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_MC = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_WP = "{http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing}"
_CHART = "{http://schemas.openxmlformats.org/drawingml/2006/chart}chart"
_DIAGRAM = "{http://schemas.openxmlformats.org/drawingml/2006/diagram}relIds"

_TRANSPARENT = {
    f"{W}{name}"
    for name in ("sdt", "sdtContent", "smartTag", "customXml", "ins", "moveTo", "hyperlink", "fldSimple", "bdo", "dir",
                 "r", "ruby", "rubyBase", "pict", "object", "drawing")
} | {f"{_MC}Choice", f"{_MC}Fallback"}  # fmt: skip
_LITERAL = {f"{W}tab": " ", f"{W}cr": "\n", f"{W}noBreakHyphen": "-", f"{W}ptab": " "}
_PRIVATE_USE = range(0xE000, 0xF900)


@dataclass(slots=True)
class Aside:
    """What hangs on a paragraph: contents of text boxes, keys of notes, ids of comments, relations to drawings."""

    boxes: list[Any] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    comments: list[str] = field(default_factory=list)
    charts: list[str] = field(default_factory=list)
    diagrams: list[str] = field(default_factory=list)


def children(node: Any) -> Iterator[Any]:
    """The paragraphs, tables, rows or cells directly under `node`, seen through content controls and insertions."""
    for child in node:
        if child.tag == f"{_MC}AlternateContent":
            yield from children(_alternative(child))
        elif child.tag in _TRANSPARENT:
            yield from children(child)
        else:
            yield child


def paragraph_text(paragraph: Any, notes: Mapping[str, str], aside: Aside) -> str:
    """The paragraph's text with its page breaks marked; what hangs on it is put into `aside`.

    Args:
        notes: the key of a footnote or endnote (as in Aside) -> the number under which it is cited.
    """
    return _Reader(notes, aside).read(paragraph)


def note_keys(body: Any) -> Iterator[str]:
    """The keys of all notes cited under the node, in order of citation."""
    for node in body.iter(f"{W}footnoteReference", f"{W}endnoteReference"):
        yield _note_key(node)


def _note_key(node: Any) -> str:
    kind = "footnote" if node.tag == f"{W}footnoteReference" else "endnote"
    return f"{kind} {node.get(f'{W}id', '')}"


def _alternative(node: Any) -> Any:
    """The form for current Word, else the one for old Word: both say the same."""
    choice = node.find(f"{_MC}Choice")
    fallback = node.find(f"{_MC}Fallback")
    return choice if choice is not None else fallback if fallback is not None else ()


class _Reader:
    def __init__(self, notes: Mapping[str, str], aside: Aside) -> None:
        self._notes = notes
        self._aside = aside
        self._handlers: dict[str, Callable[[Any], str]] = {
            f"{W}t": lambda node: node.text or "",
            f"{W}br": self._break,
            f"{W}lastRenderedPageBreak": lambda node: RENDERED_BREAK,
            f"{W}sym": _symbol,
            f"{W}r": self._run,
            f"{W}footnoteReference": self._note,
            f"{W}endnoteReference": self._note,
            f"{W}commentReference": self._comment,
            f"{W}txbxContent": self._box,
            f"{_WP}docPr": lambda node: _described(node.get("descr")),
            f"{M}oMath": lambda node: math_text(node),
            _CHART: lambda node: self._related(node, self._aside.charts, "id"),
            _DIAGRAM: lambda node: self._related(node, self._aside.diagrams, "dm"),
        }

    def read(self, node: Any) -> str:
        return "".join(self._one(child) for child in node)

    def _one(self, node: Any) -> str:
        if node.tag in self._handlers:
            return self._handlers[node.tag](node)
        if node.tag in _LITERAL:
            return _LITERAL[node.tag]
        if node.tag == f"{_MC}AlternateContent":
            return self.read(_alternative(node))
        if node.tag in _TRANSPARENT or not str(node.tag).startswith(W):
            return self.read(node)  # drawings nest their text boxes in elements of many namespaces
        return ""

    def _run(self, node: Any) -> str:
        hidden = node.find(f"{W}rPr/{W}vanish")
        if hidden is not None and hidden.get(f"{W}val") not in ("0", "false"):
            return ""
        return self.read(node)

    def _break(self, node: Any) -> str:
        return AUTHORED_BREAK if node.get(f"{W}type") == "page" else "\n"

    def _note(self, node: Any) -> str:
        key = _note_key(node)
        if key not in self._notes:
            return ""
        self._aside.notes.append(key)
        return f"[^{self._notes[key]}]"

    def _comment(self, node: Any) -> str:
        self._aside.comments.append(node.get(f"{W}id", ""))
        return ""

    def _box(self, node: Any) -> str:
        self._aside.boxes.append(node)
        return ""

    def _related(self, node: Any, found: list[str], attribute: str) -> str:
        found.append(node.get(f"{_R}{attribute}", ""))
        return ""


def _described(description: str | None) -> str:
    text = " ".join((description or "").split())
    return f" [Picture: {text}] " if text else ""


def _symbol(node: Any) -> str:
    """A character of a symbol font. Those in the private use area are pictures that only that font shows."""
    code = int(node.get(f"{W}char", "0"), 16)
    return "" if code in _PRIVATE_USE or not code else chr(code)


def math_text(node: Any) -> str:
    """A formula in one line: fractions as (a)/(b), powers as a^(b), roots as sqrt(a)."""
    parts = [math_text(child) for child in node if not str(child.tag).endswith("Pr")]
    match str(node.tag).removeprefix(M), parts:
        case "t", _:
            return node.text or ""
        case "f", [top, bottom]:
            return f"({top})/({bottom})"
        case "sSup", [base, power]:
            return f"{base}^({power})"
        case "sSub", [base, index]:
            return f"{base}_({index})"
        case "sSubSup", [base, index, power]:
            return f"{base}_({index})^({power})"
        case "rad", [*_, radicand]:
            return f"sqrt({radicand})"
    return "".join(parts)
