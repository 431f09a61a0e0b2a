"""Which elements the page's own style sheets hide: text that no reader of the page sees is not read.

A small part of CSS: rules of one compound selector (`p.note`, `#menu`), display, visibility, opacity and font size, and
the cascade between them. What cannot be judged without a browser (an ancestor, a state, a condition) hides nothing, and
whatever might show an element again does show it: a text too many is better than one that is lost.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_MAX_CSS = 4_000_000  # characters; frameworks with all their icons stay below 1,000,000
_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
_SHOWN_ON_SCREEN = re.compile(r"@media\s+(?:only\s+)?(?:all|screen)\s*", re.IGNORECASE)
_COMPOUND = re.compile(r"([a-z][\w-]*|\*)?((?:[.#][\w-]+)*)", re.IGNORECASE)
_PART = re.compile(r"[.#][\w-]+")
_BEFORE_LAST = re.compile(r".*[\s>+~]", re.DOTALL)
_STATE = re.compile(r"[:\[].*", re.DOTALL)
_ZERO = re.compile(r"0*\.?0*(?:px|pt|em|rem|%)?")
# Scripts show the whole page once it is complete; a saved page is complete.
_NEVER_HIDDEN = frozenset({"html", "body", "head"})


@dataclass(frozen=True, slots=True)
class _Rule:
    """`declared`: property -> whether it hides. A rule that is not `sure` hangs on more than the element itself."""

    tag: str
    parts: frozenset[str]
    sure: bool
    weight: tuple[int, int]
    declared: dict[str, bool]

    def matches(self, tag: str, parts: frozenset[str]) -> bool:
        return self.tag in ("", "*", tag) and self.parts <= parts


class Sheet:
    """The rules of all <style> elements of a page."""

    def __init__(self, root: Any) -> None:
        css = "\n".join(element.text or "" for element in root.iter("style") if _is_for_screens(element))
        # Rules by one thing that an element must have: most elements then meet few of them.
        self._by_part: dict[str, list[_Rule]] = defaultdict(list)
        self._hides = False
        for order, (selectors, body) in enumerate(_rules(_COMMENT.sub(" ", css[:_MAX_CSS]))):
            if declared := _declared(body):
                self._hides = self._hides or any(declared.values())
                for selector in selectors.split(","):
                    self._add(selector.strip(), declared, order)

    def hidden(self, root: Any) -> list[Any]:
        """The elements that the rules hide, outermost ones and what is in them."""
        if not self._hides:
            return []
        return [element for element in root.iter() if isinstance(element.tag, str) and self._is_hidden(element)]

    def _add(self, selector: str, declared: dict[str, bool], order: int) -> None:
        last = _BEFORE_LAST.sub("", _STATE.sub("", selector))
        compound = _COMPOUND.fullmatch(last)
        if compound is None or not last:
            return
        parts = frozenset(_PART.findall(compound[2]))
        weight = (sum(100 if part[0] == "#" else 10 for part in parts) + (compound[1] not in (None, "*")), order)
        rule = _Rule((compound[1] or "").lower(), parts, last == selector, weight, declared)
        if rule.sure or not all(declared.values()):
            self._by_part[next(iter(parts), rule.tag)].append(rule)

    def _is_hidden(self, element: Any) -> bool:
        tag = element.tag.lower()
        if tag in _NEVER_HIDDEN:
            return False
        classes = [f".{name}" for name in (element.get("class") or "").split()]
        parts = frozenset([*classes, f"#{element.get('id')}"] if element.get("id") else classes)
        found = [rule for key in (*parts, tag, "*") for rule in self._by_part.get(key, ()) if rule.matches(tag, parts)]
        if not any(hides for rule in found for hides in rule.declared.values()):
            return False
        own = _declared(element.get("style") or "")
        return any(self._hides_by(name, found, own) for name in {name for rule in found for name in rule.declared})

    @staticmethod
    def _hides_by(name: str, found: list[_Rule], own: dict[str, bool]) -> bool:
        if name in own:
            return own[name]
        rules = [rule for rule in found if name in rule.declared]
        if any(not rule.sure and not rule.declared[name] for rule in rules):
            return False
        sure = [rule for rule in rules if rule.sure]
        return bool(sure) and max(sure, key=lambda rule: rule.weight).declared[name]


def _is_for_screens(style: Any) -> bool:
    media = (style.get("media") or "all").lower()
    return media.strip() in ("all", "screen", "")


def _rules(css: str) -> Iterator[tuple[str, str]]:
    """Selector list and declarations of each rule that holds on a screen; other blocks are passed over."""
    at = 0
    while (opened := css.find("{", at)) >= 0:
        prelude = css[at:opened].rpartition(";")[2].rpartition("}")[2].strip()
        if _SHOWN_ON_SCREEN.fullmatch(prelude):
            at = opened + 1  # its rules are read as if they stood alone; its end is passed over above
            continue
        closed = _block_end(css, opened)
        if not prelude.startswith("@"):
            yield prelude, css[opened + 1 : closed]
        at = closed + 1


def _block_end(css: str, opened: int) -> int:
    """Where the block that begins at `opened` ends."""
    depth = 0
    for mark in re.compile(r"[{}]").finditer(css, opened):
        depth += 1 if mark[0] == "{" else -1
        if depth == 0:
            return mark.start()
    return len(css)


def _declared(body: str) -> dict[str, bool]:
    """Property -> whether its value hides, for the four that can."""
    found: dict[str, bool] = {}
    for declaration in body.split(";"):
        name, _, value = declaration.partition(":")
        name, value = name.strip().lower(), value.partition("!")[0].strip().lower()
        if name == "display":
            found[name] = value == "none"
        elif name == "visibility":
            found[name] = value in ("hidden", "collapse")
        elif name in ("opacity", "font-size") and value:
            found[name] = any(map(str.isdigit, value)) and bool(_ZERO.fullmatch(value))
    return found
