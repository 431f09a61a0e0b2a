"""Whether reading the best candidates again improves the ranking: late interaction over BGE's own token vectors.

    python benchmarks/reranking.py [--sets squad2-dev cranfield] [--queries 300] [--bench FOLDER] [--cache FILE]

The best 20 chunks of the hybrid ranking of the settings are put in the order of MaxSim (Khattab and Zaharia, "ColBERT:
Efficient and Effective Passage Search via Contextualized Late Interaction over BERT", SIGIR 2020,
https://doi.org/10.1145/3397271.3401075): each token of the question, its best cosine among the tokens of the passage,
averaged, all alike or weighted by the token's idf over the 20 passages or over all passages read. A mixture `a` is
a * MaxSim + (1 - a) * the fused score, both scaled to 0..1 over the 20. `p` is that of the difference from the order as
it was (paired randomisation); seconds are those of the processor, of one thread, with nothing cached. Keeps its figures
in `benchmarks/results/reranking.json`.
"""

from __future__ import annotations

import argparse
import json
import math
import sqlite3
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnxruntime
from fusion import Candidates, collect, ranked
from retrieval import BENCH
from tokenizers import Tokenizer
from vector_cache import CACHE, remembered

from localrag.embedding.spec import SHIPPED
from localrag.evaluation.metrics import means, paired_p_value, score
from localrag.retrieval.fusion import Fusion, WeightedList, fuse
from localrag.settings import load_settings
from localrag.types import ChunkId

RESULTS = Path(__file__).parent / "results" / "reranking.json"
SETS = ("squad2-dev", "cranfield", "hotpotqa-mini", "musique-mini")
QUERIES = 300
RERANKED = 20
TIMED = 10
SHARES = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0)

Fused = Sequence[tuple[ChunkId, float]]
Scorer = Callable[[str, Sequence[str]], Sequence[float]]


class TokenStates:
    """The model's last hidden states, each of unit length; one text a run, as in the embedder."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._kept = sqlite3.connect(path)
        self._kept.execute("CREATE TABLE IF NOT EXISTS states (text TEXT PRIMARY KEY, states BLOB) WITHOUT ROWID")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(str(SHIPPED.model_path), options, ["CPUExecutionProvider"])
        self._tokenizer = Tokenizer.from_file(str(SHIPPED.tokenizer_path))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(SHIPPED.max_tokens)
        self._known: dict[str, tuple[list[int], npt.NDArray[np.float16]]] = {}

    def of(self, text: str) -> tuple[list[int], npt.NDArray[np.float32]]:
        """Token ids and states without the model's own marks; made once for each text."""
        if text not in self._known:
            row = self._kept.execute("SELECT states FROM states WHERE text = ?", (text,)).fetchone()
            if row is None:
                ids, states = self.fresh(text)
                small = states.astype(np.float16)
                with self._kept:
                    self._kept.execute("INSERT INTO states VALUES (?, ?)", (text, small.tobytes()))
            else:
                ids = self._tokenizer.encode(text).ids[1:-1]
                small = np.frombuffer(row[0], np.float16).reshape(len(ids), -1)
            self._known[text] = ids, small
        ids, kept = self._known[text]
        return ids, kept.astype(np.float32)

    def fresh(self, text: str) -> tuple[list[int], npt.NDArray[np.float32]]:
        ids = self._tokenizer.encode(text).ids
        row = np.asarray([ids], np.int64)
        given = {"input_ids": row, "attention_mask": np.ones_like(row), "token_type_ids": np.zeros_like(row)}
        states = np.asarray(self._session.run(["last_hidden_state"], given)[0][0], np.float32)
        states /= np.linalg.norm(states, axis=1, keepdims=True)
        return ids[1:-1], states[1:-1]


def rarity(token: int, texts: Sequence[set[int]]) -> float:
    """The idf of the token over the texts (that of BM25)."""
    count = sum(token in text for text in texts)
    return math.log(1 + (len(texts) - count + 0.5) / (count + 0.5))


def max_sims(
    states: TokenStates, question: str, passages: Sequence[str], everything: Sequence[set[int]]
) -> list[list[float]]:
    """MaxSim of each passage by each weighting. The question goes without the query prefix."""
    ids, tokens = states.of(question)
    best = np.stack([(tokens @ states.of(passage)[1].T).max(axis=1) for passage in passages])
    read = [set(states.of(passage)[0]) for passage in passages]
    weightings = (
        [1.0] * len(ids),
        [rarity(token, read) for token in ids],
        [rarity(token, everything) for token in ids],
    )
    return [(best @ np.asarray(weights, np.float32) / sum(weights)).tolist() for weights in weightings]


