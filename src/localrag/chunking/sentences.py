"""Where sentences start, in scripts that end them with `.` and in those that end them with `。`."""

from __future__ import annotations

import re

# A run of closing marks with the quotes and brackets after it. Western marks need white space behind them; `。` and
# its kin do not. Each run is tried once, from its first mark (look-behind, possessive), so the scan stays linear.
_END = re.compile(
    r"(?<![.!?…])[.!?…]++[\"'”’»)\]*_]*+\s++"
    r"|(?<![。！？｡])[。！？｡]++[”’」』）)\]]*+\s*+"
    r"|(?<![।॥؟۔])[।॥؟۔]++[\"'”’»)\]]*+\s++"
)

# Words that end in a full stop without ending a sentence; compared in lower case without the stop.
_ALWAYS = """
    mr mrs ms dr prof rev hon gen col capt lt sgt sen rep gov pres
    e.g i.e cf vs viz al approx ca est incl resp
    fig figs eq eqs sec ch chap vol no nos nr pp p para art ed eds tab ref refs app dept univ assn
    jan feb mar apr jun jul aug sep sept oct nov dec mon tue tues wed thu thur fri sat
    z.b d.h u.a bzw evtl ggf vgl bspw str abs ziff
"""
# Those that often do end one: a capital after them decides.
_OFTEN = "etc inc ltd co corp a.m p.m u.s u.k u.n e.u d.c jr sr bros st usw ph.d b.a m.a"
_ABBREVIATIONS = frozenset(_ALWAYS.split())
_EITHER = frozenset(_OFTEN.split())


def sentence_starts(text: str, start: int, end: int) -> list[int]:
    """Positions in `(start, end)` where a new sentence starts, in order; `start` itself is not among them."""
    found = []
    for match in _END.finditer(text, start, end):
        after = match.end()
        if after < end and not (text[match.start()] == "." and _goes_on(text, match.start(), after, start)):
            found.append(after)
    return found


def _goes_on(text: str, stop: int, after: int, start: int) -> bool:
    """True when the full stop at `stop` belongs to an abbreviation, an initial or a number, and the text goes on."""
    if text[after].islower():
        return True
    word = _word_before(text, stop, start)
    if not word:
        return False
    if len(word) == 1 and word.isalpha() and word.isupper():
        return True
    lowered = word.lower()
    if lowered in _EITHER:
        return not text[after].isupper()
    if lowered in _ABBREVIATIONS:
        return True
    # `1. First`: the number of an item is no sentence; `in 2019. Then` is.
    return word.isdigit() and text[max(start, stop - len(word) - 1) : stop - len(word)] in ("", "\n")


def _word_before(text: str, stop: int, start: int) -> str:
    """The word that ends at `stop`, at most 12 characters: longer ones are no abbreviation."""
    low = max(start, stop - 12)
    at = stop
    while at > low and (text[at - 1].isalnum() or text[at - 1] == "."):
        at -= 1
    return text[at:stop]
