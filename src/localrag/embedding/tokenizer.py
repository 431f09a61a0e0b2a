"""The embedding model's own tokenizer: the ruler for chunk sizes, and what feeds the model."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from localrag.modelfiles.runtime import encodable, load_tokenizer

if TYPE_CHECKING:
    from tokenizers import Tokenizer as _Tokenizer

logger = logging.getLogger(__name__)


class FileTokenizer:
    """Counts and offsets by a `tokenizer.json`; loaded at first use, safe for several threads.

    Args:
        path: the `tokenizer.json`.
        max_tokens: the model's limit, special tokens included.
        document_prefix: what the embedder puts before every document; its tokens are taken off the limit.
    """

    def __init__(self, path: Path, *, max_tokens: int, document_prefix: str = "") -> None:
        self._path = path
        self._model_tokens = max_tokens
        self._document_prefix = document_prefix
        self._lock = threading.Lock()
        self._loaded: _Tokenizer | None = None

    def load(self) -> None:
        """Reads the file now and not at the first text.

        Raises:
            ModelError: it cannot be read.
        """
        self._tokenizer()

    @property
    def max_tokens(self) -> int:
        """What a document may have, special tokens included."""
        if not self._document_prefix:
            return self._model_tokens
        return self._model_tokens - self.count(self._document_prefix)

    def count(self, text: str) -> int:
        """Tokens in the text, special tokens not included."""
        return len(self._tokenizer().encode(encodable(text), add_special_tokens=False).ids)

    def offsets(self, text: str) -> Sequence[tuple[int, int]]:
        """Half-open character offsets of every token, in order, special tokens not included."""
        offsets: Sequence[tuple[int, int]] = self._tokenizer().encode(encodable(text), add_special_tokens=False).offsets
        return offsets

    def input_ids(self, text: str) -> list[int]:
        """Token ids as the model takes them: special tokens added, cut at the model's limit."""
        ids: list[int] = self._tokenizer().encode(encodable(text)).ids
        if len(ids) <= self._model_tokens:
            return ids
        logger.debug("a text of %d tokens is cut at the model's %d", len(ids), self._model_tokens)
        # Only a closing token ([SEP], </s>) the tokenizer itself adds is put back.
        added: int = self._tokenizer().num_special_tokens_to_add(False)
        tail = ids[-1:] if added >= 1 else []
        return ids[: self._model_tokens - len(tail)] + tail

    def _tokenizer(self) -> _Tokenizer:
        if self._loaded is None:
            with self._lock:
                if self._loaded is None:
                    self._loaded = load_tokenizer(self._path)
        return self._loaded
