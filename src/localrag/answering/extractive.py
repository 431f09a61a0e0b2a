"""The best sentences of the hits, word for word: an answer without a language model."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from localrag.answering.context import Passage
from localrag.answering.sentences import Span, sentence_spans
from localrag.retrieval.words import content_words, stems
from localrag.types import Hit

# Weights tuned on the 2,000 answerable questions of SQuAD 2.0 dev (benchmarks/extractive.py says how well they do).
_PASSAGE_SHARE = 0.35  # of a question word's weight, when it stands in the passage but not in the sentence
_NEIGHBOUR_SHARE = 0.5  # when it stands in the sentence before
_PHRASE = 0.3  # for question words that stand side by side in both
_CUE = 0.25  # for a sentence that holds the kind of thing that was asked for
_REPEATS_QUESTION = 0.2  # of its score, for a sentence that has no word beyond the question's
_TORN = 0.8  # of its score, for one whose beginning was lost: SQuAD has none, so this is by eye, on two-column PDFs
_RANK = 0.25  # for the first hit, falling with the rank
# A sentence that shares this much of its words with one already chosen adds nothing.
_REPEATED = 0.7
# Later quotes must be at least this good, compared to the first.
_WORTH = 0.5
_LONGEST_QUOTE = 600

_NUMBER_ASKED = re.compile(
    r"\b(?:how (?:many|much|long|old|far|tall|high|large|big|fast|often)|what (?:percent\w*|number|amount|proportion)|"
    r"wie ?viele?|wie (?:lange|hoch|alt|weit|oft|groß)|combien|cuánt\w+)\b",
    re.IGNORECASE,
)
_TIME_ASKED = re.compile(
    r"\b(?:when|(?:what|which|in what|in which) (?:year|date|day|month|century|decade)|since when|wann|quand|cuándo)\b",
    re.IGNORECASE,
)
_NAME_ASKED = re.compile(r"\b(?:who|whom|whose|where|wer|wem|wen|wessen|wo|qui|où|quién|dónde)\b", re.IGNORECASE)
_TIME = re.compile(
    r"\b(?:1\d{3}|20\d{2})\b|\bcentur|\b(?:January|February|March|April|May|June|July|August|September|October|"
    r"November|December)\b|\b\d{1,2}[./]\d{1,2}[./]\d{2,4}\b|\b\d{4}-\d{2}-\d{2}\b"
)
_NUMBER = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|hundred|thousand|million|billion|half)\b",
    re.IGNORECASE,
)
_NAME = re.compile(r"(?<![.!?] )(?<!^)\b[A-ZÀ-ÖØ-ÞЀ-Я][\w’'-]+")
_TABLE_RULE = re.compile(r"\|?[\s:|-]+\|?")
_CELL_BORDER = re.compile(r"(?<!\\)\|")
_BRACKETS = {")": "(", "]": "["}
# How soon a bracket that was opened before the sentence closes; further on, the lost `(` was a slip of the writer.
_TAIL_OF_BRACKET = 120
_LIST_LABEL = re.compile(r"[(\[]?(?:\d{1,3}|[A-Za-z]|[ivxIVX]{1,5})[.)\]]")


@dataclass(frozen=True, slots=True)
class Extract:
    """A sentence or table row of a passage, with the table's header if it has one elsewhere."""

    passage: Passage
    span: Span
    score: float
    header: str = ""

    @property
    def quote(self) -> str:
        return self.passage.text[self.span[0] : self.span[1]]

    @property
    def line(self) -> str:
        """`“quote” [file, p.X]`, on one line and without list or heading signs; a table row as `Column: cell · ...`."""
        shown = re.sub(r"^(?:#{1,6}|[-*+•]|>)\s+", "", " ".join(self.quote.split()))
        if shown.startswith("|"):
            return f"{_row(shown, self.header)} {self.passage.marker}"
        return f"“{'… ' if _is_torn(shown) else ''}{shown}” {self.passage.marker}"


