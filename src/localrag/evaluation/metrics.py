"""Measures of a run against judgements, by ir-measures, and whether a difference between two runs is real."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from localrag.evaluation.beir import EntryId, QueryId

Run: TypeAlias = Mapping[QueryId, Sequence[EntryId]]
"""What was found: query -> entries, best first, each once."""
Scores: TypeAlias = Mapping[str, Mapping[QueryId, float]]
"""Measure -> query -> value in [0, 1], higher is better."""

MEASURES = {
    "ndcg@10": "nDCG@10",
    "recall@5": "R@5",
    "recall@10": "R@10",
    "precision@5": "P@5",
    "mrr@10": "RR@10",
    "hit@1": "Success@1",
    "hit@5": "Success@5",
    "hit@10": "Success@10",
}
"""Our names and those of ir-measures. Gains are linear in the relevance, as in trec_eval."""
DEPTH = 10
"""How many entries a run must hold for every measure to be exact."""

_ROUNDS = 10_000
_ROUNDS_AT_ONCE = 500  # bounds memory: 500 x 2,000 queries as float64 are 8 MB


def score(
    run: Run, qrels: Mapping[QueryId, Mapping[EntryId, int]], measures: Sequence[str] = tuple(MEASURES)
) -> dict[str, dict[QueryId, float]]:
    """These measures for every judged query; one that the run left unanswered scores 0."""
    import ir_measures  # slow to import, and needed by this command only

    judged = [
        ir_measures.Qrel(query, entry, relevance)
        for query, entries in qrels.items()
        for entry, relevance in entries.items()
    ]
    # The rank itself is the score: equal ones would be put in an order of ir-measures' own.
    found = [
        ir_measures.ScoredDoc(query, entry, float(-rank))
        for query, entries in run.items()
        for rank, entry in enumerate(entries, start=1)
    ]
    names = {ir_measures.parse_measure(MEASURES[name]): name for name in measures}
    scores = {name: dict.fromkeys(qrels, 0.0) for name in measures}
    for value in ir_measures.iter_calc(list(names), judged, found):
        if value.query_id in qrels:
            scores[names[value.measure]][value.query_id] = float(value.value)
    return scores


def means(scores: Scores) -> dict[str, float]:
    """Each measure averaged over the queries."""
    return {name: float(np.mean(list(values.values()))) for name, values in scores.items()}


def paired_p_value(first: Sequence[float], second: Sequence[float], *, seed: int = 0) -> float:
    """How likely a mean difference this large is, in either direction, if the two runs were equally good.

    A randomisation test: the two values of each query are swapped at random, 10,000 times over. The same input
    gives the same p. Smucker, Allan and Carterette, "A Comparison of Statistical Significance Tests for Information
    Retrieval Evaluation", CIKM 2007, https://doi.org/10.1145/1321440.1321528.
    """
    differences: npt.NDArray[np.float64] = np.asarray(first, np.float64) - np.asarray(second, np.float64)
    differences = differences[differences != 0.0]  # swapping equal values changes nothing
    if differences.size == 0:
        return 1.0
    observed = abs(differences.sum()) - 1e-9  # sums in another order differ in the last bits
    generator = np.random.default_rng(seed)
    as_large = 0
    for _ in range(_ROUNDS // _ROUNDS_AT_ONCE):
        signs = generator.integers(0, 2, size=(_ROUNDS_AT_ONCE, differences.size), dtype=np.int8) * 2 - 1
        as_large += int(np.count_nonzero(np.abs(signs @ differences) >= observed))
    return (as_large + 1) / (_ROUNDS + 1)
