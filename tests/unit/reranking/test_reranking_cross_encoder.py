"""Cross-encoders from files: the scores of a graph that adds ids up (see conftest.py)."""

from __future__ import annotations

import builtins
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from localrag.app.models import models, pull
from localrag.embedding.registry import find_model, list_models
from localrag.errors import ModelError
from localrag.modelfiles.files import MANIFEST, sha256_of
from localrag.reranking.cross_encoder import OnnxCrossEncoder, TorchCrossEncoder
from localrag.reranking.registry import NamedReranker, find_reranker, full_name, list_rerankers
from localrag.reranking.spec import read_folder
from localrag.settings import load_settings
from localrag.types import Check

WriteModel = Callable[..., Path]


@pytest.fixture
def encoder(tmp_path: Path, write_model: WriteModel) -> Callable[..., OnnxCrossEncoder]:
    return lambda **kind: OnnxCrossEncoder(read_folder(write_model(tmp_path / "m", **kind), "tiny"), threads=2)


def test_one_value_is_the_score(encoder: Callable[..., OnnxCrossEncoder]) -> None:
    # [CLS] who signed [SEP] ann signed [SEP]: of type 1 are ann 100, signed 20 and the mark 2, together 122.
    found = encoder().scores("Who signed", ["Ann signed", "rain", "Bob signed Ann signed"])
    assert found == [122.0, 7.0, 342.0]


def test_of_two_values_the_lead_of_yes_is_the_score(encoder: Callable[..., OnnxCrossEncoder]) -> None:
    # Type 0: mark 1, who 10, signed 20, mark 2 = 33. Type 1: rain 5, mark 2 = 7. Lead 7 - 33.
    assert encoder(head=2).scores("who signed", ["rain", "ann"]) == [-26.0, 69.0]


def test_a_model_without_token_types_is_given_none(encoder: Callable[..., OnnxCrossEncoder]) -> None:
    # All ids: 1 + 10 + 2 + 5 + 2.
    assert encoder(types=False).scores("who", ["rain"]) == [20.0]


def test_too_long_a_passage_loses_its_end_and_the_question_stays_whole(
    encoder: Callable[..., OnnxCrossEncoder],
) -> None:
    # 8 tokens: [CLS] who signed [SEP] and [SEP] leave three words of the passage: 5 + 5 + 5 + 2.
    model = encoder(max_tokens=8)
    assert model.scores("who signed", ["rain rain rain ann", "rain"]) == [17.0, 7.0]


def test_of_a_question_only_what_is_over_half_the_window_is_cut(encoder: Callable[..., OnnxCrossEncoder]) -> None:
    # Half of 8 tokens are four words, who signed who signed = 60, with marks 63; room for one word: 100 + 2.
    model = encoder(head=2, max_tokens=8)
    assert model.scores("who signed who signed ann ann", ["ann rain"]) == [102.0 - 63.0]


def test_an_empty_passage_and_broken_unicode_are_scored_too(encoder: Callable[..., OnnxCrossEncoder]) -> None:
    # [UNK] 3 + mark 2.
    assert encoder().scores("who", ["", "\ud83d"]) == [2.0, 5.0]


def test_more_than_two_values_are_no_score(encoder: Callable[..., OnnxCrossEncoder]) -> None:
    with pytest.raises(ModelError, match="gave 3 values for a pair"):
        encoder(head=3).scores("who", ["rain"])


def test_an_unknown_input_is_named(tmp_path: Path, write_model: WriteModel, graph: Callable[..., bytes]) -> None:
    folder = write_model(tmp_path / "m")
    (folder / "model.onnx").write_bytes(graph(head=1, types=True, extra_input="pixels"))
    with pytest.raises(ModelError, match="pixels"):
        OnnxCrossEncoder(read_folder(folder, "tiny")).scores("who", ["rain"])


# --------------------------------------------------------------------------------------------------------- by name


def test_a_pulled_reranker_is_listed_named_and_used(tmp_path: Path, write_model: WriteModel) -> None:
    settings = load_settings(data_dir=tmp_path / "data", reranker="tiny")
    assert pull(settings, str(write_model(tmp_path / "tiny"))) == ("tiny", "reranker")
    listed = models(settings)
    assert [(model.name, model.kind, model.active) for model in listed] == [
        ("bge-small-en-v1.5", "embedding", True),
        ("tiny", "reranker", True),
    ]
    assert (listed[1].dimension, listed[1].max_tokens) == (None, 32)
    folder = settings.data_dir / "models" / "tiny"
    manifest = json.loads((folder / MANIFEST).read_text())
    assert manifest["kind"] == "reranker"
    assert manifest["files"]["model.onnx"] == sha256_of(folder / "model.onnx")
    judge = NamedReranker("tiny", models_dir=folder.parent)
    assert judge.score("who", ["rain", "ann"]) == [7.0, 102.0]
    assert judge.score("who", []) == []
    assert judge.check() == [Check(name="reranker", ok=True, detail="tiny")]


def test_a_reranker_is_no_embedding_model_and_the_reverse(tmp_path: Path, write_model: WriteModel) -> None:
    write_model(tmp_path / "tiny")
    assert [spec.name for spec in list_models(tmp_path)] == ["bge-small-en-v1.5"]
    with pytest.raises(ModelError, match="is a reranker and makes no vectors") as caught:
        find_model("tiny", tmp_path)
    assert "LOCALRAG_RERANKER=tiny" in caught.value.hint
    (tmp_path / "tiny" / "config.json").write_text('{"architectures": ["BertModel"], "hidden_size": 4}')
    assert list_rerankers(tmp_path) == []
    with pytest.raises(ModelError, match="tiny is no reranker"):
        find_reranker("tiny", tmp_path)


