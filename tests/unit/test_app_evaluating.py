"""A folder is evaluated with the settings, in an index that is gone afterwards, and the run is kept."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from localrag.app import evaluating
from localrag.app.evaluating import Measured, evaluate_folder, save_run, saved_runs
from localrag.errors import BackendUnavailable, StorageFullError
from localrag.evaluation.benchmark import SWEEP, Progress
from localrag.evaluation.runs import SavedRun, load_run
from localrag.settings import load_settings
from localrag.testing import HashEmbedder, ScriptedLLM
from localrag.types import Check, Message

MINI = Path(__file__).resolve().parents[1] / "data" / "beir-mini"
REFUSAL = "I could not find this in your documents."


def evaluated(measured: Measured | None = None, llm: ScriptedLLM | None = None, **settings: object) -> SavedRun:
    return evaluate_folder(
        MINI, load_settings(**settings), measured=measured or Measured(), embedder=HashEmbedder(), llm=llm
    )


def test_search_alone_asks_nothing() -> None:
    run = evaluated()

    assert (run.dataset, run.documents, list(run.queries)) == ("beir-mini", 8, ["q1", "q2", "q3", "q4"])
    assert run.by_mode["lexical"]["ndcg@10"] == 0.75  # no word of q3 stands in the corpus
    assert (run.sweep, run.answers, run.answer_measures) == ((), (), {})


def test_the_run_remembers_the_settings_that_matter_and_no_path() -> None:
    run = evaluated(semantic=0.25, chunk_tokens=100, data_dir=Path("elsewhere"))

    assert (run.settings["semantic"], run.settings["chunk_tokens"], run.settings["answers"]) == (0.25, 100, False)
    assert "llm_model" not in run.settings
    assert not [name for name in run.settings if name.startswith(("data", "index", "ollama"))]
    assert "elsewhere" not in run.to_json()


def test_the_model_is_asked_every_question_and_judged() -> None:
    """It says "nine euros [1]" to whatever is asked: right for q1 of the three with a gold answer."""

    def reply(messages: Sequence[Message]) -> str:
        return "It is nine euros a night [1]."

    llm = ScriptedLLM(reply)
    run = evaluated(Measured(answers=True, sweep=True), llm)
    by_query = {answer.query: answer for answer in run.answers}

    assert [point.semantic for point in run.sweep] == list(SWEEP)
    assert list(by_query) == ["q1", "q2", "q3", "q4", "u1", "u2"]
    assert run.settings["llm_model"] == "llama3.2:3b"
    assert {query: answer.contained for query, answer in by_query.items() if answer.gold} == {
        "q1": True, "q2": False, "q4": False
    }  # fmt: skip
    assert by_query["q1"].cited == ("d1",)
    assert by_query["q1"].right_citations == by_query["q1"].citations >= 1
    assert run.answer_measures["contained"] == pytest.approx(1 / 3)
    assert llm.calls
    assert run.answer_measures["by_model"] == 6


def test_refusals_of_the_model_are_counted() -> None:
    run = evaluated(Measured(answers=True), ScriptedLLM(lambda messages: REFUSAL))

    assert all(answer.refused for answer in run.answers)
    # All six are refused, two of them rightly: P 2/6, R 2/2, F1 2 * 2 / (6 + 2).
    measures = run.answer_measures
    assert measures["refusal_precision"] == pytest.approx(1 / 3)
    assert (measures["refusal_recall"], measures["refusal_f1"]) == (1.0, 0.5)


def test_quotes_are_judged_without_a_model() -> None:
    run = evaluated(Measured(answers=True, use_llm=False, limit=1), ScriptedLLM([]))

    assert [(answer.query, answer.mode) for answer in run.answers] == [("q1", "extractive"), ("u1", "extractive")]
    assert run.settings["limit"] == 1
    assert "llm_model" not in run.settings


class AbsentLLM(ScriptedLLM):
    def check(self) -> list[Check]:
        return [Check(name="Ollama", ok=False, detail="Ollama is not running.", hint="Start it.")]


def test_a_model_that_is_not_there_is_not_replaced_by_quotes() -> None:
    with pytest.raises(BackendUnavailable) as error:
        evaluated(Measured(answers=True), AbsentLLM([]))
    assert error.value.message == "No answers can be measured: Ollama is not running."
    assert error.value.hint == "Start it. Or measure quotes, which need no model (--no-llm)."
    assert evaluated(Measured(answers=True, use_llm=False), AbsentLLM([])).answers


def test_the_index_is_gone_afterwards(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(evaluating.tempfile, "tempdir", str(tmp_path / "scratch"))
    (tmp_path / "scratch").mkdir()
    seen: list[list[Path]] = []

    def stop(progress: Progress) -> None:
        seen.append(list((tmp_path / "scratch").iterdir()))
        if progress.stage == "search":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        evaluate_folder(MINI, load_settings(), embedder=HashEmbedder(), on_progress=stop)
    assert all(len(found) == 1 for found in seen)
    assert list((tmp_path / "scratch").iterdir()) == []


def test_a_run_is_kept_where_it_is_asked_for(tmp_path: Path) -> None:
    run, settings = evaluated(), load_settings()
    (tmp_path / "v1.json").mkdir()  # a folder, whatever it is called

    assert save_run(run, settings) == settings.data_dir / "evaluations" / run.file_name
    assert save_run(run, settings, tmp_path / "new" / "a.json") == tmp_path / "new" / "a.json"
    assert save_run(run, settings, tmp_path / "runs") == tmp_path / "runs" / run.file_name
    assert save_run(run, settings, tmp_path / "v1.json") == tmp_path / "v1.json" / run.file_name
    assert load_run(tmp_path / "new" / "a.json") == run


def test_a_place_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageFullError):
        save_run(evaluated(), load_settings(), tmp_path / "file" / "run.json")


def test_the_latest_run_comes_first() -> None:
    run, settings = evaluated(), load_settings()
    folder = settings.data_dir / "evaluations"
    assert saved_runs(settings) == []
    for age, name in ((3, "b"), (1, "c"), (2, "a")):
        path = save_run(run, settings, folder / f"{name}.json")
        os.utime(path, (1000 - age, 1000 - age))
    assert [path.stem for path in saved_runs(settings)] == ["c", "a", "b"]
