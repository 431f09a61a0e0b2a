"""Whether a passage says what a sentence claims: its figures, and enough of its words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from localrag.answering.context import Passage
from localrag.answering.figures import figures, missing_figures
from localrag.answering.names import missing_names, names
from localrag.answering.sentences import Span, sentence_spans
from localrag.retrieval.words import content_words

# A claim is supported when these shares of its words, by weight, stand in the passage: of all of them, and of those
# that the question does not have. Measured on 600 questions of SQuAD 2.0 dev, put into a sentence with an answer: with
# its own answer 0.99 are supported; with another question's, 0.03 (without the second share 0.26).
SUPPORT = 0.55
NEW_SUPPORT = 0.5
# What a claim adds to the question must stand near the question's words: in a sentence with half of it, or the one
# before, or the headings, stand this share of them. Held-out questions of benchmarks/verification.py: of true claims
# .97 are supported instead of .99, of those with another answer from the same paragraph .74 instead of .99.
NEARNESS = 0.3
# A reply of so few words beyond the question's is an answer to it and no sentence of its own.
_BARE = 8
# Words that the question already holds prove little: an invented answer repeats them too.
_QUESTION_WEIGHT = 0.5
# Names carry the answer more often than other words do.
_NAME_WEIGHT = 2.0


@dataclass(frozen=True)
class Source:
    """A packed passage with what it says, worked out once."""

    passage: Passage

    @cached_property
    def evidence(self) -> str:
        """The passage with its headings, table header and file name: all of it may hold a claim's words."""
        hit = self.passage.hit
        return "\n".join([hit.document, *hit.chunk.heading_path, hit.chunk.prefix, self.passage.text])

    @cached_property
    def words(self) -> frozenset[str]:
        return content_words(self.evidence)

    @cached_property
    def own_words(self) -> frozenset[str]:
        """Those of the passage's text alone."""
        return content_words(self.passage.text)

    @cached_property
    def spans(self) -> list[Span]:
        return sentence_spans(self.passage.text) or [(0, len(self.passage.text))]

    @cached_property
    def label_words(self) -> frozenset[str]:
        """Those of the file's name and the headings."""
        return content_words("\n".join([self.passage.hit.document, *self.passage.hit.chunk.heading_path]))

    @cached_property
    def windows(self) -> list[tuple[frozenset[str], frozenset[str]]]:
        """The words of each sentence, and those together with the sentence's surroundings.

        A row of a table has all of the passage around it: its header may be anywhere above.
        """
        hit = self.passage.hit
        above = self.label_words | content_words(hit.chunk.prefix)
        own = [content_words(self.passage.text[start:end]) for start, end in self.spans]
        if any(self.passage.text.startswith("|", start) for start, _ in self.spans):
            return [(words, self.words) for words in own]
        return [(words, words | before | above) for words, before in zip(own, [frozenset[str](), *own], strict=False)]

    def quote(self, claim: str) -> Span:
        """Offsets in the passage of the sentence that says most of the claim; the first of equals."""
        wanted = content_words(claim)
        text = self.passage.text

        def shared(span: Span) -> tuple[float, int]:
            sentence = text[span[0] : span[1]]
            found = content_words(sentence)
            overlap = len(wanted & found)
            numbers = len(figures(claim)) - len(missing_figures(claim, sentence))
            return overlap + numbers + overlap / (len(found) + 1), -span[0]

        return max(self.spans, key=shared)


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence of an answer, to be held against passages: its words with their weights, and its figures."""

    text: str
    weights: Mapping[str, float]
    new: frozenset[str]
    figures: int
    asked: frozenset[str] = frozenset()

    @classmethod
    def of(cls, sentence: str, question: str) -> Claim:
        """The sentence with the weight of each of its words, given what was asked."""
        asked = content_words(question)
        named = content_words(" ".join(names(sentence))) - asked
        weights = {
            word: _QUESTION_WEIGHT if word in asked else _NAME_WEIGHT if word in named else 1.0
            for word in content_words(sentence)
            if not word.isdigit()  # figures have many notations and are compared apart
        }
        return cls(sentence, weights, frozenset(weights.keys() - asked), len(figures(sentence)), asked)

    @property
    def says_something(self) -> bool:
        return bool(self.weights or self.figures)

    def coverage(self, sources: Sequence[Source]) -> float:
        """The share in [0, 1], by weight, of the claim's words and figures that the sources together hold."""
        words = frozenset[str]().union(*(source.words for source in sources))
        found = sum(weight for word, weight in self.weights.items() if word in words)
        numbers = _NAME_WEIGHT * (self.figures - len(self._missing(sources)))
        total = sum(self.weights.values()) + _NAME_WEIGHT * self.figures
        return (found + numbers) / total if total else 0.0

    def is_supported_by(self, sources: Sequence[Source]) -> bool:
        """Whether the sources together hold every figure and name and enough of the words, not all in headings."""
        if self.wrong(sources) or self.coverage(sources) < SUPPORT or self._new_coverage(sources) < NEW_SUPPORT:
            return False
        if not any(self._is_near(source) for source in sources):
            return False
        return bool(self.figures) or any(source.own_words & self.weights.keys() for source in sources)

    def wrong(self, sources: Sequence[Source]) -> list[str]:
        """The claim's figures, months and names, as written, that the sources do not have."""
        evidence = "\n".join(source.evidence for source in sources)
        return self._missing(sources) + missing_names(self.text, evidence, asked=self.asked)

    def best(self, sources: Iterable[Source]) -> Source | None:
        """The one source that supports the claim by itself, the best covered, then the first."""
        able = [source for source in sources if self.is_supported_by([source])]
        return max(able, key=lambda source: (self.coverage([source]), -source.passage.number), default=None)

    def _new_coverage(self, sources: Sequence[Source]) -> float:
        """The share in [0, 1], by weight, of the words that the question does not have; 1 when there are none."""
        total = sum(self.weights[word] for word in self.new)
        found = frozenset[str]().union(*(source.words for source in sources))
        return sum(self.weights[word] for word in self.new & found) / total if total else 1.0

    def _is_near(self, source: Source) -> bool:
        """Whether what the claim adds to the question stands in the source where it speaks of what was asked."""
        context = self._context
        if not self.new or not context:
            return True
        if self.repeats_label(source):
            return False
        return any(
            2 * len(self.new & words) >= len(self.new) and len(context & around) >= NEARNESS * len(context)
            for words, around in source.windows
        )

    def repeats_label(self, source: Source) -> bool:
        """Whether this is but the passage's name, which small models give for an answer."""
        if not self.weights or not self.weights.keys() <= source.label_words:
            return False
        return not missing_figures(self.text, f"{source.passage.number} {source.passage.label}")

    @property
    def _context(self) -> frozenset[str]:
        """The question's words that the claim is about; none for a sentence that hardly takes up the question."""
        return self.asked if self._is_bare else self.asked & self.weights.keys()

    @property
    def _is_bare(self) -> bool:
        return len(self.weights) <= _BARE and not self.asked & self.weights.keys()

    def _missing(self, sources: Sequence[Source]) -> list[str]:
        if not self.figures:
            return []
        return missing_figures(self.text, "\n".join(source.evidence for source in sources))
