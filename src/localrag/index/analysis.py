"""Text to index terms, the same for every backend: folded, stemmed, and cut so that every script is findable.

    "The AB-1234/X weighs 1,234.5 kg"  ->  the ab 1234 x ab1234x weigh 1234 1234·5 kg
    "数据库"                            ->  数 据 库 数据 据库

A term holds letters, digits and marks only, so a term list joined by spaces splits again at the spaces whatever
tokenizer reads it. Words are stemmed by the language of the text they stand in; a query does not tell its language
surely, so it asks for each word in every language the index holds (`query_groups`).
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import Stemmer

from localrag.index.languages import ENGLISH, STOP_WORDS, detect_language

# Characters beyond this add nothing to a question, and bound what a pasted book can cost.
MAX_QUERY_CHARACTERS = 10_000
MAX_TERM_CHARACTERS = 64

_UNSPACED = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ece\u1000-\u1049\u1050-\u109f\u1780-\u17d3"  # Thai, Lao, Myanmar, Khmer
)
_CJK = (
    "\u3005-\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7a3\u1100-\u11ff\u3105-\u312f\U00020000-\U000323af"
)
# `\w` leaves out combining marks, without which Indic words fall to pieces: whole blocks less their punctuation.
_MARKS = "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c7\u0610-\u061a\u064b-\u065f\u0670"
_INDIC = "\u0900-\u0963\u0966-\u0df3\u0f18-\u0fbc\u1b00-\u1b4b\u1b80-\u1bff"
_LETTER = rf"(?:[^\W_]|[{_MARKS}{_INDIC}{_UNSPACED}])"
_WORD = re.compile(rf"{_LETTER}+(?:['’._@/&+\-‐‑,]{_LETTER}+|_+{_LETTER}+)*")
_IGNORED = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")
_SPLIT = re.compile(r"['’._@/&+\-‐‑,]+")
_RUNS = re.compile(f"[{_CJK}]+|[{_UNSPACED}]+|[^{_CJK}{_UNSPACED}]+")
_DIACRITICS = re.compile(f"[{_MARKS}]")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)+")
_GROUPED = re.compile(r"\d{1,3}(?:([.,])\d{3})(?:\1\d{3})*")

_THREAD = threading.local()
_STEMMER_OF_SCRIPT = (
    ("\u0370", "\u03ff", "greek"),
    ("\u0400", "\u052f", "russian"),
    ("\u0600", "\u06ff", "arabic"),
    ("\u0900", "\u097f", "hindi"),
    ("\u0b80", "\u0bff", "tamil"),
)


@dataclass(frozen=True, slots=True)
class Analysed:
    """The terms of a text in order, with the language its Latin words were stemmed by."""

    language: str
    terms: tuple[str, ...]


def analysis_version() -> str:
    """Changes whenever the same text could give other terms: the keyword index is then built anew."""
    return f"1/{Stemmer.version()}/{unicodedata.unidata_version}"


def analyse(text: str, *, language: str | None = None) -> Analysed:
    """The index terms of a text; its language is told from its words unless given."""
    words = _words(text)
    language = language or detect_language(words)
    terms: list[str] = []
    for word in words:
        terms.extend(_terms(word, language))
    return Analysed(language, tuple(terms))


def query_groups(text: str, languages: Iterable[str] = ()) -> list[tuple[str, ...]]:
    """One group for each distinct term asked for, holding its forms in each of the languages.

    Stop words are left out unless nothing else is there. Terms come in the order of the question.
    """
    words = _words(text[:MAX_QUERY_CHARACTERS])
    asked_in = detect_language(words)
    stop_words = STOP_WORDS[asked_in]
    telling = [word for word in words if word.replace("’", "'") not in stop_words] or words
    forms = sorted({ENGLISH, asked_in, *languages} & STOP_WORDS.keys())
    groups: dict[tuple[str, ...], None] = {}
    for word in telling:
        for group in _alternatives(word, forms):
            groups.setdefault(group)
    return list(groups)


def _alternatives(word: str, languages: list[str]) -> list[tuple[str, ...]]:
    """The word's terms position by position, each with its distinct forms."""
    per_language = [_cut(word, language, _query_grams) for language in languages]
    if len({len(terms) for terms in per_language}) > 1:
        return [(term,) for term in dict.fromkeys(term for terms in per_language for term in terms)]
    return [tuple(dict.fromkeys(forms)) for forms in zip(*per_language, strict=True)]


def _words(text: str) -> list[str]:
    folded = unicodedata.normalize("NFKC", text)
    if not folded.isascii():
        folded = _IGNORED.sub("", folded)
        return _WORD.findall(unicodedata.normalize("NFC", folded.casefold()))
    return _WORD.findall(folded.lower())


def _terms(word: str, language: str) -> Sequence[str]:
    # Most words come again and again; a run of Chinese is a sentence, never comes again, and has a hundred terms.
    if word.isascii() and len(word) <= MAX_TERM_CHARACTERS:
        return _remembered_terms(word, language)
    return _cut(word, language, _index_grams)


