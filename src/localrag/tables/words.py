"""Words of questions about tables: which only ask, which compare, which name what is to be computed."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TypeAlias

import Stemmer

from localrag.tables.plan import Action

Comparison: TypeAlias = str

_STEMMER = Stemmer.Stemmer("english")

WORD = re.compile(r"[^\W_]+")

# Words that say nothing about which rows or columns are meant. Everything that is in none of these lists and names
# no column, value, file or figure makes a question one that is not understood.
FUNCTION = frozenset(
    """a an the all any of in on at to for from with by is are was were be been being do does did has have had having
    where which that whose who what there and it its their this these those we i our my me us you your please per each
    value values column columns table sheet spreadsheet workbook file csv xlsx excel data dataset row rows record
    records entry entries line lines item items equal equals only exactly listed contained found given if when then
    der die das den dem des ein eine einen einem einer im in am an auf aus von vom zu zum mit ist sind war waren hat
    haben und wo wenn deren dessen alle aller allen zeile zeilen eintrag einträge einträgen datei tabelle blatt spalte
    wert werte gibt es mir bitte bei für pro je gleich s""".split()  # noqa: SIM905  200 strings
)
UNITS = frozenset(["euro", "euros", "eur", "dollar", "dollars", "usd", "chf", "gbp", "pounds", "percent", "prozent"])
ROWS = re.compile(
    r"\b(?:rows?|records?|entry|entries|lines?|columns?|spreadsheet|table|sheet|workbook|csv|"
    r"zeilen?|eintr[aä]ge?n?|spalten?|tabelle|blatt)\b"
)
_TELL = (
    "tell me|give me|show me|calculate|compute|determine|find|get|berechne|nenne mir|zeige? mir|sag mir|"
    "(?:can|could|would) you (?:please )?(?:tell me|show me|give me|calculate|compute|find)"
)
FLUFF = re.compile(
    r"^(?:(?:please|bitte|and|so|ok(?:ay)?|hi|hello)[,\s]+|"
    rf"(?:{_TELL})\s+(?=the |what|how|which|who|total|sum|average|number|die |den |wie )|"
    r"(?:what|how much) (?:is|are|was|were)\s+|what['’]s\s+|wie (?:hoch|groß) (?:ist|war|sind)\s+|was ist\s+|"
    r"i (?:want|need|would like) to know\s+)+"
)
COUNT = re.compile(
    r"(?:how many|count(?: up)?(?: of)?|(?:the )?(?:total )?number of|wie ?viele|"
    r"(?:die )?anzahl(?: der| aller| von)?|zähle?)\b"
)
_AGGREGATES: dict[str, Action] = {
    **dict.fromkeys(["sum", "total", "overall", "combined", "summe", "gesamtsumme", "add up", "sum up"], "sum"),
    **dict.fromkeys(["average", "avg", "mean", "durchschnitt", "mittelwert", "durchschnittliche"], "average"),
    **dict.fromkeys(["durchschnittlichen", "durchschnittlicher"], "average"),
    **dict.fromkeys(["median"], "median"),
    **dict.fromkeys(["minimum", "min", "lowest", "smallest", "least", "earliest", "niedrigste", "kleinste"], "lowest"),
    **dict.fromkeys(["maximum", "max", "highest", "largest", "biggest", "greatest", "latest", "höchste"], "highest"),
    **dict.fromkeys(["größte", "höchster", "höchstes", "maximale", "oldest"], "highest"),
}
_AGGREGATES["oldest"] = "lowest"
_NAMES = "|".join(sorted(_AGGREGATES, key=len, reverse=True))
AGGREGATE = re.compile(rf"(?:the |der |die |das )?(?P<name>{_NAMES})\b(?: (?:value|sum|amount)(?= (?:of|in|for)\b))?")
SUPERLATIVE = re.compile(
    r"\b(?:the |den |die |das )?(?P<best>highest|largest|biggest|greatest|most|top|maximum|lowest|smallest|least|"
    r"fewest|minimum|höchsten?|höchste[rs]?|größten?|meisten|niedrigsten?|kleinsten?|wenigsten)\b"
    r"(?: (?P<how>total|overall|combined|summed|sum of|average|mean|median|number of|count of|gesamten?|"
    r"durchschnittlichen?))?"
)
TOP = re.compile(r"(?:the |die )?(?:top|first|best) (?P<count>\d{1,3}|three|five|ten)\b")
COUNTS = {"three": 3, "five": 5, "ten": 10}
WHICH = re.compile(r"(?:which|who|what|welche[rsnm]?|wer)\b")
LIST = re.compile(
    r"(?:list|show(?: me)?|display|which|find|give me|zeige?(?: mir)?|liste|welche)\b(?: all| the| alle)*"
)
DISTINCT = re.compile(r"\b(?:different|distinct|unique|verschiedenen?|unterschiedlichen?)\b")
GROUP_BY = re.compile(
    r"\b(?:grouped by|broken down by|for each|in each|per|by|for every|pro|je|nach|gruppiert nach|für jede[nrs]?)\b"
)
NOT = re.compile(
    r"\b(?:is not|are not|isn['’]t|aren['’]t|was not|not|except(?: for)?|excluding|other than|nicht|außer)\b|!=|<>"
)
EMPTY = re.compile(
    r"\b(?P<not>(?:is|are) not |(?:is|are)n['’]t |not |nicht )?(?:is |are )?(?:empty|blank|missing|leer)\b"
)
OVERALL = re.compile(r"\b(?:in total|overall|altogether|insgesamt|are there|is there|do we have|do i have|gibt es)\b")
OR = re.compile(r"\b(?:or|oder)\b")
BETWEEN = re.compile(r"\b(?:between|zwischen|from|von)\b")
COMPARISONS: tuple[tuple[Comparison, re.Pattern[str]], ...] = (
    (">=", re.compile(r"\b(?:at least|no less than|not less than|mindestens|since|starting from|seit|ab)\b|>=|≥|=>")),
    ("<=", re.compile(r"\b(?:at most|no more than|not more than|up to|höchstens|until|till|through|bis)\b|<=|≤|=<")),
    (
        ">",
        re.compile(
            r"\b(?:(?:more|greater|larger|higher|bigger|later|mehr|größer|höher) (?:than|als)|over|above|"
            r"exceed(?:s|ing)?|after|über|nach)\b|>"
        ),
    ),
    (
        "<",
        re.compile(
            r"\b(?:(?:less|fewer|lower|smaller|earlier|weniger|kleiner|niedriger) (?:than|als)|"
            r"under|below|before|unter|vor)\b|<"
        ),
    ),
)
NUMBER = re.compile(
    r"[-−]?[$€£]?\s?(?<![\w.,])\d[\d.,]*(?:[eE]\d+)?(?: ?(?:thousand|million|billion|mio|k)\b)?(?:\s?[%€$£])?(?![\w])"
)
QUOTED = re.compile(r"\"([^\"]+)\"|“([^”]+)”|„([^“”]+)[“”]|(?<![\w])['‘]([^'’]+)['’](?!\w)")


def action(name: str) -> Action:
    """What a word of AGGREGATE asks for."""
    return _AGGREGATES[name]


def stems(text: str) -> tuple[str, ...]:
    """The stems of all words."""
    return tuple(stem(match.group()) for match in WORD.finditer(text))


@lru_cache(maxsize=16384)
def stem(word: str) -> str:
    """The word without its ending."""
    stemmed: str = _STEMMER.stemWord(word.casefold())
    return stemmed
