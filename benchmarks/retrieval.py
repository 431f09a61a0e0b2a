"""Retrieval quality of the default settings on the judged sets, by keyword, by meaning and by both.

    python benchmarks/retrieval.py [--sets squad2-dev cranfield] [--bench FOLDER] [--cache FILE] [--runs]

Prints a table and keeps the figures in `benchmarks/results/retrieval.json`; sets that were not asked for keep theirs.
With `--runs` each set's run, slider and questions included, is kept in `benchmarks/results/runs/SET.json`, where
`localrag evaluate SET --baseline` and the Evaluate page can read it.
Embedding is remembered in the cache, so only the first run is slow (minutes a set on two cores).
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from vector_cache import CACHE, remembered

from localrag.chunking.split import Chunker
from localrag.evaluation.beir import load_dataset
from localrag.evaluation.benchmark import Evaluation, Progress, evaluate
from localrag.evaluation.runs import as_run
from localrag.index.sqlite import SqliteIndex
from localrag.parsing.isolated import IsolatedParser
from localrag.parsing.source import Limits
from localrag.protocols import Embedder
from localrag.settings import Settings, load_settings
from localrag.types import IndexHeader

BENCH = Path(__file__).resolve().parents[2] / "shared" / "bench"
RESULTS = Path(__file__).parent / "results" / "retrieval.json"
RUNS = RESULTS.parent / "runs"
SETS = (
    "squad2-dev",
    "cranfield",
    "hotpotqa-mini",
    "musique-mini",
    "mtrag-un",
    "xquad-de",
    "xquad-zh",
    "financebench-pages",
)
SHOWN = ("ndcg@10", "recall@10", "mrr@10", "hit@1", "hit@5")


@contextmanager
def open_index(embedder: Embedder, settings: Settings) -> Iterator[SqliteIndex]:
    """An empty index for this model and chunking, gone after the block."""
    header = IndexHeader(
        model=embedder.model,
        chunk_tokens=settings.chunk_tokens,
        chunk_overlap_tokens=settings.chunk_overlap_tokens,
    )
    with tempfile.TemporaryDirectory() as scratch:
        index = SqliteIndex.open(Path(scratch) / "index.db", header)
        try:
            yield index
        finally:
            index.close()


def run(
    folder: Path, *, settings: Settings, embedder: Embedder, titles: bool = True, sweep: bool = False
) -> Evaluation:
    """The evaluation of one set in an index of its own."""
    parser = IsolatedParser(limits=Limits())
    try:
        with open_index(embedder, settings) as index:
            return evaluate(
                load_dataset(folder),
                index=index,
                embedder=embedder,
                chunker=Chunker(embedder.tokenizer, settings.chunk_tokens, settings.chunk_overlap_tokens),
                parser=parser,
                semantic=settings.semantic,
                titles=titles,
                sweep=sweep,
                on_progress=_show,
            )
    finally:
        parser.close()


def as_record(evaluation: Evaluation, settings: Settings) -> dict[str, object]:
    """What is kept of an evaluation: settings and figures to four places, no times."""
    return {
        "settings": _kept(settings),
        "documents": evaluation.documents,
        "chunks": evaluation.chunks,
        "queries": evaluation.queries,
        "by_mode": {
            mode: {name: round(value, 4) for name, value in scores.items()}
            for mode, scores in evaluation.by_mode.items()
        },
        "hybrid_against": {
            "leg": evaluation.comparison.leg,
            "ndcg@10": round(evaluation.comparison.difference, 4),
            "p": round(evaluation.comparison.p_value, 4),
        },
    }


def keep_run(evaluation: Evaluation, folder: Path, settings: Settings) -> None:
    """Writes the run of the set for others to compare with."""
    made_at = datetime.now(UTC)
    saved = as_run(evaluation, load_dataset(folder), settings=_kept(settings), made_at=made_at)
    RUNS.mkdir(parents=True, exist_ok=True)
    (RUNS / f"{folder.name}.json").write_text(saved.to_json(), encoding="utf-8")


def _kept(settings: Settings) -> dict[str, str | int | float | bool | None]:
    return settings.model_dump(
        include={"embedding_model", "chunk_tokens", "chunk_overlap_tokens", "semantic", "fusion"}
    )


def table(evaluations: Sequence[Evaluation]) -> str:
    """The figures as Markdown, a row for each set and mode."""
    lines = [f"| set | mode | {' | '.join(SHOWN)} | hybrid - better leg (p) |", f"|{'---|' * (len(SHOWN) + 3)}"]
    for evaluation in evaluations:
        for mode, scores in evaluation.by_mode.items():
            difference = evaluation.comparison
            note = f"{difference.difference:+.4f} ({difference.p_value:.4f})" if mode == "hybrid" else ""
            cells = " | ".join(f"{scores[name]:.4f}" for name in SHOWN)
            lines.append(f"| {evaluation.dataset} | {mode} | {cells} | {note} |")
    return "\n".join(lines)


def _show(progress: Progress) -> None:
    if progress.done % 500 == 0 or progress.done == progress.total:
        print(f"  {progress.stage} {progress.done}/{progress.total}", flush=True)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--sets", nargs="+", default=SETS)
    options.add_argument("--bench", type=Path, default=BENCH)
    options.add_argument("--cache", type=Path, default=CACHE)
    options.add_argument("--no-titles", action="store_true", help="leave titles out; nothing is kept")
    options.add_argument("--runs", action="store_true", help="measure the whole slider too, and keep each run")
    chosen = options.parse_args()
    kept = json.loads(RESULTS.read_text("utf-8")) if RESULTS.is_file() else {}
    settings = load_settings()
    embedder = remembered(settings, chosen.cache)
    evaluations = []
    for name in chosen.sets:
        print(name, flush=True)
        folder = chosen.bench / name
        titles = not chosen.no_titles
        evaluations.append(run(folder, settings=settings, embedder=embedder, titles=titles, sweep=chosen.runs))
        kept[name] = as_record(evaluations[-1], settings)
        if not chosen.no_titles:
            RESULTS.parent.mkdir(parents=True, exist_ok=True)
            RESULTS.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
            if chosen.runs:
                keep_run(evaluations[-1], folder, settings)
    embedder.close()
    print(table(evaluations))


if __name__ == "__main__":
    main()
