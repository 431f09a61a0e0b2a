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
from localrag.answering.words import content_words, stems
from localrag.types import Hit

# Weights tuned on the 2,000 answerable questions of SQuAD 2.0 dev (benchmarks/extractive.py says how well they do).
_PASSAGE_SHARE = 0.35  # of a question word's weight, when it stands in the passage but not in the sentence
_NEIGHBOUR_SHARE = 0.5  # when it stands in the sentence before
_PHRASE = 0.3  # for question words that stand side by side in both
_CUE = 0.25  # for a sentence that holds the kind of thing that was asked for
_REPEATS_QUESTION = 0.2  # of its score, for a sentence that has no word beyond the question's
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
        """`“quote” [file, p.X]`, on one line and without list or heading signs."""
        shown = re.sub(r"^(?:#{1,6}|[-*+•]|>)\s+", "", " ".join(self.quote.split()))
        header = f" (columns: {self.header})" if self.header else ""
        return f"“{shown}”{header} {self.passage.marker}"


@dataclass(frozen=True, slots=True)
class _Candidate:
    passage: Passage
    span: Span
    own: frozenset[str]
    words: frozenset[str]
    before: frozenset[str]
    header: str
    phrases: frozenset[tuple[str, str]]


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
        end = _shortened(passage.text, start, end)
        sequence = [word for word in stems(passage.text[start:end]) if word]
        own = frozenset(sequence)
        # A cell means what its column is called: the header counts as part of the row.
        words = own | content_words(header)
        found.append(_Candidate(passage, (start, end), own, words, before, header, frozenset(pairwise(sequence))))
        before = own
    return found


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
        return share / self._total + _PHRASE * phrase + _CUE * self._cue(candidate) + rank

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
    return " | ".join(cell.strip() for cell in table[0].strip().strip("|").split("|")) if table else ""
