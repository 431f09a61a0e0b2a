"""The defaults against the plain baseline: 512-token chunks, RRF with k = 60, both legs of one weight, ties by id.

    python benchmarks/baseline.py [--sets squad2-dev cranfield] [--bench FOLDER] [--cache FILE]

nDCG@10 and hit@5 of both on each set, with the p-value of the difference in nDCG@10 (paired randomisation); over all
sets, the mean relative gain. Kept in `benchmarks/results/baseline.json`.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
from fusion import SETS, Fusion, collect, ranked, rrf, shipped
from retrieval import BENCH
from vector_cache import CACHE, remembered

from localrag.evaluation.metrics import Scores, means, paired_p_value, score
from localrag.protocols import Embedder
from localrag.settings import Settings, load_settings

RESULTS = Path(__file__).parent / "results" / "baseline.json"
BASELINE = {"chunk_tokens": 512, "chunk_overlap_tokens": 64}


def measured(folder: Path, settings: Settings, embedder: Embedder, fuse: Fusion) -> Scores:
    """Every measure for every query of the set, cut as the settings say and fused this way."""
    candidates = collect(folder, settings, embedder)
    found = {
        query: ranked(fuse(candidates.dataset.queries[query], *legs), candidates)
        for query, legs in candidates.legs.items()
    }
    return score(found, candidates.dataset.qrels)


def compare(folder: Path, settings: Settings, embedder: Embedder) -> dict[str, float]:
    """Both on one set."""
    ours = measured(folder, settings, embedder, shipped(embedder.tokenizer))
    plain = measured(folder, settings.model_copy(update=BASELINE), embedder, rrf(60))
    p = paired_p_value(*(list(scores["ndcg@10"].values()) for scores in (ours, plain)))
    row = {
        f"{name} {measure}": round(means(scores)[measure], 4)
        for name, scores in (("baseline", plain), ("defaults", ours))
        for measure in ("ndcg@10", "hit@5")
    }
    return row | {"p": round(p, 4)}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--sets", nargs="+", default=SETS)
    options.add_argument("--bench", type=Path, default=BENCH)
    options.add_argument("--cache", type=Path, default=CACHE)
    chosen = options.parse_args()
    settings = load_settings()
    embedder = remembered(settings, chosen.cache)
    kept = json.loads(RESULTS.read_text("utf-8")) if RESULTS.is_file() else {}
    for name in chosen.sets:
        kept[name] = compare(chosen.bench / name, settings, embedder)
        RESULTS.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
        print(name, json.dumps(kept[name]), flush=True)
    embedder.close()
    gains = [row["defaults ndcg@10"] / row["baseline ndcg@10"] - 1 for row in kept.values()]
    print(f"mean relative gain in nDCG@10 over {len(gains)} sets: {np.mean(gains):.1%}")


if __name__ == "__main__":
    main()
