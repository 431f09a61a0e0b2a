"""Question and passage read together by one model: by ONNX Runtime, or by sentence-transformers (`localrag[torch]`).

By ONNX one pair a run, several beside each other in threads, as texts are embedded: alone is faster for every kind of
weights than padded batches (benchmarks/embedding_weights.py), and a score never depends on its neighbours.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np

from localrag.errors import ModelError
from localrag.modelfiles.files import verify
from localrag.modelfiles.runtime import encodable, load_tokenizer, open_session, physical_cores
from localrag.reranking.spec import RerankerSpec

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Encoding, Tokenizer

# Pairs a batch for torch; padding makes longer ones slower on a processor, and a GPU is busy with this many.
_BATCH = 32


class OnnxCrossEncoder:
    """The scores of an ONNX cross-encoder; cheap to construct, the model loads at first use. Safe for several threads.

    Args:
        spec: which model.
        threads: how many pairs to read beside each other; by default one for each physical core.
    """

    def __init__(self, spec: RerankerSpec, *, threads: int | None = None) -> None:
        self._spec = spec
        self._threads = threads if threads is not None else physical_cores()
        self._lock = threading.Lock()
        self._loaded: tuple[InferenceSession, Tokenizer] | None = None

    def scores(self, query: str, passages: Sequence[str]) -> list[float]:
        """The model's own score of each pair, any number, higher is better.

        A pair over the model's limit loses the end of its passage; of a question only what is over half the limit.

        Raises:
            ModelError: the model's files are missing, damaged, or give no score.
        """
        session, tokenizer = self._opened()
        asked = _shortened(encodable(query), tokenizer, self._spec.max_tokens // 2)
        # Longest first, so that no thread is left alone with a long passage at the end.
        order = sorted(range(len(passages)), key=lambda place: len(passages[place]), reverse=True)

        def read(place: int) -> float:
            return self._score(session, tokenizer.encode(asked, encodable(passages[place])))

        found = [0.0] * len(passages)
        pool = ThreadPoolExecutor(max(1, min(self._threads, len(passages))), thread_name_prefix="rerank")
        try:
            for place, score in zip(order, pool.map(read, order), strict=True):
                found[place] = score
        finally:
            # On Ctrl-C the pairs not begun are dropped, so the caller waits for one, not for all.
            pool.shutdown(wait=True, cancel_futures=True)
        return found

    def _score(self, session: InferenceSession, pair: Encoding) -> float:
        given = {
            "input_ids": pair.ids,
            "attention_mask": pair.attention_mask,
            "token_type_ids": pair.type_ids,
        }
        wanted = [item.name for item in session.get_inputs()]
        output = session.run(None, {name: np.asarray([given[name]], dtype=np.int64) for name in wanted})[0]
        logits = np.asarray(output, dtype=np.float64).reshape(-1)
        if logits.size not in (1, 2) or not np.isfinite(logits).all():
            raise ModelError(
                f"The model {self._spec.name} gave {logits.size} values for a pair, or not finite ones; "
                "a reranker gives one score, or one each for no and yes.",
                hint="Choose a cross-encoder for ranking, for example BAAI/bge-reranker-base.",
            )
        # Of two, the lead of yes over no orders as their probabilities do.
        return float(logits[0] if logits.size == 1 else logits[1] - logits[0])

    def _opened(self) -> tuple[InferenceSession, Tokenizer]:
        with self._lock:
            if self._loaded is None:
                session = open_session(self._spec, other="BAAI/bge-reranker-base")
                tokenizer = load_tokenizer(self._spec.folder / "tokenizer.json")
                tokenizer.enable_truncation(self._spec.max_tokens, strategy="only_second")
                self._loaded = session, tokenizer
            return self._loaded


class TorchCrossEncoder:
    """The scores of a safetensors cross-encoder; torch loads at first use. Safe for several threads.

    Args:
        spec: which model.
        load: gives the class `CrossEncoder`; the default imports it.
    """

    def __init__(self, spec: RerankerSpec, *, load: Callable[[], Any] | None = None) -> None:
        self._spec = spec
        self._load = load if load is not None else _import_class
        self._lock = threading.Lock()
        self._loaded: Any = None

    def scores(self, query: str, passages: Sequence[str]) -> list[float]:
        """The model's own score of each pair, higher is better; of two values, the lead of the second.

        Raises:
            ModelError: torch is not installed, or the model's files are missing, damaged, or give no score.
        """
        pairs = [(query, passage) for passage in passages]
        rows = np.asarray(self._model().predict(pairs, batch_size=_BATCH, show_progress_bar=False), dtype=np.float64)
        values = rows.reshape(len(pairs), -1)
        if values.shape[1] not in (1, 2) or not np.isfinite(values).all():
            raise ModelError(
                f"The model {self._spec.name} gave scores of shape {rows.shape}, or not finite ones.",
                hint="Choose a cross-encoder for ranking, for example BAAI/bge-reranker-base.",
            )
        return [float(value[0] if len(value) == 1 else value[1] - value[0]) for value in values]

    def _model(self) -> Any:
        with self._lock:
            if self._loaded is None:
                verify(self._spec)
                # Both libraries read these when they are imported; the model is on disk and nothing else is asked for.
                os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_OFFLINE="1", HF_HUB_DISABLE_TELEMETRY="1")
                self._loaded = self._load()(
                    str(self._spec.folder),
                    max_length=self._spec.max_tokens,
                    trust_remote_code=False,
                    local_files_only=True,
                    model_kwargs={"use_safetensors": True},
                )
            return self._loaded


def _shortened(query: str, tokenizer: Tokenizer, tokens: int) -> str:
    """The question, cut only where it would leave a passage less than half of the window."""
    # A tokenizer that cuts "only the second" refuses a single text over the limit: ask it without.
    offsets = tokenizer.encode_batch([query[: 16 * tokens]], add_special_tokens=False)[0].offsets
    return query if len(offsets) <= tokens else query[: offsets[tokens - 1][1]]


def _import_class() -> Any:
    try:
        from sentence_transformers import CrossEncoder  # deferred: an optional extra, and torch takes seconds
    except ImportError as error:
        raise ModelError(
            "This reranker needs torch, which is not installed.",
            hint='Run `pip install "localrag[torch]"`, or choose a cross-encoder with ONNX weights.',
        ) from error
    return CrossEncoder
