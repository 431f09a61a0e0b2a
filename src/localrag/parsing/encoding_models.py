"""Which legacy encoding makes the bytes the likeliest text.

A small generative model per encoding: each character of the decoded text has the probability of its class divided by
the size of the class, so an encoding wins by turning the bytes into few, common characters of its own language. Classes
come from the standards themselves (level 1 of JIS X 0208, GB 2312 and Big5 holds the characters of everyday text), not
from a trained table. Single-byte encodings are told apart by the letters their languages use and by the rule that
capitals and symbols do not stand inside words. Measured on 41 pairs of language and encoding, cut to different lengths:
tests/shared/test_shared_encoding.py has the figures.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

# The likelihood of a character no model expects: about one in the 140,000 of Unicode, times rarity.
_UNLIKELY = math.log(1e-7)
_ASCII_LETTER, _ASCII_OTHER = math.log(1 / 30), math.log(1 / 60)
_CONTROL = math.log(1e-8)
# A sample longer than this may have been cut within a character; in a short one an odd byte is evidence.
_WHOLE_BYTES = 8 * 1024


@dataclass(frozen=True, slots=True)
class Model:
    """How likely a character is in each language that is written in one encoding."""

    encoding: str
    languages: tuple[Callable[[str], float], ...]
    handicap: float
    single_byte: bool


def likeliest(data: bytes) -> str:
    """The name of the encoding under which the bytes are the likeliest text; cp1252 when none decodes them.

    Long samples may end in the middle of a character.
    """
    best, best_score = "cp1252", -math.inf
    for model in _models():
        text = _decode(data, model.encoding)
        if text is None:
            continue
        counts = Counter(text).items()
        score = max(sum(language(char) * count for char, count in counts) for language in model.languages)
        score += model.handicap + _word_penalty(text)
        if score > best_score:
            best, best_score = model.encoding, score
    return best


def _decode(data: bytes, encoding: str) -> str | None:
    for cut in range(4 if len(data) > _WHOLE_BYTES else 1):
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


def _ascii(char: str) -> float:
    if char == "\x7f" or (char < " " and char not in "\t\r\n\f"):
        return _CONTROL
    return _ASCII_LETTER if char.isalpha() or char in " \n\r," else _ASCII_OTHER


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
        return _ascii(char) if char < "\x80" else _UNLIKELY

    return log_probability


_HIGH = (range(0xA1, 0xFF),)
_CJK_MARKS = set("、。，．・：；？！「」『』（）〈〉《》“”‘’…—～　％＋－＝／＊＃＆＠￥①②③④⑤")
_FULL_WIDTH = _between(0xFF01, 0xFF5E)

# The hundred commonest characters make up two fifths of modern Chinese text (Jun Da, 2004); here are some of them.
_FREQUENT_SIMPLIFIED = (
    "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里用道行所然家种事成方多"
    "经么去法学如都同现当没动面起看定天分还进好小部其些主样理心她本前开但因只从想实日者意无力它与长把机十民第公此已"
)
_FREQUENT_TRADITIONAL = (
    "的一是不了在人有我他這個們中來上大為和國地到以說時要就出會可也你對生能而子那得於著下自之年過發後作里用道行所然家種事成方多"
    "經麼去法學如都同現當沒動面起看定天分還進好小部其些主樣理心她本前開但因只從想實日者意無力它與長把機十民第公此已"
)


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
        (0.35, set(_FREQUENT_SIMPLIFIED)),
        (0.55, level_1), (0.03, level_2), (0.08, _CJK_MARKS), (0.005, _FULL_WIDTH),
        (0.001, _between(0x4E00, 0x9FFF)), (0.0005, kana | katakana),
    )  # fmt: skip
    big5_trails = (range(0x40, 0x7F), range(0xA1, 0xFF))
    common, rare = _plane("big5", 0xA4, 0xC6, big5_trails), _plane("big5", 0xC9, 0xF9, big5_trails)
    traditional = _by_class(
        (0.35, set(_FREQUENT_TRADITIONAL)),
        (0.55, common), (0.01, rare), (0.08, _CJK_MARKS), (0.005, _FULL_WIDTH), (0.0005, _between(0x4E00, 0x9FFF)),
    )  # fmt: skip
    hangul = _plane("euc_kr", 0xB0, 0xC8, _HIGH)
    korean = _by_class(
        (0.93, hangul), (0.005, _between(0xAC00, 0xD7A3)), (0.03, _CJK_MARKS), (0.005, _FULL_WIDTH),
        (0.005, _plane("euc_kr", 0xCA, 0xFD, _HIGH)),
    )  # fmt: skip
    rows = (("cp932", japanese), ("euc_jp", japanese), ("gb18030", simplified), ("big5hkscs", traditional),
            ("cp949", korean))  # fmt: skip
    return [Model(encoding, (language,), 0.0, False) for encoding, language in rows]


# The letters beyond ASCII of each language, commonest first, by the encodings it was written in. One line a language,
# since a text has the letters of one language: that tells French from Czech, which share many bytes.
_WESTERN = (
    "éèàêçôîâùûœëïÉÀÇÊÈ", "äüößÄÖÜé", "óíáéñúüÑÁÉÍÓÚ¿¡", "ãçáéíóêúõâàÃÁÉÇÓÍÚÊÕ", "àèùòéìÈÀ", "äåöéÄÅÖ", "øåæéØÅÆ",
    "áíóúéðþýæöÁÍÓÞÐÉÖÆÚ", "àèéíòóúïüç·ÀÈÉÍÒ", "ëéïöèüó",
)  # fmt: skip
_CENTRAL = (
    "łąężśćóńźŁŚŻĆÓŹ", "íáěéýčřžšůúóďťňČŘŠŽÚÁÍÝ", "áíéýčžšľťúôňďäóŕĺČŠŽĽŤÚÁÍ", "áéöőóíüúűÁÉÖŐÓÍÜÚŰ", "ăîâşţĂÎÂŞŢ",
    "čšžćđČŠŽĆĐ",
)  # fmt: skip
_BALTIC = ("ėšžųįūąčęŠŽČĖĮŪ", "āīēšūņļģķčžĀĪĒŠŪŅĻĢĶČŽ", "äõüöšžÄÕÜÖŠŽ")
_RUSSIAN = (
    "оеаинтсрвлкмдпуяыьгзбчйхжшюцщэфъёОЕАИНТСРВЛКМДПУЯЫЬГЗБЧЙХЖШЮЦЩЭФЪЁ",
    "оаниівтереслкдумпязьбгчхцйжїюєшщфґОАНИІВТЕРСЛКДУМПЯЗБГЧХЦЙЖЇЮЄШЩФҐ",
    "аоиенрсјтвулдкмпзгбчњцшљжхћђфџАОИЕНРСЈТВУЛДКМПЗГБЧЊЦШЉЖХЋЂФЏ",
)
_GREEK = ("αοιετσνηυρπκμλςάίόέήώύδγωχθφβξζψϊϋΐΰΑΟΙΕΤΣΝΗΥΡΠΚΜΛΔΓΩΧΘΦΒΞΖΨΆΈΉΊΌΎΏ",)
_TURKISH = ("ıişğüöçİŞĞÜÖÇâîûÂ",)
_VIETNAMESE = ("đăâêôơưàáèéìíòóùúýĐĂÂÊÔƠƯ\u0300\u0301\u0303\u0309\u0323",)
_HEBREW = ("יוהלאתרמבשנםדעחקפכטגסזןצךףץ",)
_ARABIC = ("ايلنومرتبدعفسهقكحجةأشصىخطضذثغئزإءؤآظ،ًُِّ", "ایونردمتهسکشبلزگخپعقجفحچطآصضغئظذثءژ،")
_THAI = ("านรอกเงมยลวดทสตะปบคหแจ่้ีิัุูำ์ืึพชขใไโผณศธซถภญษฐฟฉ็ฎฏฬ๊๋ฯๆฮฝฤฆฌฑฒฃฅ",)
_MARKS = "“”‘’–—…•«»„©®°·§€£¡¿±²³½¼×´ºª№\xa0"
# What a codec must be better by to be taken for one more in use, in units of log-likelihood (a letter is about 4).
_FIRST, _COMMON, _OLD, _RARE = 0.0, -2.0, -5.0, -8.0
_SINGLE_BYTE: tuple[tuple[str, tuple[str, ...], float], ...] = (
    ("cp1252", _WESTERN, _FIRST),
    ("cp1250", _CENTRAL, _COMMON),
    ("cp1251", _RUSSIAN, _COMMON),
    ("cp1253", _GREEK, _COMMON),
    ("cp1254", _TURKISH, _COMMON),
    ("cp1255", _HEBREW, _COMMON),
    ("cp1256", _ARABIC, _COMMON),
    ("cp1257", _BALTIC, _COMMON),
    ("cp874", _THAI, _COMMON),
    ("koi8_r", _RUSSIAN, _OLD),
    ("koi8_u", _RUSSIAN, _OLD),
    ("cp866", _RUSSIAN, _OLD),
    ("cp850", _WESTERN, _OLD),
    ("cp1258", _VIETNAMESE, _OLD),
    ("iso8859_2", _CENTRAL, _OLD),
    ("iso8859_6", _ARABIC, _OLD),
    ("iso8859_7", _GREEK, _OLD),
    ("iso8859_5", _RUSSIAN, _RARE),
    ("mac_cyrillic", _RUSSIAN, _RARE),
    ("mac_roman", _WESTERN, _RARE),
    ("cp852", _CENTRAL, _RARE),
)
# Shares of text: the language's own letters against marks such as quotation marks; a letter of another language.
_OWN, _MARK, _FOREIGN, _SYMBOL = 0.9, 0.05, math.log(2e-5), math.log(1e-6)


def _alphabet(letters: str) -> Callable[[str], float]:
    """Ranked letters fall off as 1/rank, as letters do in every alphabet (Zipf); the rest are typographic marks."""
    total = sum(1 / (rank + 4) for rank in range(len(letters)))
    table = {char: math.log(_MARK / len(_MARKS)) for char in _MARKS}
    table |= {char: math.log(_OWN / (rank + 4) / total) for rank, char in enumerate(letters)}
    table |= {chr(code): _ascii(chr(code)) for code in range(128)}

    def log_probability(char: str) -> float:
        found = table.get(char)
        if found is None:
            found = _FOREIGN if char.isalpha() else _CONTROL if not char.isprintable() else _SYMBOL
        return found

    return log_probability


def _single_byte_models() -> list[Model]:
    return [
        Model(encoding, tuple(_alphabet(letters) for letters in languages), handicap, True)
        for encoding, languages, handicap in _SINGLE_BYTE
    ]


@lru_cache(maxsize=1)
def _models() -> list[Model]:
    return _cjk_models() + _single_byte_models()


_WORD = re.compile(r"[^\W\d_]+")
_SYMBOL_IN_WORD = re.compile(
    r"(?<=[^\W\d_])[^\w\s\x00-\x7f’‘·\xad\xa0”“–—…»«\u0300-\u036f\u0591-\u05c7\u064b-\u0652\u0e31-\u0e4e](?=[^\W\d_])"
)
# A letter beyond ASCII beside a digit is a sign (degree, plus-minus, euro) misread, such a sign behind a letter is a
# letter misread, and a final Hebrew letter inside a word is one of another alphabet.
_MISREAD_SIGN = re.compile(
    r"(?![\x00-\x7fªº²³¹\u3040-\uffff])[^\W\d_]\d|\d(?![\x00-\x7fªº\u3040-\uffff])[^\W\d_]"
    r"|[^\W\d_][±¹¿¡£¥¤¦¬¶¼½¾]|[ךםןףץ][א-ת]"
)
# A Latin letter that touches one of another alphabet, as happens only in a wrong reading; Han and kana may touch any.
_TOUCHING = re.compile(r"[A-Za-z][\u0370-\u1cff]|[\u0370-\u1cff][A-Za-z]")
_TOUCHING_HAN = re.compile(r"[a-z][\u3040-\u9fff\uac00-\ud7a3]|[\u3040-\u9fff\uac00-\ud7a3][a-z]")
# What one violation costs: about as much as one unlikely letter more; of Han, which touch letters in brand names, less.
_VIOLATION, _HAN_VIOLATION = -6.0, -3.0


def _word_penalty(text: str) -> float:
    """Minus something for each capital inside a word, each change of script in it, each symbol within it."""
    violations = sum(len(sign.findall(text)) for sign in (_SYMBOL_IN_WORD, _TOUCHING, _MISREAD_SIGN))
    for word in _WORD.findall(text):
        if not word.isascii() and not word.isupper():
            # An ASCII capital may follow (McGregor, iPhone); one beyond ASCII inside a word is a misread byte.
            violations += any(char.isupper() and char > "\x7f" for char in word[1:])
    return violations * _VIOLATION + len(_TOUCHING_HAN.findall(text)) * _HAN_VIOLATION
