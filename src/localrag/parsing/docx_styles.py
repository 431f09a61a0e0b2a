"""What a Word document's styles and numbering say of a paragraph: its heading level, its list level, its number."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from localrag.parsing.lists import counter_text
from localrag.parsing.ooxml import Package

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"

_MAX_STYLE_CHAIN = 20  # a style based on itself, directly or not, must not hang the reader
_HEADING = re.compile(r"heading ([1-9])", re.IGNORECASE)
# Word's own styles for deeper lists have lists of one level each; only the indent and the name tell how deep.
_DEEPER = re.compile(r"list (?:bullet|number) ([2-5])")
_BODY_LEVEL = 9  # Word's outline level of body text


@dataclass(frozen=True, slots=True)
class ListItem:
    """A paragraph's place in a list: `level` from 0, and its number as printed; "" for a bullet."""

    level: int
    number: str


@dataclass(frozen=True, slots=True)
class _Level:
    format: str = "bullet"
    text: str = ""
    start: int = 1
    style: str = ""


@dataclass(slots=True)
class _Style:
    name: str = ""
    parent: str = ""
    outline: int | None = None
    number_id: str | None = None
    level: int | None = None


@dataclass(slots=True)
class _Numbering:
    """abstract: id -> levels. lists: numId -> (abstract id, level -> start of its own)."""

    abstract: dict[str, dict[int, _Level]] = field(default_factory=dict)
    lists: dict[str, tuple[str, dict[int, int]]] = field(default_factory=dict)


class Styles:
    """Answers for one document; list counters advance as its paragraphs are asked about in order."""

    def __init__(self, package: Package, part: str) -> None:
        related = dict(package.related(part).values())
        self._styles: dict[str, _Style] = {}
        self._numbering = _Numbering()
        self._default = ""
        if package.has(related.get("styles", "")):
            self._read_styles(package.xml(related["styles"]))
        if package.has(related.get("numbering", "")):
            self._read_numbering(package.xml(related["numbering"]))
        self._counts: dict[str, dict[int, int]] = defaultdict(dict)
        self._restarted: set[str] = set()

    def name(self, properties: Any) -> str:
        """The style's name in lower case: `heading 1`, `title`, `toc 2`; "" when unknown."""
        style = self._styles.get(_value(properties, "pStyle") or self._default)
        return style.name.lower() if style else ""

    def heading_level(self, properties: Any) -> int | None:
        """1 to 9 for a heading, None for body text. A title is level 1."""
        outline = _value(properties, "outlineLvl")
        if outline is not None:
            return int(outline) + 1 if int(outline) < _BODY_LEVEL else None
        for style in self._chain(_value(properties, "pStyle") or self._default):
            if style.name.lower() == "title":
                return 1
            if match := _HEADING.fullmatch(style.name):
                return int(match[1])
            if style.outline is not None:
                return style.outline + 1 if style.outline < _BODY_LEVEL else None
        return None

    def list_item(self, properties: Any) -> ListItem | None:
        """The paragraph's place in its list, None when it is in none. Counts it."""
        number_id, level = self._list_of(properties)
        if number_id not in self._numbering.lists:
            return None
        named = _DEEPER.fullmatch(self.name(properties))
        shown = int(named[1]) - 1 if named and not level else level
        abstract_id, starts = self._numbering.lists[number_id]
        levels = self._numbering.abstract.get(abstract_id, {})
        own = levels.get(level, _Level())
        counts = self._counts[abstract_id]
        if starts and number_id not in self._restarted:
            self._restarted.add(number_id)
            counts.update({i: start - 1 for i, start in starts.items()})
        counts[level] = counts.get(level, own.start - 1) + 1
        for deeper in [i for i in counts if i > level]:
            del counts[deeper]
        if own.format in ("bullet", "none") or not own.text:
            return ListItem(shown, "")
        return ListItem(shown, _number_text(own.text, counts, levels))

    def _list_of(self, properties: Any) -> tuple[str, int]:
        numbering = properties.find(f"{W}numPr") if properties is not None else None
        number_id, level = _value(numbering, "numId"), _value(numbering, "ilvl")
        style_id = _value(properties, "pStyle") or self._default
        for style in self._chain(style_id):
            if number_id is None and style.number_id is not None:
                number_id = style.number_id
                level = level or self._level_of_style(number_id, style_id, style.level)
        return number_id or "0", int(level or 0)

    def _level_of_style(self, number_id: str, style_id: str, level: int | None) -> str:
        abstract_id, _ = self._numbering.lists.get(number_id, ("", {}))
        levels = self._numbering.abstract.get(abstract_id, {})
        return str(next((i for i, one in levels.items() if one.style == style_id), level or 0))

    def _chain(self, style_id: str) -> list[_Style]:
        found: list[_Style] = []
        while style_id in self._styles and len(found) < _MAX_STYLE_CHAIN:
            found.append(self._styles[style_id])
            style_id = found[-1].parent
        return found

    def _read_styles(self, root: Any) -> None:
        for node in root.iter(f"{W}style"):
            if node.get(f"{W}type") != "paragraph":
                continue
            properties = node.find(f"{W}pPr")
            numbering = properties.find(f"{W}numPr") if properties is not None else None
            self._styles[node.get(f"{W}styleId", "")] = _Style(
                name=_value(node, "name") or "",
                parent=_value(node, "basedOn") or "",
                outline=_number(_value(properties, "outlineLvl")),
                number_id=_value(numbering, "numId"),
                level=_number(_value(numbering, "ilvl")),
            )
            if node.get(f"{W}default") in ("1", "true"):
                self._default = node.get(f"{W}styleId", "")

    def _read_numbering(self, root: Any) -> None:
        for node in root.iter(f"{W}abstractNum"):
            self._numbering.abstract[node.get(f"{W}abstractNumId", "")] = {
                int(level.get(f"{W}ilvl", "0")): _Level(
                    format=_value(level, "numFmt") or "decimal",
                    text=_value(level, "lvlText") or "",
                    start=_number(_value(level, "start")) or 0,
                    style=_value(level, "pStyle") or "",
                )
                for level in node.iter(f"{W}lvl")
            }
        for node in root.iter(f"{W}num"):
            starts = {
                int(override.get(f"{W}ilvl", "0")): int(_value(override, "startOverride") or 1)
                for override in node.iter(f"{W}lvlOverride")
                if override.find(f"{W}startOverride") is not None
            }
            self._numbering.lists[node.get(f"{W}numId", "")] = (_value(node, "abstractNumId") or "", starts)


def _value(node: Any, child: str) -> str | None:
    found = node.find(f"{W}{child}") if node is not None else None
    value = found.get(f"{W}val") if found is not None else None
    return None if value is None else str(value)


def _number(text: str | None) -> int | None:
    return int(text) if text is not None else None


def _number_text(pattern: str, counts: dict[int, int], levels: dict[int, _Level]) -> str:
    """`%1.%2` with the counters put in."""

    def counter(match: re.Match[str]) -> str:
        level = int(match[1]) - 1
        shape = levels.get(level, _Level(format="decimal"))
        return counter_text(counts.get(level, shape.start), shape.format)

    return re.sub(r"%([1-9])", counter, pattern).strip()
