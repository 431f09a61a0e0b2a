"""What the background worker is doing: files being read, vectors being made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import streamlit as st

from localrag.library.embedding_queue import EmbedProgress
from localrag.library.ingest import Outcome
from localrag.ui import labels
from localrag.ui.notices import show_problem
from localrag.ui.safe import plain, render_safe
from localrag.ui.worker import Job, LibraryWorker, WorkerState

_REFRESH_S = 1.0
_SHOWN = 50
"""Outcomes listed at once; a page with thousands of lines would be slow to draw every second."""
_UNSCROLLED = 6
_LIST_PX = 230
_SHORT_WARNING = 90

_ICON = {
    "indexed": ":green[:material/check_circle:]",
    "skipped": ":gray[:material/do_not_disturb_on:]",
    "failed": ":red[:material/error:]",
}


def draw(worker: LibraryWorker) -> None:
    """The activity, kept up to date while there is any; the page is drawn anew when a file is done."""
    drawn = worker.state()

    @st.fragment(run_every=_REFRESH_S if drawn.busy else None)
    def follow() -> None:
        now = worker.state()
        if _landmarks(now) != _landmarks(drawn):
            st.rerun()
        _files(worker, now)
        _vectors(worker, now)

    follow()


def _landmarks(state: WorkerState) -> tuple[object, ...]:
    """What the rest of the page depends on."""
    return state.busy, state.paused, sum(len(job.outcomes) for job in state.jobs), len(state.jobs)


def _files(worker: LibraryWorker, state: WorkerState) -> None:
    if not state.jobs:
        return
    with st.container(border=True):
        finished = sum(job.status in ("done", "cancelled") for job in state.jobs)
        with st.container(horizontal=True, vertical_alignment="center"):
            if state.reading:
                st.markdown(f"**Reading files** · {finished} of {len(state.jobs)} done", width="stretch")
                if st.button("Cancel", icon=":material/close:", key="cancel_files", help="Skips what is not read yet."):
                    worker.cancel_files()
                    st.rerun(scope="fragment")
            else:
                st.markdown(f"**{_summary(state)}**", width="stretch")
                if st.button("Clear list", key="clear_files", type="tertiary"):
                    worker.forget_finished()
                    st.rerun()
        if state.reading:
            st.progress(finished / len(state.jobs))
        _list(state)


def _list(state: WorkerState) -> None:
    """One line a file: what is being read, then the latest outcomes, then what waits."""
    order = {"reading": 0, "done": 1, "cancelled": 1, "waiting": 2}
    latest_first = list(reversed(state.jobs))
    jobs = sorted(latest_first, key=lambda job: order[job.status])
    lines = [line for job in jobs for line in _job_lines(job)]
    if not lines:
        return
    shown = [*lines[:_SHOWN], f":gray[and {len(lines) - _SHOWN:,} more]"] if len(lines) > _SHOWN else lines
    with st.container(height=_LIST_PX if len(shown) > _UNSCROLLED else "content", border=False, gap="xsmall"):
        for line in shown:
            st.markdown(line)


def _summary(state: WorkerState) -> str:
    outcomes = [outcome for job in state.jobs for outcome in job.outcomes]
    counts = {status: sum(outcome.status == status for outcome in outcomes) for status in _ICON}
    failed = counts["failed"] + sum(job.problem is not None for job in state.jobs)
    parts = [f"{counts['indexed']} indexed"]
    if counts["skipped"]:
        parts.append(f"{counts['skipped']} skipped")
    if failed:
        parts.append(f"{failed} failed")
    return "Files read: " + ", ".join(parts)


def _job_lines(job: Job) -> Iterator[str]:
    if job.status == "waiting":
        yield f":gray[:material/schedule:] {plain(job.name)} · waiting"
    elif job.status == "reading":
        yield f":primary[:material/hourglass_top:] {plain(job.name)} · :shimmer[reading …]"
    elif job.status == "cancelled":
        yield f":gray[:material/cancel:] {plain(job.name)} · cancelled"
    if job.problem is not None:
        yield f"{_ICON['failed']} **{plain(job.name)}** · {plain(job.problem.message)} {render_safe(job.problem.hint)}"
    for outcome in reversed(job.outcomes):
        yield outcome_line(outcome)


def outcome_line(outcome: Outcome) -> str:
    """What became of one file, as a line of Markdown."""
    line = f"{_ICON[outcome.status]} **{plain(outcome.name)}** · "
    if outcome.error is not None:
        kind = f":red-badge[{plain(outcome.error.kind.replace('_', ' '))}]"
        return f"{line}{kind} {plain(outcome.error.message)} {render_safe(outcome.error.hint)}".rstrip()
    if outcome.status == "skipped":
        return f"{line}{plain(outcome.note or 'already indexed')}, skipped"
    note = f", {plain(outcome.note)}" if outcome.note else ""
    warned = f" · :orange[{_warned(outcome.warnings)}]" if outcome.warnings else ""
    return f"{line}indexed {labels.count(outcome.chunks, 'chunk')}{note}{warned}"


def _warned(warnings: Sequence[str]) -> str:
    """The warning itself where there is one and it is short, else how many."""
    if len(warnings) == 1 and len(warnings[0]) <= _SHORT_WARNING:
        return plain(warnings[0])
    return labels.count(len(warnings), "warning")


def _vectors(worker: LibraryWorker, state: WorkerState) -> None:
    if state.problem is not None:
        show_problem(state.problem)
        if st.button("Try again", icon=":material/refresh:", key="retry_vectors"):
            worker.resume()
            st.rerun()
        return
    progress = state.embedding
    if not (state.embedding_now or state.paused) or state.reading:
        return
    with st.container(border=True):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown("**Preparing search by meaning**", width="stretch")
            if state.paused:
                if st.button("Resume", icon=":material/play_arrow:", key="resume_vectors"):
                    worker.resume()
                    st.rerun()
            elif st.button("Pause", icon=":material/pause:", key="pause_vectors", help="What is done stays."):
                worker.pause()
                st.rerun()
        share = progress.done / progress.total if progress is not None and progress.total else 0.0
        st.progress(share, text=progress_text(progress, paused=state.paused))
        st.caption("Questions can be asked meanwhile: every text is found by keyword already.")


def progress_text(progress: EmbedProgress | None, *, paused: bool) -> str:
    """`320 of 900 texts · 14 texts/s · 41 s left`."""
    if progress is None:
        return "Paused" if paused else "Starting …"
    parts = [f"{progress.done:,} of {labels.count(progress.total, 'text')}"]
    if paused:
        parts.append("paused")
    elif progress.elsewhere:
        parts.append("another process is at it")
    else:
        if progress.rate > 0:
            parts.append(f"{progress.rate:.1f} texts/s")
        if progress.seconds_left is not None and not progress.finished:
            parts.append(f"{labels.seconds(progress.seconds_left)} left")
    return " · ".join(parts)
