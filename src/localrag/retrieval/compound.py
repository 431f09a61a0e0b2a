"""A question that asks several things -> each of them, by rules."""

from __future__ import annotations

import re

from localrag.retrieval.followups import carried_over, leans
from localrag.retrieval.words import content_words
from localrag.types import Message

MOST_PARTS = 3
"""A fourth question is left to the whole, which is searched as well."""

_ASKING = (
    r"who|whom|whose|what|which|where|when|why|how|wer|wen|wem|wessen|was|welche[rsnm]?|wo|wohin|woher|wann|warum|wieso"
    r"|wie"
)
_TELLING = r"describe|explain|list|name|summari[sz]e|compare|give|tell|show|nenne|erkläre|beschreibe|liste|zeige"
_VERBS = r"is|are|was|were|does|do|did|has|have|had|can|could|will|would|should|ist|sind|hat|haben|kann|wird"
_QUESTION_ENDS = re.compile(r"(?<=[?？])\s*(?=\S)")
# ", and who signed it": a new question begins after the conjunction. "when and where" is one place in a text.
_NEW_QUESTION = re.compile(
    rf"(?:\s*[,;]?\s+(?:and|und|sowie)\s+|\s*;\s*)(?:also\s+|auch\s+)?"
    rf"(?=(?:(?:in|at|to|for|by|from|on|an|mit|von|für|seit|bis)\s+)?(?:{_ASKING})\s+\w+\s+\w|(?:{_TELLING})\s+\w)",
    re.IGNORECASE,
)
_BEGINS_AS_QUESTION = re.compile(
    rf"\W*(?:(?:in|at|to|for|by|from|on|since|an|mit|von|für|seit|bis)\s+)?(?:{_ASKING}|{_VERBS}|{_TELLING}|please|bitte)\b",
    re.IGNORECASE,
)
_SIDES = r"(?P<one>[^,;?]+?)\s+(?:{joined})\s+(?P<other>[^,;?]+?)"
_COMPARISONS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"^(?P<about>.*?)\bdifferences? between\s+{_SIDES.format(joined='and')}\s*[?.]?$",
        rf"^(?P<about>.*?)\bunterschiede?n? zwischen\s+{_SIDES.format(joined='und')}\s*[?.]?$",
        rf"^(?P<about>)(?:please\s+)?compare\s+{_SIDES.format(joined='and|with|to|against')}\s*[?.]?$",
        rf"^(?P<about>)(?:bitte\s+)?vergleiche\s+{_SIDES.format(joined='und|mit')}\s*[?.]?$",
        rf"^(?P<about>)how (?:do|does|did)\s+{_SIDES.format(joined='and')}\s+(?:differ|compare)\s*[?.]?$",
        rf"^(?P<about>)how (?:do|does|did)\s+{_SIDES.format(joined='(?:differ|compare)s? (?:from|to|with)')}\s*[?.]?$",
        rf"^(?P<about>){_SIDES.format(joined='vs[.]?|versus')}\s*[?.]?$",
    )
)
# Names only: "both laminar and turbulent flow" is one thing to look for.
_OF_BOTH = re.compile(
    r"^(?P<before>.*?)\b[Bb]oth\s+(?P<one>[A-Z0-9][^,;?]*?)\s+and\s+(?P<other>[A-Z0-9][^,;?]*?)\s*[?.]?$"
)
_CHOICE = re.compile(
    r"^(?P<before>(?:which|who|welche[rs]?|wer)\b[^,]+),?\s+(?:the\s+)?(?P<one>(?-i:[A-Z0-9])[^,;?]*?)\s+(?:or|oder)\s+"
    r"(?:the\s+)?(?P<other>(?-i:[A-Z0-9])[^,;?]*?)\s*[?.]?$",
    re.IGNORECASE,
)
_OF_TWO = re.compile(
    r"^(?:is|are|was|were|do|does|did|have|has)\s+(?P<one>[^,;?]+?)\s+and\s+(?P<other>[^,;?]+?),?\s+"
    r"(?P<after>(?:both\b|(?:(?-i:[a-z]+)\s+)*?the\s+same\b).*)$",
    re.IGNORECASE,
)


def parts(question: str) -> tuple[str, ...]:
    """The questions that the question asks, at most three, each of which can be searched alone; () for a single one.

    Questions side by side ("A? B?", "when ... and who ...") are cut apart, and what a later one leaves unsaid is
    carried over from those before it. A comparison ("the difference between A and B") asks for each of its sides.
    An "and" alone joins names ("Marks and Spencer"), years and things that belong together, and is left alone.
    """
    return _side_by_side(question) or _sides(question)


def _side_by_side(question: str) -> tuple[str, ...]:
    pieces = [piece for sentence in _QUESTION_ENDS.split(question.strip()) for piece in _NEW_QUESTION.split(sentence)]
    pieces = [piece.strip() for piece in pieces if piece and piece.strip()]
    if not 1 < len(pieces) <= MOST_PARTS or not all(_is_question(piece) for piece in pieces):
        return ()
    alone = pieces[:1]
    for piece in pieces[1:]:
        before = [Message(role="user", content=earlier) for earlier in pieces[: len(alone)]]
        carried = carried_over(piece, before) if leans(piece) else ""
        alone.append(f"{piece} {carried}".strip())
    return tuple(alone)


def _is_question(piece: str) -> bool:
    return bool(_BEGINS_AS_QUESTION.match(piece)) and bool(content_words(piece))


def _sides(question: str) -> tuple[str, ...]:
    text = question.strip()
    for pattern in (*_COMPARISONS, _OF_BOTH, _CHOICE, _OF_TWO):
        found = pattern.match(text)
        if not found:
            continue
        named = found.groupdict()
        one, other = named["one"], named["other"]
        if not content_words(one) or not content_words(other) or "each other" in text:
            return ()
        frame = [named.get("before"), named.get("after")]
        return tuple(" ".join(filter(None, [frame[0], side, frame[1]])).strip() for side in (one, other))
    return ()