@lru_cache(maxsize=1 << 16)
def _remembered_terms(word: str, language: str) -> tuple[str, ...]:
    return tuple(_cut(word, language, _index_grams))


def _cut(word: str, language: str, grams: Callable[[str], list[str]]) -> list[str]:
    if word.isalnum() and word.isascii():
        return [_stem(word[:MAX_TERM_CHARACTERS], language)]
    if _NUMBER.fullmatch(word):
        return _number_terms(word)
    parts = _SPLIT.split(word.replace("_", "-"))
    terms = [term for part in _without_clitics(parts, word) for term in _part_terms(part, language, grams)]
    if len(parts) > 1 and _is_identifier(word, parts):
        terms.append(_fold("".join(parts))[:MAX_TERM_CHARACTERS])
    return terms


def _number_terms(word: str) -> list[str]:
    """`1,234.5` and `1.234,5`: 1234 and 1234·5; `1,234` may be either, so both; `1.2.3` by its parts and whole."""
    digits = [_ascii_digits(part) for part in re.split("[.,]", word)]
    if _GROUPED.fullmatch(word):
        whole = "".join(digits)
        return [whole, f"{digits[0]}·{digits[1]}"] if len(digits) == 2 else [whole]
    head, tail = word[: -len(digits[-1]) - 1], digits[-1]
    if len(digits) == 2 or (_GROUPED.fullmatch(head) and word[len(head)] not in head):
        whole = "".join(digits[:-1])
        return [whole[:MAX_TERM_CHARACTERS], f"{whole}·{tail}"[:MAX_TERM_CHARACTERS]]
    return [*(part[:MAX_TERM_CHARACTERS] for part in digits), "·".join(digits)[:MAX_TERM_CHARACTERS]]


def _ascii_digits(digits: str) -> str:
    return digits if digits.isascii() else "".join(str(unicodedata.digit(digit, "")) or digit for digit in digits)


def _without_clitics(parts: list[str], word: str) -> list[str]:
    """`company's` is company and `l'eau` eau: what an apostrophe leaves of one or two letters is no word."""
    if "'" not in word and "’" not in word:
        return parts
    longer = [part for part in parts if len(part) > 2]
    return longer or ["".join(parts)]


def _is_identifier(word: str, parts: list[str]) -> bool:
    """Whether the whole is sought as one: part numbers, file names, e-mail addresses, `e-mail` as email."""
    if "'" in word or "’" in word:
        return len(parts[0]) == 1  # o'neill is sought as oneill, company's never as companys
    if any(character.isdigit() or character in "@_." for character in word):
        return True
    return any(len(part) <= 2 for part in parts) and "/" not in word


def _part_terms(part: str, language: str, grams: Callable[[str], list[str]]) -> list[str]:
    if part.isascii():
        return [_stem(part[:MAX_TERM_CHARACTERS], language)]
    terms: list[str] = []
    for run in _RUNS.findall(part):
        if re.match(f"[{_CJK}{_UNSPACED}]", run):
            terms.extend(grams(run))
        else:
            terms.append(_stem(run[:MAX_TERM_CHARACTERS], language))
    return [term for term in terms if term]


def _index_grams(run: str) -> list[str]:
    """Every character and every pair, so that a question of one character is answered too."""
    return [*run, *_pairs(run)]


def _query_grams(run: str) -> list[str]:
    return _pairs(run) or [run]


def _pairs(run: str) -> list[str]:
    return [run[at : at + 2] for at in range(len(run) - 1)]


@lru_cache(maxsize=1 << 16)
def _stem(word: str, language: str) -> str:
    """The stem without diacritics. English is folded first (naïve is naive); others need their accents to stem."""
    for first, last, script_language in _STEMMER_OF_SCRIPT:
        if first <= word[0] <= last:
            return _fold(_stemmer(script_language)(word))
    if language == ENGLISH:
        word = _fold(word)
    return _fold(_stemmer(language)(word)) or _fold(word)


def _stemmer(language: str) -> Callable[[str], str]:
    """A stemmer of this thread: Snowball's objects keep the word they work on, so two threads must not share one."""
    own: dict[str, Callable[[str], str]] = _THREAD.__dict__
    if language not in own:
        own[language] = Stemmer.Stemmer(language).stemWord
    return own[language]


def _fold(term: str) -> str:
    """Without accents and vowel points; other marks (Indic vowels, kana voicing) are letters and stay."""
    if term.isascii():
        return term
    bare = unicodedata.normalize("NFC", _DIACRITICS.sub("", unicodedata.normalize("NFD", term)))
    return bare.translate(_LATIN_LETTERS)


_LATIN_LETTERS = str.maketrans({"ø": "o", "đ": "d", "ł": "l", "ı": "i", "æ": "ae", "œ": "oe", "ð": "d", "þ": "th"})
