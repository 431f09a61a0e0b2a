"""Ways to fuse the two legs, on the same candidates: RRF by its constant and how ties go, and score blends by parts.

    python benchmarks/fusion.py [--sets squad2-dev cranfield] [--bench FOLDER] [--cache FILE]

Each leg's best 40 chunks (what `top_k` 10 fetches), both legs of one weight unless named. `p` is that of the difference
from the better leg alone (paired randomisation). Prints tables and keeps nDCG@10 in `benchmarks/results/fusion.json`.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from retrieval import BENCH, SETS, open_index
from vector_cache import CACHE, remembered

from localrag.chunking.split import Chunker
from localrag.evaluation.beir import BeirDataset, EntryId, load_dataset
from localrag.evaluation.corpus import corpus_files
from localrag.evaluation.metrics import DEPTH, means, paired_p_value, score
from localrag.library.embedding_queue import EmbeddingQueue
from localrag.parsing.isolated import IsolatedParser
from localrag.parsing.source import Limits
from localrag.protocols import Embedder, Tokenizer
from localrag.retrieval.familiarity import familiarity
from localrag.retrieval.fusion import KEYWORD_SHARE, WeightedList
from localrag.retrieval.fusion import blend as weighed
from localrag.settings import Settings, load_settings
from localrag.types import ChunkId, ScoredChunk

RESULTS = Path(__file__).parent / "results" / "fusion.json"
CANDIDATES = 40
MEASURES = ("ndcg@10", "recall@5", "recall@10", "hit@1", "hit@5")
MODEL = "bge-small-en-v1.5"

Leg = Sequence[tuple[ChunkId, float]]
Scores = dict[ChunkId, float]
Fusion = Callable[[str, Leg, Leg], list[ChunkId]]
"""(query, keyword leg, vector leg) -> chunks, best first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """Both legs of every query, and what each chunk says and belongs to."""

    dataset: BeirDataset
    legs: Mapping[str, tuple[Leg, Leg]]
    texts: Mapping[ChunkId, str]
    entries: Mapping[ChunkId, EntryId]


def collect(folder: Path, settings: Settings, embedder: Embedder) -> Candidates:
    """The candidates of one set with the chunking of the settings."""
    dataset = load_dataset(folder)
    chunker = Chunker(embedder.tokenizer, settings.chunk_tokens, settings.chunk_overlap_tokens)
    texts: dict[ChunkId, str] = {}
    entries: dict[ChunkId, EntryId] = {}
    with open_index(embedder, settings) as index:
        parser = IsolatedParser(limits=Limits())
        for file in corpus_files(dataset, parser, titles=True):
            chunks = chunker.chunk(file.document.id, file.pages)
            if chunks:
                index.replace_document(file.with_chunks(len(chunks)), file.pages, chunks)
            texts |= {chunk.id: " ".join(chunk.text.split()) for chunk in chunks}
            entries |= {chunk.id: file.entries[chunk.page_ordinal] for chunk in chunks}
        parser.close()
        EmbeddingQueue(index=index, embedder=embedder).drain()
        legs = {}
        for query, text in dataset.queries.items():
            found = index.search_legs(text, embedder.embed_query(text), limit=CANDIDATES)
            legs[query] = (_leg(found.lexical), _leg(found.vector))
    return Candidates(dataset=dataset, legs=legs, texts=texts, entries=entries)


def _leg(found: Sequence[ScoredChunk] | None) -> Leg:
    return [(scored.chunk.id, scored.score) for scored in found or ()]


def rrf(k: int, *, semantic: float = 0.5, keyword_ties: bool = False) -> Fusion:
    """Weighted reciprocal ranks; ties by keyword rank, or by id alone."""

    def order(query: str, lexical: Leg, vector: Leg) -> list[ChunkId]:
        scores: Scores = {}
        for leg, weight in ((lexical, 2 * (1 - semantic)), (vector, 2 * semantic)):
            for rank, (chunk, _) in enumerate(leg, start=1):
                scores[chunk] = scores.get(chunk, 0.0) + weight / (k + rank)
        ranks = {chunk: rank for rank, (chunk, _) in enumerate(lexical)} if keyword_ties else {}
        kept = [chunk for chunk in scores if scores[chunk] > 0]
        return sorted(kept, key=lambda chunk: (-round(scores[chunk], 12), ranks.get(chunk, CANDIDATES), chunk))

    return order


