"""The one background worker of the app: reads the files that were handed in, then makes vectors.

It belongs to the server, not to a browser tab: a rerun, another page or a closed tab does not interrupt it.
Text goes first: a file that arrives while vectors are being made is read before the next batch of them.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, Protocol, TypeAlias

from localrag.errors import LocalRagError
from localrag.library.embedding_queue import EmbedProgress
from localrag.library.ingest import Outcome

logger = logging.getLogger(__name__)

JobStatus: TypeAlias = Literal["waiting", "reading", "done", "cancelled"]


class Library(Protocol):
    """What the worker needs of a RAG."""

    def ingest_bytes(self, content: bytes, name: str) -> Outcome: ...

    def ingest(
        self,
        *paths: str | Path,
        embed: bool = True,
        on_file: Callable[[Outcome], None] = ...,
        cancelled: Callable[[], bool] = ...,
    ) -> object: ...

    def embed_pending(
        self, *, progress: Callable[[EmbedProgress], None] = ..., cancelled: Callable[[], bool] = ...
    ) -> EmbedProgress: ...

    def pending_count(self) -> int: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """An error as the page shows it."""

    message: str
    hint: str = ""
    kind: str = "error"

    @classmethod
    def of(cls, error: LocalRagError) -> Problem:
        """The problem that the error tells of."""
        return cls(message=error.message, hint=error.hint, kind=error.kind)


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One thing handed in: an upload, or a folder with several outcomes. `problem` is what stopped it as a whole."""

    key: str
    name: str
    status: JobStatus = "waiting"
    outcomes: tuple[Outcome, ...] = ()
    problem: Problem | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerState:
    """What the worker is doing, for drawing. `embedding` is None until vectors were asked for."""

    jobs: tuple[Job, ...] = ()
    embedding: EmbedProgress | None = None
    embedding_now: bool = False
    paused: bool = False
    problem: Problem | None = None

    @property
    def reading(self) -> bool:
        """Whether files are still to be read."""
        return any(job.status in ("waiting", "reading") for job in self.jobs)

    @property
    def busy(self) -> bool:
        return self.reading or self.embedding_now


@dataclass(slots=True)
class _Task:
    job: Job
    run: Callable[[_Task], None] = field(repr=False)


