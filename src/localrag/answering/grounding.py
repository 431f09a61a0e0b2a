"""A finished reply held against its passages, sentence by sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from localrag.answering.citations import CitationReader, Cited, Grammar
from localrag.answering.context import Passage
from localrag.answering.figures import figures
from localrag.answering.quotes import PageLookup, quote
from localrag.answering.refusal import is_refusal, says_refusal
from localrag.answering.sentences import Span, sentence_spans
from localrag.answering.verify import Claim, Source
from localrag.types import Citation

# Of several passages cited together, one that holds less than this share of the claim proves nothing of it.
_CONTRIBUTION = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class Grounded:
    """A reply with its citations set right.

    claims: how many sentences claim something; `supported` of them are held by a cited passage.
    wrong: for each of the unsupported sentences its figures and names that the sources lack, as written.
    refused: the reply only says that the documents do not hold the answer.
    """

    text: str
    citations: tuple[Citation, ...]
    unsupported: tuple[str, ...]
    wrong: tuple[tuple[str, ...], ...]
    claims: int
    supported: int
    refused: bool


@dataclass(slots=True)
class _Anchor:
    """Citations at a place in the reply's plain text."""

    at: int
    lead: str
    passages: tuple[int, ...]


@dataclass(slots=True)
class _Sentence:
    start: int
    end: int
    text: str
    anchors: list[_Anchor]

    @property
    def cited(self) -> tuple[int, ...]:
        return tuple(dict.fromkeys(number for anchor in self.anchors for number in anchor.passages))

    @property
    def is_claim(self) -> bool:
        """Headings and lead-ins ("The fees are:") claim nothing, unless they carry figures or citations."""
        if self.anchors or figures(self.text):
            return True
        bare = self.text.rstrip("*_ ")
        return not (bare.endswith(":") or self.text.startswith("#"))


