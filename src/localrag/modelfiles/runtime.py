"""Opening a model: its ONNX session and its tokenizer."""

from __future__ import annotations

import logging
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from localrag.errors import ModelError
from localrag.modelfiles.files import ModelFiles, verify

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

logger = logging.getLogger(__name__)

# A lone surrogate (half an emoji out of broken UTF-16) cannot be encoded; one character for one keeps the offsets.
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def open_session(spec: ModelFiles, *, other: str) -> InferenceSession:
    """The model, checked against its pinned sums, for runs of one thread each.

    Args:
        other: a model to name in hints, that works.

    Raises:
        ModelError: a file is missing, damaged or no graph, or the graph wants inputs that no text gives.
    """
    verify(spec)
    import onnxruntime  # deferred: takes 0.1 s and most commands never embed

    options = onnxruntime.SessionOptions()
    # Threads are ours (one a text). Spinning ones would hold the cores against the app between texts.
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 3
    try:
        session = onnxruntime.InferenceSession(str(spec.model_path), options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise ModelError(
            f"ONNX Runtime cannot load {spec.model_path.name} of the model {spec.name}: {error}.",
            hint=f"Fetch it again with `localrag models pull {spec.name}`, or choose another model.",
        ) from error
    unknown = {item.name for item in session.get_inputs()} - {"input_ids", "attention_mask", "token_type_ids"}
    if unknown:
        raise ModelError(
            f"The model {spec.name} wants inputs localrag does not know: {', '.join(sorted(unknown))}.",
            hint=f"Choose another model, for example {other}.",
        )
    logger.info("the model %s is loaded", spec.name)
    return session


def load_tokenizer(path: Path) -> Tokenizer:
    """The tokenizer in the file, without the cut and the padding that it may carry itself."""
    from tokenizers import Tokenizer  # deferred: `localrag --help` does not need it

    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:
        raise ModelError(
            f"The tokenizer {path.name} in {path.parent} cannot be read: {error}.",
            hint="Fetch the model again with `localrag models pull NAME`, or reinstall localrag.",
        ) from error
    # A tokenizer.json may carry its own cut and padding; both would falsify counts.
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def encodable(text: str) -> str:
    """The text, every lone surrogate replaced."""
    return _LONE_SURROGATE.sub("\ufffd", text)


def physical_cores() -> int:
    """Physical cores this process may use, at least 1; a second thread on a core only slows the first."""
    if not hasattr(os, "sched_getaffinity"):
        return os.cpu_count() or 1
    usable = os.sched_getaffinity(0)
    cores = {_siblings(cpu) for cpu in usable}
    return max(1, len(cores))


def _siblings(cpu: int) -> str:
    """The hardware threads on this one's core, as Linux writes them; the thread itself where it does not."""
    try:
        return Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list").read_text().strip()
    except OSError:
        return str(cpu)