def blend(share: float, *, from_zero: bool = False, tokenizer: Tokenizer | None = None) -> Fusion:
    """Each leg's scores scaled to 0..1 over its candidates, `share` of the vector leg's and the rest of the other's.

    from_zero: BM25 is scaled from 0, not from the last candidate. tokenizer: weighs vectors by the query's language.
    """

    def order(query: str, lexical: Leg, vector: Leg) -> list[ChunkId]:
        known = familiarity(query, tokenizer, MODEL) if tokenizer else 1.0
        scores: Scores = {}
        for leg, weight, floor in ((lexical, 1 - share, 0.0 if from_zero else None), (vector, known * share, None)):
            low = 0.0 if not leg else leg[-1][1] if floor is None else floor
            span = leg[0][1] - low if leg else 0.0
            for chunk, value in leg:
                scores[chunk] = scores.get(chunk, 0.0) + weight * ((value - low) / span if span else 1.0)
        return sorted(scores, key=lambda chunk: (-round(scores[chunk], 12), chunk))

    return order


def shipped(tokenizer: Tokenizer, share: float = KEYWORD_SHARE) -> Fusion:
    """The default as `Retriever` makes it: both of the above, and each leg by its lead; `share` of the keyword leg."""

    def order(query: str, lexical: Leg, vector: Leg) -> list[ChunkId]:
        lists = [_list(lexical, share, 0.0), _list(vector, familiarity(query, tokenizer, MODEL), None)]
        return [chunk for chunk, _ in weighed(lists)]

    return order


def _list(leg: Leg, weight: float, floor: float | None) -> WeightedList:
    return WeightedList(ids=[c for c, _ in leg], scores=[s for _, s in leg], weight=weight, floor=floor)


def fusions(tokenizer: Tokenizer) -> dict[str, Fusion]:
    """Every way that is compared, by its name in the table."""
    return {
        "keyword alone": rrf(60, semantic=0.0),
        "vector alone": rrf(60, semantic=1.0),
        **{f"RRF k={k}": rrf(k) for k in (60, 10)},
        **{f"RRF k={k}, keyword wins ties": rrf(k, keyword_ties=True) for k in (60, 10)},
        **{f"min-max blend {share}": blend(share) for share in (0.4, 0.5, 0.6)},
        "blend 0.5, BM25 from zero": blend(0.5, from_zero=True),
        "and by language": blend(0.5, from_zero=True, tokenizer=tokenizer),
        **{f"and by lead, keyword share {share}": shipped(tokenizer, share) for share in (1.0, 1.1, 1.2, 1.3)},
    }


def ranked(order: Sequence[ChunkId], candidates: Candidates) -> list[EntryId]:
    """The first ten entries, each where its best chunk stands; a text counts once, as in a search."""
    seen: set[str] = set()
    entries: dict[EntryId, None] = {}
    for chunk in order:
        if candidates.texts[chunk] not in seen:
            seen.add(candidates.texts[chunk])
            entries.setdefault(candidates.entries[chunk])
    return list(entries)[:DEPTH]


def compare(candidates: Candidates, ways: Mapping[str, Fusion]) -> dict[str, dict[str, float]]:
    """Measures of every fusion, with p against the better leg."""
    qrels = candidates.dataset.qrels
    by_query = {
        name: score(
            {
                query: ranked(fuse(candidates.dataset.queries[query], *legs), candidates)
                for query, legs in candidates.legs.items()
            },
            qrels,
        )
        for name, fuse in ways.items()
    }
    found = {name: means(scores) for name, scores in by_query.items()}
    leg = max(("keyword alone", "vector alone"), key=lambda name: found[name]["ndcg@10"])
    best = list(by_query[leg]["ndcg@10"].values())
    return {
        name: {measure: round(measures[measure], 4) for measure in MEASURES}
        | {"p": round(paired_p_value(list(by_query[name]["ndcg@10"].values()), best), 4)}
        for name, measures in found.items()
    }


def table(kept: Mapping[str, Mapping[str, Mapping[str, float]]]) -> str:
    """nDCG@10 (p) as Markdown, a row for each fusion and a column for each set."""
    lines = [f"| fusion | {' | '.join(kept)} |", f"|{'---|' * (len(kept) + 1)}"]
    for name in dict.fromkeys(name for rows in kept.values() for name in rows):
        cells = (
            f"{rows[name]['ndcg@10']:.4f} ({rows[name]['p']:.3f})" if name in rows else "" for rows in kept.values()
        )
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


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
        kept[name] = compare(collect(chosen.bench / name, settings, embedder), fusions(embedder.tokenizer))
        RESULTS.parent.mkdir(parents=True, exist_ok=True)
        RESULTS.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
        print(name, flush=True)
    embedder.close()
    print(table(kept))


if __name__ == "__main__":
    main()