@dataclass(frozen=True, slots=True)
class _Candidate:
    passage: Passage
    span: Span
    own: frozenset[str]
    words: frozenset[str]
    before: frozenset[str]
    header: str
    phrases: frozenset[tuple[str, str]]
    torn: bool


def extract(question: str, hits: Sequence[Hit], *, limit: int = 3) -> list[Extract]:
    """At most `limit` sentences that answer best, best first; none when no hit shares a word with the question."""
    asked = content_words(question)
    candidates = [candidate for number, hit in enumerate(hits, 1) for candidate in _candidates(number, hit)]
    scorer = _Scorer(question, asked, candidates)
    scored = [(scorer.score(candidate), candidate) for candidate in candidates]
    ranked = sorted(
        (item for item in scored if item[0] > 0 or not asked),
        key=lambda item: (-item[0], item[1].passage.number, item[1].span),
    )
    return _diverse(ranked, limit)


def _candidates(number: int, hit: Hit) -> list[_Candidate]:
    passage = Passage(number=number, hit=hit, text=hit.chunk.text)
    found: list[_Candidate] = []
    before: frozenset[str] = frozenset()
    for start, end in sentence_spans(passage.text):
        if _is_header(passage.text, end):
            continue
        header = _header(passage, start)
        whole = _after_torn_bracket(passage.text, start, end)
        torn = whole > start or _is_torn(passage.text[start:end])
        start, end = whole, _shortened(passage.text, whole, end)
        sequence = [word for word in stems(passage.text[start:end]) if word]
        own = frozenset(sequence)
        # A cell means what its column is called: the header counts as part of the row.
        words = own | content_words(header)
        phrases = frozenset(pairwise(sequence))
        found.append(_Candidate(passage, (start, end), own, words, before, header, phrases, torn))
        before = own
    return found


def _is_torn(sentence: str) -> bool:
    """Whether the beginning was lost at the edge of a passage or a column: the first word, no list label, is small."""
    return not _LIST_LABEL.match(sentence) and sentence[:80].partition(" ")[0].islower()


def _after_torn_bracket(text: str, start: int, end: int) -> int:
    """Where the sentence goes on behind a bracket that closes but was not opened in it; `start` when there is none.

    A passage may begin inside `(https://...)`; that tail says nothing.
    """
    if _LIST_LABEL.match(text, start, end):
        return start
    waiting: list[str] = []
    for at in range(start, min(end, start + _TAIL_OF_BRACKET)):
        if text[at] in _BRACKETS.values():
            waiting.append(text[at])
        elif text[at] in _BRACKETS and (not waiting or waiting.pop() != _BRACKETS[text[at]]):
            behind = end - len(text[at + 1 : end].lstrip(" \n\t.,;:"))
            return behind if end - behind > at - start else start
    return start


def _shortened(text: str, start: int, end: int) -> int:
    """Where to end a sentence so that it is short enough to quote: between words."""
    if end - start <= _LONGEST_QUOTE:
        return end
    gap = text.rfind(" ", start + 1, start + _LONGEST_QUOTE)
    return gap if gap > 0 else start + _LONGEST_QUOTE


