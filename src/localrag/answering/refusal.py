"""Refusals in a model's own words."""

from __future__ import annotations

import re

from localrag.answering.prompts import REFUSAL

_NEGATED = r"(?:not|n['’]t|cannot|no|unable|unfortunately|nothing|none|neither|insufficient|lacks?)"
_VERB = (
    r"(?:find|found|contain\w*|mention\w*|provid\w+|specif\w+|includ\w+|stat\w+|say\w*|answer\w*|information|"
    r"determine|discuss\w*|address\w*|give\w*|available|enough|relevant|details?)"
)
_SOURCE = r"(?:documents?|passages?|context|sources?|text|texts|information|question)"
_REFUSAL = re.compile(
    rf"\b{_NEGATED}\b.*\b{_VERB}\b.*\b{_SOURCE}\b|\b{_SOURCE}\b.*{_NEGATED}\b.*\b{_VERB}\b", re.I | re.S
)
_DONT = re.compile(r"\b(?:do|did|does|could|can|is|are|was|were)n['’]t\b", re.IGNORECASE)
# Longer sentences than this say something beside.
_LONGEST = 220


def is_refusal(sentence: str) -> bool:
    """Whether this sentence says that the documents do not hold the answer."""
    text = " ".join(sentence.split())
    if REFUSAL.rstrip(".").casefold() in text.casefold():
        return says_refusal(text)
    text = _DONT.sub(lambda match: match.group()[:-3] + " not", text)
    return len(text) <= _LONGEST and bool(_REFUSAL.search(text))


def says_refusal(sentence: str) -> bool:
    """Whether this is the sentence of refusal that the prompt asks for, with hardly a word beside it."""
    text = " ".join(sentence.split())
    return REFUSAL.rstrip(".").casefold() in text.casefold() and len(text) <= 2 * len(REFUSAL)
