"""What one cross-encoder needs to be used, read from its folder."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from localrag.errors import ModelError
from localrag.modelfiles.files import (
    MANIFEST,
    MANIFEST_FORMAT,
    Runtime,
    is_plain,
    max_tokens,
    read_json,
    scores_pairs,
    sha256_of,
    wanted_files,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankerSpec:
    """One cross-encoder on disk.

    files: SHA-256 by path below `folder` of everything that shapes the scores; checked when the model is loaded.
    max_tokens: for question and passage together, special tokens included.
    """

    name: str
    folder: Path
    model_file: str
    files: Mapping[str, str]
    max_tokens: int
    runtime: Runtime = "onnx"

    @property
    def model_path(self) -> Path:
        return self.folder / self.model_file

    @property
    def mend(self) -> str:
        """What to do about files that are damaged."""
        return f"Fetch it again with `localrag models pull {self.name}`."


def describe(folder: Path, name: str, present: Iterable[str]) -> RerankerSpec:
    """The cross-encoder in the folder, by what its own files say.

    Raises:
        ModelError: there is nothing there that localrag loads, or it is no cross-encoder.
    """
    runtime, weights, wanted = wanted_files(present, name)
    if not scores_pairs(folder):
        raise ModelError(
            f"The model {name} is no reranker: its config.json names no ...ForSequenceClassification.",
            hint="Choose a cross-encoder, for example BAAI/bge-reranker-base.",
        )
    return RerankerSpec(
        name=name,
        folder=folder,
        model_file=weights,
        files={file: sha256_of(folder / file) for file in sorted(wanted)},
        max_tokens=max_tokens(folder, read_json(folder / "config.json")),
        runtime=runtime,
    )


def read_folder(folder: Path, name: str) -> RerankerSpec:
    """The cross-encoder in the folder: by its manifest when it was pulled, else by what its own files say.

    Raises:
        ModelError: as `describe`, or the manifest is damaged.
    """
    if (folder / MANIFEST).is_file() and scores_pairs(folder):
        return _from_manifest(folder, read_json(folder / MANIFEST), name)
    present = [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]
    return describe(folder, name, present)


def write_manifest(spec: RerankerSpec, *, source: str, commit: str) -> None:
    """Writes beside the model what was pulled, from where, and its SHA-256 sums."""
    facts = {key: value for key, value in asdict(spec).items() if key != "folder"}
    content = {"format": MANIFEST_FORMAT, "kind": "reranker", "source": source, "commit": commit, **facts}
    (spec.folder / MANIFEST).write_text(json.dumps(content, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def _from_manifest(folder: Path, content: Mapping[str, Any], name: str) -> RerankerSpec:
    facts: dict[str, Any] = {key: content.get(key) for key in RerankerSpec.__slots__ if key not in ("folder", "name")}
    files = facts["files"]
    usable = (
        (content.get("format"), content.get("kind")) == (MANIFEST_FORMAT, "reranker")
        and isinstance(files, dict)
        and facts["model_file"] in files
        and all(is_plain(file) for file in files)
        and isinstance(facts["max_tokens"], int)
        and facts["runtime"] in ("onnx", "torch")
    )
    if not usable:
        raise ModelError(
            f"The manifest {MANIFEST} of the model {name} is damaged or from another version of localrag.",
            hint=f"Fetch the model again with `localrag models pull {name}`.",
        )
    return RerankerSpec(folder=folder, name=str(content.get("name") or name), **facts)
