"""Follow-ups on conversations of people: the question as asked, against what is searched for with its history.

    python benchmarks/followups.py [--bench FOLDER] [--cache FILE]

mtrag-un, default settings. "short" is the third of the turns with the fewest content words. The second table asks
SQuAD questions after a conversation about something else: what is said before must not cost a whole question its page.
Prints both and keeps them in `benchmarks/results/followups.json`.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from retrieval import BENCH, open_index
from vector_cache import CACHE, remembered

from localrag.chunking.split import Chunker
from localrag.evaluation.beir import BeirDataset, EntryId, QueryId, load_dataset
from localrag.evaluation.corpus import corpus_files
from localrag.evaluation.metrics import DEPTH, means, paired_p_value, score
from localrag.index.sqlite import SqliteIndex
from localrag.library.embedding_queue import EmbeddingQueue
from localrag.parsing.isolated import IsolatedParser
from localrag.parsing.source import Limits
from localrag.protocols import Embedder
from localrag.retrieval.hybrid import Retriever
from localrag.retrieval.planning import Plan, plan
from localrag.retrieval.words import content_words
from localrag.settings import Settings, load_settings
from localrag.types import DocumentId, Message, Query

RESULTS = Path(__file__).parent / "results" / "followups.json"
SHOWN = ("recall@5", "recall@10", "ndcg@10", "hit@1")
TOP_K = 20
"""Chunks a search: enough for ten entries."""
SWITCHES = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Searched:
    """A set in an index, and which entry each page is."""

    dataset: BeirDataset
    retriever: Retriever
    origins: Mapping[tuple[DocumentId, int], EntryId]

    def entries(self, planned: Plan) -> list[EntryId]:
        """The first ten entries that the plan finds."""
        rankings = [self.retriever.search(Query(text=text, top_k=TOP_K)) for text in planned.queries]
        found = planned.merged(rankings, limit=TOP_K) if len(rankings) > 1 else rankings[0]
        entries = (self.origins[hit.chunk.document_id, hit.chunk.page_ordinal] for hit in found.hits)
        return list(dict.fromkeys(entries))[:DEPTH]


def fill(index: SqliteIndex, dataset: BeirDataset, settings: Settings, embedder: Embedder) -> Searched:
    """The set, indexed and embedded."""
    chunker = Chunker(embedder.tokenizer, settings.chunk_tokens, settings.chunk_overlap_tokens)
    origins: dict[tuple[DocumentId, int], EntryId] = {}
    parser = IsolatedParser(limits=Limits())
    for file in corpus_files(dataset, parser, titles=True):
        if chunks := chunker.chunk(file.document.id, file.pages):
            index.replace_document(file.with_chunks(len(chunks)), file.pages, chunks)
        origins |= {(file.document.id, page): entry for page, entry in file.entries.items()}
    parser.close()
    EmbeddingQueue(index=index, embedder=embedder).drain()
    retriever = Retriever(index=index, embedder=embedder, fusion=settings.fusion)
    return Searched(dataset=dataset, retriever=retriever, origins=origins)


def compared(
    searched: Searched, plans: Mapping[QueryId, Plan], groups: Mapping[str, Sequence[QueryId]]
) -> dict[str, dict[str, float]]:
    """Measures of the raw questions and of the plans, by group, with the p of recall@5."""
    dataset = searched.dataset
    alone = {query: Plan(queries=(dataset.queries[query],), standalone=dataset.queries[query]) for query in plans}
    runs = {
        name: {query: searched.entries(planned) for query, planned in chosen.items()}
        for name, chosen in (("as asked", alone), ("planned", plans))
    }
    table: dict[str, dict[str, float]] = {}
    for group, queries in groups.items():
        qrels = {query: dataset.qrels[query] for query in queries}
        scores = {name: score({query: run[query] for query in queries}, qrels, SHOWN) for name, run in runs.items()}
        p = paired_p_value(*(list(scores[name]["recall@5"].values()) for name in runs))
        for name, measured in scores.items():
            table[f"{group}, {name}"] = {"queries": len(queries)} | {
                measure: round(value, 4) for measure, value in means(measured).items()
            }
        table[f"{group}, planned"] |= {"p": round(p, 4), "planned": sum(len(plans[q].queries) > 1 for q in queries)}
    return table


def conversations(searched: Searched) -> dict[str, dict[str, float]]:
    """Turns with their histories."""
    dataset = searched.dataset
    queries = list(dataset.queries)
    plans = {query: plan(dataset.queries[query], dataset.histories.get(query, ())) for query in queries}
    order = sorted(queries, key=lambda query: (len(content_words(dataset.queries[query])), query))
    short = order[: len(order) // 3]
    even, odd = set(queries[0::2]), set(queries[1::2])
    groups = {
        "all": queries,
        "short": short,
        "short, even turns (chosen on)": [query for query in short if query in even],
        "short, odd turns": [query for query in short if query in odd],
    }
    return compared(searched, plans, groups)


def switches(searched: Searched) -> dict[str, dict[str, float]]:
    """Questions after a conversation about another one, whose paragraph was the answer."""
    dataset = searched.dataset
    chosen = random.Random(1)
    queries = sorted(dataset.queries)
    chosen.shuffle(queries)
    texts = {entry.id: entry.text for entry in dataset.corpus}
    plans = {}
    for query, other in zip(queries[:SWITCHES], queries[SWITCHES : 2 * SWITCHES], strict=True):
        said = texts[next(iter(dataset.qrels[other]))]
        history = [
            Message(role="user", content=dataset.queries[other]),
            Message(role="assistant", content=said),
        ]
        plans[query] = plan(dataset.queries[query], history)
    return compared(searched, plans, {"another topic before": list(plans)})


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--bench", type=Path, default=BENCH)
    options.add_argument("--cache", type=Path, default=CACHE)
    chosen = options.parse_args()
    settings = load_settings()
    embedder = remembered(settings, chosen.cache)
    parts: dict[str, Callable[[Searched], dict[str, dict[str, float]]]] = {
        "mtrag-un": conversations,
        "squad2-dev": switches,
    }
    kept = {}
    for name, measure in parts.items():
        with open_index(embedder, settings) as index:
            kept[name] = measure(fill(index, load_dataset(chosen.bench / name), settings, embedder))
        for row, measures in kept[name].items():
            print(f"{row:40s}", " ".join(f"{key} {value:g}" for key, value in measures.items()), flush=True)
        RESULTS.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    embedder.close()


if __name__ == "__main__":
    main()
