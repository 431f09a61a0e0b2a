"""The hub is asked without a token, at one commit, and its failures become ours."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from localrag.embedding.hub import pull_model
from localrag.embedding.spec import SHIPPED
from localrag.errors import ModelError
from localrag.modelfiles.hub import HuggingFaceHub


class RepositoryNotFoundError(Exception):
    """Named as the hub client's."""


class FakeHub(ModuleType):
    """Stands in for the module `huggingface_hub`: one repository, and a note of every call."""

    def __init__(self, repository: Path, error: Exception | None = None) -> None:
        super().__init__("huggingface_hub")
        self.calls: list[dict[str, Any]] = []
        self.HfApi = lambda **options: SimpleNamespace(model_info=self._info(repository, error, options))
        self.hf_hub_download = self._download(repository)

    def _info(self, repository: Path, error: Exception | None, options: dict[str, Any]) -> Any:
        def model_info(name: str, **asked: Any) -> Any:
            self.calls.append({"name": name, **options, **asked})
            if error is not None:
                raise error
            names = [path.relative_to(repository).as_posix() for path in repository.rglob("*") if path.is_file()]
            return SimpleNamespace(sha="c0ffee", siblings=[SimpleNamespace(rfilename=at, lfs=None) for at in names])

        return model_info

    def _download(self, repository: Path) -> Any:
        def hf_hub_download(name: str, file: str, *, local_dir: Path, **asked: Any) -> None:
            self.calls.append({"file": file, **asked})
            (local_dir / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(repository / file, local_dir / file)

        return hf_hub_download


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """The hub's switch for telemetry is set by the code; it does not outlive the test."""
    monkeypatch.setenv("HF_HUB_DISABLE_TELEMETRY", "0")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    shutil.copyfile(SHIPPED.tokenizer_path, folder / "tokenizer.json")
    (folder / "config.json").write_text(json.dumps({"hidden_size": 384}))
    for name in ("model.safetensors", "pytorch_model.bin", "modeling_custom.py", "README.md"):
        (folder / name).write_text(name)
    return folder


def test_only_safe_files_of_one_commit_are_fetched_without_a_token(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub = FakeHub(repository)
    monkeypatch.setitem(sys.modules, "huggingface_hub", hub)
    pulled = pull_model("acme/model", tmp_path / "models", source=HuggingFaceHub(), revision="main")
    asked, *fetched = hub.calls
    assert asked == {"name": "acme/model", "token": False, "revision": "main", "files_metadata": True}
    assert {call["file"] for call in fetched} == {"model.safetensors", "tokenizer.json", "config.json"}
    assert all(call["revision"] == "c0ffee" and call["token"] is False for call in fetched)
    assert json.loads((pulled.folder / "localrag.json").read_text())["commit"] == "c0ffee"
    assert os.environ["HF_HUB_DISABLE_TELEMETRY"] == "1"


@pytest.mark.parametrize(
    ("error", "message", "hint"),
    [
        (ConnectionError("no route"), "the hub did not answer", "localrag models pull FOLDER"),
        (TimeoutError("slow"), "the hub did not answer", "localrag models pull FOLDER"),
        (RepositoryNotFoundError("404"), "no public model 'acme/model'", "OWNER/MODEL"),
    ],
)
def test_a_hub_that_fails_says_what_to_do(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, message: str, hint: str
) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", FakeHub(repository, error))
    with pytest.raises(ModelError, match=message) as caught:
        pull_model("acme/model", tmp_path / "models", source=HuggingFaceHub())
    assert hint in caught.value.hint
    assert not (tmp_path / "models").exists()
