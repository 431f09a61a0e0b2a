"""Citations as models write them, told from other brackets and resolved to the passages that were given."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

# For use in character classes.
_OPENING = r"\[【［"
_CLOSING = r"\]】］"
_BLANK = r"[ \t\u00a0]"
_GAP = rf"{_BLANK}{{0,8}}"  # bounded, so that a reply of ten thousand blanks is read in linear time
# Longer than any marker that a reader could stand; a bracket that stays open this long is no citation.
_LONGEST = 240

_NUMBER = (
    rf"(?:\^|(?:passages?|sources?|refs?|references?|citations?|docs?|documents?|context)\.?{_GAP}#?)?{_GAP}"
    rf"\d{{1,3}}(?:†[^{_CLOSING}{_OPENING},;\n]*)?"
)
_NUMBERS = rf"{_GAP}{_NUMBER}(?:{_GAP}(?:[,;&–—-]|and|und|et){_GAP}{_NUMBER})*{_GAP}"
_EXTENSION = r"(?:pdf|docx?|pptx?|xlsx?|csv|tsv|html?|json|xml|epub|ipynb|zip|msg|eml|txt|md|odt|ods|odp|rtf|png|jpe?g)"
_PAGE = rf"(?:pp?|pages?|Seiten?|S)\.?{_GAP}\d+(?:{_GAP}[–-]{_GAP}\d+)?"
_OTHER = rf"[^{_CLOSING}{_OPENING}\n]"
# What reads like a file citation but may name a file that was never given: `..., p.4`, `x.pdf`, `x.pdf, part`, `p.4`.
_LIKE_FILE = (
    rf"{_OTHER}{{1,{_LONGEST}}}?(?:,{_GAP}{_PAGE}|\.{_EXTENSION}(?:{_GAP}[,;:]{_OTHER}*)?){_GAP}"
    rf"|{_GAP}{_PAGE}{_GAP}"
)
_ONE_NUMBER = re.compile(rf"(\d{{1,3}})(?:†[^,;]*)?(?:{_GAP}[–—-]{_GAP}(\d{{1,3}}))?")


# Where a citation could begin: blanks and a parenthesis before it belong to it. The group is what is text for certain
# when it turns out to be none; a bracket inside a parenthesis gets a second look of its own.
_START = re.compile(
    rf"(?P<outer>{_GAP}\({_GAP})[{_OPENING}]|(?P<bracket>{_GAP}[{_OPENING}])|(?P<end>{_GAP}\({_GAP}|{_BLANK}{{1,8}})\Z"
)


@dataclass(frozen=True, slots=True)
class Cited:
    """A run of citations in a reply: the space before it and the passages (from 1) that it names."""

    lead: str
    passages: tuple[int, ...]


class Grammar:
    """Tells citations of given passages from other text.

    Args:
        markers: `[file, p.X]` of passage 1, 2, ...; several passages may share one.
    """

    def __init__(self, markers: Sequence[str]) -> None:
        self.markers = tuple(markers)
        self._passage_of: dict[str, int] = {}
        for number, marker in enumerate(self.markers, start=1):
            self._passage_of.setdefault(_squeezed(marker[1:-1]), number)
        known = sorted({_loose(marker[1:-1]) for marker in self.markers}, key=len, reverse=True)
        literal = "".join(f"{marker}|" for marker in known)
        content = rf"(?:{literal}{_NUMBERS}|{_LIKE_FILE})"
        group = rf"(?:[{_OPENING}]{{1,2}}{content}[{_CLOSING}]{{1,2}})"
        run = rf"{group}(?:{_GAP}[,;]?{_GAP}{group})*"
        self.run = re.compile(rf"({_GAP})(?:\({_GAP}({run}){_GAP}\)|({run}))", re.IGNORECASE)
        self._content = re.compile(rf"[{_OPENING}]{{1,2}}({content})[{_CLOSING}]{{1,2}}", re.IGNORECASE)
        longest = max([_LONGEST, *(2 * len(marker) for marker in self.markers)])
        bracket = rf"(?:{literal}[^{_CLOSING}{_OPENING}\n]{{0,{longest}}})"
        whole = rf"[{_OPENING}]{{1,2}}{bracket}[{_CLOSING}]{{1,2}}{_GAP}[,;]?{_GAP}"
        self._open = re.compile(rf"{_GAP}\(?{_GAP}(?:{whole})*(?:[{_OPENING}]{{1,2}}{bracket})?", re.IGNORECASE)
        self._prefixes = tuple(_squeezed(marker) for marker in self.markers)

    def passages(self, run: str) -> tuple[int, ...]:
        """The given passages that a run of brackets names, each once, in order; what was not given is left out."""
        found: list[int] = []
        for match in self._content.finditer(run):
            found.extend(self._named(match.group(1)))
        return tuple(number for number in dict.fromkeys(found) if 1 <= number <= len(self.markers))

    def text(self, passages: Sequence[int]) -> str:
        """The markers of these passages, each once."""
        return " ".join(dict.fromkeys(self.markers[number - 1] for number in passages))

    def undecided(self, text: str) -> bool:
        """Whether what follows this beginning of a run could still change how it reads."""
        if self._open.fullmatch(text):
            return True
        # A file name with brackets of its own: the marker is known, so its beginning can be recognised.
        bracket = _squeezed(text.lstrip(" \t\u00a0("))
        return any(marker.startswith(bracket) for marker in self._prefixes)

    def _named(self, content: str) -> list[int]:
        whole = self._passage_of.get(_squeezed(content))
        if whole is not None:
            return [whole]
        parts = [_squeezed(part) for part in content.split(";")]
        if any(part in self._passage_of for part in parts):
            return [self._passage_of[part] for part in parts if part in self._passage_of]
        if not re.fullmatch(_NUMBERS, content, re.IGNORECASE):
            return []
        numbers: list[int] = []
        for match in _ONE_NUMBER.finditer(content):
            first, last = int(match.group(1)), int(match.group(2) or match.group(1))
            numbers.extend(range(first, min(last, len(self.markers)) + 1) if first < last else {first, last})
        return numbers


class CitationReader:
    """A reply, fed in pieces of any size, as text and citations; the pieces' borders make no difference."""

    def __init__(self, grammar: Grammar) -> None:
        self._grammar = grammar
        self._pending = ""
        self._last = "\n"

    def feed(self, piece: str) -> list[str | Cited]:
        """What is certain now; text that may turn out to be a citation is held back."""
        self._pending += piece
        return self._read(final=False)

    def close(self) -> list[str | Cited]:
        """What was held back, now that nothing follows."""
        return self._read(final=True)

    def _read(self, *, final: bool) -> list[str | Cited]:
        out: list[str | Cited] = []
        while self._pending:
            start = _START.search(self._pending)
            if start is None:
                self._take(out, len(self._pending))
                break
            self._take(out, start.start())
            if not final and self._grammar.undecided(self._pending):
                break
            run = self._grammar.run.match(self._pending)
            if run is None:
                self._take(out, start.end(start.lastgroup or 0) - start.start())
            else:
                self._cite(out, run)
        return out

    def _take(self, out: list[str | Cited], length: int) -> None:
        if length:
            out.append(self._pending[:length])
            self._last = self._pending[length - 1]
            self._pending = self._pending[length:]

    def _cite(self, out: list[str | Cited], run: re.Match[str]) -> None:
        passages = self._grammar.passages(run.group(2) or run.group(3))
        rest = self._pending[run.end() :]
        if passages:
            lead = run.group(1) or ("" if self._last.isspace() or self._last in "(\"“'" else " ")
            out.append(Cited(lead, passages))
            self._last = "]"
        elif self._last == "\n":
            rest = rest.lstrip(" \t\u00a0")
        self._pending = rest


def _squeezed(text: str) -> str:
    return " ".join(text.split()).casefold()


def _loose(marker: str) -> str:
    """A pattern for the marker's words with any blanks between them."""
    return _GAP + f"{_BLANK}{{1,8}}".join(map(re.escape, marker.split())) + _GAP
