"""Where to colour: sentences of an answer, quotes in a passage."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from localrag.ui.safe import Highlight

_MOST_LEAD = 400
"""Characters before the first span: it must be in sight without scrolling."""
_BREAK = re.compile(r"\s")
_TABLE_RULE = re.compile(r"\|?[\s:|-]*-[\s:|-]*\|?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Excerpt:
    """A part of a text with the spans to colour in it."""

    text: str
    highlights: tuple[Highlight, ...] = ()


def find_sentence(text: str, sentence: str, markers: Iterable[str] = ()) -> tuple[int, int] | None:
    """Offsets of the sentence in the text, whatever white space and citation markers stand inside it."""
    wanted = "".join(sentence.split())
    kept = [offset for offset in _outside(text, markers) if not text[offset].isspace()]
    at = "".join(text[offset] for offset in kept).find(wanted) if wanted else -1
    return (kept[at], kept[at + len(wanted) - 1] + 1) if at >= 0 else None


def _outside(text: str, markers: Iterable[str]) -> Iterable[int]:
    """The offsets that no marker covers."""
    known = sorted({marker for marker in markers if marker}, key=len, reverse=True)
    if not known:
        return range(len(text))
    covered = {
        offset
        for found in re.finditer("|".join(map(re.escape, known)), text)
        for offset in range(found.start(), found.end())
    }
    return [offset for offset in range(len(text)) if offset not in covered]


def unsupported(text: str, sentences: Sequence[str], markers: Sequence[str]) -> tuple[list[Highlight], list[str]]:
    """The spans of the unsupported sentences, and those sentences that are not in the text as they stand."""
    highlights: list[Highlight] = []
    missing: list[str] = []
    for sentence in sentences:
        span = find_sentence(text, sentence, markers)
        if span is None:
            missing.append(sentence)
        else:
            highlights.append(Highlight(start=span[0], end=span[1], kind="unsupported"))
    return highlights, missing


def excerpt(text: str, spans: Sequence[tuple[int, int]], *, length: int) -> Excerpt:
    """About `length` characters around the first span, cut between words and never inside a span; spans highlighted."""
    first = min(spans, default=(0, 0))
    room = max(0, length - (first[1] - first[0]))
    start = _word_start(text, max(0, first[0] - min(room // 3, _MOST_LEAD)))
    end = max([start + length, first[1], *(high for low, high in spans if low < start + length)])
    end = _word_end(text, min(len(text), end))
    lead, tail = "… " if start > 0 else "", " …" if end < len(text) else ""
    shift = len(lead) - start
    highlights = tuple(
        Highlight(start=max(low, start) + shift, end=min(high, end) + shift)
        for low, high in _merged(spans)
        if max(low, start) < min(high, end)
    )
    return Excerpt(text=f"{lead}{text[start:end]}{tail}", highlights=highlights)


def table_excerpt(text: str, spans: Sequence[tuple[int, int]], *, header: str) -> Excerpt | None:
    """The rows that hold the spans, with a neighbour on each side, under their column names; None outside a table.

    Args:
        text: a passage.
        spans: what to highlight; the first says which table of the passage it is about.
        header: the column names and the rule below them, for a passage that starts in the middle of a table.
    """
    lines = _lines(text)
    first = min(spans, default=(0, 0))[0]
    at = next((number for number, (low, line) in enumerate(lines) if low <= first < low + len(line)), None)
    if at is None or not _is_row(lines[at][1]):
        return None
    low, high = at, at + 1
    while low > 0 and _is_row(lines[low - 1][1]):
        low -= 1
    while high < len(lines) and _is_row(lines[high][1]):
        high += 1
    table = lines[low:high]
    named = len(table) > 1 and bool(_TABLE_RULE.fullmatch(table[1][1].strip()))
    head = [line for _, line in table[:2]] if named else [f"{line}\n" for line in header.splitlines()]
    rows = table[2:] if named else table
    marked = {n for n, (begin, line) in enumerate(rows) if any(a < begin + len(line) and begin < b for a, b in spans)}
    kept = [n for n in range(len(rows)) if marked & {n - 1, n, n + 1}]
    return _table(head, [rows[n] for n in kept], spans)


def _table(head: Sequence[str], rows: Sequence[tuple[int, str]], spans: Sequence[tuple[int, int]]) -> Excerpt:
    """The rows, each with its offset in the passage, put together under the head."""
    parts = list(head)
    length = sum(map(len, parts))
    highlights = []
    for begin, line in rows:
        end = begin + len(line.rstrip())
        for low, high in _merged(spans):
            if max(low, begin) < min(high, end):
                shift = length - begin
                highlights.append(Highlight(start=max(low, begin) + shift, end=min(high, end) + shift))
        parts.append(line)
        length += len(line)
    return Excerpt(text="".join(parts).rstrip("\n"), highlights=tuple(highlights))


def _lines(text: str) -> list[tuple[int, str]]:
    """Each line, with its break, and where it starts."""
    lines, at = [], 0
    for line in text.splitlines(keepends=True):
        lines.append((at, line))
        at += len(line)
    return lines


def _is_row(line: str) -> bool:
    return line.lstrip().startswith("|")


def _merged(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for low, high in sorted(spans):
        if merged and low <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return merged


def _word_start(text: str, at: int) -> int:
    """The start of the first whole word from here, or here when none starts soon."""
    if at == 0 or text[at - 1].isspace():
        return at
    found = _BREAK.search(text, at, at + 40)
    return found.end() if found else at


def _word_end(text: str, at: int) -> int:
    if at == len(text) or text[at].isspace():
        return at
    found = _BREAK.search(text, at, at + 40)
    return found.start() if found else at
