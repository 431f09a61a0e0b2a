"""Which chunk size finds the right document? nDCG@10 by chunk size on the judged sets.

    python benchmarks/chunk_size_retrieval.py [--sets cranfield] [--tokens 128 256] [--overlap 0.125] [--lexical-only]

Prints a table and keeps the figures in `benchmarks/results/chunk_size_retrieval.json`; what was measured before and is
not asked for again stays. Only the keyword leg is measured with `--lexical-only`, which embeds nothing.
"""

from __future__ import annotations

import argparse
import json
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from retrieval import BENCH, run
from vector_cache import CACHE, CachedEmbedder

from localrag.embedding.registry import create_embedder
from localrag.protocols import Embedder, Tokenizer, Vectors
from localrag.settings import Settings, load_settings
from localrag.types import EmbeddingModel

RESULTS = Path(__file__).parent / "results" / "chunk_size_retrieval.json"
SETS = ("squad2-dev", "cranfield", "financebench-pages")
TOKENS = (128, 192, 256, 384, 512)
MODES = ("lexical", "vector", "hybrid")


class Blind:
    """The model's tokenizer with vectors that mean nothing: chunks are cut as usual, and nothing is embedded."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    @property
    def model(self) -> EmbeddingModel:
        return self._embedder.model

    @property
    def tokenizer(self) -> Tokenizer:
        return self._embedder.tokenizer

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        return np.stack([self.embed_query(text) for text in texts])

    def embed_query(self, text: str) -> Vectors:
        vector = np.random.default_rng(zlib.crc32(text.encode())).normal(size=self.model.dimension)
        return (vector / np.linalg.norm(vector)).astype(np.float32)


def measure(folder: Path, settings: Settings, *, cache: Path, lexical_only: bool) -> dict[str, float | int]:
    """nDCG@10 by mode and the number of chunks; `lexical` alone when nothing is embedded."""
    real = create_embedder(settings.embedding_model, models_dir=settings.data_dir / "models")
    if lexical_only:
        found = run(folder, settings=settings, embedder=Blind(real))
    else:
        cached = CachedEmbedder(real, cache)
        try:
            found = run(folder, settings=settings, embedder=cached)
        finally:
            cached.close()
    modes = MODES[:1] if lexical_only else MODES
    return {"chunks": found.chunks, **{mode: round(found.by_mode[mode]["ndcg@10"], 4) for mode in modes}}


def table(kept: dict[str, dict[str, dict[str, float | int]]]) -> str:
    """The figures as Markdown, a row for each set and size: keyword, meaning, both."""
    lines = ["| set | tokens/overlap | chunks | lexical | vector | hybrid |", "|---|---|---|---|---|---|"]
    for name, sizes in kept.items():
        for size, row in sizes.items():
            cells = " | ".join(f"{row[mode]:.4f}" if mode in row else "" for mode in MODES)
            lines.append(f"| {name} | {size} | {row['chunks']} | {cells} |")
    return "\n".join(lines)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--sets", nargs="+", default=SETS)
    options.add_argument("--tokens", nargs="+", type=int, default=TOKENS)
    options.add_argument("--overlap", type=float, default=0.125, help="share of the tokens; 32 of 256")
    options.add_argument("--bench", type=Path, default=BENCH)
    options.add_argument("--cache", type=Path, default=CACHE)
    options.add_argument("--lexical-only", action="store_true")
    chosen = options.parse_args()
    for name in chosen.sets:
        for tokens in chosen.tokens:
            overlap = int(tokens * chosen.overlap)
            settings = load_settings(chunk_tokens=tokens, chunk_overlap_tokens=overlap)
            row = measure(chosen.bench / name, settings, cache=chosen.cache, lexical_only=chosen.lexical_only)
            kept = json.loads(RESULTS.read_text("utf-8")) if RESULTS.is_file() else {}
            sizes = kept.setdefault(name, {})
            sizes[f"{tokens}/{overlap}"] = sizes.get(f"{tokens}/{overlap}", {}) | row
            kept[name] = dict(sorted(sizes.items(), key=lambda item: [int(part) for part in item[0].split("/")]))
            RESULTS.parent.mkdir(parents=True, exist_ok=True)
            RESULTS.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
            print(name, f"{tokens}/{overlap}", row, flush=True)
    print(table(json.loads(RESULTS.read_text("utf-8"))))


if __name__ == "__main__":
    main()
