"""Cross-encoders by name: those in the user's models folder, and a reranker for each."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from localrag.errors import ModelError
from localrag.modelfiles.files import model_folders, named_folder
from localrag.modelfiles.hub import Fetched
from localrag.reranking.cross_encoder import OnnxCrossEncoder, TorchCrossEncoder
from localrag.reranking.spec import RerankerSpec, describe, read_folder, write_manifest
from localrag.types import Check

_OWNERS = {"bge-reranker": "BAAI", "ms-marco": "cross-encoder"}


def full_name(name: str) -> str:
    """The name on the hub of what people call by its last part: `bge-reranker-base` is `BAAI/bge-reranker-base`."""
    owner = next((owner for family, owner in _OWNERS.items() if name.startswith(family)), None)
    return f"{owner}/{name}" if owner and "/" not in name else name


def list_rerankers(models_dir: Path) -> list[RerankerSpec]:
    """All cross-encoders that can be used, by name; folders that cannot are left out."""
    found = []
    for folder in sorted(model_folders(models_dir)):
        try:
            found.append(read_folder(folder, folder.name.replace("--", "/")))
        except ModelError:
            # `find_reranker` says what is wrong with it when it is asked for by name.
            continue
    return found


def find_reranker(name: str, models_dir: Path) -> RerankerSpec:
    """The cross-encoder of that name.

    Raises:
        ModelError: it is not here, or its folder holds nothing that localrag loads.
    """
    for candidate in (name, full_name(name)):
        if folder := named_folder(models_dir, candidate):
            return read_folder(folder, candidate)
    here = ", ".join(["late-interaction", "ollama", *(spec.name for spec in list_rerankers(models_dir))])
    raise ModelError(
        f"The reranker {name!r} is not here; there is: {here}.",
        hint=f"Run `localrag models pull {full_name(name)}`, or set LOCALRAG_RERANKER to one of those.",
    )


def accept(fetched: Fetched) -> RerankerSpec:
    """The model that has arrived, after it scored one pair; its SHA-256 sums are written down for every later load.

    Raises:
        ModelError: it does not work, and must not be put in place.
    """
    spec = describe(fetched.folder, fetched.name, fetched.files)
    if spec.runtime == "onnx":
        OnnxCrossEncoder(spec, threads=1).scores("A question?", ["A short text."])
    write_manifest(spec, source=fetched.source, commit=fetched.commit)
    return spec


class NamedReranker:
    """A Reranker by the name of a cross-encoder, which is looked for at the first passage.

    Args:
        name: of the model, as `localrag models list` has it.
        models_dir: the user's models folder; it need not exist.
    """

    def __init__(self, name: str, *, models_dir: Path) -> None:
        self._name = name
        self._models_dir = models_dir
        self._model: OnnxCrossEncoder | TorchCrossEncoder | None = None

    @property
    def name(self) -> str:
        return self._name

    @property
    def share(self) -> float:
        return 1.0

    def score(self, query: str, passages: Sequence[str]) -> list[float | None]:
        """The cross-encoder's score of each passage, any number, higher is better.

        Raises:
            ModelError: the model is not here, is damaged, or does not work.
        """
        return [*self._opened().scores(query, passages)] if passages else []

    def check(self) -> list[Check]:
        """Whether the model is here and scores a pair; loads it."""
        try:
            self.score("A question?", ["A short text."])
        except ModelError as error:
            return [Check(name="reranker", ok=False, detail=error.message, hint=error.hint)]
        return [Check(name="reranker", ok=True, detail=self._name)]

    def _opened(self) -> OnnxCrossEncoder | TorchCrossEncoder:
        if self._model is None:
            spec = find_reranker(self._name, self._models_dir)
            self._model = OnnxCrossEncoder(spec) if spec.runtime == "onnx" else TorchCrossEncoder(spec)
        return self._model
