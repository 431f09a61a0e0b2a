"""The means of a run: figures, charts, the table of all, and the settings behind them."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from localrag.evaluation import charts
from localrag.evaluation.benchmark import HEADLINE, MODES
from localrag.evaluation.runs import SavedRun
from localrag.ui import labels

_SIGNIFICANT = 0.05
_CHART_PX = 300


def draw(run: SavedRun, path: Path) -> None:
    """The whole tab."""
    _headline(run)
    if run.sweep:
        left, right = st.columns([1.4, 1])
    else:
        left, right = st.container(), None
    with left:
        st.markdown("**By mode**")
        st.altair_chart(charts.bars(run).properties(height=_CHART_PX), width="stretch", alt="Measures by mode")
    if right:
        with right:
            st.markdown("**By the slider**")
            st.altair_chart(charts.curve(run).properties(height=_CHART_PX), width="stretch", alt="nDCG by the slider")
    _details(run, path)


def _headline(run: SavedRun) -> None:
    against = run.comparison
    leg = charts.NAMES[against.leg].lower()
    with st.container(horizontal=True):
        st.metric(
            charts.measure_name(HEADLINE),
            f"{run.metrics[HEADLINE]:.3f}",
            f"{against.difference:+.3f} against {leg} alone",
            border=True,
            help="Of both legs together, which is what a search does; below, against the better leg.",
        )
        st.metric(
            "Chance",
            probability(against.p_value),
            "significant" if against.p_value < _SIGNIFICANT else "not significant",
            delta_color="off",
            delta_arrow="off",
            border=True,
            help="How likely so large a difference is if both were equally good (paired randomisation test).",
        )
        st.metric("Queries", f"{len(run.queries):,}", f"{run.documents:,} documents", delta_color="off",
                  delta_arrow="off", border=True)  # fmt: skip
        st.metric("Measured in", labels.seconds(run.seconds), labels.moment(run.made_at), delta_color="off",
                  delta_arrow="off", border=True)  # fmt: skip


def probability(p_value: float) -> str:
    """`p = 0.012`; what is less than a thousandth says so."""
    return "p < 0.001" if p_value < 0.001 else f"p = {p_value:.3f}"


def _details(run: SavedRun, path: Path) -> None:
    with st.expander("All measures"):
        rows = [
            {
                "Measure": charts.measure_name(measure),
                **{charts.NAMES[mode]: run.by_mode[mode][measure] for mode in MODES},
            }
            for measure in run.metrics
        ]
        figures = {charts.NAMES[mode]: st.column_config.NumberColumn(format="%.3f") for mode in MODES}
        st.dataframe(rows, hide_index=True, width="stretch", height="content", column_config=figures)
    with st.expander("Settings of this run"):
        settings = [
            {"Setting": name, "Value": "–" if value is None else str(value)} for name, value in run.settings.items()
        ]
        st.dataframe(settings, hide_index=True, width="stretch", height="content")
    st.download_button(
        "Download the run",
        path.read_bytes,
        file_name=path.name,
        mime="application/json",
        icon=":material/download:",
        on_click="ignore",
    )
