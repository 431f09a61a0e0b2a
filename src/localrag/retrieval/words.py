"""Content words of a text: what a question, a claim and its source are compared by."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import lru_cache

import Stemmer

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
# Scripts written without spaces: compared by pairs of neighbouring characters.
_UNSPACED = re.compile(r"[぀-ヿ㐀-鿿豈-﫿฀-๿຀-໿ក-៿]+")
_CYRILLIC = re.compile(r"[Ѐ-ӿ]")

_STOP_WORDS = frozenset(
    # English, with the words that only ask or only refer to the documents; then German, French, Spanish, Russian and
    # Chinese or Japanese pairs. Words that mean something in English (die, war, son, plus) are left out of these.
    """a about above according after again all also although am an and any are as at be because been before being
    below between both but by can could describe did do does doing done down during each either else etc explain find
    for from further get gets give given gives had has have having he her here hers him his how however i if in into
    is isn it its just kind let like list many may me mean might more most much must my name of off on once one only or
    other our out over own please per same say says shall she should show so some such tell than that the their them
    then there these they this those through thus to too under until up upon us use used using very was we were what
    when where whether which while who whom whose why will with within without would yes yet you your
    document documents passage passages context file files
    aber alle als also am an auch auf aus bei bin bis da das dass dem den der des dies diese dieser doch du durch
    ein eine einem einen einer eines er es für gibt hat haben hatte ich ihr im in ist ja kann kein keine mehr mit
    nach nicht noch nur oder ohne sein seine sich sie sind so über um und uns unter viel viele vom von vor wann
    warum was welche welchem welchen welcher welches wenn wer werden wie wieviel wir wird wo wurde zu zum zur
    au aux avec ce ces cette comment combien dans de des du elle en est et il ils je la le les leur lui mais ne nous
    on ou où par pas pourquoi qu quand que quel quelle quelles quels qui quoi sa se ses sont sur un une
    al como con cual cuál cuando cuándo cuánto de del donde dónde el ella en entre es esta este la las lo los más no
    para pero por porque qué que quien quién se ser si sin sobre su sus un una y
    в во и из к как какая какие какой когда кто ли мы на не но о об он она они от по при с со так то только у что
    это я где почему сколько
    什么 多少 哪里 哪个 怎么 为什 什麼 何時 なに です ます した する""".split()  # noqa: SIM905  a list of 300 strings is harder to read
)


def content_words(text: str) -> frozenset[str]:
    """Stems of the words that carry meaning, figures included, in any script."""
    return frozenset(word for word in stems(text) if word)


def stems(text: str) -> list[str]:
    """One entry per word in order: its stem, or the empty string for a stop word."""
    found: list[str] = []
    for match in _WORD.finditer(text):
        found.extend(_terms(match.group()))
    return found


def words(text: str) -> list[tuple[str, frozenset[str]]]:
    """Every word in order as it is written, with its stems: none for a stop word, several where no spaces are."""
    return [(match.group(), frozenset(filter(None, _terms(match.group())))) for match in _WORD.finditer(text)]


def _terms(word: str) -> list[str]:
    if _UNSPACED.search(word):
        return _pairs(word)
    return [_stem(word)]


def _pairs(word: str) -> list[str]:
    """Pairs of neighbouring characters of each unspaced run; what lies between the runs is a word of its own."""
    terms: list[str] = []
    at = 0
    for run in _UNSPACED.finditer(word):
        if word[at : run.start()]:
            terms.append(_stem(word[at : run.start()]))
        text = run.group()
        grams = [text[i : i + 2] for i in range(len(text) - 1)] or [text]
        terms.extend("" if gram in _STOP_WORDS else gram for gram in grams)
        at = run.end()
    if word[at:]:
        terms.append(_stem(word[at:]))
    return terms


@lru_cache(maxsize=65536)
def _stem(word: str) -> str:
    folded = unicodedata.normalize("NFKC", word).casefold().replace("’", "'")
    folded = folded.removesuffix("'s").removesuffix("'")
    if folded in _STOP_WORDS:
        return ""
    if "'" in folded:  # don't, isn't, l'année: the longest part carries the meaning, if any does
        folded = max(folded.split("'"), key=len)
        if folded in _STOP_WORDS or len(folded) < 3:
            return ""
    if len(folded) == 1 and not folded.isdigit():
        return "" if folded.isascii() else folded
    stemmed = _stemmer("russian" if _CYRILLIC.search(folded) else "english")(folded)
    # An accent is often lost in PDFs and queries, and never the only difference that matters here.
    return "".join(c for c in unicodedata.normalize("NFD", stemmed) if not unicodedata.combining(c))


@lru_cache(maxsize=4)
def _stemmer(language: str) -> Callable[[str], str]:
    return Stemmer.Stemmer(language).stemWord  # type: ignore[no-any-return]
