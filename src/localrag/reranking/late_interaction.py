"""Late interaction over the embedding model's own token vectors: no weights beside those that are here."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np

from localrag.errors import ModelError
from localrag.modelfiles.files import ModelFiles
from localrag.modelfiles.runtime import encodable, load_tokenizer, open_session, physical_cores
from localrag.protocols import Vectors
from localrag.types import Check

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

# Against the score of the search; of 0.1 to 1 the best on all sets together (benchmarks/reranking.py).
_SHARE = 0.7


class LateInteraction:
    """A Reranker by MaxSim: each token of the question with the token of the passage that is nearest to it.

    score = sum over the question's tokens of idf * best cosine, over the sum of idf; -1 to 1. A token that all passages
    hold tells them not apart, so idf is counted over the passages at hand.
    Khattab and Zaharia, "ColBERT: Efficient and Effective Passage Search via Contextualized Late Interaction over
    BERT", SIGIR 2020, https://doi.org/10.1145/3397271.3401075. There a model is trained for it, tokens count alike, and
    their vectors are stored; here the passages are read when they are needed.

    Args:
        model: an embedding model with ONNX weights.
        max_tokens: what it reads of one text, special tokens included.
        threads: how many texts to read beside each other; by default one for each physical core.
    """

    def __init__(self, model: ModelFiles, *, max_tokens: int, threads: int | None = None) -> None:
        self._model = model
        self._max_tokens = max_tokens
        self._threads = threads if threads is not None else physical_cores()
        self._lock = threading.Lock()
        self._loaded: tuple[InferenceSession, Tokenizer] | None = None

    @property
    def name(self) -> str:
        return f"late interaction of {self._model.name}"

    @property
    def share(self) -> float:
        return _SHARE

    def score(self, query: str, passages: Sequence[str]) -> list[float | None]:
        """MaxSim of each passage.

        Raises:
            ModelError: the model's files are missing or damaged, or it gives no vectors of tokens.
        """
        asked, tokens = self._states(query)
        if not asked or not passages:
            return [None] * len(passages)
        pool = ThreadPoolExecutor(max(1, min(self._threads, len(passages))), thread_name_prefix="rerank")
        try:
            read = list(pool.map(self._states, passages))
        finally:
            # On Ctrl-C the passages not begun are dropped, so the caller waits for one, not for all.
            pool.shutdown(wait=True, cancel_futures=True)
        weights = np.asarray(_rarities(asked, [set(ids) for ids, _ in read]))
        return [
            float((tokens @ states.T).max(axis=1) @ weights / weights.sum()) if ids else None for ids, states in read
        ]

    def check(self) -> list[Check]:
        """Whether the model gives vectors of tokens; loads it."""
        try:
            self.score("A question?", ["A short text."])
        except ModelError as error:
            return [Check(name="reranker", ok=False, detail=error.message, hint=error.hint)]
        return [Check(name="reranker", ok=True, detail=self.name)]

    def _states(self, text: str) -> tuple[list[int], Vectors]:
        """The text's token ids and their vectors `(tokens, dimension)` of unit length; special tokens left out."""
        session, tokenizer = self._opened()
        encoded = tokenizer.encode(encodable(text))
        ids = np.asarray([encoded.ids], dtype=np.int64)
        given = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        wanted = [item.name for item in session.get_inputs()]
        output = np.asarray(session.run(None, {name: given[name] for name in wanted})[0], dtype=np.float32)
        if output.ndim != 3 or output.shape[1] != len(encoded.ids) or not np.isfinite(output).all():
            raise ModelError(
                f"The model {self._model.name} gives no vectors of tokens, found shape {output.shape}.",
                hint="Set LOCALRAG_RERANKER to `ollama` or a cross-encoder, or LOCALRAG_EMBEDDING_MODEL to "
                "bge-small-en-v1.5.",
            )
        words = [place for place, special in enumerate(encoded.special_tokens_mask) if not special]
        states = output[0, words]
        return [encoded.ids[place] for place in words], states / np.linalg.norm(states, axis=1, keepdims=True)

    def _opened(self) -> tuple[InferenceSession, Tokenizer]:
        with self._lock:
            if self._loaded is None:
                session = open_session(self._model, other="bge-small-en-v1.5")
                tokenizer = load_tokenizer(self._model.folder / "tokenizer.json")
                tokenizer.enable_truncation(self._max_tokens)
                self._loaded = session, tokenizer
            return self._loaded


def _rarities(tokens: Sequence[int], texts: Sequence[set[int]]) -> list[float]:
    """The idf of each token over the texts (that of BM25, which is never 0)."""
    counts = [sum(token in text for text in texts) for token in tokens]
    return [math.log(1 + (len(texts) - count + 0.5) / (count + 0.5)) for count in counts]
