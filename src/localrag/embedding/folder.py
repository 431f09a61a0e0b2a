"""An embedding model's folder: what its files say about how to use the model."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from localrag.embedding.spec import ModelSpec, Pooling
from localrag.errors import ModelError
from localrag.modelfiles.files import (
    MANIFEST,
    MANIFEST_FORMAT,
    is_plain,
    max_tokens,
    read_json,
    scores_pairs,
    sha256_of,
    wanted_files,
)

# What each family was trained to see before a query and before a document, where its files do not say.
_BGE_QUERY = "Represent this sentence for searching relevant passages: "
_FAMILY_PREFIXES = (
    (re.compile(r"bge-(?:small|base|large)-en"), (_BGE_QUERY, "")),
    (re.compile(r"arctic-embed-(?:xs|s|m|l)(?:-v1\.5)?$"), (_BGE_QUERY, "")),
    (re.compile(r"(?:^|[-/])e5-(?:small|base|large)"), ("query: ", "passage: ")),
    (re.compile(r"nomic-embed-text"), ("search_query: ", "search_document: ")),
)


def read_folder(folder: Path, name: str) -> ModelSpec:
    """The model in the folder: by its manifest when it was pulled, else by what its own files say.

    Raises:
        ModelError: there is nothing there that localrag loads, or the files do not say enough.
    """
    if scores_pairs(folder):
        raise ModelError(
            f"The model {name} is a reranker and makes no vectors.",
            hint=f"Set LOCALRAG_RERANKER={name}, and LOCALRAG_EMBEDDING_MODEL to an embedding model.",
        )
    manifest = folder / MANIFEST
    if manifest.is_file():
        return _from_manifest(folder, read_json(manifest), name)
    present = [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]
    return describe(folder, name, present)


def describe(folder: Path, name: str, present: Iterable[str]) -> ModelSpec:
    """What the model's own files say of its size, limit, pooling and prefixes."""
    runtime, weights, wanted = wanted_files(present, name)
    config = read_json(folder / "config.json")
    queries, documents = _prefixes(folder, name)
    dimension = next((config[key] for key in ("hidden_size", "dim", "d_model") if key in config), None)
    if not isinstance(dimension, int):
        raise ModelError(
            f"The config.json of the model {name} does not say how long its vectors are.",
            hint="Choose another model, for example BAAI/bge-base-en-v1.5.",
        )
    return ModelSpec(
        name=name,
        folder=folder,
        model_file=weights,
        files={file: sha256_of(folder / file) for file in sorted(wanted)},
        dimension=dimension,
        max_tokens=max_tokens(folder, config),
        pooling=_pooling(folder, name),
        query_prefix=queries,
        document_prefix=documents,
        runtime=runtime,
    )


def write_manifest(spec: ModelSpec, *, source: str, commit: str) -> None:
    """Writes beside the model what was pulled, from where, and its SHA-256 sums."""
    facts = {key: value for key, value in asdict(spec).items() if key != "folder"}
    content = {"format": MANIFEST_FORMAT, "source": source, "commit": commit, **facts}
    (spec.folder / MANIFEST).write_text(json.dumps(content, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def _from_manifest(folder: Path, content: Mapping[str, Any], name: str) -> ModelSpec:
    facts: dict[str, Any] = {key: content.get(key) for key in ModelSpec.__slots__ if key not in ("folder", "name")}
    files = facts["files"]
    usable = (
        content.get("format") == MANIFEST_FORMAT
        and isinstance(files, dict)
        and facts["model_file"] in files
        and all(is_plain(file) for file in files)
        and isinstance(facts["dimension"], int)
        and isinstance(facts["max_tokens"], int)
        and facts["pooling"] in ("cls", "mean")
        and facts["runtime"] in ("onnx", "torch")
    )
    if not usable:
        raise ModelError(
            f"The manifest {MANIFEST} of the model {name} is damaged or from another version of localrag.",
            hint=f"Fetch the model again with `localrag models pull {name}`.",
        )
    return ModelSpec(folder=folder, name=str(content.get("name") or name), **facts)


def _pooling(folder: Path, name: str) -> Pooling:
    modes = read_json(folder / "1_Pooling" / "config.json")
    if modes.get("pooling_mode_cls_token"):
        return "cls"
    # Mean is what sentence-transformers does where a model does not say.
    if modes.get("pooling_mode_mean_tokens") or not modes:
        return "mean"
    raise ModelError(
        f"The model {name} pools its tokens in a way localrag does not know (1_Pooling/config.json).",
        hint="Choose a model with cls or mean pooling, for example BAAI/bge-base-en-v1.5.",
    )


def _prefixes(folder: Path, name: str) -> tuple[str, str]:
    prompts = read_json(folder / "config_sentence_transformers.json").get("prompts") or {}
    query = prompts.get("query") or ""
    document = prompts.get("document") or prompts.get("passage") or ""
    if query or document:
        return query, document
    return next((pair for family, pair in _FAMILY_PREFIXES if family.search(name.lower())), ("", ""))
