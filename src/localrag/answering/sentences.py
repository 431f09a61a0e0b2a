"""Sentences of a text as character spans."""

from __future__ import annotations

import re
from collections.abc import Iterator

Span = tuple[int, int]

# `.[5]` and `.[21][22]` are reference marks, as encyclopaedias set them; `.[1]` is also how models cite.
_END = re.compile(r"[.!?…]+[\"'”’»)\]*_]*(?:\[\d{1,4}\])*(?=\s)|[。！？]+[」』”’]*(?:\[\d{1,4}\])*")
_REFERENCES = re.compile(r"(?:\[\d{1,4}\])+$")
# Lines that stand alone: list items, headings, table rows, quotes, fences, rules.
_OWN_LINE = re.compile(r"\s*(?:[-*+•‣▪–]\s|\d{1,3}[.)]\s|[a-zA-Z][.)]\s|#{1,6}\s|\||>|```|~~~|-{3,}\s*$)")
_HEADING = re.compile(r"\s*#{1,6}\s")
_LIST_LABEL = re.compile(r"\s*(?:\d{1,3}|[a-zA-Z])[.)]$")
_ABBREVIATION = re.compile(
    r"(?:^|[\s(\[])(?:[A-Za-z]|(?:[A-Za-z]\.)+[A-Za-z]|Mr|Mrs|Ms|Dr|Prof|St|Sr|Jr|Lt|Col|Gen|Capt|Sgt|Rev|Hon|No|Nos|"
    r"Nr|Art|Abs|Fig|Figs|Eq|Sec|Ch|Vol|Ed|eds|pp|p|cf|vs|etc|al|approx|ca|est|dept|Inc|Ltd|Co|Corp|Bros|"
    r"Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sep|Sept|Oct|Nov|Dec|bzw|usw|evtl|ggf|inkl|zzgl|vgl|Tel|Str)\.$"
)
_CLOSED_ABBREVIATION = re.compile(r"(?:^|[\s(\[])(?:etc|usw|al|Inc|Ltd|Co|Corp|Jr|Sr|(?:[A-Za-z]\.)+[A-Za-z])\.$")


def sentence_spans(text: str) -> list[Span]:
    """Half-open offsets of the sentences, in order, without surrounding white space.

    A line break ends a sentence only where the line is a list item, heading or table row, or a blank line follows:
    in text from PDFs most lines break in mid-sentence.
    """
    return [
        span
        for start, end in _blocks(text)
        for span in _split(text, start, end)
        if re.search(r"\w", text[span[0] : span[1]])
    ]


def _blocks(text: str) -> Iterator[Span]:
    """Runs of lines that read on: paragraphs, and each line that stands alone with its continuation."""
    start: int | None = None
    at = 0
    after_heading = False
    for line in text.splitlines(keepends=True):
        blank = not line.strip()
        alone = bool(_OWN_LINE.match(line))
        if start is not None and (blank or alone or after_heading):
            yield start, at
            start = None
        if not blank and start is None:
            start = at
        after_heading = bool(_HEADING.match(line)) or line.lstrip().startswith("|")
        at += len(line)
    if start is not None:
        yield start, at


def _split(text: str, start: int, end: int) -> Iterator[Span]:
    begin = start
    # The look-ahead must see white space after the last sentence of the block too.
    for match in _END.finditer(text, start, min(end + 1, len(text))):
        if _goes_on(text, begin, match.end(), end):
            continue
        yield _trimmed(text, begin, match.end())
        begin = match.end()
    if text[begin:end].strip():
        yield _trimmed(text, begin, end)


def _goes_on(text: str, begin: int, stop: int, end: int) -> bool:
    """Whether the full stop at `stop` belongs to an abbreviation or a list label."""
    head = _REFERENCES.sub("", text[max(begin, stop - 24) : stop])
    if not head.endswith("."):
        return False
    if _LIST_LABEL.fullmatch(text[begin:stop]):
        return True
    following = text[stop:end].lstrip()[:1]
    if following.islower():
        return True
    return bool(_ABBREVIATION.search(head)) and not (_CLOSED_ABBREVIATION.search(head) and following.isupper())


def _trimmed(text: str, start: int, end: int) -> Span:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end