class _Scorer:
    """Scores sentences against one question; higher is better, the sum of the weights above at most."""

    def __init__(self, question: str, asked: frozenset[str], candidates: Sequence[_Candidate]) -> None:
        seen = Counter(word for candidate in candidates for word in candidate.words & asked)
        # A word that every sentence has tells none apart.
        self._weight = {word: math.log(1 + len(candidates) / (seen[word] + 0.5)) for word in asked}
        self._total = sum(self._weight.values()) or 1.0
        self._asked = asked
        sequence = [word for word in stems(question) if word]
        self._phrases = frozenset(pairwise(sequence))
        self._question = question
        self._passage_words: dict[int, frozenset[str]] = {}

    def score(self, candidate: _Candidate) -> float:
        here = self._asked & candidate.words
        around = (self._asked & self._around(candidate.passage)) - here
        if not (here or around):
            return 0.0
        near = around & candidate.before
        if not candidate.own - self._asked:  # it only repeats the question, like a heading
            return _REPEATS_QUESTION * self._sum(here) / self._total
        share = self._sum(here) + _NEIGHBOUR_SHARE * self._sum(near) + _PASSAGE_SHARE * self._sum(around - near)
        phrase = len(self._phrases & candidate.phrases) / len(self._phrases) if self._phrases else 0.0
        rank = _RANK / candidate.passage.hit.rank
        score = share / self._total + _PHRASE * phrase + _CUE * self._cue(candidate) + rank
        return _TORN * score if candidate.torn else score

    def _sum(self, words: frozenset[str]) -> float:
        return sum(self._weight[word] for word in words)

    def _around(self, passage: Passage) -> frozenset[str]:
        known = self._passage_words.get(passage.number)
        if known is None:
            chunk = passage.hit.chunk
            known = content_words("\n".join([passage.hit.document, *chunk.heading_path, chunk.prefix, passage.text]))
            self._passage_words[passage.number] = known
        return known

    def _cue(self, candidate: _Candidate) -> float:
        """1 when the sentence holds the kind of thing that was asked for, beyond what the question itself names."""
        text = candidate.passage.text[candidate.span[0] : candidate.span[1]]
        if _TIME_ASKED.search(self._question):
            return float(bool(_TIME.search(text)))
        if _NUMBER_ASKED.search(self._question):
            return float(bool(_NUMBER.search(text)))
        if _NAME_ASKED.search(self._question):
            return float(any(content_words(name) - self._asked for name in _NAME.findall(text)))
        return 0.0


def _diverse(ranked: Sequence[tuple[float, _Candidate]], limit: int) -> list[Extract]:
    chosen: list[tuple[float, _Candidate]] = []
    for score, candidate in ranked:
        if len(chosen) == limit or (chosen and score < _WORTH * chosen[0][0]):
            break
        if all(_overlap(candidate.own, other.own) < _REPEATED for _, other in chosen):
            chosen.append((score, candidate))
    return [Extract(c.passage, c.span, score, c.header) for score, c in chosen]


def _overlap(one: frozenset[str], other: frozenset[str]) -> float:
    union = len(one | other)
    return len(one & other) / union if union else 1.0


def _is_header(text: str, end: int) -> bool:
    """Whether the line that ends here names the columns of a table: a rule follows."""
    following = text[end:].lstrip("\n").partition("\n")[0].strip()
    return "-" in following and "|" in following and bool(_TABLE_RULE.fullmatch(following))


def _header(passage: Passage, start: int) -> str:
    """The column names of the table whose row starts here; empty for other text."""
    text = passage.text
    if not text.startswith("|", start):
        return ""
    above = text[:start].splitlines()
    table: list[str] = []
    while above and above[-1].lstrip().startswith("|"):
        table.insert(0, above.pop())
    if len(table) < 2 or not _TABLE_RULE.fullmatch(table[1].strip()):  # a part of a split table: its header is apart
        table = [line for line in passage.hit.chunk.prefix.splitlines() if line.startswith("|")]
    return " | ".join(_cells(table[0])) if table else ""


def _cells(row: str) -> list[str]:
    """The cells of a line `| a | b |`; a bar inside a cell stays escaped."""
    return [cell.strip() for cell in _CELL_BORDER.split(row.strip().removeprefix("|").removesuffix("|"))]


def _row(row: str, header: str) -> str:
    """`Quarter: Q3 · Revenue: 1,234.50`; without column names the cells alone, empty ones left out."""
    cells, names = _cells(row), _CELL_BORDER.split(header)
    named = [name.strip() for name in names] if len(names) == len(cells) else [""] * len(cells)
    pairs = [f"{name}: {cell}" if name else cell for name, cell in zip(named, cells, strict=True) if cell]
    return " · ".join(pairs).replace("\\|", "|")
