"""BM25 as Lucene scores it (Robertson & Zaragoza 2009; idf as `ln(1 + (N - n + 0.5) / (n + 0.5))`).

The fields of a chunk (text, headings, document name) are scored as one text: benchmarks/bm25_reference.py found
names worth .006 nDCG@10 on cranfield and .031 on hotpotqa-mini without a weight of their own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

K1 = 1.2
B = 0.75

# A question has some ten terms, a pasted page hundreds, of which the rarest decide.
MAX_TERMS = 96


def idf(chunks: int, holding: int) -> float:
    """How telling a term is that `holding` of `chunks` chunks have; above 0 even when all have it."""
    return math.log1p((chunks - holding + 0.5) / (holding + 0.5))


def saturation(
    frequencies: npt.NDArray[np.float64], lengths: npt.NDArray[np.float64], average_length: float
) -> npt.NDArray[np.float64]:
    """What so many occurrences in chunks of these lengths are worth, each in [0, 1)."""
    return frequencies / (frequencies + K1 * (1 - B + B * lengths / average_length))


def rarest(holding: Mapping[str, int]) -> list[str]:
    """The terms that occur, rarest first, at most `MAX_TERMS`."""
    occurring = sorted((count, term) for term, count in holding.items() if count)
    return [term for _, term in occurring[:MAX_TERMS]]
