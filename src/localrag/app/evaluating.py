"""Retrieval measured on a judged data set, in an index of its own that is removed afterwards."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from localrag.app import wiring
from localrag.evaluation.beir import load_dataset
from localrag.evaluation.benchmark import Evaluation, Progress, evaluate
from localrag.settings import Settings


def evaluate_folder(
    folder: Path, settings: Settings, *, on_progress: Callable[[Progress], None] = lambda _: None
) -> Evaluation:
    """The measures of a BEIR-layout data set with these settings; the user's own library is not touched.

    Raises:
        DatasetError: a file of the set is missing, or holds a line that cannot be used.
    """
    dataset = load_dataset(folder)
    embedder = wiring.embedder(settings)
    with tempfile.TemporaryDirectory(prefix="localrag-evaluate-") as temporary:
        own = settings.model_copy(update={"data_dir": Path(temporary), "index_url": ""})
        index, parser = wiring.index(own, embedder), wiring.parser(own)
        try:
            return evaluate(
                dataset,
                index=index,
                embedder=embedder,
                chunker=wiring.chunker(own, embedder),
                parser=parser,
                semantic=settings.semantic,
                fusion=settings.fusion,
                on_progress=on_progress,
            )
        finally:
            parser.close()
            index.close()
