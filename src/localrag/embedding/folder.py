"""A model's folder: which of its files are used, and what they say about how to use the model.

Only ONNX and safetensors weights are ever loaded. A pickle (`pytorch_model.bin` and its kin) can run code when it is
opened, so a folder that has nothing else is refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path, PurePosixPath
from typing import Any

from localrag.embedding.spec import ModelSpec, Pooling, Runtime, sha256_of
from localrag.errors import ModelError

MANIFEST = "localrag.json"
_MANIFEST_FORMAT = 1

_ONNX_PLACES = ("onnx/model.onnx", "model.onnx")
_PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle", ".joblib", ".h5", ".msgpack")
_CONFIGS = re.compile(
    r"(?:tokenizer|config|tokenizer_config|special_tokens_map|sentence_bert_config|modules|added_tokens"
    r"|config_sentence_transformers)\.json|vocab\.txt|sentencepiece\.bpe\.model|\d+_[A-Za-z]+/config\.json"
)
_SAFETENSORS = re.compile(
    r"model(?:-\d+-of-\d+)?\.safetensors|model\.safetensors\.index\.json|\d+_[A-Za-z]+/model\.safetensors"
)

# What each family was trained to see before a query and before a document, where its files do not say.
_BGE_QUERY = "Represent this sentence for searching relevant passages: "
_FAMILY_PREFIXES = (
    (re.compile(r"bge-(?:small|base|large)-en"), (_BGE_QUERY, "")),
    (re.compile(r"arctic-embed-(?:xs|s|m|l)(?:-v1\.5)?$"), (_BGE_QUERY, "")),
    (re.compile(r"(?:^|[-/])e5-(?:small|base|large)"), ("query: ", "passage: ")),
    (re.compile(r"nomic-embed-text"), ("search_query: ", "search_document: ")),
)
# Position tables of these start after the padding position, so two places fewer are left for tokens.
_OFFSET_POSITIONS = ("roberta", "xlm-roberta", "camembert", "mpnet")
_NO_LIMIT = 1_000_000


def wanted_files(names: Iterable[str], model: str) -> tuple[Runtime, str, list[str]]:
    """How the model can be run, its weights file, and all the files that takes, out of those it has.

    Raises:
        ModelError: it has neither ONNX nor safetensors weights, or no `tokenizer.json`.
    """
    present = sorted(name for name in names if _is_plain(name))
    if "tokenizer.json" not in present:
        raise ModelError(
            f"The model {model} has no tokenizer.json, so its tokens cannot be counted.",
            hint="Choose a model with a fast tokenizer, for example BAAI/bge-base-en-v1.5.",
        )
    configs = [name for name in present if _CONFIGS.fullmatch(name)]
    weights = next((name for name in _ONNX_PLACES if name in present), None)
    if weights is not None:
        data = [name for name in (f"{weights}_data", f"{weights}.data") if name in present]
        return "onnx", weights, [weights, *data, *configs]
    tensors = [name for name in present if _SAFETENSORS.fullmatch(name)]
    main = next((name for name in tensors if not name.endswith(".json") and "/" not in name), None)
    if main is not None:
        return "torch", main, [*tensors, *configs]
    raise _no_safe_weights(present, model)


def _no_safe_weights(present: list[str], model: str) -> ModelError:
    pickles = [name for name in present if name.endswith(_PICKLES)]
    found = f"only {pickles[0]}, which can run code when it is opened" if pickles else "none of either"
    return ModelError(
        f"The model {model} is refused: localrag loads ONNX and safetensors weights, and it has {found}.",
        hint="Choose a model with onnx/model.onnx or model.safetensors, for example BAAI/bge-base-en-v1.5.",
    )


def _is_plain(name: str) -> bool:
    path = PurePosixPath(name)
    return bool(name) and not path.is_absolute() and ".." not in path.parts and "\\" not in name


def read_folder(folder: Path, name: str) -> ModelSpec:
    """The model in the folder: by its manifest when it was pulled, else by what its own files say.

    Raises:
        ModelError: there is nothing there that localrag loads, or the files do not say enough.
    """
    manifest = folder / MANIFEST
    if manifest.is_file():
        return _from_manifest(folder, _json(manifest), name)
    present = [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]
    return describe(folder, name, present)


def describe(folder: Path, name: str, present: Iterable[str]) -> ModelSpec:
    """What the model's own files say of its size, limit, pooling and prefixes."""
    runtime, weights, wanted = wanted_files(present, name)
    config = _json(folder / "config.json")
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
        max_tokens=_max_tokens(folder, config),
        pooling=_pooling(folder, name),
        query_prefix=queries,
        document_prefix=documents,
        runtime=runtime,
    )


def write_manifest(spec: ModelSpec, *, source: str, commit: str) -> None:
    """Writes beside the model what was pulled, from where, and its SHA-256 sums."""
    facts = {key: value for key, value in asdict(spec).items() if key != "folder"}
    content = {"format": _MANIFEST_FORMAT, "source": source, "commit": commit, **facts}
    (spec.folder / MANIFEST).write_text(json.dumps(content, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def _from_manifest(folder: Path, content: Mapping[str, Any], name: str) -> ModelSpec:
    facts: dict[str, Any] = {key: content.get(key) for key in ModelSpec.__slots__ if key not in ("folder", "name")}
    files = facts["files"]
    usable = (
        content.get("format") == _MANIFEST_FORMAT
        and isinstance(files, dict)
        and facts["model_file"] in files
        and all(_is_plain(file) for file in files)
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


def _max_tokens(folder: Path, config: Mapping[str, Any]) -> int:
    positions = config.get("max_position_embeddings", 512)
    if config.get("model_type") in _OFFSET_POSITIONS:
        positions -= 2
    limits = (
        positions,
        _json(folder / "sentence_bert_config.json").get("max_seq_length"),
        _json(folder / "tokenizer_config.json").get("model_max_length"),
    )
    # "No limit" is written as 10^30 by some tokenizers.
    return min(int(limit) for limit in limits if isinstance(limit, int | float) and 0 < limit < _NO_LIMIT)


def _pooling(folder: Path, name: str) -> Pooling:
    modes = _json(folder / "1_Pooling" / "config.json")
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
    prompts = _json(folder / "config_sentence_transformers.json").get("prompts") or {}
    query = prompts.get("query") or ""
    document = prompts.get("document") or prompts.get("passage") or ""
    if query or document:
        return query, document
    return next((pair for family, pair in _FAMILY_PREFIXES if family.search(name.lower())), ("", ""))


def _json(path: Path) -> dict[str, Any]:
    """The object in the file; empty when there is no such file."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise ModelError(
            f"The model file {path} cannot be read: {error}.", hint="Fetch the model again with `localrag models pull`."
        ) from error
    return content if isinstance(content, dict) else {}
