"""What the beginning of a question asks for: a count, a sum, the highest, a list."""

from __future__ import annotations

import re
from dataclasses import dataclass

from localrag.tables import words
from localrag.tables.plan import Action


@dataclass(frozen=True, slots=True)
class Head:
    """What the beginning of a question asks for, and the offsets of the words that said so."""

    action: Action
    spans: tuple[tuple[int, int], ...]
    top: int | None = None
    descending: bool = True
    split: int | None = None
    rows: bool = False
    distinct: bool = False


def folded(question: str) -> str:
    """The question in small letters, without the words that only introduce it."""
    text = " ".join(question.split()).strip().rstrip("?.! ").lower()
    return words.FLUFF.sub("", text, count=1)


def without(text: str, named: str) -> str:
    """The question with the file's name, and the words that lead to it, blanked out."""
    if not named:
        return text
    return re.sub(rf"['\"“„]?{re.escape(named.lower())}['\"”“]?", lambda found: " " * len(found.group()), text)


def head_of(text: str) -> Head | None:
    """What the folded question asks for, None when it is nothing that a table tells."""
    distinct = [(found.start(), found.end()) for found in words.DISTINCT.finditer(text)]
    if found := words.COUNT.match(text):
        rest = text[found.end() :].lstrip()
        rows = bool(words.ROWS.match(rest.removeprefix("different ").removeprefix("of the ")))
        return Head("count", ((0, found.end()), *distinct), rows=rows, distinct=bool(distinct))
    if found := words.TOP.match(text):
        count = words.COUNTS.get(found["count"]) or int(found["count"])
        by = re.search(r"\b(?:by|nach)\b(?: (?:total|sum of|the))?", text)
        span = ((0, found.end()), *([(by.start(), by.end())] if by else []))
        action: Action = "sum" if by and re.search("total|sum", by.group()) else "highest"
        return Head(action, span, top=count, split=by.start() if by else len(text))
    if (found := words.WHICH.match(text)) and (best := words.SUPERLATIVE.search(text)):
        return _superlative(found, best)
    if found := words.AGGREGATE.match(text):
        return Head(words.action(found["name"]), ((0, found.end()),))
    if found := words.LIST.match(text):
        return Head("list", ((0, found.end()), *distinct), rows=bool(words.ROWS.match(text[found.end() :].lstrip())))
    return None


def _superlative(which: re.Match[str], best: re.Match[str]) -> Head:
    low = re.match(r"lowest|smallest|least|fewest|minimum|niedrig|kleinst|wenigst", best["best"]) is not None
    how = best["how"] or ""
    action: Action = "lowest" if low else "highest"
    if re.match("average|mean|durchschnitt", how):
        action = "average"
    elif how.startswith("median"):
        action = "median"
    elif how.startswith(("number", "count")):
        action = "count"
    elif how:
        action = "sum"
    if re.match("most|fewest|meisten|wenigsten", best["best"]) and not how:
        action = "count"
    spans = ((which.start(), which.end()), (best.start(), best.end()))
    return Head(action, spans, top=1, descending=not low, split=best.start())
