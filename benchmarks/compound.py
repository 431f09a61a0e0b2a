"""Compound questions: searched as one, against what is searched for part by part.

    python benchmarks/compound.py [--bench FOLDER] [--cache FILE]

Two SQuAD questions joined by "and" (60 pairs): are both paragraphs among the first hits? Then the multi-hop sets: what
becomes of the questions that are cut. And on every set how many are. Kept in `benchmarks/results/compound.json`.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from followups import Searched, compared, fill
from retrieval import BENCH, open_index
from vector_cache import CACHE, remembered

from localrag.evaluation.beir import BeirDataset, QueryId, load_dataset
from localrag.retrieval.compound import parts
from localrag.retrieval.planning import plan
from localrag.settings import load_settings

RESULTS = Path(__file__).parent / "results" / "compound.json"
PAIRED = "squad2-dev"
CUT = ("hotpotqa-mini", "musique-mini")
COUNTED = ("squad2-dev", "cranfield", "xquad-de", "hotpotqa-mini", "musique-mini")
PAIRS = 60
BEGINNINGS = ("who ", "what ", "when ", "where ", "how ", "which ", "why ")


def paired(dataset: BeirDataset) -> BeirDataset:
    """The set with pairs of its single questions in the place of its questions; both of their paragraphs are right."""
    single = [
        query
        for query, text in sorted(dataset.queries.items())
        if text.lower().startswith(BEGINNINGS) and not parts(text) and len(dataset.qrels[query]) == 1
    ]
    random.Random(3).shuffle(single)
    pairs = {f"{one}+{other}": (one, other) for one, other in zip(single[:PAIRS], single[PAIRS:], strict=False)}
    return replace(
        dataset,
        queries={name: joined(dataset.queries[one], dataset.queries[other]) for name, (one, other) in pairs.items()},
        qrels={name: {**dataset.qrels[one], **dataset.qrels[other]} for name, (one, other) in pairs.items()},
    )


def joined(one: str, other: str) -> str:
    """`Who ... and when ...?`"""
    other = other.strip()
    return f"{one.strip().rstrip('?').strip()} and {other[0].lower()}{other[1:]}"


def measured(searched: Searched, queries: Iterable[QueryId]) -> dict[str, dict[str, float]]:
    """As one and part by part, and how often all that is right is among the first ten entries."""
    plans = {query: plan(searched.dataset.queries[query]) for query in queries}
    table = compared(searched, plans, {"compound": list(plans)})
    alone = {query: replace(planned, queries=planned.queries[:1]) for query, planned in plans.items()}
    for row, chosen in (("as asked", alone), ("planned", plans)):
        whole = [set(searched.dataset.qrels[q]) <= set(searched.entries(planned)[:8]) for q, planned in chosen.items()]
        table[f"compound, {row}"]["all right ones in 8"] = round(sum(whole) / len(whole), 4)
    return table


def cut(dataset: BeirDataset) -> list[QueryId]:
    return [query for query, text in dataset.queries.items() if parts(text)]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--bench", type=Path, default=BENCH)
    options.add_argument("--cache", type=Path, default=CACHE)
    chosen = options.parse_args()
    settings = load_settings()
    embedder = remembered(settings, chosen.cache)
    sets = {name: load_dataset(chosen.bench / name) for name in COUNTED}
    kept: dict[str, Mapping[str, object]] = {
        "cut": {name: {"questions": len(found.queries), "cut": len(cut(found))} for name, found in sets.items()}
    }
    for name in (*CUT, PAIRED):
        dataset = paired(sets[name]) if name == PAIRED else sets[name]
        if not cut(dataset):
            continue
        with open_index(embedder, settings) as index:
            kept[name] = measured(fill(index, dataset, settings, embedder), cut(dataset))
        print(name, json.dumps(kept[name], indent=1), flush=True)
        RESULTS.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    print(kept["cut"])
    embedder.close()


if __name__ == "__main__":
    main()
