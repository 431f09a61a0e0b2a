"""Token counts of any slice of a page, after tokenizing the page once."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from operator import sub

from localrag.protocols import Tokenizer

# A page is tokenized in windows: the offsets of 50 million characters at once would take gigabytes.
_WINDOW_CHARS = 1 << 16
# No vocabulary has longer entries, but BERT's tokenizers make one [UNK] of any word over 100 characters. Counted as
# one, a megabyte of base64 would be one "short" passage; 4 characters a token is near what other tokenizers make of it.
_LONGEST_TOKEN = 32
_CHARS_PER_TOKEN = 4


class Ruler:
    """Counts tokens in slices of one text by bisection over the tokens' starts.

    A slice tokenized on its own can differ by a token where it cuts a word, so a final passage is counted again.
    """

    def __init__(self, text: str, tokenizer: Tokenizer) -> None:
        self._length = len(text)
        self._starts = list(_token_starts(text, tokenizer))

    def count(self, start: int, end: int) -> int:
        """Tokens that start in `[start, end)`."""
        return bisect_left(self._starts, end) - bisect_left(self._starts, start)

    def reach(self, start: int, tokens: int) -> int:
        """The furthest position with at most so many tokens between it and `start`."""
        at = bisect_left(self._starts, start) + tokens
        return self._starts[at] if at < len(self._starts) else self._length


def _token_starts(text: str, tokenizer: Tokenizer) -> Iterator[int]:
    for low, high in _windows(text):
        piece = text[low:high]
        offsets = tokenizer.offsets(piece)
        if _is_ordinary(offsets, len(piece)):
            yield from [low + start for start, _ in offsets]
            continue
        done = 0
        for start, end in offsets:
            if start - done > _LONGEST_TOKEN and not piece[done:start].isspace():
                yield from range(low + done, low + start, _CHARS_PER_TOKEN)
            step = _CHARS_PER_TOKEN if end - start > _LONGEST_TOKEN else max(1, end - start)
            yield from range(low + start, low + max(end, start + 1), step)
            done = max(done, end)
        if len(piece) - done > _LONGEST_TOKEN and not piece[done:].isspace():
            yield from range(low + done, high, _CHARS_PER_TOKEN)


def _is_ordinary(offsets: Sequence[tuple[int, int]], length: int) -> bool:
    """Whether no token, and no gap between tokens, is long enough to be looked at more closely: nearly all text."""
    starts = [start for start, _ in offsets]
    ends = [end for _, end in offsets]
    if not starts or max(map(sub, ends, starts)) > _LONGEST_TOKEN:
        return False
    longest_gap: int = max(map(sub, [*starts, length], [0, *ends]))
    return longest_gap <= _LONGEST_TOKEN


def _windows(text: str) -> Iterator[tuple[int, int]]:
    """Slices that cover the text, parted at white space where the window has any."""
    low = 0
    while low < len(text):
        high = min(low + _WINDOW_CHARS, len(text))
        if high < len(text):
            space = max(text.rfind("\n", low + 1, high), text.rfind(" ", max(low + 1, high - 1000), high))
            high = space if space > low else high
        yield low, high
        low = high
