"""The charts of a run, defined once for the page and for pictures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from localrag.errors import SettingsError
from localrag.evaluation.benchmark import HEADLINE, MODES, SWEPT, Mode
from localrag.evaluation.runs import SavedRun

if TYPE_CHECKING:
    import altair as alt

NAMES: dict[Mode, str] = {"lexical": "Keyword", "vector": "Meaning", "hybrid": "Both"}
"""The modes in the words of the slider."""
COLOURS: dict[Mode, str] = {"lexical": "#7d8f8c", "vector": "#d9943f", "hybrid": "#2a9d8f"}
"""Told apart on white and on black, and in grey."""
SHOWN = (HEADLINE, "recall@10", "mrr@10", "hit@1", "hit@5")
"""The measures drawn; all of them stand in the run."""
_MEASURE_NAMES = {"ndcg": "nDCG", "recall": "Recall", "mrr": "MRR", "hit": "Hit", "precision": "Precision"}

_BARS_PX = (460, 260)
_CURVE_PX = (340, 260)
_DOTS = 2.0
"""Pixels of a picture for each of the chart's: sharp on today's screens and in print."""


def measure_name(measure: str) -> str:
    """`nDCG@10` for `ndcg@10`."""
    name, at, depth = measure.partition("@")
    return f"{_MEASURE_NAMES.get(name, name)}{at}{depth}"


def bars(run: SavedRun) -> alt.LayerChart | alt.FacetChart:
    """The main measures, a bar for each mode with its figure above."""
    import altair as alt  # slow to import

    rows = [
        {"measure": measure_name(measure), "mode": NAMES[mode], "value": run.by_mode[mode][measure]}
        for measure in SHOWN
        if measure in run.metrics
        for mode in MODES
    ]
    order = [NAMES[mode] for mode in MODES]
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        x=alt.X("measure:N", title=None, sort=None, axis=alt.Axis(labelAngle=0)),
        xOffset=alt.XOffset("mode:N", sort=order),
        y=alt.Y("value:Q", title=None, scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(tickCount=5)),
        tooltip=["measure:N", "mode:N", alt.Tooltip("value:Q", format=".3f")],
    )
    legend = alt.Legend(title=None, orient="top")
    colour = alt.Color("mode:N", sort=order, scale=_colours(alt), legend=legend)
    figures = base.mark_text(dy=-6, fontSize=10, color="#7d8f8c").encode(text=alt.Text("value:Q", format=".2f"))
    return alt.layer(base.mark_bar(cornerRadiusTopLeft=2, cornerRadiusTopRight=2).encode(color=colour), figures)


def curve(run: SavedRun) -> alt.LayerChart | alt.FacetChart:
    """What the measures become as the slider moves, with a line where it stood; the run must have a sweep."""
    import altair as alt  # slow to import

    rows = [
        {"semantic": point.semantic, "measure": measure_name(measure), "value": point.measures[measure]}
        for point in run.sweep
        for measure in SWEPT
    ]
    names = [measure_name(measure) for measure in SWEPT]
    colour = alt.Color(
        "measure:N",
        sort=names,
        scale=alt.Scale(domain=names, range=[COLOURS["hybrid"], COLOURS["vector"]]),
        legend=alt.Legend(title=None, orient="top"),
    )
    lines = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_line(point=alt.OverlayMarkDef(size=36))
        .encode(
            x=alt.X("semantic:Q", title="Keyword  ←  slider  →  Semantic", axis=alt.Axis(tickCount=5)),
            y=alt.Y("value:Q", title=None, scale=alt.Scale(zero=False), axis=alt.Axis(tickCount=5)),
            color=colour,
            tooltip=["measure:N", "semantic:Q", alt.Tooltip("value:Q", format=".3f")],
        )
    )
    stood = alt.Chart(alt.InlineData(values=[{"semantic": run.settings.get("semantic")}])).mark_rule(
        strokeDash=[4, 4], color=COLOURS["lexical"]
    )
    return alt.layer(stood.encode(x="semantic:Q"), lines)


def _colours(alt: Any) -> Any:
    return alt.Scale(domain=[NAMES[mode] for mode in MODES], range=[COLOURS[mode] for mode in MODES])


def require_pictures() -> None:
    """Nothing, where pictures can be made.

    Raises:
        SettingsError: the library that draws them is not installed.
    """
    try:
        import vl_convert  # noqa: F401 - only --plot needs it
    except ImportError as error:
        raise SettingsError(
            "Pictures of charts need vl-convert-python, which is not installed.",
            hint="pip install 'localrag[plot]'",
        ) from error


def save_picture(run: SavedRun, path: Path) -> None:
    """Writes the charts of the run, side by side, as PNG.

    Raises:
        SettingsError: the library that draws them is not installed, or the file cannot be written.
    """
    require_pictures()
    import altair as alt  # slow to import

    wide, high = _BARS_PX
    parts: list[Any] = [bars(run).properties(width=wide, height=high, title="By mode")]
    if run.sweep:
        wide, high = _CURVE_PX
        parts.append(curve(run).properties(width=wide, height=high, title="By the slider"))
    title = alt.TitleParams(
        f"{run.dataset}: {run.documents:,} documents, {len(run.queries):,} queries", anchor="start", offset=14
    )
    chart = alt.hconcat(*parts, spacing=36).resolve_scale(color="independent").properties(title=title, padding=18)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        chart.configure_view(stroke=None).save(str(path), format="png", scale_factor=_DOTS)
    except OSError as error:
        raise SettingsError(f"{path} cannot be written: {error.strerror}.", hint="Name another file.") from error
