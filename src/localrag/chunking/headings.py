"""The heading path a passage stands under: a stack of headings, and when it is carried to the next page."""

from __future__ import annotations

import re

from localrag.types import Page

# A breadcrumb is for orientation; a paragraph that was styled as a heading must not become one.
_LONGEST_TITLE = 160

_INLINE = (
    (re.compile(r"!\[([^\[\]]{0,300})\]\([^()\s]{0,2000}\)"), r"\1"),
    (re.compile(r"\[([^\[\]]{1,300})\]\([^()]{0,2000}\)"), r"\1"),
    (re.compile(r"</?[a-zA-Z][^<>]{0,300}>"), ""),
    (re.compile(r"[ \t]\{#[^{}]{1,100}\}$"), ""),
    (re.compile(r"(\*{1,3}|~~|`{1,2})(?=\S)([^*~`]{1,300})(?<=\S)\1"), r"\2"),
    (re.compile(r"(?<!\w)(_{1,3})(?=\S)([^_]{1,300})(?<=\S)\1(?!\w)"), r"\2"),
    (re.compile(r"\\([!-/:-@\[-`{-~])"), r"\1"),
)

# The last part of a label when it counts through one text: `lines 1-80`, `rows 2-40`, `cell 4`.
_COUNTER = re.compile(r"(?:^|,[ \t]*)(?:lines?|rows?|cells?)[ \t]+\d+(?:[ \t]*[-–][ \t]*\d+)?$")
_LINES = re.compile(r"(?:^|,[ \t]*)lines?[ \t]+\d+(?:[ \t]*[-–][ \t]*\d+)?$")


class HeadingStack:
    """The headings open at the current place: each one ends those of its level and deeper."""

    def __init__(self) -> None:
        self._open: list[tuple[int, str]] = []

    @property
    def path(self) -> tuple[str, ...]:
        """Titles from the outermost to the innermost; empty before the first heading."""
        return tuple(title for _, title in self._open)

    def push(self, level: int, raw_title: str) -> None:
        """Enters the section under this heading; a title without any text changes nothing."""
        title = plain_title(raw_title)
        if not title:
            return
        while self._open and self._open[-1][0] >= level:
            self._open.pop()
        self._open.append((level, title))

    def clear(self) -> None:
        self._open.clear()


def plain_title(raw: str) -> str:
    """The heading as a reader sees it: no emphasis marks, links, code marks or tags, white space collapsed."""
    title = raw
    for pattern, replacement in _INLINE:
        title = pattern.sub(replacement, title)
    title = " ".join(title.split())
    if len(title) <= _LONGEST_TITLE:
        return title
    return title[: _LONGEST_TITLE - 1].rsplit(" ", 1)[0] + "…"


def same_text(before: Page, after: Page) -> bool:
    """True when a section can run on from one page to the next.

    It does over numbered pages, line ranges and notebook cells of one document. It does not from one archive
    member, attachment, sheet or chapter to another: their labels differ by more than a counter.
    """
    return _part(before) == _part(after)


def same_lines(before: Page, after: Page) -> bool:
    """True when both pages are line ranges of one text, so that a code fence can be open across them."""
    return same_text(before, after) and all(_LINES.search(page.label or "") for page in (before, after))


def _part(page: Page) -> str:
    return _COUNTER.sub("", page.label or "")
