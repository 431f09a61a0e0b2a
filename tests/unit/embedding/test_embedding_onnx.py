"""The shipped model: unit vectors that depend on the text alone."""

from __future__ import annotations

import hashlib
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from localrag.embedding.onnx import OnnxEmbedder
from localrag.embedding.spec import SHIPPED
from localrag.errors import ModelError
from localrag.modelfiles.files import sha256_of
from localrag.modelfiles.runtime import physical_cores

TEXTS = [
    "The contract may be ended with three months' notice.",
    "x",
    "Photosynthesis turns light, water and carbon dioxide into sugar and oxygen. " * 8,
    "Zürich, 東京 and a 😀.",
]


@pytest.fixture(scope="module")
def embedder() -> OnnxEmbedder:
    return OnnxEmbedder(SHIPPED, threads=2)


def test_rows_are_unit_float32_in_the_order_given(embedder: OnnxEmbedder) -> None:
    vectors = embedder.embed_documents(TEXTS)
    assert vectors.shape == (4, 384)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-6)
    assert np.array_equal(embedder.embed_documents(TEXTS[::-1]), vectors[::-1])


def test_a_text_has_the_same_vector_whatever_is_embedded_beside_it(embedder: OnnxEmbedder) -> None:
    together = embedder.embed_documents(TEXTS)
    alone = np.vstack([embedder.embed_documents([text]) for text in TEXTS])
    assert np.array_equal(together, alone)


def test_nothing_to_embed_is_an_empty_matrix(embedder: OnnxEmbedder) -> None:
    assert embedder.embed_documents([]).shape == (0, 384)


def test_the_query_prefix_is_on_queries_only(embedder: OnnxEmbedder) -> None:
    query = embedder.embed_query("notice period")
    prefixed = embedder.embed_documents(["Represent this sentence for searching relevant passages: notice period"])[0]
    plain = embedder.embed_documents(["notice period"])[0]
    assert np.array_equal(query, prefixed)
    assert float(query @ plain) < 0.99


def test_several_threads_can_be_the_first_to_embed() -> None:
    fresh = OnnxEmbedder(SHIPPED, threads=2)
    with ThreadPoolExecutor(4) as pool:
        vectors = list(pool.map(fresh.embed_query, ["same question"] * 4))
    assert all(np.array_equal(vector, vectors[0]) for vector in vectors)


def test_a_missing_model_file_is_named_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"model\.onnx cannot be read") as caught:
        OnnxEmbedder(replace(SHIPPED, folder=tmp_path)).embed_query("x")
    assert "reinstall localrag" in caught.value.hint


def test_a_model_of_another_dimension_is_refused() -> None:
    with pytest.raises(ModelError, match=r"shape \(384,\).*expected \(768,\)"):
        OnnxEmbedder(replace(SHIPPED, dimension=768)).embed_query("x")


def test_mean_pooling_is_another_vector() -> None:
    mean = OnnxEmbedder(replace(SHIPPED, pooling="mean")).embed_query("x")
    assert np.linalg.norm(mean) == pytest.approx(1.0, abs=1e-6)
    assert float(mean @ OnnxEmbedder(SHIPPED).embed_query("x")) < 0.99


def test_there_is_at_least_one_core_and_no_more_than_this_machine_has() -> None:
    assert 1 <= physical_cores() <= (os.cpu_count() or 1)


def test_a_preloaded_model_gives_the_same_vectors(embedder: OnnxEmbedder) -> None:
    preloaded = OnnxEmbedder(SHIPPED)
    preloaded.preload()
    assert np.array_equal(preloaded.embed_query("notice period"), embedder.embed_query("notice period"))


def test_a_model_that_cannot_be_preloaded_is_told_of_by_the_first_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unhandled: list[object] = []
    monkeypatch.setattr(threading, "excepthook", unhandled.append)
    broken = OnnxEmbedder(replace(SHIPPED, folder=tmp_path))
    broken.preload()
    for thread in threading.enumerate():
        if thread.name == "preload":
            thread.join()
    assert unhandled == []
    with pytest.raises(ModelError, match="cannot be read"):
        broken.embed_query("notice period")


@pytest.mark.parametrize("content", [b"", b"x" * 5000])
def test_the_sum_of_a_file_is_that_of_its_bytes(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "file").write_bytes(content)
    assert sha256_of(tmp_path / "file") == hashlib.sha256(content).hexdigest()