class LibraryWorker:
    """Runs one thread while there is something to do. Every method may be called from any thread."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._lock = threading.Lock()
        self._tasks: list[_Task] = []
        self._taken: set[str] = set()
        self._thread: threading.Thread | None = None
        self._embedding: EmbedProgress | None = None
        self._embed_wanted = False
        self._embedding_now = False
        self._paused = False
        self._closed = False
        self._problem: Problem | None = None

    def submit(self, key: str, name: str, content: bytes) -> bool:
        """Takes one upload; false when this key was taken before, so that a rerun hands nothing in twice."""

        def read(task: _Task) -> None:
            self._add_outcome(task, self._library.ingest_bytes(content, name))

        return self._take(key, name, read)

    def submit_paths(self, key: str, name: str, paths: Sequence[Path]) -> bool:
        """Takes files and folders as one job; what was taken before is read again only once that is done."""

        def read(task: _Task) -> None:
            self._library.ingest(
                *paths,
                embed=False,
                on_file=lambda outcome: self._add_outcome(task, outcome),
                cancelled=lambda: self._closed or task.job.status == "cancelled",
            )

        with self._lock:
            if not any(task.job.key == key and task.job.status in ("waiting", "reading") for task in self._tasks):
                self._taken.discard(key)
                self._tasks = [task for task in self._tasks if task.job.key != key]
        return self._take(key, name, read)

    def wake(self) -> None:
        """Goes on making vectors if some are missing, unless the user paused that or it just failed."""
        with self._lock:
            if self._paused or self._closed or self._problem or self._thread is not None:
                return
        if self._library.pending_count() > 0:
            with self._lock:
                self._embed_wanted = True
                self._start()

    def pause(self) -> None:
        """Stops making vectors after the batch at hand; what is made stays."""
        with self._lock:
            self._paused = True

    def resume(self) -> None:
        """Goes on making vectors."""
        with self._lock:
            self._paused = False
            self._problem = None
        self.wake()

    def cancel_files(self) -> None:
        """Drops the files that are not read yet; the one at hand is finished."""
        with self._lock:
            for task in self._tasks:
                if task.job.status == "waiting" or (task.job.status == "reading" and task.job.outcomes):
                    task.job = replace(task.job, status="cancelled")

    def forget_finished(self) -> None:
        """Clears the outcomes of files that are done."""
        with self._lock:
            self._tasks = [task for task in self._tasks if task.job.status in ("waiting", "reading")]

    def state(self) -> WorkerState:
        """A snapshot."""
        with self._lock:
            return WorkerState(
                jobs=tuple(task.job for task in self._tasks),
                embedding=self._embedding,
                embedding_now=self._embedding_now or (self._embed_wanted and not self._paused),
                paused=self._paused,
                problem=self._problem,
            )

    def wait(self, timeout_s: float) -> bool:
        """Waits until there is nothing to do; false when the time is up first."""
        thread = self._thread
        if thread is not None:
            thread.join(timeout_s)
        return self._thread is None

    def close(self) -> None:
        """Ends the thread after the step at hand."""
        self._closed = True
        if (thread := self._thread) is not None:
            thread.join()

    # ------------------------------------------------------------------ the thread

    def _take(self, key: str, name: str, run: Callable[[_Task], None]) -> bool:
        with self._lock:
            if self._closed or key in self._taken:
                return False
            self._taken.add(key)
            self._tasks.append(_Task(job=Job(key=key, name=name), run=run))
            self._start()
            return True

    def _start(self) -> None:
        """Starts the thread unless it runs. Call with the lock held."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="library-worker", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        while True:
            with self._lock:
                task = next((task for task in self._tasks if task.job.status == "waiting"), None)
                embed = task is None and self._embed_wanted and not self._paused
                if self._closed or (task is None and not embed):
                    self._thread = None
                    return
                if task is not None:
                    task.job = replace(task.job, status="reading")
                else:
                    self._embedding_now, self._embed_wanted = True, False
            if task is not None:
                self._read(task)
            else:
                self._embed()

    def _read(self, task: _Task) -> None:
        problem = _problem_of(lambda: task.run(task))
        with self._lock:
            status: JobStatus = "cancelled" if task.job.status == "cancelled" else "done"
            task.job = replace(task.job, status=status, problem=problem)
            task.run = _nothing  # lets go of the upload's bytes
            self._embed_wanted = True

    def _add_outcome(self, task: _Task, outcome: Outcome) -> None:
        with self._lock:
            task.job = replace(task.job, outcomes=(*task.job.outcomes, outcome))

    def _embed(self) -> None:
        problem = _problem_of(lambda: self._library.embed_pending(progress=self._note, cancelled=self._interrupted))
        with self._lock:
            self._embedding_now = False
            self._problem = problem
            # Interrupted by a file or a pause: there is more to do.
            self._embed_wanted = problem is None and self._embedding is not None and not self._embedding.finished

    def _note(self, progress: EmbedProgress) -> None:
        self._embedding = progress

    def _interrupted(self) -> bool:
        with self._lock:
            return self._paused or self._closed or _waiting(self._tasks)


def _waiting(tasks: Sequence[_Task]) -> bool:
    return any(task.job.status == "waiting" for task in tasks)


def _nothing(task: _Task) -> None:
    del task


def _problem_of(step: Callable[[], object]) -> Problem | None:
    """What went wrong in the step. Nothing may end the thread in silence: the page would wait for ever."""
    try:
        step()
    except LocalRagError as error:
        return Problem.of(error)
    except Exception as error:
        if not threading.main_thread().is_alive():  # the server was stopped: no fault, and nobody looks any more
            return Problem(message="The server was stopped.")
        logger.exception("the background worker failed")
        return Problem(message=f"Something unexpected went wrong ({type(error).__name__}).", hint="The log says more.")
    return None
