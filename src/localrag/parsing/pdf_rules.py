"""Drawn vectors of a page -> straight rules, pieces of one line joined."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

_THIN = 2.5  # points; what is thinner than this is a line, even where it was drawn as a filled box
_SHORT = 6.0  # points; shorter marks are glyph parts, ticks and dashes
_TOUCH = 1.5  # points between the parts of one line
_MAX_RULES = 4000  # a map or a drawing, not a table: its rules are not worth the time


@dataclass(slots=True)
class Rule:
    """A drawn straight line, or a side of a drawn box: horizontal when y0 == y1, vertical when x0 == x1."""

    x0: float
    y0: float
    x1: float
    y1: float


def turned(box: tuple[float, ...], turn: int) -> tuple[float, float, float, float]:
    """The box in coordinates where text that ran in direction `turn` runs rightward and lines go down."""
    x0, y0, x1, y1 = box[:4]
    if turn == 1:
        return y0, -x1, y1, -x0
    if turn == 2:
        return -x1, -y1, -x0, -y0
    if turn == 3:
        return -y1, x0, -y0, x1
    return x0, y0, x1, y1


def read_rules(blocks: Sequence[Any], turn: int) -> list[Rule]:
    """The page's horizontal and vertical rules, in coordinates turned like its text."""
    if len(blocks) > _MAX_RULES:
        return []
    across: list[Rule] = []
    down: list[Rule] = []
    for block in blocks:
        x0, y0, x1, y1 = turned(block["bbox"], turn)
        width, height = x1 - x0, y1 - y0
        if height <= _THIN:
            if width >= _SHORT:
                across.append(Rule(x0, (y0 + y1) / 2, x1, (y0 + y1) / 2))
        elif width <= _THIN:
            down.append(Rule((x0 + x1) / 2, y0, (x0 + x1) / 2, y1))
        elif block["stroked"] and block["isrect"]:
            across += [Rule(x0, y0, x1, y0), Rule(x0, y1, x1, y1)]
            down += [Rule(x0, y0, x0, y1), Rule(x1, y0, x1, y1)]
    return _joined_across(across) + [rule for rule in _joined_down(down) if rule.y1 - rule.y0 >= _SHORT]


def _joined_across(rules: list[Rule]) -> list[Rule]:
    rules.sort(key=lambda rule: (round(rule.y0), rule.x0))
    result: list[Rule] = []
    for rule in rules:
        last = result[-1] if result else None
        if last is not None and abs(last.y0 - rule.y0) <= _TOUCH and rule.x0 - last.x1 <= _TOUCH and rule.x0 >= last.x0:
            last.x1 = max(last.x1, rule.x1)
        else:
            result.append(rule)
    return result


def _joined_down(rules: list[Rule]) -> list[Rule]:
    rules.sort(key=lambda rule: (round(rule.x0), rule.y0))
    result: list[Rule] = []
    for rule in rules:
        last = result[-1] if result else None
        if last is not None and abs(last.x0 - rule.x0) <= _TOUCH and rule.y0 - last.y1 <= _TOUCH and rule.y0 >= last.y0:
            last.y1 = max(last.y1, rule.y1)
        else:
            result.append(rule)
    return result
