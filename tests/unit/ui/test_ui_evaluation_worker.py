"""The background evaluation: one at a time, cancelled between steps, and nothing ends in silence."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from localrag.app.evaluating import Measured
from localrag.errors import DatasetError
from localrag.evaluation.benchmark import Progress
from localrag.ui.evaluation_worker import EvaluationState, EvaluationWorker
from localrag.ui.worker import Problem

WAIT_S = 10.0
RUN = Path("run.json")


class Steps:
    """An evaluation of three steps that waits after each until it is let on."""

    def __init__(self) -> None:
        self.asked: list[tuple[Path, Measured]] = []
        self.reached = threading.Semaphore(0)
        self.go_on = threading.Semaphore(0)

    def __call__(self, folder: Path, measured: Measured, show: Callable[[Progress], None]) -> Path:
        self.asked.append((folder, measured))
        for done in range(1, 4):
            show(Progress(stage="search", done=done, total=3))
            self.reached.release()
            assert self.go_on.acquire(timeout=WAIT_S)
        return RUN

    def step(self) -> None:
        """Waits for the next step to be reached."""
        assert self.reached.acquire(timeout=WAIT_S)


def test_nothing_runs_at_first() -> None:
    assert EvaluationWorker(Steps()).state() == EvaluationState()


def test_an_evaluation_runs_to_its_file() -> None:
    steps = Steps()
    worker = EvaluationWorker(steps)
    measured = Measured(sweep=True)

    assert worker.start(Path("sets/cranfield"), measured)
    steps.step()
    assert worker.state() == EvaluationState(
        name="cranfield", running=True, progress=Progress(stage="search", done=1, total=3)
    )
    assert not worker.wait(0.01)
    steps.go_on.release(3)
    assert worker.wait(WAIT_S)
    assert worker.state() == EvaluationState(name="cranfield", saved=RUN)
    assert steps.asked == [(Path("sets/cranfield"), measured)]
    worker.forget()
    assert worker.state() == EvaluationState()


def test_a_second_one_has_to_wait() -> None:
    steps = Steps()
    worker = EvaluationWorker(steps)
    worker.start(Path("a"), Measured())
    steps.step()

    assert not worker.start(Path("b"), Measured())
    worker.forget()  # nothing to forget yet
    assert worker.state().name == "a"
    steps.go_on.release(6)
    assert worker.wait(WAIT_S)
    assert worker.start(Path("b"), Measured())
    assert worker.wait(WAIT_S)
    assert [folder.name for folder, _ in steps.asked] == ["a", "b"]


def test_a_cancelled_one_ends_at_its_next_step_and_leaves_nothing() -> None:
    steps = Steps()
    worker = EvaluationWorker(steps)
    worker.start(Path("a"), Measured())
    steps.step()
    worker.cancel()
    assert (worker.state().running, worker.state().cancelled) == (True, True)
    steps.go_on.release()

    assert worker.wait(WAIT_S)
    assert worker.state() == EvaluationState(name="a", cancelled=True)
    assert not steps.reached.acquire(blocking=False)  # the second step was not reached


def test_cancelling_nothing_is_nothing() -> None:
    worker = EvaluationWorker(Steps())
    worker.cancel()
    assert worker.state() == EvaluationState()


@pytest.mark.parametrize(
    ("error", "problem"),
    [
        (
            DatasetError("queries.jsonl, line 3: no.", hint="See."),
            Problem(message="queries.jsonl, line 3: no.", hint="See.", kind="dataset"),
        ),
        (
            ZeroDivisionError(),
            Problem(message="Something unexpected went wrong (ZeroDivisionError).", hint="The log says more."),
        ),
    ],
)
def test_what_goes_wrong_is_told(error: Exception, problem: Problem) -> None:
    def fail(folder: Path, measured: Measured, show: Callable[[Progress], None]) -> Path:
        raise error

    worker = EvaluationWorker(fail)
    worker.start(Path("a"), Measured())
    assert worker.wait(WAIT_S)
    assert worker.state() == EvaluationState(name="a", problem=problem)
