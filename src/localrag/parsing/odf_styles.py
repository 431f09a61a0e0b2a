"""What the styles of an OpenDocument file say of a paragraph: heading, page break, number in a list, hidden."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from localrag.parsing.lists import counter_text
from localrag.parsing.odf import FO, STYLE, TEXT, whole_number

_MAX_CHAIN = 20  # a style based on itself, directly or not, must not hang the reader
_HEADING_NAME = re.compile(r"Heading[ _]?([1-9]\d?)$")
_SHAPES = {"1": "decimal", "a": "lowerLetter", "A": "upperLetter", "i": "lowerRoman", "I": "upperRoman"}


@dataclass(frozen=True, slots=True)
class ListLevel:
    """How the items of one level are numbered; `shape` is "" for bullets."""

    shape: str = ""
    before: str = ""
    after: str = ""
    start: int = 1
    shown_levels: int = 1


class Styles:
    """The styles of the file; those of its content go before the common ones of the same name."""

    def __init__(self, *roots: Any | None) -> None:
        self._styles: dict[tuple[str, str], Any] = {}
        self._lists: dict[str, dict[int, ListLevel]] = {}
        self.outline: dict[int, ListLevel] = {}
        for root in roots:
            if root is not None:
                self._read(root)

    def _read(self, root: Any) -> None:
        for node in root.iter(f"{STYLE}style"):
            self._styles[node.get(f"{STYLE}family", ""), node.get(f"{STYLE}name", "")] = node
        for node in root.iter(f"{TEXT}list-style"):
            self._lists[node.get(f"{STYLE}name", "")] = dict(_levels(node))
        for node in root.iter(f"{TEXT}outline-style"):
            self.outline = dict(_levels(node))

    def list_level(self, name: str, level: int) -> ListLevel:
        """How a list numbers a level (from 1)."""
        return self._lists.get(name, {}).get(level, ListLevel())

    def heading_level(self, name: str) -> int:
        """The level of a heading that a plain paragraph gets from its style; 0 when it is none."""
        for node in self._chain("paragraph", name):
            if level := whole_number(node, f"{STYLE}default-outline-level", 0):
                return level
            own = node.get(f"{STYLE}display-name") or node.get(f"{STYLE}name", "").replace("_20_", " ")
            if match := _HEADING_NAME.match(own):
                return int(match[1])
            if own == "Title":
                return 1
        return 0

    def is_title(self, name: str) -> bool:
        """Whether the paragraph is the document's title."""
        return any(node.get(f"{STYLE}name") == "Title" for node in self._chain("paragraph", name)) or name == "Title"

    def breaks(self, family: str, name: str) -> tuple[bool, bool]:
        """Whether a new page begins before a paragraph or table, and after it."""
        chain = list(self._chain(family, name))
        # A new kind of page begins on a new one; only the style itself says so, not those it is based on.
        new_kind = bool(chain and chain[0].get(f"{STYLE}master-page-name"))
        return new_kind or _property(chain, "break-before") == "page", _property(chain, "break-after") == "page"

    def is_hidden(self, name: str) -> bool:
        """Whether text of this character style is hidden."""
        return any(
            node.find(f"{STYLE}text-properties").get(f"{TEXT}display") == "none"
            for node in self._chain("text", name)
            if node.find(f"{STYLE}text-properties") is not None
        )

    def drawing_page(self, name: str) -> Any | None:
        """The properties of a slide's style, None when it has none."""
        for node in self._chain("drawing-page", name):
            properties = node.find(f"{STYLE}drawing-page-properties")
            if properties is not None:
                return properties
        return None

    def _chain(self, family: str, name: str) -> Iterator[Any]:
        """The style and those that it is based on."""
        for _ in range(_MAX_CHAIN):
            node = self._styles.get((family, name))
            if node is None:
                return
            yield node
            name = node.get(f"{STYLE}parent-style-name", "")


def number_text(counts: dict[int, int], level: int, levels: dict[int, ListLevel]) -> str:
    """The number of an item as printed, `2.1.` say; "" for a bullet.

    Args:
        counts: level -> number of its latest item. levels: level -> how it is numbered.
    """
    own = levels.get(level, ListLevel())
    if not own.shape:
        return ""
    shown = range(max(1, level - own.shown_levels + 1), level + 1)
    numbers = (
        counter_text(counts.get(one, 1), shape) for one in shown if (shape := levels.get(one, ListLevel()).shape)
    )
    return f"{own.before}{'.'.join(numbers)}{own.after}".strip()


def _levels(node: Any) -> Iterator[tuple[int, ListLevel]]:
    for child in node.iterchildren(f"{TEXT}list-level-style-number", f"{TEXT}outline-level-style"):
        yield (
            whole_number(child, f"{TEXT}level", 1),
            ListLevel(
                shape=_SHAPES.get(child.get(f"{STYLE}num-format", ""), ""),
                before=child.get(f"{STYLE}num-prefix", ""),
                after=child.get(f"{STYLE}num-suffix", ""),
                start=whole_number(child, f"{TEXT}start-value", 1),
                shown_levels=whole_number(child, f"{TEXT}display-levels", 1),
            ),
        )


def _property(chain: list[Any], name: str) -> str:
    """The first value along the chain of a paragraph's or table's property."""
    for node in chain:
        for properties in node.iterchildren(f"{STYLE}paragraph-properties", f"{STYLE}table-properties"):
            if value := properties.get(f"{FO}{name}"):
                return str(value)
    return ""
