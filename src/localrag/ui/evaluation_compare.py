"""Two runs side by side: what changed, whether it is more than chance, and for which questions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import streamlit as st

from localrag.errors import LocalRagError
from localrag.evaluation import charts
from localrag.evaluation.beir import QueryId
from localrag.evaluation.benchmark import HEADLINE
from localrag.evaluation.comparing import Change, compare_runs
from localrag.evaluation.runs import SavedRun
from localrag.ui.safe import plain, render_safe

_MOST = 20


def draw(run: SavedRun, others: Mapping[str, Path], opened: Callable[[Path], SavedRun]) -> None:
    """The whole tab; `others` are the runs to compare with, by name."""
    if not others:
        st.info("There is only this run. Measure the same data set with other settings to compare.")
        return
    chosen = st.selectbox("Baseline", list(others), key="evaluation_baseline", help="What this run is compared with.")
    try:
        baseline = opened(others[chosen])
        comparison = compare_runs(run, baseline)
    except LocalRagError as error:
        st.info(f"{plain(error.message)} {render_safe(error.hint)}", icon=":material/info:")
        return
    _settings(run, baseline)
    rows = [
        row(charts.NAMES[mode], charts.measure_name(measure), change)
        for mode, changes in comparison.by_mode.items()
        for measure, change in changes.items()
        if measure in charts.SHOWN
    ]
    rows += [row("Answers", name.replace("_", " ").capitalize(), change) for name, change in comparison.answers.items()]
    figure = st.column_config.NumberColumn(format="%.3f", width="small")
    st.dataframe(
        rows,
        hide_index=True,
        width="stretch",
        height="content",
        column_config={
            "This run": figure,
            "Baseline": figure,
            "Difference": st.column_config.NumberColumn(format="%+.3f", width="small"),
            "p": st.column_config.NumberColumn(
                format="%.4f",
                width="small",
                help="How likely so large a difference is by chance (paired randomisation).",
            ),
        },
    )
    _questions(run, baseline)


def row(of: str, measure: str, change: Change) -> dict[str, object]:
    """One line of the table."""
    mark = "" if change.p_value >= 0.05 else "▲" if change.difference > 0 else "▼"
    return {
        "Of": of,
        "Measure": measure,
        "This run": change.value,
        "Baseline": change.baseline,
        "Difference": change.difference,
        "p": change.p_value,
        "": mark,
    }


def _settings(run: SavedRun, baseline: SavedRun) -> None:
    names = run.settings.keys() | baseline.settings.keys()
    other = sorted(name for name in names if run.settings.get(name) != baseline.settings.get(name))
    told = ", ".join(f"`{name}` {baseline.settings.get(name)} → {run.settings.get(name)}" for name in other)
    st.caption(f"What was set otherwise: {told}." if other else "Both were measured with the same settings.")


def changed_most(run: SavedRun, baseline: SavedRun) -> list[tuple[QueryId, float]]:
    """The queries whose headline measure differs, the largest change first, at most 20."""
    now, then = run.by_query["hybrid"][HEADLINE], baseline.by_query["hybrid"][HEADLINE]
    changes = [(query, now[query] - then[query]) for query in now if now[query] != then[query]]
    return sorted(changes, key=lambda change: -abs(change[1]))[:_MOST]


def _questions(run: SavedRun, baseline: SavedRun) -> None:
    changes = changed_most(run, baseline)
    if not changes:
        st.caption(f"{charts.measure_name(HEADLINE)} of both legs is the same for every question.")
        return
    st.markdown(f"**Questions that changed most** · {charts.measure_name(HEADLINE)} of both legs")
    st.dataframe(
        [
            {
                "Question": run.queries[query].text,
                "This run": run.by_query["hybrid"][HEADLINE][query],
                "Baseline": baseline.by_query["hybrid"][HEADLINE][query],
                "Difference": change,
            }
            for query, change in changes
        ],
        hide_index=True,
        width="stretch",
        column_config={
            "Question": st.column_config.TextColumn(width="large"),
            "This run": st.column_config.NumberColumn(format="%.3f", width="small"),
            "Baseline": st.column_config.NumberColumn(format="%.3f", width="small"),
            "Difference": st.column_config.NumberColumn(format="%+.3f", width="small"),
        },
    )
