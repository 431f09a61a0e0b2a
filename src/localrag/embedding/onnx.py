"""Text -> unit vectors by ONNX Runtime on the processor, one text a run.

Why one text a run. The shipped weights are int8 and the runtime quantises activations over everything in a run, so in
a batch a vector would depend on its batch mates, and a cache would not agree with a fresh embedding. Alone, the same
text always gives the same bits, nothing is lost on padding, and memory is bounded by one text a thread; several texts
run beside each other in threads instead.

Why int8. Measured side by side on a processor without VNNI, where it gains least (benchmarks/embedding_weights.py,
results/embedding_weights.json: 24 paragraphs, 3,553 tokens):

    weights            MB   tokens per core second     lowest cosine     lowest cosine of a text
                            alone  batch 8  batch 32   to fp32           alone to batch 32
    int8               34   1,717    1,304       921   0.9960            0.9947
    int8 dequantised   34   1,006      772       521   0.9988            1.0000
    fp16               67   1,133      734       547   1.0000            1.0000
    fp32              133   1,184      872       527   1.0000            1.0000

Alone is the fastest way for all of them. What int8 loses against fp32 does not show in retrieval: nDCG@10 on cranfield
is .418 to .413, on 400 questions of squad2-dev .833 to .838. Its weights span 7 bits, so that the 16-bit sums of
processors without VNNI cannot overflow: the vectors equal those of exact sums (cosine 1.0), hence other processors'.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np

from localrag.embedding.spec import ModelSpec
from localrag.embedding.tokenizer import FileTokenizer
from localrag.errors import ModelError
from localrag.modelfiles.runtime import open_session, physical_cores
from localrag.protocols import Vectors
from localrag.types import EmbeddingModel

if TYPE_CHECKING:
    from onnxruntime import InferenceSession


class OnnxEmbedder:
    """An Embedder over an ONNX model; cheap to construct, the model loads at first use. Safe for several threads.

    Args:
        spec: which model, from `registry.find_model`.
        threads: how many texts to embed beside each other; by default one for each physical core.
    """

    def __init__(self, spec: ModelSpec, *, threads: int | None = None) -> None:
        self._spec = spec
        self._threads = threads if threads is not None else physical_cores()
        self._tokenizer = FileTokenizer(
            spec.tokenizer_path, max_tokens=spec.max_tokens, document_prefix=spec.document_prefix
        )
        self._lock = threading.Lock()
        self._loaded: InferenceSession | None = None

    def preload(self) -> None:
        """Begins to load the model in the background; the first text waits for what is left of it.

        Most of that time (0.35 s of 0.5) is spent outside Python's lock: the check of the file and the runtime's own
        start. A model that cannot be loaded is told of by the first text, as without this.
        """
        # Not daemons: a process that ended inside the runtime's own start could crash.
        for load in (self._session, self._load_helpers):
            threading.Thread(target=_quietly, args=(load,), name="preload").start()

    def _load_helpers(self) -> None:
        import onnxruntime  # noqa: F401  (deferred, as below; here it loads while the model's file is checked)

        self._tokenizer.load()

    @property
    def model(self) -> EmbeddingModel:
        return self._spec.identity

    @property
    def tokenizer(self) -> FileTokenizer:
        return self._tokenizer

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """`(len(texts), dimension)` float32, rows of unit length, in the order given.

        A text over the model's limit is cut there; chunks are made to fit.

        Raises:
            ModelError: the model's files are missing, damaged, or not what their manifest says.
        """
        vectors = np.empty((len(texts), self._spec.dimension), dtype=np.float32)
        if not texts:
            return vectors
        session = self._session()

        def fill(row: int) -> None:
            vectors[row] = self._embed(session, self._spec.document_prefix + texts[row])

        if self._threads == 1 or len(texts) == 1:
            for row in range(len(texts)):
                fill(row)
            return vectors
        # Longest first, so that no thread is left alone with a long text at the end.
        order = sorted(range(len(texts)), key=lambda row: len(texts[row]), reverse=True)
        pool = ThreadPoolExecutor(min(self._threads, len(texts)), thread_name_prefix="embed")
        try:
            for _ in pool.map(fill, order):
                pass
        finally:
            # On Ctrl-C the texts not begun are dropped, so the caller waits for one text, not for all.
            pool.shutdown(wait=True, cancel_futures=True)
        return vectors

    def embed_query(self, text: str) -> Vectors:
        """`(dimension,)` float32 of unit length; the model's query prefix is added here and only here."""
        return self._embed(self._session(), self._spec.query_prefix + text)

    def _embed(self, session: InferenceSession, text: str) -> Vectors:
        ids = np.asarray([self._tokenizer.input_ids(text)], dtype=np.int64)
        given = {
            "input_ids": ids,
            "attention_mask": np.ones_like(ids),
            "token_type_ids": np.zeros_like(ids),
        }
        wanted = [item.name for item in session.get_inputs()]
        output = session.run(None, {name: given[name] for name in wanted})[0]
        return _unit(_pool(np.asarray(output[0], dtype=np.float32), self._spec), self._spec)

    def _session(self) -> InferenceSession:
        if self._loaded is None:
            with self._lock:
                if self._loaded is None:
                    self._loaded = open_session(self._spec, other="bge-small-en-v1.5")
        return self._loaded


def _quietly(load: Callable[[], object]) -> None:
    with contextlib.suppress(ModelError):
        load()


def _pool(states: Vectors, spec: ModelSpec) -> Vectors:
    """One vector `(dimension,)` from token states `(tokens, dimension)`; a model that pools itself is left alone."""
    if states.ndim == 1:
        return states
    pooled: Vectors = states[0] if spec.pooling == "cls" else states.mean(axis=0)
    return pooled


def _unit(vector: Vectors, spec: ModelSpec) -> Vectors:
    norm = float(np.linalg.norm(vector))
    if vector.shape != (spec.dimension,) or not np.isfinite(norm) or norm == 0.0:
        raise ModelError(
            f"The model {spec.name} gave a vector of shape {vector.shape} and length {norm}; "
            f"expected ({spec.dimension},) and a finite length.",
            hint=f"Fetch it again with `localrag models pull {spec.name}`, or choose another model.",
        )
    unit: Vectors = vector / np.float32(norm)
    return unit
