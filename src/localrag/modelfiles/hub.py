"""Fetching models, the only code of localrag that goes to the internet, and only when the user says so."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from localrag.errors import ModelError, StorageFullError
from localrag.modelfiles.files import folder_name, sha256_of, wanted_files

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}(?:/[A-Za-z0-9][A-Za-z0-9._-]{0,95})?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """One fixed state of a model: its commit, and its files with the SHA-256 the source states (empty if none)."""

    commit: str
    files: Mapping[str, str]


class ModelSource(Protocol):
    """Where models come from."""

    def resolve(self, name: str, revision: str | None) -> Snapshot:
        """The state that `revision` names now; the newest when it is None.

        Raises:
            ModelError: no such model, or the source cannot be reached.
        """
        ...

    def fetch(self, name: str, commit: str, file: str, folder: Path) -> None:
        """Puts one file of that state at `folder / file`.

        Raises:
            ModelError: the source cannot be reached.
        """
        ...


class HuggingFaceHub:
    """The Hugging Face hub, without an account, a token or telemetry."""

    def __init__(self) -> None:
        os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"

    def resolve(self, name: str, revision: str | None) -> Snapshot:
        from huggingface_hub import HfApi  # deferred: slow, and needed by this one command only

        try:
            info = HfApi(token=False).model_info(name, revision=revision, files_metadata=True)
        except Exception as error:
            raise _hub_error(name, error) from error
        files = {item.rfilename: item.lfs.sha256 if item.lfs else "" for item in info.siblings or []}
        return Snapshot(commit=info.sha or "", files=files)

    def fetch(self, name: str, commit: str, file: str, folder: Path) -> None:
        from huggingface_hub import hf_hub_download  # deferred, as above

        try:
            hf_hub_download(name, file, revision=commit, local_dir=folder, token=False)
        except Exception as error:
            raise _hub_error(name, error) from error


class LocalFolder:
    """A folder that was copied here, for machines without internet."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def resolve(self, name: str, revision: str | None) -> Snapshot:
        paths = [path for path in self._folder.rglob("*") if path.is_file()]
        return Snapshot(commit="local", files={path.relative_to(self._folder).as_posix(): "" for path in paths})

    def fetch(self, name: str, commit: str, file: str, folder: Path) -> None:
        target = folder / file
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(self._folder / file, target)


def choose_source(argument: str) -> tuple[str, ModelSource]:
    """The model's name and its source, from what the user typed: a folder here, or a name on the hub."""
    folder = Path(argument)
    if folder.is_dir():
        return folder.resolve().name, LocalFolder(folder)
    return argument, HuggingFaceHub()


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """A model that has arrived in a folder beside its place: to be looked at, tried out, and described there."""

    name: str
    folder: Path
    files: Sequence[str]
    source: str
    commit: str


def pull(
    name: str,
    models_dir: Path,
    *,
    source: ModelSource,
    accept: Callable[[Fetched], object],
    revision: str | None = None,
) -> Path:
    """The folder of the model, fetched whole and put in place in one step.

    Only weights as ONNX or safetensors, the tokenizer and configuration are fetched, all of one commit. A pull that
    fails leaves what was there before.

    Args:
        accept: tries the model out where it lies and writes its manifest there, or raises.

    Raises:
        ModelError: no such model, no connection, or nothing in it that localrag loads.
        StorageFullError: the models folder cannot be written.
    """
    if not _NAME.fullmatch(name):
        raise ModelError(
            f"{name!r} is no model name.", hint="Names look like OWNER/MODEL, for example BAAI/bge-base-en-v1.5."
        )
    snapshot = source.resolve(name, revision)
    _, _, files = wanted_files(snapshot.files, name)
    target = models_dir / folder_name(name)
    try:
        models_dir.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=models_dir, prefix=".pull-") as temporary:
            folder = Path(temporary) / "model"
            folder.mkdir()
            _fetch(name, source, snapshot, files, folder)
            accept(Fetched(name=name, folder=folder, files=files, source=type(source).__name__, commit=snapshot.commit))
            _put_in_place(folder, target, Path(temporary) / "before")
    except OSError as error:
        raise StorageFullError(
            f"The model {name} cannot be stored in {models_dir}: {error.strerror or error}.",
            hint="Free some space, or set LOCALRAG_DATA_DIR to a folder you may write to.",
        ) from error
    return target


def _fetch(name: str, source: ModelSource, snapshot: Snapshot, files: list[str], folder: Path) -> None:
    for file in files:
        source.fetch(name, snapshot.commit, file, folder)
        _check_sum(name, folder / file, snapshot.files[file])
    # The hub client leaves its bookkeeping beside the files.
    shutil.rmtree(folder / ".cache", ignore_errors=True)


def _check_sum(name: str, path: Path, expected: str) -> None:
    if expected and sha256_of(path) != expected:
        raise ModelError(
            f"The file {path.name} of the model {name} arrived damaged: its SHA-256 is not {expected[:12]}….",
            hint=f"Try again: `localrag models pull {name}`.",
        )


def _put_in_place(folder: Path, target: Path, aside: Path) -> None:
    """Renames the folder to its place; one that stood there goes aside first and comes back if that fails."""
    replaced = target.exists()
    if replaced:
        target.rename(aside)
    try:
        folder.rename(target)
    except OSError:
        if replaced:
            aside.rename(target)
        raise


def _hub_error(name: str, error: Exception) -> ModelError:
    """Ours for any of the hub client's: they share no base, and differ between its versions."""
    kind = type(error).__name__
    if kind in ("RepositoryNotFoundError", "RevisionNotFoundError", "GatedRepoError", "HFValidationError"):
        return ModelError(
            f"The hub has no public model {name!r} that can be fetched without an account ({kind}).",
            hint="Check the name; it looks like OWNER/MODEL, for example BAAI/bge-base-en-v1.5.",
        )
    return ModelError(
        f"The model {name} could not be fetched: the hub did not answer ({kind}: {str(error)[:200]}).",
        hint="Check the connection, or fetch the model's folder on another machine, copy it here and run "
        "`localrag models pull FOLDER`. The model bge-small-en-v1.5 is here already and needs no connection.",
    )
