"""Conversations: kept whole, sent in order, exported with their sources; and what is marked in them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from localrag.types import Answer, Chunk, Citation, Document, Hit, Message, Timings
from localrag.ui import conversation, labels
from localrag.ui.answer_view import facts, faults, reworded, searched, timings
from localrag.ui.conversation import Turn
from localrag.ui.marking import Excerpt, excerpt, find_sentence, unsupported
from localrag.ui.safe import Highlight
from localrag.ui.sources import has_picture, passage_citation, quote_span, source_preview
from localrag.ui.worker import Problem

TEXT = "The fee is $5. It is paid yearly."


def chunk(number: int = 0, text: str = TEXT, **kept: object) -> Chunk:
    values = {"id": f"d_{number}", "document_id": "d", "index": number, "page_ordinal": 4, "page": 4, "text": text}
    return Chunk(**{**values, "start": 100, "end": 100 + len(text), "token_count": 9, **kept})  # type: ignore[arg-type]


def hit(number: int = 0, **kept: object) -> Hit:
    return Hit(
        chunk=chunk(number, **kept),
        document="a.pdf",
        rank=number + 1,
        score=0.0328,
        scale="rrf",
        lexical_rank=1,
        vector_rank=None,
    )


def citation(
    number: int = 0, marker: str = "[a.pdf, p.4]", quote: str = "The fee is $5.", start: int = 100
) -> Citation:
    return Citation(
        marker=marker,
        chunk_id=f"d_{number}",
        document_id="d",
        document="a.pdf",
        page=4,
        label=None,
        page_ordinal=4,
        quote=quote,
        start=start,
        end=start + len(quote),
        verified=True,
    )


def answer(**kept: object) -> Answer:
    values = {
        "question": "How much?",
        "text": "It is $5 [a.pdf, p.4].",
        "citations": (citation(),),
        "confidence": "high",
        "refused": False,
        "mode": "llm",
        "model": "llama3.2:3b",
        "unsupported": (),
        "queries": ("How much?",),
        "hits": (hit(0), hit(1)),
        "left_out": (),
        "timings": Timings(retrieval=40.2, first_token=1234.0, total=6000.0),
    }
    return Answer(**{**values, **kept})  # type: ignore[arg-type]


def test_what_was_kept_is_what_comes_back() -> None:
    turns = (
        Turn(question="How much?", answer=answer()),
        Turn(question="And then?", partial="So far", problem=Problem(message="Down.", hint="Start it.")),
    )
    assert conversation.load(conversation.dump(turns)) == turns


def test_nothing_kept_is_no_turn_and_what_cannot_be_read_is_told_apart() -> None:
    assert conversation.load(None) == ()
    assert conversation.load('[{"question": 5}]') is None
    assert conversation.load("not json") is None


def test_only_ids_of_ours_are_taken_from_the_address() -> None:
    identity = conversation.new_id()
    assert conversation.valid_id(identity) == identity
    for foreign in (None, "", "../x", identity + "0", identity.upper() + "\n", "g" * 32):
        assert conversation.valid_id(foreign) is None


def test_the_model_is_told_the_answered_turns_only() -> None:
    turns = (Turn(question="How much?", answer=answer()), Turn(question="Stopped", partial="x"))
    assert conversation.history(turns) == [
        Message(role="user", content="How much?"),
        Message(role="assistant", content="It is $5 [a.pdf, p.4]."),
    ]


def test_sources_are_the_cited_passages_in_the_order_of_the_text() -> None:
    first, second = citation(1, "[b.pdf, p.1]"), citation(0)
    again = citation(1, "[b.pdf, p.1]", "It is paid yearly.", 115)
    reply = answer(text="B [b.pdf, p.1]. A [a.pdf, p.4]. B [b.pdf, p.1].", citations=(second, first, again))
    assert conversation.cited(reply) == [[first, again], [second]]


def test_the_export_has_questions_answers_and_quotes_and_is_harmless() -> None:
    evil = "![x](http://evil.example/p.png)"
    turns = (
        Turn(question="How <b>much</b>?", answer=answer(text=f"It is $5 [a.pdf, p.4]. {evil}", unsupported=("No.",))),
        Turn(question="More?", partial="So", problem=Problem(message="Ollama is down.")),
        Turn(question="Again?"),
    )
    text = conversation.to_markdown(turns)
    assert "## How \\<b\\>much\\</b\\>?" in text
    assert "### Sources\n\n**\\[a.pdf, p.4\\]**\n\n> The fee is \\$5." in text
    assert "*Confidence: high · llama3.2\\:3b*" in text
    assert "*Not supported by the documents: No.*" in text
    assert "So\n\n*Ollama is down.*" in text
    assert "*The answer was stopped.*" in text
    assert "](" not in text
    assert "http" not in text


def test_a_sentence_is_found_whatever_stands_inside_it() -> None:
    text = "First. The fee [a.pdf, p.4] is\n5 dollars [a.pdf, p.4]. Last."
    span = find_sentence(text, "The fee is 5 dollars.", ["[a.pdf, p.4]"])
    assert span is not None
    assert text[span[0] : span[1]] == "The fee [a.pdf, p.4] is\n5 dollars [a.pdf, p.4]."
    assert find_sentence(text, "Something else.", ["[a.pdf, p.4]"]) is None
    assert find_sentence(text, "") is None


def test_unsupported_sentences_that_are_not_in_the_text_are_listed() -> None:
    highlights, missing = unsupported("One. Two.", ["Two.", "Three."], [])
    assert highlights == [Highlight(start=5, end=9, kind="unsupported")]
    assert missing == ["Three."]


def test_an_excerpt_holds_the_quote_and_about_as_much_as_asked() -> None:
    text = "word " * 400 + "THE QUOTE " + "word " * 400
    at = text.index("THE QUOTE")
    shown = excerpt(text, [(at, at + 9)], length=500)
    (mark,) = shown.highlights
    assert shown.text[mark.start : mark.end] == "THE QUOTE"
    assert shown.text.startswith("… word ")
    assert shown.text.endswith(" word …")
    assert 490 <= len(shown.text) <= 560


def test_a_short_text_is_its_own_excerpt() -> None:
    assert excerpt("abc", [], length=500) == Excerpt(text="abc")


def test_spans_that_overlap_are_one() -> None:
    shown = excerpt("abcdefgh", [(0, 4), (2, 6)], length=500)
    assert shown.highlights == (Highlight(start=0, end=6),)


def test_a_source_shows_its_passage_with_each_quote_marked() -> None:
    shown = source_preview([citation(), citation(quote="It is paid yearly.", start=115)], hit())
    assert [shown.text[mark.start : mark.end] for mark in shown.highlights] == ["The fee is $5.", "It is paid yearly."]


def test_rows_of_a_split_table_get_their_header_back() -> None:
    rows = "| a | 1 |\n| b | 2 |"
    part = hit(text=rows, prefix="Section: Fees\n| Name | Fee |")
    shown = source_preview([citation(quote="| b | 2 |", start=110)], part)
    assert shown.text == f"| Name | Fee |\n| --- | --- |\n{rows}"
    assert [shown.text[mark.start : mark.end] for mark in shown.highlights] == ["| b | 2 |"]


def test_of_a_table_the_rows_beside_the_quotes_are_shown() -> None:
    letters = "abcdefghij"
    text = "Fees:\n\n| Name |\n|---|\n" + "".join(f"| {letter} |\n" for letter in letters) + "\nThe end."
    quotes = [citation(quote=f"| {letter} |", start=100 + text.index(f"| {letter} |")) for letter in "bhi"]
    shown = source_preview(quotes, hit(text=text))
    assert shown.text == "| Name |\n|---|\n" + "\n".join(f"| {letter} |" for letter in "abcghij")
    assert [shown.text[mark.start : mark.end] for mark in shown.highlights] == ["| b |", "| h |", "| i |"]


def test_a_quote_is_never_cut() -> None:
    text = "word " * 200
    shown = excerpt(text, [(300, 340), (620, 900)], length=500)
    assert [shown.text[mark.start : mark.end] for mark in shown.highlights] == [text[300:340], text[620:900]]


def test_all_quotes_of_a_source_are_shown_however_far_apart() -> None:
    text = "First of all. " + "word " * 200 + "Last of all. " + "word " * 200
    at = text.index("Last of all.")
    far = [citation(quote="First of all.", start=100), citation(quote="Last of all.", start=100 + at)]
    shown = source_preview(far, hit(text=text))
    assert [shown.text[mark.start : mark.end] for mark in shown.highlights] == ["First of all.", "Last of all."]
    assert len(shown.text) < at + 100


def test_a_source_without_its_passage_shows_the_quote() -> None:
    assert source_preview([citation()], None) == Excerpt(text="The fee is $5.")


def test_a_quote_is_looked_for_on_the_page_as_it_is_now() -> None:
    page = "x" * 100 + TEXT
    assert quote_span(page, citation()) == (100, 114)
    assert quote_span("New. " + TEXT, citation()) == (5, 19)
    assert quote_span("Quite another page.", citation()) is None


def test_pages_of_a_pdf_have_pictures_but_not_those_of_a_pdf_in_an_archive() -> None:
    when = datetime(2026, 11, 30, tzinfo=UTC)
    pdf = Document(
        id="d", content_hash="h", name="a.pdf", uri="upload:a.pdf", media_type="application/pdf", size_bytes=1,
        page_count=9, indexed_at=when,
    )  # fmt: skip
    assert has_picture(citation(), pdf)
    assert not has_picture(citation(), replace(pdf, media_type="application/zip"))
    assert not has_picture(replace(citation(), page=None), pdf)
    assert not has_picture(citation(), None)
    assert not has_picture(replace(citation(), label="attachment plan.pdf"), pdf)
    assert has_picture(replace(citation(), page=None), replace(pdf, media_type="image/png"))


def test_a_passage_that_was_not_cited_can_be_opened_too() -> None:
    opened = passage_citation(hit())
    assert (opened.marker, opened.quote, opened.start, opened.end) == ("[a.pdf, p.4]", TEXT, 100, 100 + len(TEXT))


def test_the_facts_under_an_answer() -> None:
    assert facts(answer()) == (
        ":green-badge[High confidence] :gray-badge[llama3.2\\:3b] "
        ":small[retrieval 40 ms, first token 1.2 s, total 6.0 s]"
    )
    quoted = answer(mode="extractive", model=None, timings=Timings(retrieval=40, first_token=None, total=41))
    assert timings(quoted) == "retrieval 40 ms, total 41 ms"
    assert ":gray-badge[Quoted, no model]" in facts(quoted)
    assert facts(answer(refused=True, citations=())).startswith(":gray-badge[Not in your documents]")


@pytest.mark.parametrize(
    ("size_bytes", "shown"),
    [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KB"), (120 * 1024, "120 KB"), (5 * 1024**3, "5.0 GB")],
)
def test_sizes(size_bytes: int, shown: str) -> None:
    assert labels.size(size_bytes) == shown


@pytest.mark.parametrize(
    ("amount", "shown"), [(-1, "0 s"), (8.4, "8 s"), (60, "1 min"), (200, "3 min 20 s"), (7500, "2 h 5 min")]
)
def test_durations(amount: float, shown: str) -> None:
    assert labels.seconds(amount) == shown


def test_counts_and_scores() -> None:
    assert labels.count(1, "chunk") == "1 chunk"
    assert labels.count(1204, "chunk") == "1,204 chunks"
    assert labels.scores(hit()) == "Score 0.0328 · keyword #1 · semantic –"


def test_what_a_sentence_has_wrong_is_named_beside_it() -> None:
    shown = answer(unsupported=("It is $6.", "It is nice."), wrong=(("6",), ()))
    assert faults(shown) == ["**6** in “It is \\$6.”"]
    assert faults(answer(unsupported=("It is $6.",))) == []  # kept by an earlier version


def test_a_refusal_says_what_was_searched() -> None:
    refused = answer(refused=True, queries=("fee", "price"), hits=(hit(0), hit(1)))
    assert searched(refused) == (
        ":material/search: Searched for “fee”, “price”; the nearest 2 passages in 1 document are listed below."
    )
    assert searched(answer(refused=True, queries=("fee",), hits=())) == (
        ":material/search: Searched for “fee”; nothing came near it."
    )


def test_an_answer_says_what_else_was_searched_than_its_question() -> None:
    shown = answer(question="Who signed it?", queries=("Who signed it?", "Who signed it? lease *garage*"))
    assert reworded(shown) == ":material/search: Searched for “Who signed it? lease \\*garage\\*” too."
    assert reworded(answer(question="Who?", queries=("Who?",))) == ""
