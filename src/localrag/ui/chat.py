"""The page that asks the library."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import streamlit as st

from localrag.app import RAG, Scope
from localrag.errors import LocalRagError
from localrag.types import Answer, Document, IndexStats
from localrag.ui import answer_view, controls, conversation, labels, theme
from localrag.ui.conversation import Conversation, Turn
from localrag.ui.notices import advice, problem_text, show_error
from localrag.ui.pump import Pump
from localrag.ui.safe import render_safe
from localrag.ui.session import Session
from localrag.ui.worker import Problem

_REDRAW_S = 0.08
"""Between two drawings of a growing answer; faster than the eye follows only costs."""


def draw(session: Session) -> None:
    """The whole page."""
    rag = session.rag
    try:
        documents, stats = rag.documents(), rag.stats()
        held = _conversation(rag)
    except LocalRagError as error:
        show_error(error)
        return
    chosen = controls.draw(rag.settings, documents, held.turns)
    if chosen.clear:
        _clear(rag, held)
    st.title("Chat", anchor=False)
    # Here and in every run, for a browser may skip a run that is followed by another at once. It moves once a turn.
    theme.show_last_question(st.session_state.get("answered", 0))
    if documents:
        _before_asking(session, stats, use_llm=chosen.use_llm)
    else:
        _invitation()
    catalog = {document.id: document for document in documents}
    for number, turn in enumerate(held.turns):
        latest = number == len(held.turns) - 1
        answer_view.draw_turn(rag, turn, catalog, key=f"turn_{number}", latest=latest)
    _offer_again(held)
    again: str | None = st.session_state.pop("asked_again", None)
    question = st.chat_input("Ask your documents", key="question", disabled=not documents, submit_mode="disable")
    if again:
        _ask(rag, held, again, chosen, fresh=True)
    elif question and question.strip():
        _ask(rag, held, question.strip(), chosen)
    elif documents and not held.turns:
        _hint(documents)


# -------------------------------------------------------------------- conversation


def _conversation(rag: RAG) -> Conversation:
    """The conversation named in the address, or else this tab's, or a new one; kept in the library."""
    held: Conversation | None = st.session_state.get("conversation")
    identity = conversation.valid_id(st.query_params.get("c")) or (held.id if held else conversation.new_id())
    if st.query_params.get("c") != identity:
        st.query_params["c"] = identity
    if held is None or held.id != identity:
        turns = conversation.load(rag.load_conversation(identity))
        if turns is None:
            st.toast("The earlier conversation cannot be read by this version; a new one was begun.")
            identity = st.query_params["c"] = conversation.new_id()
        held = st.session_state.conversation = Conversation(identity, turns or ())
    return held


def _keep(rag: RAG, held: Conversation, turn: Turn) -> None:
    """Keeps the turn in this tab and, so that a refresh finds it, in the library."""
    held.turns = (*held.turns, turn)
    try:
        rag.save_conversation(held.id, conversation.dump(held.turns))
    except LocalRagError as error:
        st.toast(problem_text(Problem.of(error)), icon=":material/error:")


def _clear(rag: RAG, held: Conversation) -> None:
    rag.delete_conversation(held.id)
    held.turns = ()
    st.rerun()


# -------------------------------------------------------------------------- notices


def _before_asking(session: Session, stats: IndexStats, *, use_llm: bool) -> None:
    """What the user should know before the question is sent."""
    if stats.embedded < stats.chunks:
        waiting = labels.count(stats.chunks - stats.embedded, "text")
        st.info(
            f"Still indexing {waiting}: they are found by keyword already, by meaning once their vectors are made.",
            icon=":material/hourglass_top:",
        )
    if not use_llm:
        return
    wrong = [check for check in session.model.checks() if not check.ok]
    if wrong:
        lines = "\n\n".join(advice(check) for check in wrong)
        privacy_only = all(check.name == "Privacy" for check in wrong)
        tail = "" if privacy_only else "\n\nUntil then, answers quote the best sentences word for word."
        st.warning(lines + tail, icon=":material/cloud_off:" if not privacy_only else ":material/warning:")


def _invitation() -> None:
    with st.container(border=True):
        st.markdown("**Your library is empty.** Add documents first, then ask away.")
        st.page_link("pages/1_Upload_Documents.py", label="Upload documents", icon=":material/upload_file:")


def _hint(documents: Sequence[Document]) -> None:
    st.markdown(
        f":gray[{labels.count(len(documents), 'document')} to ask. Each claim of an answer is cited to its page; "
        "open a source to see the words it rests on.]"
    )


# ---------------------------------------------------------------------------- asking


def _offer_again(held: Conversation) -> None:
    """A button for the reader who wants a new answer in place of one kept from before."""
    last = held.turns[-1] if held.turns else None
    if last is not None and last.answer is not None and last.answer.cached:
        look: dict[str, Any] = {"icon": ":material/refresh:", "type": "tertiary"}
        st.button("Answer again", key=f"again_{len(held.turns)}", on_click=_take_back, args=(held,), **look)


def _take_back(held: Conversation) -> None:
    st.session_state.asked_again = held.turns[-1].question
    held.turns = held.turns[:-1]


def _ask(rag: RAG, held: Conversation, question: str, chosen: controls.Controls, *, fresh: bool = False) -> None:
    """Shows the answer as it grows, keeps the turn however it ends, and draws the page anew."""
    answer_view.draw_question(question)
    theme.show_end()
    turn: Turn | None = None
    text = ""
    with st.chat_message("assistant", avatar=answer_view.ASSISTANT_ICON):
        body = st.empty()
        st.button("Stop", icon=":material/stop_circle:", key=f"stop_{len(held.turns)}")
        try:
            stream = rag.ask_stream(
                question,
                history=conversation.history(held.turns),
                top_k=chosen.top_k,
                semantic=chosen.semantic,
                scope=Scope(documents=chosen.documents) if chosen.documents else None,
                use_llm=chosen.use_llm,
                rerank=chosen.rerank,
                fresh=fresh,
            )
            started = drawn = time.monotonic()
            body.markdown(_waiting(0.0))
            with Pump(stream) as arrivals:
                for item in arrivals:
                    if isinstance(item, Answer):
                        turn = Turn(question=question, answer=item)
                        continue
                    text += item or ""
                    now = time.monotonic()
                    if not text:
                        body.markdown(_waiting(now - started))
                    elif now - drawn >= _REDRAW_S or item is None:
                        body.markdown(render_safe(text))
                        drawn = now
        except LocalRagError as error:
            turn = Turn(question=question, partial=text, problem=Problem.of(error))
        finally:
            # Also when the script is ended from outside: the stop button, another page, a closed tab.
            _keep(rag, held, turn or Turn(question=question, partial=text))
    st.session_state.answered = len(held.turns)
    st.rerun()


def _waiting(seconds: float) -> str:
    return ":shimmer[Reading your documents …]" if seconds < 1.0 else f":shimmer[Thinking … {seconds:.0f} s]"
