"""Which legacy encoding makes the bytes the likeliest text.

A small generative model per encoding: each character of the decoded text has the probability of its class divided by
the size of the class, so an encoding wins by turning the bytes into few, common characters of its own language. Classes
come from the standards themselves (level 1 of JIS X 0208, GB 2312 and Big5 holds the characters of everyday text), not
from a trained table. Single-byte encodings are told apart by the letters their languages use and by the rule that
capitals and symbols do not stand inside words. Measured on the 400 languages of the UDHR sample in
tests/shared/test_shared_encoding.py.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

# The likelihood of a character no model expects: about one in the 140,000 of Unicode, times rarity.
_UNLIKELY = math.log(1e-7)
_ASCII_LETTER, _ASCII_OTHER = math.log(1 / 30), math.log(1 / 60)
_CONTROL = math.log(1e-8)


@dataclass(frozen=True, slots=True)
class Model:
    """How likely a character is in the texts that are written in one encoding."""

    encoding: str
    log_probability: Callable[[str], float]
    single_byte: bool


def likeliest(data: bytes, *, whole: bool) -> str:
    """The name of the encoding under which the bytes are the likeliest text; cp1252 when none decodes them.

    Args:
        data: the bytes, or the first of them.
        whole: False when the bytes may end in the middle of a character.
    """
    best, best_score = "cp1252", -math.inf
    for model in _models():
        text = _decode(data, model.encoding, whole)
        if text is None:
            continue
        score = sum(model.log_probability(char) * count for char, count in _counts(text))
        if model.single_byte:
            score += _word_penalty(text)
        if score > best_score:
            best, best_score = model.encoding, score
    return best


def _counts(text: str) -> list[tuple[str, int]]:
    counts: dict[str, int] = {}
    for char in text:
        counts[char] = counts.get(char, 0) + 1
    return list(counts.items())


def _decode(data: bytes, encoding: str, whole: bool) -> str | None:
    for cut in range(1 if whole else 4):
        try:
            return data[: len(data) - cut].decode(encoding)
        except UnicodeDecodeError:
            continue
    return None


def _between(first: int, last: int) -> set[str]:
    return {chr(code) for code in range(first, last + 1)}


def _plane(encoding: str, first: int, last: int, trails: tuple[range, ...]) -> set[str]:
    """The characters with these lead bytes in a two-byte encoding."""
    found = set()
    for lead in range(first, last + 1):
        for trail in (byte for part in trails for byte in part):
            try:
                found.add(bytes((lead, trail)).decode(encoding))
            except UnicodeDecodeError:
                continue
    return found


def _by_class(*classes: tuple[float, set[str]]) -> Callable[[str], float]:
    """Log-probabilities from (share of the text, characters) pairs; the first class that holds a character counts."""
    table: dict[str, float] = {}
    for share, chars in classes:
        value = math.log(share / len(chars))
        for char in chars:
            table.setdefault(char, value)

    def log_probability(char: str) -> float:
        if char in table:
            return table[char]
        if char < "\x80":
            return (
                _CONTROL
                if (char < " " and char not in "\t\r\n\f") or char == "\x7f"
                else (_ASCII_LETTER if char.isalpha() or char in " \n\r," else _ASCII_OTHER)
            )
        return _UNLIKELY

    return log_probability


_HIGH = (range(0xA1, 0xFF),)
_CJK_MARKS = set("、。，．・：；？！「」『』（）〈〉《》“”‘’…—～　％＋－＝／＊＃＆＠￥①②③④⑤")
_FULL_WIDTH = _between(0xFF01, 0xFF5E)


def _cjk_models() -> list[Model]:
    kana, katakana = _between(0x3041, 0x3096), _between(0x30A1, 0x30FC)
    kanji_1, kanji_2 = _plane("euc_jp", 0xB0, 0xCF, _HIGH), _plane("euc_jp", 0xD0, 0xF4, _HIGH)
    japanese = _by_class(
        (0.45, kana), (0.15, katakana), (0.3, kanji_1), (0.01, kanji_2), (0.08, _CJK_MARKS), (0.005, _FULL_WIDTH),
        (0.0005, _plane("cp932", 0xED, 0xFC, (range(0x40, 0xFD),)) - kanji_1 - kanji_2),
        (0.001, _between(0xFF61, 0xFF9F)),
    )  # fmt: skip
    level_1, level_2 = _plane("gb2312", 0xB0, 0xD7, _HIGH), _plane("gb2312", 0xD8, 0xF7, _HIGH)
    simplified = _by_class(
        (0.88, level_1), (0.03, level_2), (0.08, _CJK_MARKS), (0.005, _FULL_WIDTH),
        (0.001, _between(0x4E00, 0x9FFF)), (0.0005, kana | katakana),
    )  # fmt: skip
    big5_trails = (range(0x40, 0x7F), range(0xA1, 0xFF))
    common, rare = _plane("big5", 0xA4, 0xC6, big5_trails), _plane("big5", 0xC9, 0xF9, big5_trails)
    traditional = _by_class(
        (0.89, common), (0.01, rare), (0.08, _CJK_MARKS), (0.005, _FULL_WIDTH), (0.0005, _between(0x4E00, 0x9FFF)),
    )  # fmt: skip
    hangul = _plane("euc_kr", 0xB0, 0xC8, _HIGH)
    korean = _by_class(
        (0.93, hangul), (0.005, _between(0xAC00, 0xD7A3)), (0.03, _CJK_MARKS), (0.005, _FULL_WIDTH),
        (0.005, _plane("euc_kr", 0xCA, 0xFD, _HIGH)),
    )  # fmt: skip
    return [
        Model("cp932", japanese, False), Model("euc_jp", japanese, False), Model("gb18030", simplified, False),
        Model("big5hkscs", traditional, False), Model("cp949", korean, False),
    ]  # fmt: skip


# Letters beyond ASCII by how usual they are in the languages of an encoding, commonest first.
_WESTERN = "éäàöüèóíáêçñâôîåøæïëûùßúìòãõÉÄÖÜÀœÇÅØÑÁÓÍÚÈÊÆÎÔÂŒÃÕÿýÝþðÞÐÒÙÌËÏÛŸžšŽŠ"
_CENTRAL = "íáéěščřžýóůąęłńśźżćőűúďťňăâîșţşöüäđôľĺŕŁŚŻŹČŠŘŽÁÉÍÓÚÝŐŰĄĘĆŃĎŤŇĂÂÎŞŢÖÜÄĐÔĽĹŔßçë"
_RUSSIAN = "оеаинтсрвлкмдпуяыьгзбчйхжшюцщэфъёіїєґўОЕАИНТСРВЛКМДПУЯЫЬГЗБЧЙХЖШЮЦЩЭФЪЁІЇЄҐЎјљњћђџѓќѕЈЉЊЋЂЏ"
_GREEK = "αοιετσνηυρπκμλςάίόέήώύδγωχθφβξζψϊϋΐΰΑΟΙΕΤΣΝΗΥΡΠΚΜΛΔΓΩΧΘΦΒΞΖΨΆΈΉΊΌΎΏ"
_TURKISH = "ıişğüöçİŞĞÜÖÇâîûÂÎÛ"
_BALTIC = "āīēšūņļģķčžėąęįųāīūŠŽČĀĪĒŪŅĻĢĶĖĄĘĮŲõäöüÕÄÖÜ"
_VIETNAMESE = "đăâêôơưàáéèíìóòúùýĐĂÂÊÔƠƯ"
_HEBREW = "".join(sorted(_between(0x05D0, 0x05EA)))
_ARABIC = "".join(sorted(_between(0x0621, 0x064A))) + "،؟؛پچژگ"
_THAI = "".join(sorted(_between(0x0E01, 0x0E3A) | _between(0x0E3F, 0x0E5B)))
_MARKS = "“”‘’–—…•«»„©®°·§€£¡¿±²³½¼×´ºª№\xa0"


def _alphabet(letters: str, share: float) -> Callable[[str], float]:
    """Ranked letters fall off as 1/rank, as letters do in every alphabet (Zipf); the rest are typographic marks."""
    unique = list(dict.fromkeys(letters))
    total = sum(1 / (rank + 4) for rank in range(len(unique)))
    table = {char: math.log(share * 0.97 / (rank + 4) / total) for rank, char in enumerate(unique)}
    marks = {char: math.log(0.004 / len(_MARKS)) for char in _MARKS}
    plain = _by_class((1.0, {"\x80"}))

    def log_probability(char: str) -> float:
        found = table.get(char)
        if found is None:
            found = marks.get(char)
        if found is None:
            found = plain(char) if char < "\x80" else math.log(1e-6) if char.isalpha() else math.log(1e-7)
        return found

    return log_probability


def _single_byte_models() -> list[Model]:
    # Share: letters beyond ASCII among all characters, about 5% in Latin alphabets, nearly all in others.
    rows = (
        ("cp1252", _WESTERN, 0.05), ("cp1250", _CENTRAL, 0.08), ("cp1251", _RUSSIAN, 0.75), ("koi8_r", _RUSSIAN, 0.75),
        ("cp866", _RUSSIAN, 0.75), ("iso8859_5", _RUSSIAN, 0.75), ("mac_cyrillic", _RUSSIAN, 0.7),
        ("koi8_u", _RUSSIAN, 0.7),
        ("cp1253", _GREEK, 0.75), ("iso8859_7", _GREEK, 0.7), ("cp1254", _TURKISH, 0.05), ("cp1255", _HEBREW, 0.75),
        ("cp1256", _ARABIC, 0.75), ("iso8859_6", _ARABIC, 0.7), ("cp1257", _BALTIC, 0.06),
        ("cp1258", _VIETNAMESE, 0.06),
        ("cp874", _THAI, 0.9), ("iso8859_2", _CENTRAL, 0.07), ("cp437", _WESTERN, 0.02), ("cp850", _WESTERN, 0.02),
        ("mac_roman", _WESTERN, 0.02),
    )  # fmt: skip
    return [Model(encoding, _alphabet(letters, share), True) for encoding, letters, share in rows]


@lru_cache(maxsize=1)
def _models() -> list[Model]:
    return _cjk_models() + _single_byte_models()


_WORD = re.compile(r"[^\W\d_]+")
_SYMBOL_IN_WORD = re.compile(r"(?<=[^\W\d_])[^\w\s\x00-\x7f’‘·\xad\xa0”“–—…»«](?=[^\W\d_])")
# What one violation costs: as much as three unexpected letters in a row would.
_VIOLATION = -6.0


def _word_penalty(text: str) -> float:
    """Minus something for each capital after a small letter, each word of two scripts, each symbol within a word."""
    violations = len(_SYMBOL_IN_WORD.findall(text))
    for word in set(_WORD.findall(text)):
        if word.isascii():
            continue
        if any(one.islower() and two.isupper() and two > "\x7f" for one, two in pairwise(word)):
            violations += 1
        if not word.isupper() and len(word) > 1 and any(char.isupper() and char > "\x7f" for char in word[1:]):
            violations += 1
        scripts = {_script(char) for char in word}
        violations += len(scripts) - 1
    return violations * _VIOLATION


def _script(char: str) -> str:
    code = ord(char)
    if code < 0x250 or 0x1E00 <= code < 0x1F00:
        return "latin"
    return "greek" if code < 0x400 else "cyrillic" if code < 0x530 else f"block {code >> 8}"
