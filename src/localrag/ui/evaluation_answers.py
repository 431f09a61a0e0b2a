"""The answers of a run: what they are worth on the whole, and one by one."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import streamlit as st

from localrag.evaluation.runs import SavedAnswer, SavedRun
from localrag.ui import labels
from localrag.ui.safe import plain, render_safe

Show: TypeAlias = Literal["Wrong ones", "Unsupported", "All"]
SHOWS: tuple[Show, ...] = ("Wrong ones", "Unsupported", "All")

_ROW_PX = 35
_MOST_ROWS = 10
_A_ROW = 3
_FIGURES = {
    "contained": ("Gold answer in it", "Share of the answerable questions whose answer holds a gold answer."),
    "first_quote": ("In the first quote", "Share of those whose first quote holds a gold answer."),
    "citation_precision": ("Right citations", "Share that point to a relevant entry, or to a gold answer."),
    "citation_recall": ("Sources cited", "Share of the relevant entries that are cited."),
    "refusal_f1": ("Refusal F1", "Refused exactly what the corpus does not answer: 1 is best."),
    "unsupported": ("Unsupported", "Share of the sentences that no cited passage supports."),
}


def draw(run: SavedRun) -> None:
    """The whole tab."""
    measures = run.answer_measures
    shown = [(*texts, value) for name, texts in _FIGURES.items() if (value := measures[name]) is not None]
    for start in range(0, len(shown), _A_ROW):
        for column, (title, told, value) in zip(st.columns(_A_ROW), shown[start : start + _A_ROW], strict=False):
            column.metric(title, f"{value:.1%}", border=True, help=told)
    st.caption(_summary(run))
    chosen: Show = st.segmented_control("Show", SHOWS, default="Wrong ones", required=True, key="answers_show")
    answers = listed(run.answers, chosen)
    if not answers:
        st.info("No answer is like that.")
        return
    st.caption(f"{labels.count(len(answers), 'answer')}. Choose one to read it.")
    if (answer := _table(run, answers)) is not None:
        _detail(run, answer)


def _summary(run: SavedRun) -> str:
    measures = run.answer_measures
    by = plain(str(run.settings.get("llm_model"))) if measures["by_model"] else "quotes, no model"
    asked = labels.count(len(run.answers), "question")
    unanswerable = sum(not answer.answerable for answer in run.answers)
    mean = labels.milliseconds(measures["milliseconds"] or 0.0)
    return f"{asked}, {unanswerable:,} of them unanswerable · {by} · {mean} each"


def listed(answers: Sequence[SavedAnswer], show: Show) -> list[SavedAnswer]:
    """The answers of this kind, in the order they were asked."""
    if show == "Unsupported":
        return [answer for answer in answers if answer.unsupported]
    return [answer for answer in answers if show == "All" or verdict(answer) in _WRONG]


_WRONG = frozenset({"wrong", "refused, but answerable", "answered, but unanswerable"})


def verdict(answer: SavedAnswer) -> str:
    """One word or two for what the answer is worth."""
    if not answer.answerable:
        return "rightly refused" if answer.refused else "answered, but unanswerable"
    if answer.refused:
        return "refused, but answerable"
    if answer.contained is None:
        return "not judged"
    return "right" if answer.contained else "wrong"


def _table(run: SavedRun, answers: Sequence[SavedAnswer]) -> SavedAnswer | None:
    rows = [
        {
            "Question": answer.question,
            "Verdict": verdict(answer),
            "Confidence": answer.confidence,
            "Citations": f"{answer.right_citations} of {answer.citations} right" if answer.citations else "–",
        }
        for answer in answers
    ]
    # The key names the rows: a selection by position must not outlive a change of what stands there.
    key = hashlib.sha256("\n".join([run.file_name, *(answer.query for answer in answers)]).encode()).hexdigest()[:16]
    event: Any = st.dataframe(
        rows,
        key=f"answers_{key}",
        hide_index=True,
        width="stretch",
        height=_ROW_PX * (min(len(rows), _MOST_ROWS) + 1) + 3,
        on_select="rerun",
        selection_mode="single-row",
        column_config={"Question": st.column_config.TextColumn(width="large")},
    )
    return next((answers[row] for row in event.selection.rows if row < len(answers)), None)


def _detail(run: SavedRun, answer: SavedAnswer) -> None:
    with st.container(border=True):
        st.markdown(f"**{plain(answer.question)}**")
        st.markdown(render_safe(answer.text))
        if answer.gold:
            st.markdown(f"**Gold:** {plain(' / '.join(answer.gold))}")
        relevant = (
            [entry for entry, value in run.queries[answer.query].qrels.items() if value] if answer.answerable else []
        )
        for title, entries in (("Cited", answer.cited), ("Relevant", relevant)):
            if entries:
                named = "\n".join(
                    f"- {plain(run.titles.get(entry) or entry)} :gray[{plain(entry)}]" for entry in entries
                )
                st.markdown(f":small[**{title}**]\n\n{named}")
