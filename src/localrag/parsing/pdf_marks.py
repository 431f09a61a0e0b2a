"""Raised digits and letters -> plain text that keeps them off the word before: footnotes as `[^1]`, exponents as `²`.

Left as they come they would read `12%1` or `income2`: a figure nobody wrote, and a word no search finds.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

RAISED = 1  # MuPDF's flag of a span that stands above its line in smaller type
_MAX_RAISED = 6  # characters
_MAX_APART = 60  # such runs on a page; more are the figures of a chart
_NOTE = re.compile(r"\d{1,2}(?:[,;] ?\d{1,2})*|[a-z](?:[,;] ?[a-z])*")
_EXPONENT = re.compile(r"[-–−+]?\d{1,3}")
_WORD_BEFORE = re.compile(r"[^\W\d_]+$")
_POWER = re.compile(r"(?:^|[^\d.,])10$|[×·*^]\s?10$")
_FRACTION = re.compile(r"[/\u2044]\d")  # 1 2/3, its numerator raised
# Glued to digits at a line's start: `14C dating`, `90Sr`.
_ISOTOPE = re.compile(r"[A-Z][a-z]?(?![a-z])")
_SUPERSCRIPTS = str.maketrans("0123456789-–−+", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁻⁻⁺")
_MARKS = re.compile(r"(?:\[\^\w{1,2}\])+$")
NOTE = re.compile(r"\[\^\w{1,2}\](?!:)")
NOTE_START = re.compile(r"\[\^\w{1,2}\]: ")


class Run(Protocol):
    """Text on one baseline, as far as a mark beside it must know it."""

    x0: float
    x1: float
    baseline: float
    size: float
    text: str


RunT = TypeVar("RunT", bound=Run)


@dataclass(frozen=True, slots=True)
class Mark:
    """`text` in place of the characters `[start, end)` of a line."""

    start: int
    end: int
    text: str


def marks_of(spans: Sequence[Any]) -> list[Mark]:
    """The marks of one line of MuPDF's spans."""
    if len(spans) < 2:
        return []
    raised = [bool(span["flags"] & RAISED) for span in spans]
    raised[0] = _opens_a_note(spans[0], spans[1])
    if not any(raised):
        return []
    marks = []
    text = "".join(span["text"] for span in spans)
    at = 0
    for span, is_raised in zip(spans, raised, strict=True):
        end = at + len(span["text"])
        if is_raised and (new := _plain(span["text"].strip(), text[:at], text[end:])):
            marks.append(Mark(at, at + len(span["text"].rstrip()), new))
        at = end
    return marks


def _opens_a_note(first: Any, second: Any) -> bool:
    """Whether a line begins with a raised number: MuPDF flags only what stands after something to compare with."""
    if not first["text"].strip().isalnum() or first["size"] > 0.85 * second["size"]:
        return False
    return bool(second["origin"][1] - first["origin"][1] >= 0.15 * second["size"])


def _plain(raised: str, before: str, after: str) -> str:
    """What the raised text is written as; empty to leave it as it is (`1st`, `TM`, `(1)`, `*`)."""
    if not before.strip():
        number = _NOTE.fullmatch(raised) and after.strip() and not _ISOTOPE.match(after)
        return f"[^{raised}]: " if number and raised.isalnum() else ""
    if _FRACTION.match(after):
        return f" {raised}"
    word = _WORD_BEFORE.search(before)
    letters = len(word[0]) if word else 0
    if _EXPONENT.fullmatch(raised) and (0 < letters <= 2 or _POWER.search(before) or not raised.isdecimal()):
        return raised.translate(_SUPERSCRIPTS)
    if not _NOTE.fullmatch(raised) or (raised[0].isalpha() and letters < 3 and before[-1] not in ")%.,”"):
        return ""
    return "".join(f"[^{name}]" for name in re.findall(r"\w+", raised))


def attach_raised(runs: Sequence[RunT]) -> list[RunT]:
    """The runs, raised ones that were set apart from their word (as a line of their own) joined to it."""
    raised = [run for run in runs if len(run.text) <= _MAX_RAISED and _NOTE.fullmatch(run.text)]
    if not raised or len(raised) > _MAX_APART:
        return list(runs)
    gone = set()
    for mark in raised:
        bases = [run for run in runs if _stands_at(mark, run) and id(run) not in gone]
        base = min(bases, key=lambda run: abs(mark.x0 - run.x1), default=None)
        if base is not None and (new := _plain(mark.text, base.text, "")):
            base.text, base.x1 = base.text + new, mark.x1
            gone.add(id(mark))
    return [run for run in runs if id(run) not in gone]


def _stands_at(mark: Run, base: Run) -> bool:
    """Whether the mark is raised right behind the run, in smaller type."""
    size = base.size
    if mark is base or mark.size > 0.85 * size or not -0.2 * size <= mark.x0 - base.x1 <= 0.3 * size:
        return False
    return 0.15 * size <= base.baseline - mark.baseline <= 0.6 * size


def with_marks(content: str, at: int, marks: Sequence[Mark]) -> str:
    """The part of a line that begins at `at`, with its marks in place."""
    end = at + len(content)
    result, done = "", at
    for mark in marks:
        if at <= mark.start < end:
            result += content[done - at : mark.start - at] + mark.text
            done = min(mark.end, end)
    return (result + content[done - at :]).strip()


def without_marks(text: str) -> str:
    """The text without footnote marks at its end: `1,234[^1]` is the figure 1,234."""
    return _MARKS.sub("", text) if text.endswith("]") else text
