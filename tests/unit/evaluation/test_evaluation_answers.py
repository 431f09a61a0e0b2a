"""What answers are worth, worked out by hand."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from localrag.evaluation.answers import Question, judge, per_question, questions, summarise
from localrag.evaluation.beir import BeirDataset, CorpusEntry
from localrag.types import Answer, AnswerMode, Chunk, Citation, Confidence, Hit, Message, Timings

REFUSAL = "I could not find this in your documents."
PASSAGES = {"d1": "A mooring costs nine euros.", "d2": "Wear a lifejacket.", "d3": "Nine euros buy a soup."}


def hit(document: str) -> Hit:
    text = PASSAGES[document]
    chunk = Chunk(
        id=f"{document}_0", document_id=document, index=0, page_ordinal=1, text=text, start=0, end=len(text),
        token_count=5,
    )  # fmt: skip
    return Hit(chunk=chunk, document=f"{document}.md", rank=1, score=1.0, scale="rrf")


def cited(document: str, quote: str = "") -> Citation:
    return Citation(
        marker=f"[{document}.md]", chunk_id=f"{document}_0", document_id=document, document=f"{document}.md", page=None,
        label=None, page_ordinal=1, quote=quote or PASSAGES[document], start=0, end=1, verified=True,
    )  # fmt: skip


def answer(
    text: str,
    *citations: Citation,
    refused: bool = False,
    unsupported: Sequence[str] = (),
    confidence: Confidence = "high",
    mode: AnswerMode = "llm",
    milliseconds: float = 100.0,
) -> Answer:
    return Answer(
        question="?", text=text, citations=citations, confidence="none" if refused else confidence, refused=refused,
        mode=mode, model="m", unsupported=tuple(unsupported), queries=("?",), hits=tuple(map(hit, PASSAGES)),
        left_out=(), timings=Timings(retrieval=1.0, first_token=None, total=milliseconds),
    )  # fmt: skip


def entry_of(document: str, ordinal: int) -> str | None:
    return f"e{document[1:]}" if ordinal == 1 else None


PRICE = Question(id="q1", text="What is a mooring?", gold=("nine euros",), relevant=frozenset({"e1", "e4"}))
NOWHERE = Question(id="u1", text="Who built it?")


def test_an_answer_with_its_citations() -> None:
    """d1 is relevant; d3 is not but holds "nine euros"; d2 neither. Of the relevant e1 and e4, e1 is cited."""
    found = judge(
        PRICE,
        answer("It costs nine euros [d1.md]. Soup too [d3.md]. Wear it [d2.md].", *map(cited, PASSAGES)),
        entry_of,
    )
    assert (found.exact, found.contained, found.first_quote) == (False, True, True)
    assert found.text == "It costs nine euros [e1]. Soup too [e3]. Wear it [e2]."
    assert found.cited == ("e1", "e2", "e3")
    assert (found.citations, found.right_citations) == (3, 2)
    assert found.citation_precision == pytest.approx(2 / 3)
    assert found.citation_recall == 0.5
    assert (found.sentences, found.decided) == (3, True)


def test_markers_are_not_part_of_the_answer() -> None:
    assert judge(PRICE, answer("Nine euros. [d1.md]", cited("d1")), entry_of).exact is True
    other = Question(id="q", text="?", gold=("d1.md",), relevant=frozenset({"e1"}))
    assert judge(other, answer("Nine euros. [d1.md]", cited("d1")), entry_of).contained is False


def test_the_first_quote_is_looked_at_by_itself() -> None:
    """The second citation holds the answer; the first quote does not."""
    found = judge(PRICE, answer("Wear it. Nine euros.", cited("d2"), cited("d1")), entry_of)
    assert (found.contained, found.first_quote) == (True, False)


def test_refusing_what_can_be_answered_is_a_miss() -> None:
    found = judge(PRICE, answer(REFUSAL, refused=True), entry_of)
    assert (found.contained, found.exact, found.decided) == (False, False, False)
    assert (found.citation_precision, found.citation_recall, found.sentences) == (None, 0.0, 0)


def test_an_unanswerable_question_has_no_right_citation() -> None:
    found = judge(NOWHERE, answer("Wear it [d2.md].", cited("d2")), entry_of)
    assert (found.contained, found.citation_precision, found.citation_recall) == (None, None, None)
    assert (found.decided, found.right_citations) == (False, 0)
    assert judge(NOWHERE, answer(REFUSAL, refused=True), entry_of).decided


def test_a_yes_is_no_reason_to_call_a_passage_right() -> None:
    asked = Question(id="q", text="?", gold=("yes",), relevant=frozenset({"e9"}))
    found = judge(asked, answer("Yes, it does.", cited("d2", "Yes, wear it.")), entry_of)
    assert (found.contained, found.right_citations) == (True, 0)


def test_the_summary_of_five_answers() -> None:
    """Two of four refusals are right (P .5), of three unanswerable questions two are refused (R 2/3): F1 4/7."""
    judged = [
        judge(PRICE, answer("Nine euros [d1.md]. Really.", cited("d1"), unsupported=["Really."]), entry_of),
        judge(PRICE, answer("Wear it [d2.md].", cited("d2"), confidence="low", milliseconds=300.0), entry_of),
        judge(PRICE, answer(REFUSAL, refused=True), entry_of),
        judge(PRICE, answer(REFUSAL, refused=True), entry_of),
        judge(NOWHERE, answer(REFUSAL, refused=True), entry_of),
        judge(NOWHERE, answer(REFUSAL, refused=True), entry_of),
        judge(NOWHERE, answer("Wear it.", mode="extractive"), entry_of),
    ]
    found = summarise(judged)
    assert (found["questions"], found["unanswerable"], found["with_gold"], found["by_model"]) == (7, 3, 4, 6)
    assert (found["contained"], found["exact"], found["first_quote"]) == (0.25, 0.0, 0.25)
    assert found["citation_precision"] == 0.5  # 1 and 0; the others cite nothing
    assert found["citation_recall"] == pytest.approx((0.5 + 0 + 0 + 0) / 4)
    assert (found["refusal_precision"], found["refusal_recall"]) == (0.5, pytest.approx(2 / 3))
    assert found["refusal_f1"] == pytest.approx(4 / 7)
    assert found["unsupported"] == 0.25  # one sentence of 2 + 1 + 1
    assert (found["right_at_high"], found["right_at_medium"], found["right_at_low"]) == (0.5, None, 0.0)
    assert found["milliseconds"] == pytest.approx(900 / 7)


def test_nothing_is_claimed_about_refusals_when_all_can_be_answered() -> None:
    found = summarise([judge(PRICE, answer("Nine euros."), entry_of)])
    assert (found["refusal_precision"], found["refusal_recall"], found["refusal_f1"]) == (None, None, None)


def test_questions_are_compared_by_what_they_have() -> None:
    judged = [judge(PRICE, answer("Nine euros."), entry_of), judge(NOWHERE, answer("Nine euros."), entry_of)]
    assert per_question(judged) == {
        "contained": {"q1": 1.0}, "citation_recall": {"q1": 0.0}, "decided": {"q1": 1.0, "u1": 0.0}
    }  # fmt: skip


def test_a_limit_takes_of_each_kind_evenly_from_the_whole_set() -> None:
    """Of ten, three at 0, 10/3 and 20/3: 0, 3 and 6; of two unanswerable ones both."""
    names = [f"q{number}" for number in range(10)]
    said = (Message(role="user", content="before"),)
    dataset = BeirDataset(
        name="set",
        corpus=(CorpusEntry(id="e", text="text"), CorpusEntry(id="f", text="text")),
        queries={name: name.upper() for name in names},
        qrels={name: {"e": 1, "f": 0} for name in names},
        gold={"q3": ("three",)},
        unanswerable={"u0": "U0", "u1": "U1"},
        histories={"q3": said, "u1": said},
    )
    found = questions(dataset, 3)
    assert [question.id for question in found] == ["q0", "q3", "q6", "u0", "u1"]
    assert found[1] == Question(id="q3", text="Q3", history=said, gold=("three",), relevant=frozenset({"e"}))
    assert found[4] == Question(id="u1", text="U1", history=said)
    assert len(questions(dataset)) == 12
