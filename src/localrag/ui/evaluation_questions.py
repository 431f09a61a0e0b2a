"""The questions of a run one by one: what each mode found, and where it went wrong."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import streamlit as st

from localrag.evaluation import charts
from localrag.evaluation.beir import EntryId, QueryId
from localrag.evaluation.benchmark import MODES, Mode
from localrag.evaluation.runs import SavedRun
from localrag.ui import labels
from localrag.ui.safe import plain

Order: TypeAlias = Literal["Worst first", "Both loses", "In order"]
ORDERS: tuple[Order, ...] = ("Worst first", "Both loses", "In order")

_ROW_PX = 35
_MOST_ROWS = 10


def draw(run: SavedRun) -> None:
    """The whole tab."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        order: Order = st.segmented_control(
            "Show", ORDERS, default="Worst first", required=True, key="questions_order",
            help="“Both loses”: a single leg alone was better than both together.",
        )  # fmt: skip
        measure = st.selectbox(
            "Measure", list(run.metrics), format_func=charts.measure_name, key="questions_measure", width=160
        )
        words = st.text_input("Search questions", key="questions_search", placeholder="Words of the question")
    queries = listed(run, measure, order, words)
    if not queries:
        st.info("No question is like that." if words else "Nowhere is a single leg better than both together.")
        return
    st.caption(f"{labels.count(len(queries), 'question')}. Choose one to see what was found.")
    chosen = _table(run, measure, queries)
    if chosen is not None:
        _detail(run, measure, chosen)


def listed(run: SavedRun, measure: str, order: Order, words: str = "") -> list[QueryId]:
    """The queries that hold all of the words, in this order; of equal ones, those of the run's order first."""
    wanted = words.casefold().split()
    queries = [query for query, judged in run.queries.items() if all(word in judged.text.casefold() for word in wanted)]
    if order == "Worst first":
        return sorted(queries, key=lambda query: run.by_query["hybrid"][measure][query])
    if order == "Both loses":
        losses = {query: lost(run, measure, query) for query in queries}
        return sorted((query for query in queries if losses[query] > 0), key=lambda query: -losses[query])
    return queries


def lost(run: SavedRun, measure: str, query: QueryId) -> float:
    """How much better the better leg alone is than both; negative where both are better."""
    both = run.by_query["hybrid"][measure][query]
    return max(run.by_query["lexical"][measure][query], run.by_query["vector"][measure][query]) - both


def _table(run: SavedRun, measure: str, queries: Sequence[QueryId]) -> QueryId | None:
    """Draws the table; the chosen query."""
    rows = [
        {
            "Question": run.queries[query].text,
            **{charts.NAMES[mode]: run.by_query[mode][measure][query] for mode in MODES},
        }
        for query in queries
    ]
    # The key names the rows: a selection by position must not outlive a change of what stands there.
    key = hashlib.sha256("\n".join([run.file_name, measure, *queries]).encode()).hexdigest()[:16]
    event: Any = st.dataframe(
        rows,
        key=f"questions_{key}",
        hide_index=True,
        width="stretch",
        height=_ROW_PX * (min(len(rows), _MOST_ROWS) + 1) + 3,
        on_select="rerun",
        selection_mode="single-row",
        column_config={
            "Question": st.column_config.TextColumn(width="large"),
            **{charts.NAMES[mode]: st.column_config.NumberColumn(format="%.3f", width="small") for mode in MODES},
        },
    )
    return next((queries[row] for row in event.selection.rows if row < len(queries)), None)


def _detail(run: SavedRun, measure: str, query: QueryId) -> None:
    judged = run.queries[query]
    relevant = [entry for entry, relevance in judged.qrels.items() if relevance]
    with st.container(border=True):
        st.markdown(f"**{plain(judged.text)}**")
        st.caption(f"Query {plain(query)} · {len(relevant):,} relevant in the corpus")
        st.dataframe(_gold_rows(run, query, relevant), hide_index=True, width="stretch", height="content")
        for mode, column in zip(MODES, st.columns(len(MODES)), strict=True):
            with column:
                st.markdown(f"**{charts.NAMES[mode]}** · {run.by_query[mode][measure][query]:.3f}")
                with st.container(key=f"found_{mode}"):
                    st.markdown(_found(run, mode, query))


def _gold_rows(run: SavedRun, query: QueryId, relevant: Sequence[EntryId]) -> list[dict[str, object]]:
    """The relevant entries, and where each mode found them."""
    return [
        {
            "Relevant entry": f"{entry} · {run.titles.get(entry, '')}".rstrip(" ·"),
            "Relevance": run.queries[query].qrels[entry],
            **{charts.NAMES[mode]: labels.rank(rank(run, mode, query, entry)) for mode in MODES},
        }
        for entry in relevant
    ]


def rank(run: SavedRun, mode: Mode, query: QueryId, entry: EntryId) -> int | None:
    """Where the mode found the entry, from 1; None when it did not."""
    found = run.ranked[mode][query]
    return found.index(entry) + 1 if entry in found else None


def _found(run: SavedRun, mode: Mode, query: QueryId) -> str:
    """What the mode found, relevant entries marked."""
    qrels = run.queries[query].qrels
    lines = []
    for place, entry in enumerate(run.ranked[mode][query], start=1):
        mark = ":green[:material/check_circle:] " if qrels.get(entry) else ""
        lines.append(f"{place}. {mark}{plain(run.titles.get(entry) or entry)} :gray[:small[{plain(entry)}]]")
    return "\n".join(lines) or ":gray[Nothing found.]"
