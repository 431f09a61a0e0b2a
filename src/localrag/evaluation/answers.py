"""Answers -> how good they are: the gold answer in them, what they cite, what they refuse."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from localrag.chunking.sentences import sentence_starts
from localrag.evaluation.beir import BeirDataset, EntryId, QueryId
from localrag.evaluation.gold import holds_gold, is_gold, is_telling
from localrag.types import Answer, AnswerMode, Citation, Confidence, DocumentId, Message

Ask: TypeAlias = Callable[[str, Sequence[Message]], Answer]
"""Question and the turns before it -> the product's answer."""
EntryOf: TypeAlias = Callable[[DocumentId, int], EntryId | None]
"""Document and page ordinal -> the corpus entry that this page is."""

_LEVELS: tuple[Confidence, ...] = ("high", "medium", "low")


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question with all that is known about its right answer; `relevant` is empty when there is none."""

    id: QueryId
    text: str
    history: tuple[Message, ...] = ()
    gold: tuple[str, ...] = ()
    relevant: frozenset[EntryId] = frozenset()

    @property
    def answerable(self) -> bool:
        """Whether the corpus answers it."""
        return bool(self.relevant)


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedAnswer:
    """One answer and what it is worth. A measure is None where the question does not allow it.

    text: the answer, with the entry in each marker.
    exact, contained: the answer without its markers is a gold answer, or holds one. Refusing an answerable question
        is a miss.
    first_quote: the first citation's quote holds a gold answer.
    cited: the entries cited, in order, each once; right_citations: how many of all `citations` point to a relevant
        entry or to a passage that holds a gold answer.
    citation_recall: the share of the relevant entries that are cited; a refusal cites none.
    unsupported, sentences: how many sentences were marked as such, and of how many.
    """

    query: QueryId
    question: str
    answerable: bool
    gold: tuple[str, ...]
    text: str
    refused: bool
    mode: AnswerMode
    confidence: Confidence
    cited: tuple[EntryId, ...]
    citations: int
    right_citations: int
    citation_recall: float | None
    exact: bool | None
    contained: bool | None
    first_quote: bool | None
    unsupported: int
    sentences: int
    milliseconds: float

    @property
    def citation_precision(self) -> float | None:
        """The share of right ones among the citations of an answerable question; None when nothing was cited."""
        return self.right_citations / self.citations if self.answerable and self.citations else None

    @property
    def decided(self) -> bool:
        """Whether it was right to answer, or to refuse."""
        return self.refused != self.answerable


def questions(dataset: BeirDataset, limit: int | None = None) -> list[Question]:
    """Those that the corpus answers, then those that it does not; of each kind at most `limit`, evenly spread."""
    answerable = [
        Question(
            id=query,
            text=text,
            history=dataset.histories.get(query, ()),
            gold=dataset.gold.get(query, ()),
            relevant=frozenset(entry for entry, relevance in dataset.qrels[query].items() if relevance),
        )
        for query, text in dataset.queries.items()
    ]
    others = [
        Question(id=query, text=text, history=dataset.histories.get(query, ()))
        for query, text in dataset.unanswerable.items()
    ]
    return [*_spread(answerable, limit), *_spread(others, limit)]


def _spread(items: Sequence[Question], limit: int | None) -> list[Question]:
    """At most so many, from the first to the last at equal distances: the head of a file is often about one thing."""
    if limit is None or limit >= len(items):
        return list(items)
    return [items[number * len(items) // limit] for number in range(limit)]


def judge(question: Question, answer: Answer, entry_of: EntryOf) -> JudgedAnswer:
    """What the answer to the question is worth."""
    said = "" if answer.refused else _marked(answer, [" "] * len(answer.citations))
    entries = [entry_of(citation.document_id, citation.page_ordinal) for citation in answer.citations]
    cited = tuple(dict.fromkeys(entry for entry in entries if entry is not None))
    passages = {hit.chunk.id: hit.chunk.text for hit in answer.hits}
    telling = [gold for gold in question.gold if is_telling(gold)]
    right = [
        entry in question.relevant or holds_gold(passages.get(citation.chunk_id, citation.quote), telling)
        for entry, citation in zip(entries, answer.citations, strict=True)
    ]
    has_gold = bool(question.gold) and question.answerable
    return JudgedAnswer(
        query=question.id,
        question=question.text,
        answerable=question.answerable,
        gold=question.gold,
        text=_marked(answer, [f"[{entry}]" for entry in entries]),
        refused=answer.refused,
        mode=answer.mode,
        confidence=answer.confidence,
        cited=cited,
        citations=len(entries),
        right_citations=sum(right) if question.answerable else 0,
        citation_recall=len(question.relevant & set(cited)) / len(question.relevant) if question.answerable else None,
        exact=is_gold(said, question.gold) if has_gold else None,
        contained=holds_gold(said, question.gold) if has_gold else None,
        first_quote=holds_gold(_first_quote(answer.citations), question.gold) if has_gold else None,
        unsupported=len(answer.unsupported),
        sentences=0 if answer.refused else _sentences(answer.text),
        milliseconds=answer.timings.total,
    )


def _marked(answer: Answer, marks: Sequence[str]) -> str:
    """The text with these in place of its markers, which name files that were made up for the corpus."""
    text = answer.text
    for citation, mark in zip(answer.citations, marks, strict=True):
        text = text.replace(citation.marker, mark)
    return text


def _first_quote(citations: Sequence[Citation]) -> str:
    return citations[0].quote if citations else ""


def _sentences(text: str) -> int:
    """How many sentences; what stands on lines of its own is at least one."""
    lines = [line for line in text.splitlines() if any(char.isalnum() for char in line)]
    return sum(1 + len(sentence_starts(line, 0, len(line))) for line in lines)


def summarise(judged: Sequence[JudgedAnswer]) -> dict[str, float | None]:
    """The measures over all answers; None where no answer allows one. Counts are whole numbers.

    `by_model` counts the answers that were the model's to give, those it was spared for want of evidence included.
    Means are over the questions that have the measure. `refusal_*` take refusing for the finding and an unanswerable
    question for what is to be found; without unanswerable questions there are none. `unsupported` is the
    share of all sentences. `right_at_*` is the share of answers of this confidence that hold the gold answer, where
    an answer to an unanswerable question is wrong.
    """
    refused = [answer for answer in judged if answer.refused]
    unanswerable = [answer for answer in judged if not answer.answerable]
    rightly = sum(answer.refused for answer in unanswerable)
    written = sum(answer.sentences for answer in judged)
    return {
        "questions": len(judged),
        "unanswerable": len(unanswerable),
        "with_gold": sum(answer.contained is not None for answer in judged),
        "by_model": sum(answer.mode == "llm" for answer in judged),
        "exact": _mean([answer.exact for answer in judged]),
        "contained": _mean([answer.contained for answer in judged]),
        "first_quote": _mean([answer.first_quote for answer in judged]),
        "citation_precision": _mean([answer.citation_precision for answer in judged]),
        "citation_recall": _mean([answer.citation_recall for answer in judged]),
        "refusal_precision": rightly / len(refused) if unanswerable and refused else None,
        "refusal_recall": rightly / len(unanswerable) if unanswerable else None,
        "refusal_f1": 2 * rightly / (len(refused) + len(unanswerable)) if unanswerable else None,
        "unsupported": sum(answer.unsupported for answer in judged) / written if written else None,
        **{f"right_at_{level}": _right_at(judged, level) for level in _LEVELS},
        "milliseconds": _mean([answer.milliseconds for answer in judged]),
    }


def _right_at(judged: Sequence[JudgedAnswer], level: Confidence) -> float | None:
    at = [answer for answer in judged if answer.confidence == level]
    return _mean([answer.contained if answer.answerable else False for answer in at])


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def per_question(judged: Sequence[JudgedAnswer]) -> dict[str, Mapping[QueryId, float]]:
    """The measures that can be compared question by question: value of each question that has them."""
    return {
        "contained": {answer.query: float(answer.contained) for answer in judged if answer.contained is not None},
        "citation_recall": {
            answer.query: answer.citation_recall for answer in judged if answer.citation_recall is not None
        },
        "decided": {answer.query: float(answer.decided) for answer in judged},
    }