class Grounding:
    """Checks replies to one question against its passages.

    Args:
        passages: numbered from 1, as the prompt had them.
        page: looks up the page that a quote must be found on.
    """

    def __init__(self, question: str, passages: Sequence[Passage], grammar: Grammar, page: PageLookup) -> None:
        self._question = question
        self._sources = [Source(passage) for passage in passages]
        self._grammar = grammar
        self._page = page

    def ground(self, reply: str) -> Grounded:
        """The reply with wrong citations replaced, missing ones added, and what nothing supports named."""
        plain, anchors = self._read(reply)
        citations: list[Citation] = []
        unsupported: list[str] = []
        wrong: list[tuple[str, ...]] = []
        claims = 0
        sentences = _sentences(plain, anchors)
        refusals = [sentence for sentence in sentences if is_refusal(sentence.text)]
        for sentence in sentences:
            claim = Claim.of(sentence.text, self._question)
            if not sentence.is_claim or not (claim.says_something or sentence.anchors):
                continue  # a bare "Yes [1]." goes on: it cannot be checked, and its citation is shown as such
            if sentence in refusals and (not sentence.anchors or says_refusal(sentence.text)):
                self._uncite(sentence)  # "not" stands in nearly every passage: it must not find a refusal a proof
                continue
            proof = self._proof(claim, sentence, anchors)
            if not proof and sentence in refusals:
                continue
            if not proof and any(claim.repeats_label(source) for source in self._sources):
                self._uncite(sentence)  # it says nothing that a page could hold
            claims += 1
            citations.extend(self._citations(claim, sentence, proved=bool(proof)))
            if not proof:
                unsupported.append(sentence.text)
                cited = [self._sources[number - 1] for number in sentence.cited]
                wrong.append(tuple(claim.wrong(cited or self._sources)))
        supported = claims - len(unsupported)
        return Grounded(
            text=self._rendered(plain, anchors),
            citations=tuple(citations),
            unsupported=tuple(unsupported),
            wrong=tuple(wrong),
            claims=claims,
            supported=supported,
            refused=bool(refusals) and supported == 0,
        )

    def _read(self, reply: str) -> tuple[str, list[_Anchor]]:
        """The reply without its citations, and where they were."""
        reader = CitationReader(self._grammar)
        plain = ""
        anchors: list[_Anchor] = []
        for part in [*reader.feed(reply.strip()), *reader.close()]:
            if isinstance(part, Cited):
                anchors.append(_Anchor(len(plain), part.lead, part.passages))
            else:
                plain += part
        return plain, anchors

    def _proof(self, claim: Claim, sentence: _Sentence, anchors: list[_Anchor]) -> list[Source]:
        """The cited sources when they support the claim, else the one that does, cited in their place."""
        cited = [self._sources[number - 1] for number in sentence.cited]
        if claim.is_supported_by(cited):
            return cited
        used = {number for anchor in anchors for number in anchor.passages}
        preferred = [source for source in self._sources if source.passage.number in used]
        better = claim.best(preferred) or claim.best(self._sources)
        if better is None:
            return []
        number = better.passage.number
        if sentence.anchors:
            for anchor in sentence.anchors:
                anchor.passages = ()
            sentence.anchors[-1].passages = (number,)
        else:
            anchor = _Anchor(_before_full_stop(sentence), " ", (number,))
            anchors.append(anchor)
            sentence.anchors.append(anchor)
        return [better]

    @staticmethod
    def _uncite(sentence: _Sentence) -> None:
        for anchor in sentence.anchors:
            anchor.passages = ()

    def _citations(self, claim: Claim, sentence: _Sentence, *, proved: bool) -> list[Citation]:
        """One citation for each distinct marker of the sentence: the passage behind it that says most of the claim."""
        by_marker: dict[str, Source] = {}
        for number in sentence.cited:
            source = self._sources[number - 1]
            rival = by_marker.get(source.passage.marker)
            if rival is None or claim.coverage([source]) > claim.coverage([rival]):
                by_marker[source.passage.marker] = source
        return [
            quote(
                source.passage,
                source.quote(sentence.text),
                self._page,
                verified=proved and claim.coverage([source]) >= _CONTRIBUTION,
            )
            for source in by_marker.values()
        ]

    def _rendered(self, plain: str, anchors: list[_Anchor]) -> str:
        parts: list[str] = []
        at = 0
        for anchor in sorted(anchors, key=lambda anchor: anchor.at):
            parts.append(plain[at : anchor.at])
            at = anchor.at
            if anchor.passages:
                parts.append(anchor.lead + self._grammar.text(anchor.passages))
        return "".join([*parts, plain[at:]]).strip()


def _sentences(plain: str, anchors: list[_Anchor]) -> list[_Sentence]:
    """The sentences, each with the citations that stand in it, at its end, or before it at the start of a line."""
    sentences = [_Sentence(start, end, plain[start:end], []) for start, end in _spans(plain, anchors)]
    for anchor in anchors:
        before = [sentence for sentence in sentences if sentence.start < anchor.at]
        after = [sentence for sentence in sentences if sentence.start >= anchor.at]
        leads = after and "\n" not in plain[anchor.at : after[0].start]
        if before and not (leads and "\n" in plain[before[-1].end : anchor.at]):
            before[-1].anchors.append(anchor)
        elif after:
            after[0].anchors.append(anchor)
    return sentences


def _spans(plain: str, anchors: list[_Anchor]) -> list[Span]:
    """Sentence spans; a citation at the end of a line ends a sentence even without a full stop."""
    cuts = [a.at for a in anchors if plain[a.at :].lstrip(" .;,").startswith("\n")]
    borders = [0, *(plain.index("\n", cut) for cut in cuts), len(plain)]
    return [(start + a, start + b) for start, stop in pairwise(borders) for a, b in sentence_spans(plain[start:stop])]


def _before_full_stop(sentence: _Sentence) -> int:
    stripped = sentence.text.rstrip(".!?…。！？")
    return sentence.start + len(stripped)
