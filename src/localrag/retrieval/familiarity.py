"""How well an embedding model knows a query's language, told from how its tokenizer cuts the words."""

from __future__ import annotations

import re

from localrag.protocols import Tokenizer

LEAST = 0.3
"""What the vectors of an unknown language are still worth. On XQuAD in German and Chinese .2 to .4 lift hybrid search
above keyword search alone; at 1 it falls below (benchmarks/fusion.py)."""
_KNOWN, _UNKNOWN = 1.6, 2.1
"""Pieces per word: with BGE's vocabulary 95% of English questions lie below 1.5, on finance below 1.7; 95% of German
ones above 1.5, and three in four above 1.8."""
_FEW = 2
"""Added to pieces and words both: one rare word in a short query is no foreign language."""

_WORD = re.compile(r"\w+")
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
_ENGLISH_MODEL = re.compile(r"(?:^|[-_/.])en(?:glish)?(?:[-_/.]|$)", re.IGNORECASE)


def familiarity(query: str, tokenizer: Tokenizer, model: str) -> float:
    """In [0.3, 1]: 1 for a query in a language of the model, less the smaller the pieces its words are cut into.

    A vocabulary holds the words of the languages it was learned from whole, and cuts others into pieces: part numbers
    and codes, which vectors know nothing of either, count as foreign too. Where no spaces are written, words
    cannot be counted: such a script is foreign to a model that calls itself English.

    Args:
        model: its name; `bge-small-en-v1.5` calls itself English.
    """
    unspaced = len(_UNSPACED.findall(query))
    if 2 * unspaced > sum(map(str.isalnum, query)):
        return LEAST if _ENGLISH_MODEL.search(model) else 1.0
    words = len(_WORD.findall(query))
    pieces = (tokenizer.count(query) + _FEW) / (words + _FEW)
    foreign = (pieces - _KNOWN) / (_UNKNOWN - _KNOWN)
    return 1.0 - (1.0 - LEAST) * min(max(foreign, 0.0), 1.0)
