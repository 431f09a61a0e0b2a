"""Runs as files: what is kept, what is refused, and how two are compared."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from localrag.errors import DatasetError
from localrag.evaluation.answers import JudgedAnswer
from localrag.evaluation.beir import BeirDataset, CorpusEntry
from localrag.evaluation.benchmark import MODES, Evaluation, SweepPoint, compare_legs
from localrag.evaluation.comparing import compare_runs
from localrag.evaluation.metrics import means, score
from localrag.evaluation.runs import SavedRun, as_run, load_run

LONG = "word " * 60
DATASET = BeirDataset(
    name="harbour",
    corpus=(
        CorpusEntry(id="d1", title="Harbour\nprices", text="text"),
        CorpusEntry(id="d2", text=LONG),
        CorpusEntry(id="d3", title="Never found", text="text"),
    ),
    queries={f"q{number}": f"question {number}" for number in range(1, 9)},
    qrels={f"q{number}": {"d1": 1} for number in range(1, 9)},
)
RIGHT, WRONG = ("d1", "d2"), ("d2",)


def answered(query: str, *, contained: bool) -> JudgedAnswer:
    return JudgedAnswer(
        query=query, question="?", answerable=True, gold=("nine",), text="nine [d1]", refused=False, mode="extractive",
        confidence="medium", cited=("d1",), citations=1, right_citations=1, citation_recall=1.0, exact=False,
        contained=contained, first_quote=contained, unsupported=0, sentences=1, milliseconds=12.3456,
    )  # fmt: skip


def make_run(
    *,
    hybrid_right: int = 8,
    dataset: BeirDataset = DATASET,
    answers: tuple[JudgedAnswer, ...] = (),
    sweep: bool = False,
) -> SavedRun:
    """Keyword and meaning find the entry of every query; hybrid that of the first so many."""
    queries = list(dataset.queries)
    ranked = {mode: dict.fromkeys(queries, RIGHT) for mode in MODES}
    ranked["hybrid"] = {query: RIGHT if at < hybrid_right else WRONG for at, query in enumerate(queries)}
    by_query = {mode: score(run, dataset.qrels) for mode, run in ranked.items()}
    by_mode = {mode: means(scores) for mode, scores in by_query.items()}
    points = (SweepPoint(semantic=0.5, measures={"ndcg@10": 1 / 3, "recall@5": 1.0}),)
    evaluation = Evaluation(
        dataset=dataset.name, documents=3, chunks=4, queries=len(queries), by_mode=by_mode, by_query=by_query,
        comparison=compare_legs(by_query, by_mode), seconds=1.23456, ranked=ranked, sweep=points if sweep else (),
        answers=answers,
    )  # fmt: skip
    made_at = datetime(2026, 11, 30, 22, 5, 1, tzinfo=UTC)
    return as_run(evaluation, dataset, settings={"semantic": 0.5, "reranker": None}, made_at=made_at)


def saved(run: SavedRun, path: Path) -> Path:
    path.write_text(run.to_json(), encoding="utf-8")
    return path


def test_a_run_is_read_as_it_was_written(tmp_path: Path) -> None:
    run = make_run(hybrid_right=5, answers=(answered("q1", contained=True),), sweep=True)
    again = load_run(saved(run, tmp_path / "run.json"))

    assert again == run
    assert again.by_mode["hybrid"]["ndcg@10"] == 0.625
    assert again.ranked["hybrid"]["q8"] == WRONG
    assert again.sweep[0].measures["ndcg@10"] == 0.333333
    assert again.answer_measures["contained"] == 1.0
    assert again.answers[0].milliseconds == 12.3
    assert (again.comparison.leg, again.comparison.difference) == ("lexical", -0.375)


def test_a_run_names_what_was_found_or_judged() -> None:
    """d3 was neither. A title is one line; an entry without one is called by its beginning, at most 120 characters."""
    titles = make_run().titles
    assert titles["d1"] == "Harbour prices"
    assert titles["d2"] == ("word " * 24)[:119].rstrip() + "…"
    assert "d3" not in titles


def test_a_run_says_when_it_was_made_and_is_called_after_it() -> None:
    run = make_run()
    assert run.file_name == "harbour-20261130-220501.json"
    assert run.model_copy(update={"dataset": "../a b"}).file_name == "---a-b-20261130-220501.json"


def test_a_query_has_a_line_of_its_own_in_the_file() -> None:
    lines = make_run().to_json().splitlines()
    assert '"text": "question 1",' in lines
    assert '"q1": ["d1", "d2"],' in lines


def without_queries(run: dict[str, Any]) -> None:
    del run["queries"]


def another_mean(run: dict[str, Any]) -> None:
    run["by_mode"]["hybrid"]["mrr@10"] = 0.4


def lost_mode(run: dict[str, Any]) -> None:
    del run["ranked"]["vector"]


def unknown_query(run: dict[str, Any]) -> None:
    run["ranked"]["vector"]["q99"] = []


def too_good(run: dict[str, Any]) -> None:
    run["by_query"]["lexical"]["hit@1"]["q1"] = 1.5


def other_version(run: dict[str, Any]) -> None:
    run["version"] = 2


def no_zone(run: dict[str, Any]) -> None:
    run["made_at"] = "2026-11-30T22:05:01"


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (without_queries, "queries: Field required"),
        (another_mean, "by_mode.hybrid.mrr@10 is not the mean of its values"),
        (lost_mode, "ranked must hold lexical, vector, hybrid"),
        (unknown_query, "ranked.vector is not of the queries of this run"),
        (too_good, "by_query.lexical.hit@1.q1: Input should be less than or equal to 1"),
        (other_version, "version: Input should be 1"),
        (no_zone, "made_at: Input should have timezone info"),
    ],
)
def test_a_spoilt_run_is_refused_with_the_place(
    tmp_path: Path, spoil: Callable[[dict[str, Any]], None], said: str
) -> None:
    run = json.loads(make_run().to_json())
    spoil(run)
    path = tmp_path / "run.json"
    path.write_text(json.dumps(run))
    with pytest.raises(DatasetError) as error:
        load_run(path)
    assert f"{path} is not an evaluation run: {said}" in error.value.message


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"{", "Invalid JSON"),
        (b"[]", "should be an object"),
        (b"{}", "dataset: Field required"),
        (b"\xff", "not UTF-8"),
    ],
)
def test_a_file_that_is_no_run_is_refused(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "run.json"
    path.write_bytes(content)
    with pytest.raises(DatasetError, match=said):
        load_run(path)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"none\.json cannot be read: No such file"):
        load_run(tmp_path / "none.json")


def test_the_better_run_is_better_by_more_than_chance() -> None:
    """Seven of eight queries go from 0 to 1. Two-sided p: 2 of the 2^7 ways to swap are as extreme, 2/128 = .0156."""
    changes = compare_runs(make_run(hybrid_right=8), make_run(hybrid_right=1)).by_mode

    change = changes["hybrid"]["ndcg@10"]
    assert (change.value, change.baseline, change.difference, change.questions) == (1.0, 0.125, 0.875, 8)
    assert change.p_value == pytest.approx(2 / 128, abs=0.005)
    assert (changes["lexical"]["ndcg@10"].difference, changes["lexical"]["ndcg@10"].p_value) == (0.0, 1.0)


def test_answers_are_compared_on_the_questions_that_both_asked() -> None:
    """q2 was asked by one run only."""
    run = make_run(answers=(answered("q1", contained=True), answered("q2", contained=True)))
    change = compare_runs(run, make_run(answers=(answered("q1", contained=False),))).answers["contained"]
    assert (change.value, change.baseline, change.questions) == (1.0, 0.0, 1)
    assert compare_runs(run, make_run()).answers == {}


def changed(**parts: dict[str, Any]) -> BeirDataset:
    return BeirDataset(
        **{"name": "other", "corpus": DATASET.corpus, "queries": DATASET.queries, "qrels": DATASET.qrels} | parts
    )


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (changed(queries={"q1": "question 1"}, qrels={"q1": {"d1": 1}}), r"8 against 1; only the run has 'q2'"),
        (changed(queries={**DATASET.queries, "q9": "9"}, qrels={**DATASET.qrels, "q9": {"d1": 1}}),
         r"8 against 9; only the baseline has 'q9'"),
        (changed(queries={**DATASET.queries, "q3": "else?"}), "query 'q3' has other words"),
        (changed(qrels={**DATASET.qrels, "q4": {"d2": 1}}), "query 'q4' is judged differently"),
    ],
)  # fmt: skip
def test_runs_of_other_questions_are_not_compared(other: BeirDataset, said: str) -> None:
    with pytest.raises(DatasetError, match=said):
        compare_runs(make_run(), make_run(dataset=other))


def test_a_set_may_have_been_renamed() -> None:
    assert compare_runs(make_run(), make_run(dataset=changed())).by_mode["hybrid"]["ndcg@10"].p_value == 1.0
