"""The command `evaluate`: measures a data set, keeps the run, and shows it in the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.progress import Progress
from rich.table import Table

from localrag import views
from localrag.app import evaluating
from localrag.cli import output
from localrag.evaluation import charts
from localrag.evaluation.benchmark import Progress as EvaluationProgress
from localrag.evaluation.benchmark import SweepPoint
from localrag.evaluation.comparing import RunComparison, compare_runs
from localrag.evaluation.runs import SavedRun, load_run
from localrag.settings import load_settings


def evaluate(
    dataset: Path,
    measured: evaluating.Measured,
    *,
    baseline: Path | None,
    save: Path | None,
    plot: Path | None,
    as_json: bool,
) -> None:
    """Measures the set, keeps the run, draws it where asked to, and prints it."""
    if plot:
        charts.require_pictures()  # before minutes have gone by, as is reading the other run
    other = load_run(baseline) if baseline else None
    settings = load_settings()
    with _bar() as bar:
        run = evaluating.evaluate_folder(dataset, settings, measured=measured, on_progress=bar.show)
    path = evaluating.save_run(run, settings, save)
    if plot:
        charts.save_picture(run, plot)
    comparison = compare_runs(run, other) if other else None
    if as_json:
        output.emit_json(views.evaluation_json(run, comparison))
    else:
        _show(run, comparison)
    output.say(f"{run.seconds:.1f} s; the run is kept in {path}")


def _show(run: SavedRun, comparison: RunComparison | None) -> None:
    """The measures by mode as a table, then what else was measured."""
    console = output.stdout()
    console.print(f"{output.clean(run.dataset)}: {run.documents:,} documents, {len(run.queries):,} queries")
    table = _table("", *run.metrics)
    for mode, values in run.by_mode.items():
        table.add_row(mode, *(f"{value:.3f}" for value in values.values()))
    console.print(table)
    against = run.comparison
    console.print(f"hybrid against {against.leg}: ndcg@10 {against.difference:+.3f}, p = {against.p_value:.4f}")
    for table in _further(run, comparison):
        console.print()
        console.print(table)


def _further(run: SavedRun, comparison: RunComparison | None) -> Iterator[Table]:
    """What was measured only because it was asked for."""
    if run.sweep:
        yield _sweep(run.sweep)
    if run.answers:
        table = _table("answers", "")
        for measure, value in run.answer_measures.items():
            table.add_row(measure.replace("_", " "), _figure(value))
        yield table
    if comparison is not None:
        yield _comparison(comparison)


def _sweep(points: Sequence[SweepPoint]) -> Table:
    table = _table("semantic", *points[0].measures)
    for point in points:
        table.add_row(f"{point.semantic:g}", *(f"{value:.3f}" for value in point.measures.values()))
    return table


def _comparison(comparison: RunComparison) -> Table:
    table = _table("against the baseline", "measure", "now", "then", "difference", "p")
    for name, changes in (*comparison.by_mode.items(), ("answers", comparison.answers)):
        for measure, change in changes.items():
            figures = (f"{change.value:.3f}", f"{change.baseline:.3f}", f"{change.difference:+.3f}")
            table.add_row(name, measure.replace("_", " "), *figures, f"{change.p_value:.4f}")
    return table


def _figure(value: float | None) -> str:
    """A count or a share; a dash where there is none."""
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else f"{value:.3f}" if value <= 1 else f"{value:,.0f}"


def _table(*columns: str) -> Table:
    return Table(*columns, box=None, pad_edge=False)


class _EvaluationBar:
    """A bar on stderr that follows an evaluation through its stages."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._task = progress.add_task("reading", total=None)

    def show(self, state: EvaluationProgress) -> None:
        """Draws this state."""
        self._progress.update(self._task, description=state.stage, completed=state.done, total=state.total)


@contextmanager
def _bar() -> Iterator[_EvaluationBar]:
    """A progress bar that lives as long as the block."""
    with output.counting_bar() as progress:
        yield _EvaluationBar(progress)
