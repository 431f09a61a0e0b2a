"""The path of a question, from hits to a checked answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from localrag.answering.answer import Answerer
from localrag.answering.prompts import REFUSAL
from localrag.errors import BackendTimeout, BackendUnavailable
from localrag.types import Answer, Message

DOWN = BackendUnavailable("Ollama is not running.", service="Ollama", url="u", hint="Start it with: ollama serve")
SILENT = BackendTimeout("Ollama was silent for 5 s.", service="Ollama", url="u", hint="Set LOCALRAG_LLM_TIMEOUT_S.")


@pytest.fixture
def ask(library: Any, words: Any) -> Callable[..., tuple[str, Answer]]:
    """What was shown while streaming, and the answer."""

    def run(llm: Any, question: str, *, context_tokens: int = 3000, **options: Any) -> tuple[str, Answer]:
        answerer = Answerer(llm=llm, counter=words, page=library.page, context_tokens=context_tokens)
        *pieces, last = answerer.stream(question, search=library.search, **options)
        assert isinstance(last, Answer)
        return "".join(pieces), last

    return run


def test_numbers_become_markers_while_streaming(ask: Any, model: Any) -> None:
    shown, answer = ask(model("Employees get 25 days of annual leave [1]."), "How many days of leave?")
    assert shown == "Employees get 25 days of annual leave [handbook.pdf, p.4]."
    assert answer.text == shown
    assert (answer.mode, answer.model, answer.refused, answer.notice) == ("llm", "scripted", False, "")
    (citation,) = answer.citations
    assert citation.quote == "Employees get 25 days of annual leave."
    assert (citation.document, citation.page, citation.verified) == ("handbook.pdf", 4, True)
    assert answer.confidence == "high"


def test_every_quote_is_found_on_its_page(ask: Any, model: Any, library: Any) -> None:
    reply = "Leave is 25 days [1]. The vault code of Mira Falk is 7316 [2]. Revenue in Q3 was 1234.5 [3]."
    _, answer = ask(model(reply), "Tell me about leave, the vault code and revenue in Q3")
    assert len(answer.citations) == 3
    for citation in answer.citations:
        page = library.page(citation.document_id, citation.page_ordinal)
        assert page.markdown[citation.start : citation.end] == citation.quote
        assert citation.verified


def test_a_wrong_figure_is_unsupported_though_the_words_match(ask: Any, model: Any) -> None:
    _, answer = ask(model("The vault code of Mira Falk is 7317 [2]."), "What is the vault code of Mira Falk?")
    assert answer.unsupported == ("The vault code of Mira Falk is 7317.",)
    assert answer.wrong == (("7317",),)
    assert [citation.verified for citation in answer.citations] == [False]
    assert answer.confidence == "low"
    assert not answer.refused


def test_a_wrong_name_is_unsupported_though_the_other_words_match(ask: Any, model: Any) -> None:
    _, answer = ask(model("Contact Mira Holm in HR about annual leave [1]."), "Who is to be contacted about leave?")
    assert answer.unsupported == ("Contact Mira Holm in HR about annual leave.",)
    assert answer.wrong == (("Holm",),)


def test_what_stands_elsewhere_in_the_passage_is_no_answer(shelf: Any, words: Any, model: Any) -> None:
    shelf.put("rules.txt", "The hall opens at nine on Monday. Dogs stay outside. A choir sings in the chapel.")
    question = "When does the hall open?"
    answers = [
        Answerer(llm=model(reply), counter=words, page=shelf.page).answer(question, search=shelf.search)
        for reply in ("At nine on Monday [1].", "In the chapel [1].", "rules.txt [1]")
    ]
    assert [bool(answer.unsupported) for answer in answers] == [False, True, True]
    assert answers[2].citations == ()  # the passage's name is no claim


def test_nothing_supported_on_weak_evidence_is_a_refusal(shelf: Any, words: Any, model: Any) -> None:
    shelf.put("rules.txt", "The hall opens at nine on Monday.")
    # hall, owner, wife, name: one of four, so -4.89 + (5.32 + 3.11) / 4 = -2.78 and the model is asked (0.058 > 0.05).
    answerer = Answerer(llm=model("Her name is Ada Moss [1]."), counter=words, page=shelf.page)
    answer = answerer.answer("What is the name of the wife of the owner of the hall?", search=shelf.search)
    assert (answer.refused, answer.text, answer.citations) == (True, REFUSAL, ())


def test_a_copied_passage_title_is_no_claim(ask: Any, model: Any) -> None:
    probe = model("")
    ask(probe, "What is the vault code of Mira Falk?")
    sent = probe.sent[0][0][-1].content
    title = next(line for line in sent.splitlines() if line.startswith("Passage 2 ("))
    for copied in (title, title.removesuffix(":")):
        _, answer = ask(model(f"[2] {copied} The vault code is 7316."), "What is the vault code of Mira Falk?")
        assert "Passage" not in answer.text
        assert answer.unsupported == ()
        assert [citation.verified for citation in answer.citations] == [True]


def test_an_invented_number_is_dropped(ask: Any, model: Any) -> None:
    shown, answer = ask(model("Unused leave expires on 31 March [99]."), "When does leave expire?")
    assert shown == "Unused leave expires on 31 March."
    assert answer.text == "Unused leave expires on 31 March [handbook.pdf, p.4]."  # the passage that does support it


def test_an_invented_file_is_dropped(ask: Any, model: Any) -> None:
    shown, answer = ask(model("The moon is made of cheese [moon.pdf, p.4]."), "What is the vault code of Mira Falk?")
    assert shown == answer.text == "The moon is made of cheese."
    assert answer.citations == ()
    assert answer.unsupported == ("The moon is made of cheese.",)


def test_a_citation_of_the_wrong_passage_moves_to_the_right_one(ask: Any, model: Any) -> None:
    _, answer = ask(model("The vault code of Mira Falk is 7316 [1]."), "What is the vault code?")
    assert answer.text == "The vault code of Mira Falk is 7316 [notes.txt]."
    assert [(c.document, c.verified) for c in answer.citations] == [("notes.txt", True)]


def test_weak_evidence_is_refused_without_the_model(ask: Any, model: Any) -> None:
    llm = model("Zebras are striped [1].")
    shown, answer = ask(llm, "Zebra astronomy?")
    assert (shown, answer.text, answer.refused, answer.confidence) == (REFUSAL, REFUSAL, True, "none")
    assert llm.sent == []
    assert answer.citations == ()


def test_no_hits_are_refused(shelf: Any, words: Any, model: Any) -> None:
    answerer = Answerer(llm=model("x"), counter=words, page=shelf.page)
    assert answerer.answer("What is the leave?", search=shelf.search).refused


@pytest.mark.parametrize(
    "reply",
    [
        REFUSAL,
        "I couldn't find this in the provided documents.",
        "The passages do not contain information about the vault [1].",
        f"{REFUSAL} The capital of France is Paris.",
    ],
)
def test_a_refusal_in_other_words_becomes_the_one_sentence(ask: Any, model: Any, reply: str) -> None:
    _, answer = ask(model(reply), "Which vault was built in Paris?")
    assert (answer.text, answer.refused, answer.citations, answer.unsupported) == (REFUSAL, True, (), ())
    assert answer.confidence == "none"


def test_a_model_that_is_down_gives_quotes_and_says_how_to_start_it(ask: Any, model: Any) -> None:
    shown, answer = ask(model("", error=DOWN), "What is the vault code of Mira Falk?")
    assert answer.mode == "extractive"
    assert answer.model is None
    assert answer.text == shown
    assert answer.text.startswith("“The vault code of Mira Falk is 7316.” [notes.txt]")
    assert "Ollama is not running." in answer.notice
    assert answer.notice.endswith("Start it with: ollama serve")
    assert all(citation.verified for citation in answer.citations)


def test_a_model_that_dies_keeps_the_text_so_far(ask: Any, model: Any) -> None:
    shown, answer = ask(model("The vault code is 7316 [2]. It was", error=SILENT), "What is the vault code?")
    assert shown == "The vault code is 7316 [notes.txt]. It was"
    assert answer.text.startswith("The vault code is 7316 [notes.txt].")
    assert answer.mode == "llm"
    assert answer.confidence != "high"
    assert answer.notice == "The answer was cut short. Ollama was silent for 5 s. Set LOCALRAG_LLM_TIMEOUT_S."


def test_a_model_that_says_nothing_gives_quotes(ask: Any, model: Any) -> None:
    _, answer = ask(model("  \n"), "What is the vault code?")
    assert (answer.mode, answer.notice.startswith("scripted said nothing.")) == ("extractive", True)


def test_without_a_model_the_best_sentence_is_quoted(ask: Any) -> None:
    _, answer = ask(None, "When does unused leave expire?")
    assert answer.text.splitlines()[0] == "“Unused leave expires on 31 March.” [handbook.pdf, p.4]"
    assert answer.notice.startswith("No language model was used")
    assert answer.confidence == "medium"


def test_nothing_is_quoted_that_shares_one_word_of_five(ask: Any, model: Any) -> None:
    # `employees` stands in the handbook; capital, gains, tax and portugal (of five content words) stand nowhere: 0.2.
    question = "Which capital gains tax do employees pay in Portugal?"
    shown, answer = ask(None, question)
    assert (shown, answer.refused, answer.citations) == (REFUSAL, True, ())
    _, written = ask(model("Employees get 25 days of annual leave [1]."), question)
    assert written.mode == "llm"


def test_the_user_can_leave_the_model_out(ask: Any, model: Any) -> None:
    llm = model("x")
    _, answer = ask(llm, "When does unused leave expire?", use_llm=False)
    assert (answer.mode, llm.sent) == ("extractive", [])


def test_thinking_whose_start_was_in_the_template_is_not_in_the_answer(ask: Any, model: Any) -> None:
    reply = "Let me look at passage 2.\n</think>\n\nThe vault code of Mira Falk is 7316 [2]."
    shown, answer = ask(model(reply, size=200), "What is the vault code?")
    assert answer.text == "The vault code of Mira Falk is 7316 [notes.txt]."
    assert "think>" not in shown


def test_an_answer_at_its_length_limit_says_so(ask: Any, model: Any) -> None:
    # 300 tokens of context leave 300 // 4 = 75 for the answer; 60 words are more than 0.7 * 75 = 52.5.
    _, answer = ask(model("vault " * 60), "What is the vault code?", context_tokens=300)
    assert "length limit" in answer.notice


def test_a_document_deleted_meanwhile_proves_nothing(ask: Any, model: Any, library: Any) -> None:
    del library.texts["doc1"]
    _, answer = ask(model("The vault code of Mira Falk is 7316 [2]."), "What is the vault code?")
    assert [citation.verified for citation in answer.citations] == [False]


def test_history_reaches_the_model_without_old_citations(ask: Any, model: Any) -> None:
    llm = model("It was set in 2021 [2].")
    history = [
        Message(role="user", content="What is the vault code?"),
        Message(role="assistant", content="It is 7316 [notes.txt]. See [handbook.pdf, p.4] too."),
    ]
    ask(llm, "When was the vault code set?", history=history)
    (messages, _) = llm.sent[0]
    assert [m.role for m in messages] == ["system", "user", "assistant", "user"]
    assert messages[2].content == "It is 7316. See too."


def test_timings_grow_and_the_query_is_reported(ask: Any, model: Any) -> None:
    _, answer = ask(model("The code is 7316 [2]."), "What is the vault code?")
    assert 0 <= answer.timings.retrieval <= answer.timings.first_token <= answer.timings.total
    assert answer.queries == ("What is the vault code?",)
    assert [hit.document for hit in answer.hits] == ["handbook.pdf", "notes.txt", "book.xlsx"]


def test_a_question_searched_by_other_texts_reports_those(library: Any, words: Any) -> None:
    answerer = Answerer(llm=None, counter=words, page=library.page)
    searched = ("When does leave expire?", "leave handbook")
    answer = answerer.answer(
        "When does it expire?", search=lambda text: replace(library.search("leave"), queries=searched)
    )
    assert answer.queries == searched
