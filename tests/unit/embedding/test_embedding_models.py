"""Models are found by name, fetched whole and safe, and refused with the next command to try."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from localrag.embedding.folder import read_folder
from localrag.embedding.hub import pull_model
from localrag.embedding.onnx import OnnxEmbedder
from localrag.embedding.registry import create_embedder, find_model, list_models
from localrag.embedding.sentence_transformer import SentenceTransformerEmbedder
from localrag.embedding.spec import SHIPPED
from localrag.errors import ModelError
from localrag.modelfiles.files import MANIFEST, sha256_of, verify
from localrag.modelfiles.hub import LocalFolder, Snapshot, choose_source

CONFIG = {"hidden_size": 384, "max_position_embeddings": 512, "model_type": "bert"}


def model_folder(folder: Path, *, weights: str = "onnx/model.onnx") -> Path:
    """A model as its author publishes it, made of the shipped weights."""
    (folder / weights).parent.mkdir(parents=True)
    if weights.endswith(".onnx"):
        shutil.copyfile(SHIPPED.model_path, folder / weights)
    else:
        (folder / weights).write_bytes(b"weights")
    shutil.copyfile(SHIPPED.tokenizer_path, folder / "tokenizer.json")
    (folder / "config.json").write_text(json.dumps(CONFIG))
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text('{"pooling_mode_cls_token": true}')
    (folder / "README.md").write_text("not needed")
    return folder


class BrokenLine:
    """A source whose connection breaks at the first file."""

    def resolve(self, name: str, revision: str | None) -> Snapshot:
        return Snapshot(commit="c1", files={"tokenizer.json": "", "onnx/model.onnx": ""})

    def fetch(self, name: str, commit: str, file: str, folder: Path) -> None:
        raise ModelError("the hub did not answer")


def test_the_shipped_model_is_found_under_both_its_names(tmp_path: Path) -> None:
    assert find_model("bge-small-en-v1.5", tmp_path) is SHIPPED
    assert find_model("BAAI/bge-small-en-v1.5", tmp_path) is SHIPPED
    assert list_models(tmp_path / "nowhere") == [SHIPPED]
    assert isinstance(create_embedder("bge-small-en-v1.5", models_dir=tmp_path), OnnxEmbedder)


def test_the_shipped_files_are_the_pinned_ones() -> None:
    verify(SHIPPED)
    assert SHIPPED.model_path.stat().st_size < 70_000_000


@pytest.mark.parametrize("name", ["acme/other", "../bge-small-en-v1.5", "/etc", ""])
def test_an_unknown_model_names_the_commands_to_try(tmp_path: Path, name: str) -> None:
    with pytest.raises(ModelError, match=r"not here; there is: bge-small-en-v1\.5") as caught:
        find_model(name, tmp_path)
    assert f"localrag models pull {name}" in caught.value.hint


def test_a_pulled_model_is_listed_found_and_gives_the_vectors_of_its_weights(tmp_path: Path) -> None:
    source = LocalFolder(model_folder(tmp_path / "download"))
    models = tmp_path / "models"
    pulled = pull_model("acme/bge-small-en-copy", models, source=source)

    assert [spec.name for spec in list_models(models)] == ["bge-small-en-v1.5", "acme/bge-small-en-copy"]
    assert find_model("acme/bge-small-en-copy", models) == pulled
    assert (pulled.pooling, pulled.dimension, pulled.max_tokens) == ("cls", 384, 512)
    assert pulled.query_prefix == SHIPPED.query_prefix  # by its family, bge-small-en
    assert not (pulled.folder / "README.md").exists()
    assert [path.name for path in models.iterdir()] == ["acme--bge-small-en-copy"]

    manifest = json.loads((pulled.folder / MANIFEST).read_text())
    assert manifest["commit"] == "local"
    assert manifest["files"]["onnx/model.onnx"] == SHIPPED.files["model.onnx"]
    vectors = [OnnxEmbedder(spec).embed_query("notice period") for spec in (pulled, SHIPPED)]
    assert np.array_equal(*vectors)


def test_a_pull_that_breaks_leaves_what_was_there(tmp_path: Path) -> None:
    models = tmp_path / "models"
    download = model_folder(tmp_path / "download", weights="model.safetensors")
    pulled = pull_model("acme/copy", models, source=LocalFolder(download))
    with pytest.raises(ModelError, match="did not answer"):
        pull_model("acme/copy", models, source=BrokenLine())
    verify(pulled)
    assert [path.name for path in models.iterdir()] == ["acme--copy"]
    again = pull_model("acme/copy", models, source=LocalFolder(download))
    assert again == pulled


def test_weights_that_do_not_load_are_not_put_in_place(tmp_path: Path) -> None:
    folder = model_folder(tmp_path / "download")
    (folder / "onnx" / "model.onnx").write_bytes(b"no graph")
    with pytest.raises(ModelError, match=r"cannot load model\.onnx"):
        pull_model("acme/bad", tmp_path / "models", source=LocalFolder(folder))
    assert list((tmp_path / "models").iterdir()) == []


def test_a_file_that_arrives_with_other_bytes_is_refused(tmp_path: Path) -> None:
    class Tampered(LocalFolder):
        def resolve(self, name: str, revision: str | None) -> Snapshot:
            snapshot = super().resolve(name, revision)
            return replace(snapshot, files={**snapshot.files, "onnx/model.onnx": "0" * 64})

    with pytest.raises(ModelError, match="arrived damaged"):
        pull_model("acme/x", tmp_path / "models", source=Tampered(model_folder(tmp_path / "download")))


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (["tokenizer.json", "config.json", "pytorch_model.bin"], "only pytorch_model.bin, which can run code"),
        (["tokenizer.json", "config.json"], "none of either"),
        (["config.json", "model.onnx"], "no tokenizer.json"),
        (["tokenizer.json", "../model.onnx"], "none of either"),
    ],
)
def test_what_localrag_does_not_load_is_refused(tmp_path: Path, files: list[str], message: str) -> None:
    class Listing(BrokenLine):
        def resolve(self, name: str, revision: str | None) -> Snapshot:
            return Snapshot(commit="c1", files=dict.fromkeys(files, ""))

    with pytest.raises(ModelError, match=message):
        pull_model("acme/unsafe", tmp_path, source=Listing())


def test_a_folder_with_nothing_but_a_pickle_is_refused_when_asked_for(tmp_path: Path) -> None:
    folder = tmp_path / "own"
    folder.mkdir()
    for file in ("tokenizer.json", "config.json", "pytorch_model.bin"):
        (folder / file).write_text("{}")
    assert list_models(tmp_path) == [SHIPPED]
    with pytest.raises(ModelError, match=r"pytorch_model\.bin"):
        find_model("own", tmp_path)


@pytest.mark.parametrize("name", ["../x", "a/b/c", "a b", "", "/etc/passwd", "x" * 200])
def test_what_is_no_model_name_is_refused_before_anything_is_asked(tmp_path: Path, name: str) -> None:
    with pytest.raises(ModelError, match="is no model name"):
        pull_model(name, tmp_path, source=BrokenLine())


def test_a_folder_here_is_a_source_and_a_name_is_the_hub(tmp_path: Path) -> None:
    name, source = choose_source(str(model_folder(tmp_path / "copy")))
    assert name == "copy"
    assert isinstance(source, LocalFolder)
    assert choose_source("acme/model")[0] == "acme/model"
    assert not isinstance(choose_source("acme/model")[1], LocalFolder)


def test_a_changed_file_is_found_at_the_next_load(tmp_path: Path) -> None:
    pulled = pull_model("acme/copy", tmp_path / "models", source=LocalFolder(model_folder(tmp_path / "download")))
    with pulled.tokenizer_path.open("a") as file:
        file.write(" ")
    with pytest.raises(ModelError, match=r"tokenizer\.json of the model acme/copy is damaged or was changed"):
        OnnxEmbedder(pulled).embed_query("x")


@pytest.mark.parametrize("change", [{"pooling": "max"}, {"files": {"../x": ""}}, {"format": 99}, {"dimension": "x"}])
def test_a_damaged_manifest_is_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    download = model_folder(tmp_path / "download", weights="model.safetensors")
    pulled = pull_model("acme/copy", tmp_path / "models", source=LocalFolder(download))
    manifest = pulled.folder / MANIFEST
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), **change}))
    with pytest.raises(ModelError, match="damaged or from another version"):
        find_model("acme/copy", tmp_path / "models")


@pytest.mark.parametrize(
    ("name", "files", "expected"),
    [
        ("e5-base", {}, ("mean", 512, "query: ", "passage: ")),
        ("plain", {"sentence_bert_config.json": {"max_seq_length": 256}}, ("mean", 256, "", "")),
        ("plain", {"tokenizer_config.json": {"model_max_length": 1e30}}, ("mean", 512, "", "")),
        ("plain", {"config.json": {**CONFIG, "model_type": "mpnet", "max_position_embeddings": 514}},
         ("mean", 512, "", "")),
        ("plain", {"config_sentence_transformers.json": {"prompts": {"query": "Q: ", "document": "D: "}}},
         ("mean", 512, "Q: ", "D: ")),
    ],
)  # fmt: skip
def test_a_models_own_files_say_how_to_use_it(
    tmp_path: Path, name: str, files: dict[str, Any], expected: tuple[str, int, str, str]
) -> None:
    folder = tmp_path / name
    folder.mkdir()
    for file, content in {"tokenizer.json": {}, "model.onnx": {}, "config.json": CONFIG, **files}.items():
        (folder / file).write_text(json.dumps(content))
    spec = read_folder(folder, name)
    assert (spec.pooling, spec.max_tokens, spec.query_prefix, spec.document_prefix) == expected
    assert spec.identity.revision == sha256_of(folder / "model.onnx")[:12]


class FakeTransformer:
    """Stands in for `SentenceTransformer`: notes how it is made, and answers rows of unit length."""

    made: dict[str, Any]

    def __init__(self, path: str, **options: Any) -> None:
        FakeTransformer.made = {"path": path, **options}
        self.max_seq_length = 0
        self.seen: list[str] = []

    def encode(self, texts: Sequence[str], **options: Any) -> Any:
        assert options["normalize_embeddings"] is True
        assert options["prompt"] == ""
        self.seen.extend(texts)
        FakeTransformer.made["seen"] = self.seen
        return np.eye(len(texts), 384)


def test_safetensors_run_by_sentence_transformers_without_remote_code(tmp_path: Path) -> None:
    source = LocalFolder(model_folder(tmp_path / "download", weights="model.safetensors"))
    pulled = replace(pull_model("acme/torchy", tmp_path / "models", source=source), query_prefix="query: ")
    assert pulled.runtime == "torch"
    assert isinstance(create_embedder("acme/torchy", models_dir=tmp_path / "models"), SentenceTransformerEmbedder)

    embedder = SentenceTransformerEmbedder(pulled, load=lambda: FakeTransformer)
    assert embedder.embed_documents([]).shape == (0, 384)
    assert embedder.embed_documents(["a", "b"]).dtype == np.float32
    assert embedder.embed_query("c").shape == (384,)
    made = FakeTransformer.made
    assert made["seen"] == ["a", "b", "query: c"]
    assert made["trust_remote_code"] is False
    assert made["local_files_only"] is True
    assert made["model_kwargs"] == {"use_safetensors": True}


def test_without_torch_the_extra_to_install_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = LocalFolder(model_folder(tmp_path / "download", weights="model.safetensors"))
    pulled = pull_model("acme/torchy", tmp_path / "models", source=source)
    monkeypatch.setitem(__import__("sys").modules, "sentence_transformers", None)
    with pytest.raises(ModelError) as caught:
        SentenceTransformerEmbedder(pulled).embed_query("x")
    assert 'pip install "localrag[torch]"' in caught.value.hint
