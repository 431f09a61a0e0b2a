"""The Evaluate page: a set is measured in the background, and its runs are read from the means to the question."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from localrag.app import RAG, evaluating, wiring
from localrag.app.evaluating import Measured, evaluate_folder, save_run
from localrag.evaluation.benchmark import Progress
from localrag.evaluation.runs import SavedRun
from localrag.settings import Settings, load_settings
from localrag.testing import HashEmbedder, ScriptedLLM
from localrag.ui import evaluate, evaluation_answers, evaluation_compare, evaluation_questions, labels, session

ROOT = Path(__file__).resolve().parents[2]
MINI = ROOT / "tests" / "data" / "beir-mini"
PAGE = "pages/3_Evaluate.py"
WAIT_S = 60


@pytest.fixture
def settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Settings]:
    """Those of a library without documents, which the app opens."""
    settings = load_settings(data_dir=tmp_path / "data")
    monkeypatch.setattr(wiring, "embedder", lambda _: HashEmbedder())
    rag = RAG.open(settings, embedder=HashEmbedder(), llm=ScriptedLLM([]))
    monkeypatch.setattr(RAG, "open", lambda *_, **__: rag)
    session._opened.clear()
    evaluate._worker.clear()
    yield settings
    session._opened.clear()
    evaluate._worker.clear()
    rag.close()


def open_page() -> AppTest:
    tab = AppTest.from_file(str(ROOT / "Welcome.py"), default_timeout=WAIT_S).run()
    tab.switch_page(PAGE).run()
    assert not tab.exception
    return tab


def measured(settings: Settings, *, answers: bool = False, sweep: bool = False, **changes: object) -> Path:
    """The file of a run over the mini set; with answers, those of a model that says the same to everything."""
    own = settings.model_copy(update=changes)
    wanted = Measured(answers=answers, sweep=sweep)
    if not answers:
        return save_run(evaluate_folder(MINI, own, measured=wanted, embedder=HashEmbedder()), settings)
    run = with_answers(evaluate_folder(MINI, own, measured=Measured(sweep=sweep), embedder=HashEmbedder()))
    return save_run(run, settings)


def with_answers(run: SavedRun) -> SavedRun:
    """The run with a right answer to q1, a wrong one to q2, and a wrong refusal of q4; u1 is answered."""

    def answer(
        query: str, *, contained: bool | None, refused: bool = False, answerable: bool = True
    ) -> dict[str, object]:
        return {
            "query": query, "question": f"asked {query}", "answerable": answerable, "gold": ["nine <b>euros</b>"],
            "text": f"said to {query} <script>alert(1)</script>", "refused": refused, "mode": "extractive",
            "confidence": "low", "cited": ["d1"], "citations": 1, "right_citations": int(bool(contained)),
            "citation_recall": 1.0 if answerable else None, "exact": contained and False, "contained": contained,
            "first_quote": contained, "unsupported": int(query == "q2"), "sentences": 1, "milliseconds": 40.0,
        }  # fmt: skip

    answers = [
        answer("q1", contained=True),
        answer("q2", contained=False),
        answer("q4", contained=False, refused=True),
        answer("u1", contained=None, answerable=False),
    ]
    return SavedRun.model_validate({**run.model_dump(), "answers": answers})


def shown(tab: AppTest) -> str:
    """All Markdown on the page as it reads, one element a line."""
    elements = [*tab.title, *tab.markdown, *tab.caption, *tab.info, *tab.warning, *tab.error, *tab.success]
    return re.sub(r"\\(?=[^\w\s])", "", "\n".join(element.value for element in elements)).replace("\u2060", "")


def choose_row(tab: AppTest, table: str, row: int) -> AppTest:
    """Ticks a row of the table whose key begins so."""
    key = next(frame.key for frame in tab.dataframe if frame.key and frame.key.startswith(table))
    tab.session_state[key] = {"selection": {"rows": [row], "columns": [], "cells": []}}
    tab.run()
    assert not tab.exception
    return tab


def submit(tab: AppTest) -> AppTest:
    next(button for button in tab.button if button.label == "Measure").click()
    tab.run()
    assert not tab.exception
    return tab


def wait_for_worker(settings: Settings) -> None:
    assert evaluate._worker(settings).wait(WAIT_S)


def test_without_runs_the_page_says_how_to_make_one(settings: Settings) -> None:
    tab = open_page()
    assert "No runs yet." in shown(tab)
    assert "corpus.jsonl" in shown(tab)
    assert not tab.tabs


def test_a_set_is_measured_by_a_click_and_shown(settings: Settings) -> None:
    tab = open_page()
    tab.text_input(key="evaluation_folder").set_value(str(MINI))
    submit(tab)
    wait_for_worker(settings)
    tab.run()

    assert "beir-mini is measured." in shown(tab)
    assert [item.label for item in tab.tabs] == ["Measures", "Questions", "Compare"]
    (path,) = evaluating.saved_runs(settings)
    run = evaluate.opened(path)
    assert [(metric.label, metric.value) for metric in tab.metric][:3] == [
        ("nDCG@10", f"{run.metrics['ndcg@10']:.3f}"), ("Chance", "p = 1.000"), ("Queries", "4")
    ]  # fmt: skip
    assert "By the slider" in shown(tab)
    tab.button(key="forget_evaluation").click().run()
    assert "is measured" not in shown(tab)


def test_quotes_are_measured_when_asked_for(settings: Settings) -> None:
    tab = open_page()
    tab.text_input(key="evaluation_folder").set_value(str(MINI))
    next(box for box in tab.selectbox if box.label == "Answers").set_value(False)
    submit(tab)
    wait_for_worker(settings)
    tab.run()

    assert [item.label for item in tab.tabs] == ["Measures", "Questions", "Answers", "Compare"]
    assert "6 questions, 2 of them unanswerable · quotes, no model" in shown(tab)


def test_what_is_wrong_with_a_set_is_said(settings: Settings, tmp_path: Path) -> None:
    tab = open_page()
    submit(tab)
    assert "Name a folder first." in shown(tab)
    tab.text_input(key="evaluation_folder").set_value(str(tmp_path / "nowhere"))
    submit(tab)
    wait_for_worker(settings)
    assert "nowhere is not a folder." in shown(tab.run())


def test_a_running_evaluation_shows_how_far_it_is_and_can_be_cancelled(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    reached, go_on = threading.Event(), threading.Event()

    def slow(folder: Path, settings: Settings, *, measured: Measured, on_progress: Callable[[Progress], None]) -> None:
        on_progress(Progress(stage="embed", done=5, total=20))
        reached.set()
        assert go_on.wait(WAIT_S)
        on_progress(Progress(stage="embed", done=6, total=20))
        raise AssertionError("the step after the cancel was reached")

    monkeypatch.setattr(evaluating, "evaluate_folder", slow)
    tab = open_page()
    tab.text_input(key="evaluation_folder").set_value(str(MINI))
    submit(tab)
    assert reached.wait(WAIT_S)
    tab.run()
    assert "**Measuring beir-mini**" in shown(tab)
    tab.button(key="cancel_evaluation").click().run()
    assert "Stopping after the step at hand" in shown(tab)
    go_on.set()
    wait_for_worker(settings)
    assert "was cancelled; nothing of it is kept." in shown(tab.run())
    assert evaluating.saved_runs(settings) == []


def test_a_question_is_read_with_all_that_was_found_for_it(settings: Settings) -> None:
    """The worst question is q3: no word of it stands in the corpus, so that keyword search finds nothing."""
    measured(settings)
    tab = choose_row(open_page(), "questions_", 0)

    text = shown(tab)
    assert "**safety equipment**" in text
    assert "Query q3 · 1 relevant in the corpus" in text
    assert "**Keyword** · 0.000" in text
    assert ":gray[Nothing found.]" in text
    gold = next(frame.value for frame in tab.dataframe if "Relevant entry" in frame.value.columns)
    assert list(gold["Relevant entry"]) == ["d2 · Boats"]
    assert list(gold["Keyword"]) == ["–"]


def test_where_both_legs_lose_to_one(settings: Settings) -> None:
    """By meaning alone q3 is as good as by both; keyword is better nowhere: nothing to list at the middle."""
    path = measured(settings, semantic=0.0)
    run = evaluate.opened(path)
    # At 0, hybrid is keyword search: it loses q3, which meaning finds somewhere in the list.
    assert evaluation_questions.listed(run, "recall@10", "Both loses") == ["q3"]
    assert evaluation_questions.lost(run, "recall@10", "q3") == 1.0
    assert evaluation_questions.listed(run, "ndcg@10", "Worst first")[0] == "q3"
    assert evaluation_questions.listed(run, "ndcg@10", "In order", "FERRY time") == ["q2"]
    assert evaluation_questions.rank(run, "lexical", "q1", "d1") == 1
    assert evaluation_questions.rank(run, "lexical", "q3", "d2") is None

    tab = open_page()
    tab.button_group(key="questions_order").set_value("Both loses").run()
    lost = evaluation_questions.listed(run, "ndcg@10", "Both loses")
    assert f"{labels.count(len(lost), 'question')}. Choose one" in shown(tab)
    assert len(lost) < 4


def test_answers_are_counted_and_read(settings: Settings) -> None:
    measured(settings, answers=True)
    tab = open_page()
    figures = {metric.label: metric.value for metric in tab.metric}
    assert figures["Gold answer in it"] == "33.3%"
    assert figures["Unsupported"] == "25.0%"
    assert "3 answers. Choose one to read it." in shown(tab)  # all but q1 are wrong

    choose_row(tab, "answers_", 0)
    text = shown(tab)
    assert "**asked q2**" in text
    assert "said to q2" in text
    assert not [item.value for item in tab.markdown if re.search(r"(?<!\\)<(?:script|b)>", item.value)]
    assert "**Gold:** nine" in text


def test_each_answer_has_its_verdict(settings: Settings) -> None:
    run = evaluate.opened(measured(settings, answers=True))
    verdicts = [evaluation_answers.verdict(answer) for answer in run.answers]
    assert verdicts == ["right", "wrong", "refused, but answerable", "answered, but unanswerable"]
    assert [answer.query for answer in evaluation_answers.listed(run.answers, "Unsupported")] == ["q2"]
    assert len(evaluation_answers.listed(run.answers, "All")) == 4


def test_two_runs_are_compared(settings: Settings) -> None:
    baseline = measured(settings, semantic=0.0)
    baseline.rename(baseline.with_name("old.json"))
    measured(settings, semantic=1.0)
    tab = open_page()

    text = shown(tab)
    assert "What was set otherwise: `semantic` 0.0 → 1.0." in text
    assert "Questions that changed most" in text
    rows = next(frame.value for frame in tab.dataframe if "Baseline" in frame.value.columns)
    both = rows[rows["Of"] == "Both"].set_index("Measure")
    keyword = rows[rows["Of"] == "Keyword"]
    assert both.loc["nDCG@10", "Baseline"] == 0.75
    assert set(keyword["Difference"]) == {0.0}
    runs = [evaluate.opened(path) for path in evaluating.saved_runs(settings)]
    changes = evaluation_compare.changed_most(runs[0], runs[1])
    assert "q3" in [query for query, _ in changes]
    assert [abs(change) for _, change in changes] == sorted((abs(change) for _, change in changes), reverse=True)


def test_a_run_of_other_questions_is_not_compared(settings: Settings) -> None:
    path = measured(settings)
    other = evaluate.opened(path).model_dump(mode="json")
    other["queries"]["q1"]["text"] = "another question"
    save_run(SavedRun.model_validate(other), settings, path.with_name("zoo.json"))
    assert "query 'q1' has other words" in shown(open_page())


def test_a_file_that_is_no_run_is_said(settings: Settings) -> None:
    folder = settings.data_dir / "evaluations"
    folder.mkdir(parents=True)
    (folder / "broken.json").write_text("{}")
    assert "is not an evaluation run" in shown(open_page())


def test_a_run_is_called_by_its_set_and_its_time() -> None:
    assert evaluate.run_name(Path("a/my-set-20261130-220501.json")).startswith("my-set · 2026-1")
    assert evaluate.run_name(Path("a/baseline.json")) == "baseline"
    assert evaluate.run_name(Path("a/x-99999999-999999.json")) == "x-99999999-999999"


def test_runs_of_the_same_set_come_first_for_comparing() -> None:
    paths = [Path(f"{name}.json") for name in ("zoo-20261130-220503", "a-20261130-220502", "a-20261130-220501", "b")]
    assert [path.stem for path in evaluate.others_of(paths[2], paths)] == [
        "a-20261130-220502", "zoo-20261130-220503", "b"
    ]  # fmt: skip
