"""Two runs on the same questions -> what changed, and whether it is more than chance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from localrag.errors import DatasetError
from localrag.evaluation.answers import per_question
from localrag.evaluation.beir import QueryId
from localrag.evaluation.benchmark import MODES, Mode
from localrag.evaluation.metrics import paired_p_value
from localrag.evaluation.runs import SavedRun


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One measure in both runs. `difference` is positive when the run is better than the baseline.

    p_value: see `paired_p_value`. questions: how many were compared.
    """

    value: float
    baseline: float
    p_value: float
    questions: int

    @property
    def difference(self) -> float:
        """How much better the run is."""
        return self.value - self.baseline


@dataclass(frozen=True, slots=True, kw_only=True)
class RunComparison:
    """Every measure that both runs have. `answers` is empty unless both asked some of the same questions."""

    by_mode: Mapping[Mode, Mapping[str, Change]]
    answers: Mapping[str, Change]


def compare_runs(run: SavedRun, baseline: SavedRun) -> RunComparison:
    """What the run changed against the baseline.

    Raises:
        DatasetError: they are not of the same queries and judgements; the message says where they differ.
    """
    if problem := _difference(run, baseline):
        raise DatasetError(
            f"The runs of {run.dataset} and {baseline.dataset} cannot be compared: {problem}.",
            hint="Evaluate the same data set again with the settings of the baseline.",
        )
    values, others = per_question(run.judged_answers()), per_question(baseline.judged_answers())
    return RunComparison(
        by_mode={
            mode: {
                measure: _change(run.by_query[mode][measure], baseline.by_query[mode][measure])
                for measure in run.by_mode[mode]
                if measure in baseline.by_mode[mode]
            }
            for mode in MODES
        },
        answers={name: _change(values[name], others[name]) for name in values if values[name].keys() & others[name]},
    )


def _difference(run: SavedRun, baseline: SavedRun) -> str:
    """Why they are not of the same questions; empty when they are."""
    missing, added = baseline.queries.keys() - run.queries.keys(), run.queries.keys() - baseline.queries.keys()
    if missing or added:
        named = sorted(missing or added)[0]
        holder = "baseline" if missing else "run"
        counts = f"{len(run.queries):,} against {len(baseline.queries):,}"
        return f"their queries differ ({counts}; only the {holder} has {named!r})"
    for query, judged in run.queries.items():
        if judged.text != baseline.queries[query].text:
            return f"query {query!r} has other words"
        if judged.qrels != baseline.queries[query].qrels:
            return f"query {query!r} is judged differently"
    return ""


def _change(values: Mapping[QueryId, float], others: Mapping[QueryId, float]) -> Change:
    """Over the questions that both have."""
    shared = [query for query in values if query in others]
    first, second = [values[query] for query in shared], [others[query] for query in shared]
    return Change(
        value=sum(first) / len(first),
        baseline=sum(second) / len(second),
        p_value=paired_p_value(first, second),
        questions=len(shared),
    )