def test_short_names_stand_for_those_of_the_hub(tmp_path: Path, write_model: WriteModel) -> None:
    assert full_name("bge-reranker-base") == "BAAI/bge-reranker-base"
    assert full_name("ms-marco-MiniLM-L-6-v2") == "cross-encoder/ms-marco-MiniLM-L-6-v2"
    assert full_name("acme/bge-reranker-base") == "acme/bge-reranker-base"
    write_model(tmp_path / "BAAI--bge-reranker-base")
    assert find_reranker("bge-reranker-base", tmp_path).name == "BAAI/bge-reranker-base"


@pytest.mark.parametrize("name", ["acme/other", "../tiny", "/etc", ".."])
def test_an_unknown_reranker_names_those_here_and_the_command(
    tmp_path: Path, name: str, write_model: WriteModel
) -> None:
    write_model(tmp_path / "models" / "tiny")
    judge = NamedReranker(name, models_dir=tmp_path / "models")
    with pytest.raises(ModelError, match="not here; there is: late-interaction, ollama, tiny") as caught:
        judge.score("q", ["p"])
    assert f"localrag models pull {name}" in caught.value.hint
    (check,) = judge.check()
    assert (check.ok, check.detail, check.hint) == (False, caught.value.message, caught.value.hint)


@pytest.mark.parametrize("file", ["model.onnx", "tokenizer.json"])
def test_a_changed_or_missing_file_is_named(tmp_path: Path, file: str, write_model: WriteModel) -> None:
    settings = load_settings(data_dir=tmp_path / "data")
    pull(settings, str(write_model(tmp_path / "tiny")))
    folder = settings.data_dir / "models" / "tiny"
    (folder / file).write_bytes(b"other")
    with pytest.raises(ModelError, match=rf"{file} of the model tiny is damaged") as caught:
        NamedReranker("tiny", models_dir=folder.parent).score("q", ["p"])
    assert "localrag models pull tiny" in caught.value.hint
    (folder / file).unlink()
    with pytest.raises(ModelError, match=rf"{file} cannot be read"):
        NamedReranker("tiny", models_dir=folder.parent).score("q", ["p"])


def test_a_damaged_manifest_is_told(tmp_path: Path, write_model: WriteModel) -> None:
    settings = load_settings(data_dir=tmp_path / "data")
    pull(settings, str(write_model(tmp_path / "tiny")))
    manifest = settings.data_dir / "models" / "tiny" / MANIFEST
    manifest.write_text(manifest.read_text().replace('"reranker"', '"other"'))
    with pytest.raises(ModelError, match="is damaged or from another version"):
        find_reranker("tiny", settings.data_dir / "models")


def test_what_cannot_score_is_never_put_in_place(tmp_path: Path, write_model: WriteModel) -> None:
    settings = load_settings(data_dir=tmp_path / "data")
    with pytest.raises(ModelError, match="gave 3 values"):
        pull(settings, str(write_model(tmp_path / "tiny", head=3)))
    assert list((settings.data_dir / "models").iterdir()) == []


# ----------------------------------------------------------------------------------------------------------- torch


class FakeCrossEncoder:
    """Stands in for sentence-transformers' class: a pair's score is the length of its passage."""

    def __init__(self, folder: str, **options: Any) -> None:
        self.folder, self.options = folder, options
        self.shape: tuple[int, ...] = (-1,)

    def predict(self, pairs: list[tuple[str, str]], **options: Any) -> Any:
        lengths = np.asarray([float(len(passage)) for _, passage in pairs], np.float32)
        return np.stack([np.ones_like(lengths), lengths], axis=1) if self.folder.endswith("two") else lengths


def torch_folder(write_model: WriteModel, folder: Path) -> Path:
    write_model(folder)
    (folder / "model.onnx").rename(folder / "model.safetensors")
    return folder


@pytest.mark.parametrize(("name", "scores"), [("one", [4.0, 3.0]), ("two", [3.0, 2.0])])
def test_safetensors_go_to_sentence_transformers_without_code_of_theirs(
    tmp_path: Path, name: str, scores: list[float], write_model: WriteModel
) -> None:
    made: list[FakeCrossEncoder] = []

    def load() -> Any:
        def construct(folder: str, **options: Any) -> FakeCrossEncoder:
            made.append(FakeCrossEncoder(folder, **options))
            return made[-1]

        return construct

    spec = read_folder(torch_folder(write_model, tmp_path / name), name)
    assert spec.runtime == "torch"
    model = TorchCrossEncoder(spec, load=load)
    assert made == []
    assert model.scores("who", ["rain", "ann"]) == scores
    model.scores("who", ["rain"])
    (only,) = made
    assert only.folder == str(tmp_path / name)
    assert only.options == {
        "max_length": 32,
        "trust_remote_code": False,
        "local_files_only": True,
        "model_kwargs": {"use_safetensors": True},
    }


def test_without_torch_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write_model: WriteModel
) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name == "sentence_transformers":
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    torch_folder(write_model, tmp_path / "tiny")
    with pytest.raises(ModelError, match="needs torch") as caught:
        NamedReranker("tiny", models_dir=tmp_path).score("q", ["p"])
    assert "localrag[torch]" in caught.value.hint
