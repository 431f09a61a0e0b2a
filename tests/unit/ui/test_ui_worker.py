"""The background worker: every file once, text before vectors, nothing lost and nothing silent."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from localrag.errors import EmptyDocument, StorageFullError
from localrag.library.embedding_queue import EmbedProgress
from localrag.library.ingest import Outcome
from localrag.ui.worker import LibraryWorker, Problem

WAIT_S = 10.0


def outcome(name: str, **kept: object) -> Outcome:
    values = {"document_id": name, "name": name, "uri": f"upload:{name}", "status": "indexed", "chunks": 2, **kept}
    return Outcome(**values)  # type: ignore[arg-type]


class FakeLibrary:
    """Notes what it is asked, in order. `hold` makes reading wait, `embed_steps` is how many steps embedding takes."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.pending = 0
        self.embed_steps = 1
        self.hold: threading.Event | None = None
        self.started = threading.Event()
        self.error: Exception | None = None
        self.on_step: Callable[[int], None] = lambda step: None

    def ingest_bytes(self, content: bytes, name: str) -> Outcome:
        self.calls.append(f"read {name}")
        self.started.set()
        if self.hold is not None:
            assert self.hold.wait(WAIT_S)
        if self.error is not None:
            raise self.error
        self.pending += 2
        return outcome(name)

    def ingest(
        self,
        *paths: str | Path,
        embed: bool = True,
        on_file: Callable[[Outcome], None] = lambda _: None,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> None:
        assert embed is False
        for name in ("a.md", "b.md"):
            if not cancelled():
                self.calls.append(f"read {name}")
                on_file(outcome(name))

    def embed_pending(
        self,
        *,
        progress: Callable[[EmbedProgress], None] = lambda _: None,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> EmbedProgress:
        self.calls.append("embed")
        total = self.embed_steps
        for step in range(1, total + 1):
            if cancelled():
                break
            progress(EmbedProgress(done=step, total=total, rate=1.0, seconds_left=float(total - step)))
            self.on_step(step)
        else:
            self.pending = 0
            return EmbedProgress(done=total, total=total, rate=1.0, seconds_left=0.0)
        self.calls.append("embed stopped")
        return EmbedProgress(done=step - 1, total=total, rate=1.0, seconds_left=None, cancelled=True)

    def pending_count(self) -> int:
        return self.pending


@pytest.fixture
def library() -> FakeLibrary:
    return FakeLibrary()


def test_a_file_is_read_and_then_its_vectors_are_made(library: FakeLibrary) -> None:
    worker = LibraryWorker(library)
    assert worker.submit("1", "a.pdf", b"x")
    assert worker.wait(WAIT_S)
    assert library.calls == ["read a.pdf", "embed"]
    state = worker.state()
    assert [job.status for job in state.jobs] == ["done"]
    assert state.jobs[0].outcomes == (outcome("a.pdf"),)
    assert not state.busy


def test_the_same_upload_is_never_read_twice(library: FakeLibrary) -> None:
    worker = LibraryWorker(library)
    assert worker.submit("1", "a.pdf", b"x")
    assert not worker.submit("1", "a.pdf", b"x")
    assert worker.wait(WAIT_S)
    assert not worker.submit("1", "a.pdf", b"x")
    assert library.calls.count("read a.pdf") == 1


def test_all_text_comes_before_any_vector(library: FakeLibrary) -> None:
    library.hold = threading.Event()
    worker = LibraryWorker(library)
    for name in ("a", "b", "c"):
        worker.submit(name, name, b"x")
    assert [job.status for job in worker.state().jobs].count("waiting") >= 2
    library.hold.set()
    assert worker.wait(WAIT_S)
    assert library.calls == ["read a", "read b", "read c", "embed"]


def test_a_file_that_arrives_while_vectors_are_made_is_read_before_the_next_batch(library: FakeLibrary) -> None:
    library.pending, library.embed_steps = 3, 3
    worker = LibraryWorker(library)
    library.on_step = lambda step: (step == 1 and worker.submit("late", "late.md", b"x"), None)[1]
    worker.wake()
    assert worker.wait(WAIT_S)
    assert library.calls == ["embed", "embed stopped", "read late.md", "embed"]


def test_pausing_stops_vectors_and_resuming_goes_on(library: FakeLibrary) -> None:
    library.pending, library.embed_steps = 3, 3
    worker = LibraryWorker(library)
    library.on_step = lambda step: worker.pause()
    worker.wake()
    assert worker.wait(WAIT_S)
    assert library.calls == ["embed", "embed stopped"]
    assert worker.state().paused
    worker.wake()
    assert worker.wait(WAIT_S)
    assert library.calls == ["embed", "embed stopped"], "what the user paused is not woken by a page"
    library.on_step = lambda step: None
    worker.resume()
    assert worker.wait(WAIT_S)
    assert library.calls == ["embed", "embed stopped", "embed"]
    assert not worker.state().paused


def test_nothing_pending_wakes_nothing(library: FakeLibrary) -> None:
    worker = LibraryWorker(library)
    worker.wake()
    assert worker.wait(WAIT_S)
    assert library.calls == []


def test_waiting_files_can_be_cancelled_and_the_one_at_hand_is_finished(library: FakeLibrary) -> None:
    library.hold = threading.Event()
    worker = LibraryWorker(library)
    worker.submit("a", "a", b"x")
    assert library.started.wait(WAIT_S)
    worker.submit("b", "b", b"x")
    worker.cancel_files()
    library.hold.set()
    assert worker.wait(WAIT_S)
    assert [job.status for job in worker.state().jobs] == ["done", "cancelled"]
    assert "read b" not in library.calls


def test_a_file_that_failed_is_an_outcome_and_the_next_is_read(library: FakeLibrary) -> None:
    error = EmptyDocument("a.pdf is empty.", path="a.pdf", hint="Check it.")
    library.ingest_bytes = lambda content, name: outcome(name, status="failed", error=error)  # type: ignore[method-assign]
    worker = LibraryWorker(library)
    worker.submit("a", "a.pdf", b"")
    worker.submit("b", "b.pdf", b"")
    assert worker.wait(WAIT_S)
    assert [job.outcomes[0].status for job in worker.state().jobs] == ["failed", "failed"]


def test_an_error_of_the_library_is_kept_with_its_hint(library: FakeLibrary) -> None:
    library.error = StorageFullError("The disk is full.", hint="Free some space.")
    worker = LibraryWorker(library)
    worker.submit("a", "a", b"x")
    assert worker.wait(WAIT_S)
    expected = Problem(message="The disk is full.", hint="Free some space.", kind="storage")
    assert worker.state().jobs[0].problem == expected


def test_a_fault_is_shown_and_the_next_file_is_read(library: FakeLibrary) -> None:
    library.error = ZeroDivisionError("secret words")
    worker = LibraryWorker(library)
    worker.submit("a", "a", b"x")
    worker.submit("b", "b", b"x")
    assert worker.wait(WAIT_S)
    problems = [job.problem for job in worker.state().jobs]
    assert [problem and "ZeroDivisionError" in problem.message for problem in problems] == [True, True]
    assert all(problem and "secret" not in problem.message for problem in problems)


def test_when_vectors_cannot_be_made_the_page_learns_why_and_it_is_not_tried_in_a_circle(library: FakeLibrary) -> None:
    def refuse(**_: object) -> EmbedProgress:
        library.calls.append("embed")
        raise StorageFullError("The disk is full.", hint="Free some space.")

    library.pending = 1
    library.embed_pending = refuse  # type: ignore[method-assign]
    worker = LibraryWorker(library)
    worker.wake()
    assert worker.wait(WAIT_S)
    worker.wake()
    assert worker.wait(WAIT_S)
    assert library.calls == ["embed"]
    assert worker.state().problem == Problem(message="The disk is full.", hint="Free some space.", kind="storage")
    worker.resume()
    assert worker.wait(WAIT_S)
    assert library.calls == ["embed", "embed"]


def test_a_folder_gives_one_outcome_a_file_and_can_be_taken_again(library: FakeLibrary, tmp_path: Path) -> None:
    worker = LibraryWorker(library)
    assert worker.submit_paths("samples", "Samples", [tmp_path])
    assert worker.wait(WAIT_S)
    assert [item.name for item in worker.state().jobs[0].outcomes] == ["a.md", "b.md"]
    assert worker.submit_paths("samples", "Samples", [tmp_path])
    assert worker.wait(WAIT_S)
    assert len(worker.state().jobs) == 1


def test_finished_files_can_be_cleared_from_the_list(library: FakeLibrary) -> None:
    worker = LibraryWorker(library)
    worker.submit("a", "a", b"x")
    assert worker.wait(WAIT_S)
    worker.forget_finished()
    assert worker.state().jobs == ()


def test_a_closed_worker_takes_nothing(library: FakeLibrary) -> None:
    worker = LibraryWorker(library)
    worker.close()
    assert not worker.submit("a", "a", b"x")
    assert library.calls == []
