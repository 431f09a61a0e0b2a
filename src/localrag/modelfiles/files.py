"""A model's folder: which of its files are used, and whether they are the ones that were pinned.

Only ONNX and safetensors weights are ever loaded. A pickle (`pytorch_model.bin` and its kin) can run code when it is
opened, so a folder that has nothing else is refused.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, Literal, Protocol, TypeAlias

from localrag.errors import ModelError

Runtime: TypeAlias = Literal["onnx", "torch"]
"""`onnx` runs with what localrag installs; `torch` (safetensors) needs the extra `localrag[torch]`."""

MANIFEST = "localrag.json"
MANIFEST_FORMAT = 1

_ONNX_PLACES = ("onnx/model.onnx", "model.onnx")
_PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle", ".joblib", ".h5", ".msgpack")
_CONFIGS = re.compile(
    r"(?:tokenizer|config|tokenizer_config|special_tokens_map|sentence_bert_config|modules|added_tokens"
    r"|config_sentence_transformers)\.json|vocab\.txt|sentencepiece\.bpe\.model|\d+_[A-Za-z]+/config\.json"
)
_SAFETENSORS = re.compile(
    r"model(?:-\d+-of-\d+)?\.safetensors|model\.safetensors\.index\.json|\d+_[A-Za-z]+/model\.safetensors"
)
# Position tables of these start after the padding position, so two places fewer are left for tokens.
_OFFSET_POSITIONS = ("roberta", "xlm-roberta", "camembert", "mpnet")
_NO_LIMIT = 1_000_000


class ModelFiles(Protocol):
    """A model on disk: SHA-256 by path below the folder of all that shapes what it says, and how to mend it."""

    @property
    def name(self) -> str: ...

    @property
    def folder(self) -> Path: ...

    @property
    def model_path(self) -> Path: ...

    @property
    def files(self) -> Mapping[str, str]: ...

    @property
    def mend(self) -> str: ...


def folder_name(name: str) -> str:
    """The model's folder below the models folder: `OWNER/MODEL` is kept in `OWNER--MODEL`."""
    return name.replace("/", "--")


def named_folder(models_dir: Path, name: str) -> Path | None:
    """The folder of the model of that name, None when it is not here."""
    folder = models_dir / folder_name(name)
    # A name with `..` or a root in it would leave the models folder.
    inside = folder.parent == models_dir and not name.startswith(".")
    return folder if inside and folder.is_dir() else None


def model_folders(models_dir: Path) -> list[Path]:
    """The folders of models below the models folder, which need not exist."""
    if not models_dir.is_dir():
        return []
    return [path for path in models_dir.iterdir() if path.is_dir() and not path.name.startswith(".")]


def verify(spec: ModelFiles) -> None:
    """Returns when every file of the model is the one that was pinned; hashing 34 MB takes some 30 ms.

    Raises:
        ModelError: a file is missing or has other bytes.
    """
    for name, expected in spec.files.items():
        found = sha256_of(spec.folder / name)
        if found != expected:
            raise ModelError(
                f"The file {name} of the model {spec.name} is damaged or was changed: "
                f"expected SHA-256 {expected[:12]}…, found {found[:12]}….",
                hint=spec.mend,
            )


def sha256_of(path: Path) -> str:
    """SHA-256 of the file's bytes in hexadecimal.

    Raises:
        ModelError: the file cannot be read.
    """
    try:
        with path.open("rb") as file:
            if not os.fstat(file.fileno()).st_size:  # nothing to map
                return hashlib.sha256().hexdigest()
            # In one piece, so that Python's lock is given up once; piecewise, every piece waits for other threads.
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
                return hashlib.sha256(content).hexdigest()
    except OSError as error:
        raise ModelError(
            f"The model file {path} cannot be read: {error.strerror or error}.",
            hint="Fetch the model again with `localrag models pull NAME`, or reinstall localrag.",
        ) from error


def wanted_files(names: Iterable[str], model: str) -> tuple[Runtime, str, list[str]]:
    """How the model can be run, its weights file, and all the files that takes, out of those it has.

    Raises:
        ModelError: it has neither ONNX nor safetensors weights, or no `tokenizer.json`.
    """
    present = sorted(name for name in names if is_plain(name))
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


def is_plain(name: str) -> bool:
    """Whether a file of this name stays inside its folder."""
    path = PurePosixPath(name)
    return bool(name) and not path.is_absolute() and ".." not in path.parts and "\\" not in name


def scores_pairs(folder: Path) -> bool:
    """Whether the folder holds a reranker: a model that takes two texts and gives them a score, not a vector."""
    architectures = read_json(folder / "config.json").get("architectures") or []
    return any(str(name).endswith("ForSequenceClassification") for name in architectures)


def max_tokens(folder: Path, config: Mapping[str, Any]) -> int:
    """The longest input of the model, special tokens included, by what its own files say."""
    positions = config.get("max_position_embeddings", 512)
    if config.get("model_type") in _OFFSET_POSITIONS:
        positions -= 2
    limits = (
        positions,
        read_json(folder / "sentence_bert_config.json").get("max_seq_length"),
        read_json(folder / "tokenizer_config.json").get("model_max_length"),
    )
    # "No limit" is written as 10^30 by some tokenizers.
    return min(int(limit) for limit in limits if isinstance(limit, int | float) and 0 < limit < _NO_LIMIT)


def read_json(path: Path) -> dict[str, Any]:
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
