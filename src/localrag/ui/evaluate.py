"""The page that measures search and answers on judged questions, and shows what was measured."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import streamlit as st

from localrag.app import evaluating
from localrag.app.evaluating import Measured
from localrag.errors import LocalRagError
from localrag.evaluation.benchmark import Progress, Stage
from localrag.evaluation.runs import SavedRun, load_run
from localrag.settings import Settings
from localrag.ui import evaluation_answers, evaluation_compare, evaluation_measures, evaluation_questions, labels
from localrag.ui.evaluation_worker import EvaluationState, EvaluationWorker
from localrag.ui.notices import show_error, show_problem
from localrag.ui.safe import plain
from localrag.ui.session import Session

_REFRESH_S = 1.0
_STAGES: dict[Stage, str] = {
    "index": "Reading the corpus",
    "embed": "Making vectors",
    "search": "Searching",
    "answer": "Asking the questions",
}
_STEM = re.compile(r"(?P<set>.+)-(?P<when>\d{8}-\d{6})")
_DEFAULT_LIMIT = 50
_LAYOUT = (
    "A data set is a folder in the BEIR layout: `corpus.jsonl` (texts, or pages of files in `pdfs/`), `queries.jsonl`, "
    "and `qrels/test.tsv`, which says what is relevant for which query. Queries that come with an `answer`, and a "
    "`queries_unanswerable.jsonl` beside them, let answers be measured too."
)


def draw(session: Session) -> None:
    """The whole page."""
    settings = session.rag.settings
    worker = _worker(settings)
    st.title("Evaluate", anchor=False)
    st.markdown(
        "How good are search and answers? Measured on questions whose right places are known, in an index of its own; "
        "your library is not touched."
    )
    paths = evaluating.saved_runs(settings)
    _start(worker, settings, first=not paths)
    _follow(worker)
    if not paths:
        _empty(worker)
        return
    try:
        path = _choice(paths, worker.state())
        _show(opened(path), path, others_of(path, paths))
    except LocalRagError as error:
        show_error(error)


@st.cache_resource(show_spinner=False)
def _worker(_settings: Settings) -> EvaluationWorker:
    """One per server process."""

    def measure(folder: Path, measured: Measured, show: Callable[[Progress], None]) -> Path:
        run = evaluating.evaluate_folder(folder, _settings, measured=measured, on_progress=show)
        return evaluating.save_run(run, _settings)

    return EvaluationWorker(measure)


def opened(path: Path) -> SavedRun:
    """The run in the file; read again only when the file has changed."""
    return _read(path, path.stat().st_mtime_ns)


@st.cache_resource(max_entries=8, show_spinner="Reading the run …")
def _read(path: Path, changed: int) -> SavedRun:
    del changed  # only tells the versions of a file apart
    return load_run(path)


def run_name(path: Path) -> str:
    """`cranfield · 2026-11-30 22:05` for a file that was named by its run, else the file's name."""
    if match := _STEM.fullmatch(path.stem):
        try:
            when = datetime.strptime(match["when"], "%Y%m%d-%H%M%S").replace(tzinfo=UTC)
        except ValueError:  # figures, but no time
            return path.stem
        return f"{match['set']} · {labels.moment(when)}"
    return path.stem


def others_of(path: Path, paths: Sequence[Path]) -> list[Path]:
    """The other runs, those of the same data set first: they can be compared with it."""

    def is_other_set(other: Path) -> bool:
        return run_name(other).partition(" · ")[0] != run_name(path).partition(" · ")[0]

    return sorted((other for other in paths if other != path), key=is_other_set)


