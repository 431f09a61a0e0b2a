"""Search and answers measured on a judged data set, in an index of its own that is removed afterwards; runs kept."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from localrag.app import wiring
from localrag.app.folders import DataFolders
from localrag.app.rag import RAG
from localrag.errors import BackendUnavailable
from localrag.evaluation.answers import Ask
from localrag.evaluation.beir import load_dataset
from localrag.evaluation.benchmark import Progress, evaluate
from localrag.evaluation.runs import SavedRun, SettingValue, as_run
from localrag.library.files import write_atomically
from localrag.protocols import LLM, Embedder
from localrag.settings import Settings
from localrag.types import Answer, Message

# Of this machine and not of the result. What is added to the settings later is kept with the run.
_OF_THE_MACHINE = ("data_dir", "index_", "ollama_", "parse_", "max_file_mb", "ocr", "llm_timeout_s")


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What is measured besides search by keyword, by meaning and by both.

    answers: the questions are asked, too: of each kind at most `limit`, of the model or, without `use_llm`, by quotes.
    sweep: search is measured at every tenth of the slider.
    """

    answers: bool = False
    use_llm: bool = True
    limit: int | None = None
    sweep: bool = False


def evaluate_folder(
    folder: Path,
    settings: Settings,
    *,
    measured: Measured = Measured(),
    embedder: Embedder | None = None,
    llm: LLM | None = None,
    on_progress: Callable[[Progress], None] = lambda _: None,
) -> SavedRun:
    """The run of a BEIR-layout data set with these settings; the user's own library is not touched.

    Args:
        embedder, llm: used in place of those that the settings name.
        on_progress: what it raises ends the evaluation; the index is removed.

    Raises:
        DatasetError: a file of the set is missing, or holds a line that cannot be used.
        BackendUnavailable: answers of the model were asked for, and it cannot be used now.
    """
    dataset = load_dataset(folder)
    embedder = embedder or wiring.embedder(settings)
    with tempfile.TemporaryDirectory(prefix="localrag-evaluate-") as temporary:
        own = settings.model_copy(update={"data_dir": Path(temporary), "index_url": ""})
        index, parser = wiring.index(own, embedder), wiring.parser(own)
        try:
            with _asked(own, measured, embedder, llm) as ask:
                evaluation = evaluate(
                    dataset,
                    index=index,
                    embedder=embedder,
                    chunker=wiring.chunker(own, embedder),
                    parser=parser,
                    semantic=settings.semantic,
                    fusion=settings.fusion,
                    sweep=measured.sweep,
                    ask=ask,
                    limit=measured.limit,
                    on_progress=on_progress,
                )
        finally:
            parser.close()
            index.close()
    return as_run(evaluation, dataset, settings=_kept(settings, measured), made_at=datetime.now(UTC))


@contextmanager
def _asked(own: Settings, measured: Measured, embedder: Embedder, llm: LLM | None) -> Iterator[Ask | None]:
    """Asks the library over the set's own index, as a user's question is asked; None when no answers are wanted."""
    if not measured.answers:
        yield None
        return
    with RAG.open(own, embedder=embedder, llm=llm) as rag:
        if measured.use_llm:
            _require_model(rag, own)

        def ask(question: str, history: Sequence[Message]) -> Answer:
            return rag.ask(question, history=history, use_llm=measured.use_llm)

        yield ask


def _require_model(rag: RAG, settings: Settings) -> None:
    """Quotes in place of a model's answers would be measured under its name."""
    for check in rag.llm_checks():
        if not check.ok:
            raise BackendUnavailable(
                f"No answers can be measured: {check.detail}",
                service="Ollama",
                url=settings.ollama_host,
                hint=f"{check.hint} Or measure quotes, which need no model (--no-llm).".strip(),
            )


def _kept(settings: Settings, measured: Measured) -> dict[str, SettingValue]:
    """The settings that the figures depend on."""
    with_model = measured.answers and measured.use_llm
    kept = {
        name: value
        for name, value in settings.model_dump(mode="json").items()
        if not name.startswith(_OF_THE_MACHINE) and (with_model or not name.startswith("llm_"))
    }
    return {**kept, "answers": measured.answers, "use_llm": with_model, "limit": measured.limit}


def save_run(run: SavedRun, settings: Settings, target: Path | None = None) -> Path:
    """Where the run is now: in this file, in this folder under its own name, or among the runs of the library.

    A target that ends in `.json` and is no folder is a file.

    Raises:
        StorageFullError: no space, or no permission.
    """
    path = DataFolders.of(settings).evaluations if target is None else target
    if path.is_dir() or path.suffix != ".json":
        path /= run.file_name
    write_atomically(path, run.to_json().encode("utf-8", "replace"))
    return path


def saved_runs(settings: Settings) -> list[Path]:
    """The files of the library's runs, the latest first."""
    folder = DataFolders.of(settings).evaluations
    return sorted(folder.glob("*.json"), key=lambda path: (path.stat().st_mtime, path.name), reverse=True)
