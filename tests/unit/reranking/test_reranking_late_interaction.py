"""MaxSim over a table of token vectors in two dimensions, worked out by hand."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pytest

from localrag.embedding.spec import SHIPPED
from localrag.errors import ModelError
from localrag.modelfiles.files import sha256_of
from localrag.reranking.late_interaction import LateInteraction
from localrag.reranking.spec import RerankerSpec
from localrag.types import Check

EAST, NORTH, NORTHEAST = [2.0, 0.0], [0.0, 3.0], [1.0, 1.0]
# By id, see conftest: who 10, signed 20, ann 100, bob 200, rain 5; all else, marks too, points west.
DIRECTIONS = {10: EAST, 20: NORTH, 100: NORTHEAST, 5: NORTH}
DIAGONAL = math.sqrt(0.5)


@pytest.fixture
def make(
    tmp_path: Path, write_model: Callable[..., Path], token_graph: Callable[..., bytes]
) -> Callable[..., LateInteraction]:
    def made(graph: bytes | None = None, max_tokens: int = 32) -> LateInteraction:
        folder = write_model(tmp_path / "tiny")
        rows = [DIRECTIONS.get(row, [-1.0, 0.0]) for row in range(201)]
        (folder / "model.onnx").write_bytes(graph or token_graph(rows))
        spec = RerankerSpec(
            name="tiny",
            folder=folder,
            model_file="model.onnx",
            files={"model.onnx": sha256_of(folder / "model.onnx")},
            max_tokens=max_tokens,
        )
        return LateInteraction(spec, max_tokens=max_tokens, threads=2)

    return made


def test_each_token_of_the_question_counts_with_its_nearest(make: Callable[..., LateInteraction]) -> None:
    # One token, so its weight falls out: who points east; ann northeast (cosine .7071), rain north (0), bob west (-1).
    found = make().score("who", ["rain ann", "rain", "bob", "bob who"])
    assert found == pytest.approx([DIAGONAL, 0.0, -1.0, 1.0], abs=1e-6)


def test_a_token_that_few_passages_hold_counts_more(make: Callable[..., LateInteraction]) -> None:
    # Of 3 passages one holds who, two hold signed: idf ln(1 + 2.5/1.5) = .9808 and ln(1 + 1.5/2.5) = .4700.
    who, signed = math.log(1 + 2.5 / 1.5), math.log(1 + 1.5 / 2.5)
    found = make().score("who signed", ["who", "signed", "signed rain"])
    # who finds itself (1), signed finds who (0); who finds signed (0), signed itself (1).
    assert found == pytest.approx([who / (who + signed), signed / (who + signed), signed / (who + signed)], abs=1e-6)


def test_marks_are_no_words_and_what_has_none_is_not_judged(make: Callable[..., LateInteraction]) -> None:
    judge = make()
    # bob points as the marks do: were they words, the first passage would have a cosine of 1.
    assert judge.score("bob", ["who", ""]) == [pytest.approx(-1.0), None]
    assert judge.score("", ["who"]) == [None]
    assert judge.score("who", []) == []


def test_a_text_is_read_up_to_the_models_limit(make: Callable[..., LateInteraction]) -> None:
    # 4 tokens with two marks: rain rain, and not the who behind them.
    assert make(max_tokens=4).score("who", ["rain rain who"]) == [pytest.approx(0.0)]


def test_a_model_without_token_vectors_is_refused(
    make: Callable[..., LateInteraction], graph: Callable[..., bytes]
) -> None:
    judge = make(graph(head=2, types=True))
    with pytest.raises(ModelError, match="gives no vectors of tokens") as caught:
        judge.score("who", ["rain"])
    (check,) = judge.check()
    assert (check.ok, check.detail, check.hint) == (False, caught.value.message, caught.value.hint)


def test_the_shipped_model_does_it() -> None:
    judge = LateInteraction(SHIPPED, max_tokens=SHIPPED.max_tokens)
    right, wrong = judge.score(
        "Who signed the lease?", ["The lease was signed by Ann Lee.", "Rain is forecast for the whole weekend."]
    )
    assert right is not None
    assert wrong is not None
    assert right - wrong > 0.1
    assert judge.check() == [Check(name="reranker", ok=True, detail="late interaction of bge-small-en-v1.5")]
