"""Are questions refused that the library cannot answer, and only those? Before any model is called.

    python benchmarks/refusal.py [--fit] [--scratch FOLDER]

Questions with their documents in the library, against the same questions with them taken out. The weights and
thresholds of `localrag.answering.evidence` were fitted on the questions of odd number (`--fit` does it again); figures
are of the even ones. Keeps them in `benchmarks/results/refusal.json`.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import answer_sets
import numpy as np
import numpy.typing as npt
from answer_sets import AnswerSet, Case
from retrieval import BENCH

from localrag.answering.evidence import CALIBRATED_MODEL, Evidence, weigh

RESULTS = Path(__file__).parent / "results" / "refusal.json"
SETS = {"squad2-dev": 10_000, "hotpotqa-mini": 300, "mtrag-un": 300}
LANGUAGES = {"xquad-de": 200, "xquad-zh": 200}
BY_MEANING = ("first", "best", "agreement", "cosine")
BY_WORDS = ("first", "best")

_WEIGHED: dict[int, Evidence] = {}

Array = npt.NDArray[np.float64]


def evidence(case: Case) -> Evidence:
    """The evidence of its hits with the default embedding model, worked out once."""
    key = id(case)
    if key not in _WEIGHED:
        _WEIGHED[key] = weigh(case.question, case.ranking.hits, CALIBRATED_MODEL)
    return _WEIGHED[key]


def without_vectors(case: Case) -> Evidence:
    """The evidence as long as there are no vectors: the same hits, their cosines not known."""
    return replace(evidence(case), cosine=None)


def features(cases: Sequence[Case], names: Sequence[str]) -> Array:
    """`(cases, names)`: the fields of each case's evidence, 0 where there is none."""
    weighed = [evidence(case) for case in cases]
    return np.array([[float(getattr(found, name) or 0.0) for name in names] for found in weighed])


def fitted(inputs: Array, answerable: Array) -> Array:
    """Weights of a logistic regression, the intercept last, by Newton's method with a slight ridge."""
    rows = np.column_stack([inputs, np.ones(len(inputs))])
    weights = np.zeros(rows.shape[1])
    ridge = np.diag([0.1] * (len(weights) - 1) + [0.0])
    for _ in range(50):
        likely = 1 / (1 + np.exp(-rows @ weights))
        slope = rows.T @ (likely - answerable) + ridge @ weights
        weights -= np.linalg.solve((rows.T * (likely * (1 - likely))) @ rows + ridge, slope)
    return weights


def fit(sets: Mapping[str, AnswerSet]) -> None:
    """Prints the weights with and without cosines."""
    can = [case for found in sets.values() for case in found.answerable[1::2]]
    cannot = [case for found in sets.values() for case in found.removed[1::2]]
    for names in (BY_MEANING, BY_WORDS):
        weights = fitted(features([*can, *cannot], names), np.array([1.0] * len(can) + [0.0] * len(cannot)))
        print(dict(zip((*names, "intercept"), weights.round(2).tolist(), strict=True)))


def rates(answerable: Sequence[bool], others: Sequence[bool]) -> dict[str, float]:
    """F1 of refusing, and both kinds of mistake, from whether each question of a kind was refused."""
    right, wrong = sum(others), sum(answerable)
    missed = len(others) - right
    return {
        "answerable": len(answerable),
        "not answerable": len(others),
        "f1": round(2 * right / (2 * right + wrong + missed), 4) if right else 0.0,
        "refused wrongly": round(wrong / max(len(answerable), 1), 4),
        "not refused": round(missed / max(len(others), 1), 4),
    }


WAYS: dict[str, Callable[[Evidence], bool]] = {
    "asking": lambda found: not found.is_worth_asking,
    "quoting": lambda found: not found.is_worth_quoting,
}


def measure(found: AnswerSet) -> dict[str, object]:
    """Refusals of the held-out questions, by threshold, and of the adversarial ones."""
    kept: dict[str, object] = {}
    for way, refuses in WAYS.items():
        for name, weighed in (("", evidence), (", words alone", without_vectors)):
            held = [refuses(weighed(case)) for case in found.answerable[::2]]
            gone = [refuses(weighed(case)) for case in found.removed[::2]]
            kept[way + name] = rates(held, gone)
            if found.unanswerable:
                share = np.mean([refuses(weighed(case)) for case in found.unanswerable])
                kept[way + name] |= {"adversarial refused": round(float(share), 4)}  # type: ignore[operator]
    return kept


def reliability(found: AnswerSet) -> list[dict[str, float]]:
    """How many questions can be answered among those of each range of probability, half of which can be in all."""
    likely = np.array([evidence(case).probability for case in [*found.answerable[::2], *found.removed[::2]]])
    real = np.array([1.0] * len(found.answerable[::2]) + [0.0] * len(found.removed[::2]))
    rows = []
    for low in np.arange(0.0, 1.0, 0.1):
        chosen = (likely >= low) & (likely < low + 0.1 + (low > 0.85))
        if chosen.any():
            rows.append(
                {
                    "from": round(float(low), 1),
                    "questions": int(chosen.sum()),
                    "said": round(float(likely[chosen].mean()), 3),
                    "measured": round(float(real[chosen].mean()), 3),
                }
            )
    return rows


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--fit", action="store_true", help="only fit and print the weights")
    options.add_argument("--bench", type=Path, default=BENCH)
    options.add_argument("--scratch", type=Path, default=Path(tempfile.gettempdir()) / "localrag-bench")
    chosen = options.parse_args()

    def load(names: Mapping[str, int]) -> dict[str, AnswerSet]:
        return {
            name: answer_sets.load(name, scratch=chosen.scratch, bench=chosen.bench, limit=limit)
            for name, limit in names.items()
        }

    sets = load(SETS)
    languages = load(LANGUAGES)
    if chosen.fit:
        fit(sets)
        fit(languages)
        return
    kept: dict[str, object] = {name: measure(found) for name, found in (sets | languages).items()}
    kept["reliability of the probability, squad2-dev"] = reliability(sets["squad2-dev"])
    print(json.dumps(kept, indent=1))
    RESULTS.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