def fused(candidates: Candidates, query: str, by: Fusion) -> Fused:
    """The hybrid ranking of the query, equal texts once, as a search makes it."""
    lists = [
        WeightedList(ids=[chunk for chunk, _ in leg], scores=[value for _, value in leg])
        for leg in candidates.legs[query]
    ]
    seen: set[str] = set()
    kept = []
    for chunk, value in fuse(lists, by=by):
        if candidates.texts[chunk] not in seen:
            seen.add(candidates.texts[chunk])
            kept.append((chunk, value))
    return kept


def scaled(values: Sequence[float]) -> list[float]:
    """The values over 0..1."""
    low, span = min(values), max(values) - min(values)
    return [(value - low) / span if span else 1.0 for value in values]


def mixed(order: Fused, scores: Sequence[float], share: float) -> list[ChunkId]:
    """The first candidates by the mixture; the rest stays behind them."""
    head = order[: len(scores)]
    both = zip(scaled(scores), scaled([value for _, value in head]), head, strict=True)
    best = sorted(((share * new + (1 - share) * old, item) for new, old, item in both), key=lambda pair: -pair[0])
    return [chunk for _, (chunk, _) in best] + [chunk for chunk, _ in order[len(scores) :]]


def compare(candidates: Candidates, queries: Sequence[str], by: Fusion, states: TokenStates) -> dict[str, object]:
    """nDCG@10 of every order, with p against the first."""
    texts = candidates.dataset.queries
    orders = {query: fused(candidates, query, by) for query in queries}
    passages = {query: [candidates.texts[chunk] for chunk, _ in orders[query][:RERANKED]] for query in queries}
    everything = [set(states.of(text)[0]) for text in {text for each in passages.values() for text in each}]
    sims = {q: max_sims(states, texts[q], passages[q], everything) for q in queries if passages[q]}
    runs: dict[str, dict[str, list[ChunkId]]] = {"as it was": {q: [c for c, _ in orders[q]] for q in queries}}
    for place, name in enumerate(("MaxSim", "MaxSim, rare in the 20", "MaxSim, rare in all")):
        for share in SHARES:
            runs[f"{name} {share}"] = {q: mixed(orders[q], sims[q][place], share) for q in sims}
    qrels = {query: candidates.dataset.qrels[query] for query in queries}
    return measured(candidates, runs, qrels) | {"cost": cost(states, texts, passages, queries[:TIMED])}


def measured(
    candidates: Candidates, runs: Mapping[str, Mapping[str, Sequence[ChunkId]]], qrels: Mapping[str, Mapping[str, int]]
) -> dict[str, object]:
    """nDCG@10 and hit@1 of each run, and p against the first."""
    by_run = {
        name: score({query: ranked(order, candidates) for query, order in run.items()}, qrels, ("ndcg@10", "hit@1"))
        for name, run in runs.items()
    }
    before = list(next(iter(by_run.values()))["ndcg@10"].values())
    return {
        name: {measure: round(value, 4) for measure, value in means(scores).items()}
        | {"p": round(paired_p_value(list(scores["ndcg@10"].values()), before), 4)}
        for name, scores in by_run.items()
    }


def cost(
    states: TokenStates, texts: Mapping[str, str], passages: Mapping[str, Sequence[str]], queries: Sequence[str]
) -> dict[str, float]:
    """Processor seconds of reading a question's candidates, and of embedding the question alone, for comparison."""
    began = time.process_time()
    for query in queries:
        for text in passages[query]:
            states.fresh(text)
    read = time.process_time()
    for query in queries:
        states.fresh(texts[query])
    return {
        "seconds_a_query": round((time.process_time() - began) / len(queries), 3),
        "seconds_to_embed_a_question": round((time.process_time() - read) / len(queries), 4),
    }


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--sets", nargs="+", default=SETS)
    options.add_argument("--queries", type=int, default=QUERIES)
    options.add_argument("--bench", type=Path, default=BENCH)
    options.add_argument("--cache", type=Path, default=CACHE)
    options.add_argument("--states", type=Path, default=Path(tempfile.gettempdir()) / "localrag-bench" / "states.db")
    chosen = options.parse_args()
    settings = load_settings()
    embedder = remembered(settings, chosen.cache)
    kept = json.loads(RESULTS.read_text("utf-8")) if RESULTS.is_file() else {}
    for name in chosen.sets:
        candidates = collect(chosen.bench / name, settings, embedder)
        queries = list(candidates.dataset.queries)[: chosen.queries]
        kept.setdefault("late interaction", {})[name] = compare(
            candidates, queries, settings.fusion, TokenStates(chosen.states)
        )
        RESULTS.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
        print(name, json.dumps(kept["late interaction"][name], indent=1), flush=True)
    embedder.close()


if __name__ == "__main__":
    main()
