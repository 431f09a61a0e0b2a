"""One turn of a conversation on the page: the question, the answer, how far it can be trusted, its sources."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from localrag.app import RAG
from localrag.types import Answer, Document, DocumentId, cite
from localrag.ui import labels, sources
from localrag.ui.conversation import Turn
from localrag.ui.marking import unsupported
from localrag.ui.notices import command_hint, show_problem
from localrag.ui.safe import plain, render_safe

ASSISTANT_ICON = ":material/menu_book:"
USER_ICON = ":material/person:"


def draw_question(question: str) -> None:
    """What the user asked."""
    with st.chat_message("user", avatar=USER_ICON):
        st.markdown(render_safe(question))


def draw_turn(rag: RAG, turn: Turn, documents: Mapping[DocumentId, Document], *, key: str, latest: bool) -> None:
    """The question and what came of it."""
    draw_question(turn.question)
    with st.chat_message("assistant", avatar=ASSISTANT_ICON):
        if turn.answer is not None:
            _answer(rag, turn.answer, documents, key=key, latest=latest)
            return
        if turn.partial:
            st.markdown(render_safe(turn.partial))
        if turn.problem is not None:
            show_problem(turn.problem)
        else:
            st.caption("You stopped this answer. What was written so far has not been checked.")


def _answer(rag: RAG, answer: Answer, documents: Mapping[DocumentId, Document], *, key: str, latest: bool) -> None:
    if answer.notice:
        st.caption(f":material/info: {command_hint(answer.notice)}")
    markers = list(dict.fromkeys(citation.marker for citation in answer.citations))
    highlights, missing = unsupported(answer.text, answer.unsupported, markers)
    st.markdown(render_safe(answer.text, highlights=highlights, badges=markers))
    if highlights:
        st.markdown(":small[:orange-background[Marked] sentences are not supported by your documents.]")
    for sentence in missing:
        st.markdown(f":small[:orange-badge[unsupported] {plain(sentence)}]")
    for line in faults(answer):
        st.markdown(f":small[:orange-badge[not in the sources] {line}]")
    if answer.refused:
        st.caption(searched(answer))
    elif rewritten := reworded(answer):
        st.caption(rewritten)
    if not answer.citations and not answer.refused and not answer.computed:
        st.warning("No passage of your documents supports this answer.", icon=":material/warning:")
    st.markdown(facts(answer))
    _left_out(answer)
    sources.draw(rag, answer, documents, key=key, open_now=latest)


def faults(answer: Answer) -> list[str]:
    """`**7317** in “The code is 7317.”` for each unsupported sentence with a figure or name that its sources lack."""
    return [
        f"{', '.join(f'**{plain(word)}**' for word in words)} in “{plain(sentence)}”"
        for sentence, words in zip(answer.unsupported, answer.wrong, strict=False)  # older turns were kept without
        if words
    ]


def reworded(answer: Answer) -> str:
    """What was looked for besides the question as it was asked; empty when nothing was."""
    queries = [f"“{plain(query)}”" for query in answer.queries if query != answer.question]
    return f":material/search: Searched for {', '.join(queries)} too." if queries else ""


def searched(answer: Answer) -> str:
    """What was looked for and how much came near it, for an answer that says only that nothing was found."""
    queries = ", ".join(f"“{plain(query)}”" for query in answer.queries)
    if not answer.hits:
        return f":material/search: Searched for {queries}; nothing came near it."
    documents = len({hit.chunk.document_id for hit in answer.hits})
    passages = f"{len(answer.hits)} passage{'' if len(answer.hits) == 1 else 's'}"
    within = f"{documents} document{'' if documents == 1 else 's'}"
    return f":material/search: Searched for {queries}; the nearest {passages} in {within} are listed below."


def facts(answer: Answer) -> str:
    """Badges for confidence and model, then the timings."""
    if answer.refused:
        parts = [":gray-badge[Not in your documents]"]
    else:
        parts = [f":{labels.CONFIDENCE_COLOUR[answer.confidence]}-badge[{answer.confidence.capitalize()} confidence]"]
    if answer.mode == "llm" and answer.model:
        parts.append(f":gray-badge[{plain(answer.model)}]")
    elif answer.computed:
        parts.append(":gray-badge[Computed, no model]")
    elif not answer.refused:
        parts.append(":gray-badge[Quoted, no model]")
    return f"{' '.join(parts)} :small[{timings(answer)}]"


def timings(answer: Answer) -> str:
    """`retrieval 40 ms, first token 1.2 s, total 6.0 s`."""
    if answer.cached:
        return f"answered before, found in {labels.milliseconds(answer.timings.total)}"
    parts = [f"retrieval {labels.milliseconds(answer.timings.retrieval)}"]
    if answer.timings.first_token is not None:
        parts.append(f"first token {labels.milliseconds(answer.timings.first_token)}")
    parts.append(f"total {labels.milliseconds(answer.timings.total)}")
    return ", ".join(parts)


def _left_out(answer: Answer) -> None:
    """Names the passages that the model did not get to see."""
    chunks = {hit.chunk.id: hit for hit in answer.hits}
    left = [chunks[chunk_id] for chunk_id in answer.left_out if chunk_id in chunks]
    if left:
        names = dict.fromkeys(cite(hit.document, hit.chunk.page, hit.chunk.label) for hit in left)
        st.caption(f"Did not fit into the prompt: {', '.join(plain(name) for name in names)}")