def _start(worker: EvaluationWorker, settings: Settings, *, first: bool) -> None:
    """What to measure."""
    running = worker.state().running
    with (
        st.expander("Measure a data set", icon=":material/play_circle:", expanded=first and not running),
        st.form("evaluation", border=False),
    ):
        folder = st.text_input("Folder of the data set", key="evaluation_folder", placeholder="/path/to/cranfield")
        st.caption(_LAYOUT)
        sweep = st.checkbox(
            "The whole slider",
            value=True,
            help="Search at every tenth from keyword to semantic, from the same candidates.",
        )
        with st.container(horizontal=True, vertical_alignment="bottom"):
            answers = st.selectbox(
                "Answers",
                (None, False, True),
                format_func=lambda use: _answers_name(use, settings.llm_model),
                width=300,
                help="Every question is asked as in the chat, and the answer is judged.",
            )
            limit = st.number_input(
                "Questions to ask, of each kind",
                1,
                100_000,
                _DEFAULT_LIMIT,
                width=220,
                help="Evenly spread over the set.",
            )
        if st.form_submit_button("Measure", type="primary", icon=":material/play_arrow:", disabled=running):
            _submit(
                worker, folder, Measured(answers=answers is not None, use_llm=bool(answers), limit=limit, sweep=sweep)
            )


def _answers_name(use_llm: bool | None, model: str) -> str:
    if use_llm is None:
        return "Search only"
    return f"Ask {model}" if use_llm else "Quote the best sentences"


def _submit(worker: EvaluationWorker, folder: str, measured: Measured) -> None:
    if not folder.strip():
        st.warning("Name a folder first.")
        return
    worker.start(Path(folder.strip()).expanduser(), measured)
    st.rerun()


def _follow(worker: EvaluationWorker) -> None:
    """How far the evaluation is, kept up to date; the page is drawn anew when it ends."""
    drawn = worker.state()

    @st.fragment(run_every=_REFRESH_S if drawn.running else None)
    def follow() -> None:
        now = worker.state()
        if now.running != drawn.running:
            st.rerun()
        if now.running:
            _progress(worker, now)
        else:
            _outcome(worker, now)

    follow()


def _progress(worker: EvaluationWorker, state: EvaluationState) -> None:
    with st.container(border=True):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f"**Measuring {plain(state.name)}**", width="stretch")
            st.button(
                "Cancel",
                icon=":material/close:",
                key="cancel_evaluation",
                on_click=worker.cancel,
                disabled=state.cancelled,
            )
        if state.cancelled:
            st.caption("Stopping after the step at hand …")
        elif (at := state.progress) is None:
            st.progress(0.0, text="Reading the data set …")
        else:
            share = at.done / at.total if at.total else 0.0
            st.progress(min(1.0, share), text=f"{_STAGES[at.stage]}: {at.done:,} of {at.total:,}")


def _outcome(worker: EvaluationWorker, state: EvaluationState) -> None:
    """How the last evaluation ended, until it is dismissed."""
    if not (state.problem or state.cancelled or state.saved):
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        with st.container(width="stretch"):
            if state.problem:
                show_problem(state.problem)
            elif state.cancelled:
                st.info(f"Measuring {plain(state.name)} was cancelled; nothing of it is kept.")
            else:
                st.success(f"{plain(state.name)} is measured.", icon=":material/check_circle:")
        st.button(
            "",
            icon=":material/close:",
            key="forget_evaluation",
            type="tertiary",
            help="Dismiss",
            on_click=worker.forget,
        )


def _empty(worker: EvaluationWorker) -> None:
    if not worker.state().running:
        with st.container(border=True):
            st.markdown(
                "**No runs yet.** Measure a data set above, or on the command line: `localrag evaluate FOLDER --sweep`"
            )


def _choice(paths: Sequence[Path], state: EvaluationState) -> Path:
    """The run to look at: the latest at first, and the new one when one was just made."""
    if state.saved in paths and st.session_state.get("evaluation_shown") != state.saved:
        st.session_state.evaluation_shown = state.saved
        st.session_state.evaluation_run = state.saved
    chosen: Path = st.selectbox("Run", paths, format_func=run_name, key="evaluation_run")
    return chosen


def _show(run: SavedRun, path: Path, others: Sequence[Path]) -> None:
    """One run, from the means to the single question."""
    views: dict[str, Callable[[], None]] = {
        "Measures": lambda: evaluation_measures.draw(run, path),
        "Questions": lambda: evaluation_questions.draw(run),
        "Answers": lambda: evaluation_answers.draw(run),
        "Compare": lambda: evaluation_compare.draw(run, {run_name(other): other for other in others}, opened),
    }
    if not run.answers:
        del views["Answers"]
    for tab, view in zip(st.tabs(list(views)), views.values(), strict=True):
        with tab:
            view()
