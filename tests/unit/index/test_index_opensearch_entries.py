"""Vectors as JSON: the same float32 comes back, in few digits."""

from __future__ import annotations

import json

import numpy as np
import pytest

from localrag.index.opensearch_entries import numbers, vector_of


def test_any_float32_comes_back_the_same() -> None:
    bits = np.random.default_rng(1).integers(0, 2**32, size=200_000, dtype=np.uint32)
    every = bits.view(np.float32)
    finite = every[np.isfinite(every)]
    edges = np.array([0.0, -0.0, 1.0, -1.0, 1e-45, np.finfo(np.float32).max, np.finfo(np.float32).tiny], np.float32)
    for row in (finite, edges):
        assert np.array_equal(vector_of(json.loads(json.dumps(numbers(row)))), row)


@pytest.mark.parametrize(("value", "told"), [(0.1, 0.100000001), (0.05, 0.0500000007), (-0.25, -0.25), (1.0, 1.0)])
def test_nine_digits_are_written(value: float, told: float) -> None:
    # float32(0.1) is 0.100000001490116..., float32(0.05) is 0.0500000007450580...
    assert numbers(np.array([value], dtype=np.float32)) == [told]


def test_a_unit_vector_takes_few_bytes() -> None:
    row = np.random.default_rng(2).normal(size=384).astype(np.float32)
    row /= np.linalg.norm(row)
    # nine digits, a sign half of the time, "0.0", a comma and a space; all 17 digits would be 8,500 bytes
    assert len(json.dumps(numbers(row))) < 384 * 15.5
