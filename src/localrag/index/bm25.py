"""BM25 as Lucene scores it (Robertson & Zaragoza 2009; idf as `ln(1 + (N - n + 0.5) / (n + 0.5))`)."""

from __future__ import annotations

import math

K1 = 1.2
B = 0.75

# How much one occurrence counts in each field, next to one in the text (benchmarks/bm25_reference.py).
BODY_WEIGHT = 1.0
HEADING_WEIGHT = 1.0
NAME_WEIGHT = 1.0


def idf(chunks: int, holding: int) -> float:
    """How telling a term is that `holding` of `chunks` chunks have; above 0 even when all have it."""
    return math.log1p((chunks - holding + 0.5) / (holding + 0.5))


def saturation(frequency: float, length: float, average_length: float) -> float:
    """What `frequency` occurrences in a chunk of this length are worth, in [0, 1)."""
    return frequency / (frequency + K1 * (1 - B + B * length / average_length)) if frequency else 0.0
