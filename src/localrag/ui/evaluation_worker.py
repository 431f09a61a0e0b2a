"""The evaluation that runs in the background: one at a time, whatever tab started it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from localrag.app.evaluating import Measured
from localrag.errors import LocalRagError
from localrag.evaluation.benchmark import Progress
from localrag.ui.worker import Problem

logger = logging.getLogger(__name__)

Evaluate: TypeAlias = Callable[[Path, Measured, Callable[[Progress], None]], Path]
"""Measures the folder, telling how far it is, and gives the file of the run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationState:
    """What the worker is doing, or how the last evaluation ended: with a file, a problem, or cancelled."""

    name: str = ""
    running: bool = False
    progress: Progress | None = None
    cancelled: bool = False
    saved: Path | None = None
    problem: Problem | None = None


class _Cancelled(Exception):
    """Raised in the evaluation's own thread, where it tells how far it is."""


class EvaluationWorker:
    """Runs one evaluation at a time. Every method may be called from any thread."""

    def __init__(self, evaluate: Evaluate) -> None:
        self._evaluate = evaluate
        self._lock = threading.Lock()
        self._state = EvaluationState()
        self._thread: threading.Thread | None = None

    def start(self, folder: Path, measured: Measured) -> bool:
        """Begins; false when another evaluation is running."""
        with self._lock:
            if self._state.running:
                return False
            self._state = EvaluationState(name=folder.name, running=True)
            self._thread = threading.Thread(
                target=self._run, args=(folder, measured), name="evaluation-worker", daemon=True
            )
            self._thread.start()
            return True

    def cancel(self) -> None:
        """Ends the evaluation after the step at hand; nothing of it is kept."""
        with self._lock:
            if self._state.running:
                self._state = replace(self._state, cancelled=True)

    def forget(self) -> None:
        """Clears how the last evaluation ended."""
        with self._lock:
            if not self._state.running:
                self._state = EvaluationState()

    def state(self) -> EvaluationState:
        """A snapshot."""
        with self._lock:
            return self._state

    def wait(self, timeout_s: float) -> bool:
        """Waits for the end; false when the time is up first."""
        if (thread := self._thread) is not None:
            thread.join(timeout_s)
        return not self.state().running

    def _run(self, folder: Path, measured: Measured) -> None:
        saved, problem, cancelled = None, None, False
        try:
            saved = self._evaluate(folder, measured, self._note)
        except _Cancelled:
            cancelled = True
        except LocalRagError as error:
            problem = Problem.of(error)
        except Exception as error:  # nothing may end the thread in silence: the page would wait for ever
            logger.exception("the evaluation failed")
            problem = Problem(
                message=f"Something unexpected went wrong ({type(error).__name__}).", hint="The log says more."
            )
        with self._lock:
            self._state = EvaluationState(name=folder.name, saved=saved, problem=problem, cancelled=cancelled)

    def _note(self, progress: Progress) -> None:
        with self._lock:
            if self._state.cancelled:
                raise _Cancelled
            self._state = replace(self._state, progress=progress)
