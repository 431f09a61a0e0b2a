"""Where to cut a section so that each passage fills its budget and ends where a reader would pause."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import pairwise

from localrag.chunking.blocks import Block
from localrag.chunking.graphemes import safe_cut
from localrag.chunking.ruler import Ruler
from localrag.chunking.sentences import sentence_starts


class Packer:
    """Cuts in one page: between blocks, then items, rows and lines, then sentences, then words, then anywhere."""

    def __init__(self, text: str, ruler: Ruler, blocks: Sequence[Block]) -> None:
        self._text = text
        self._ruler = ruler
        self._blocks = blocks
        self._starts = [block.start for block in blocks]
        # A heading is never parted from what follows it while there is another way.
        self._pauses = [block.start for before, block in pairwise(blocks) if before.kind != "heading"]
        self._sentences: dict[int, list[int]] = {}
        self._repeats: dict[int, list[int]] = {}

    def cut(self, start: int, low: int, end: int, budget: int) -> int:
        """The end of the passage that begins at `start`: after `low`, at most `end`, about `budget` tokens long.

        Args:
            start: where the passage begins, its overlap with the one before included.
            low: where new text begins; the cut lies after it.
            end: the end of the section.
            budget: tokens the passage may have.
        """
        limit = self._ruler.reach(start, budget)
        if limit >= end:
            return end
        found = self._best(start, low, limit, budget)
        if self._ruler.count(found, end) * 6 < budget:
            # What would be left is a crumb without context: two passages of like size say more.
            half = max(budget // 2, self._ruler.count(start, end) * 5 // 8)
            found = self._best(start, low, min(limit, self._ruler.reach(start, half)), budget)
        return min(found, end)

    def _best(self, start: int, low: int, limit: int, budget: int) -> int:
        """The best cut in `(low, limit]`; right after `low` when that leaves no room."""
        found = self._between_blocks(start, low, limit, budget)
        return found if found is not None else self._within_block(start, low, limit, budget)

    def overlap_start(self, before: int, at: int, tokens: int) -> int:
        """Where the whole sentences begin that end at `at` and hold at most `tokens`; `at` when there are none.

        Only running text and list items are repeated, back to `before` at the furthest: a row without its table or
        a line out of its code says nothing.
        """
        index = bisect_left(self._starts, at) - 1
        earliest = at
        while index >= 0 and self._blocks[index].kind in ("paragraph", "list"):
            places = self._repeatable(index)
            for place in range(bisect_left(places, at) - 1, -1, -1):
                if places[place] <= before or self._ruler.count(places[place], at) > tokens:
                    return earliest
                earliest = places[place]
            index -= 1
        return earliest

    def ends_block(self, at: int, end: int) -> bool:
        """True when a cut at `at` parts no block: it is the section's end or the start of a block."""
        index = bisect_left(self._starts, at)
        return at >= end or (index < len(self._starts) and self._starts[index] == at)

    def table_at(self, at: int) -> Block | None:
        """The table whose header lies before `at` and whose rows lie after."""
        index = bisect_right(self._starts, at) - 1
        if index < 0:
            return None
        block = self._blocks[index]
        return block if block.kind == "table" and block.start < at < block.end else None

    def _between_blocks(self, start: int, low: int, limit: int, budget: int) -> int | None:
        at = _last(self._pauses, low, limit)
        if at is not None and self._worth(start, at, self._blocks[bisect_left(self._starts, at)].end, budget):
            return at
        # Nothing but headings, one after the other: between two of them is better than inside one.
        at = _last(self._starts, low, limit)
        if at is not None and self._blocks[bisect_left(self._starts, at)].kind == "heading":
            return at if self._ruler.count(start, at) * 2 >= budget else None
        return None

    def _within_block(self, start: int, low: int, limit: int, budget: int) -> int:
        index = max(bisect_right(self._starts, limit - 1) - 1, 0)
        inside = max(low, self._starts[index]) if self._starts else low
        block_end = self._blocks[index].end if self._blocks else limit
        for places in (self._blocks[index].cuts if self._blocks else (), self._sentences_of(index)):
            at = _last(places, inside, limit)
            if at is None:
                continue
            following = bisect_right(places, at)
            if self._worth(start, at, places[following] if following < len(places) else block_end, budget):
                return at
        return self._anywhere(start, inside, limit, budget)

    def _worth(self, start: int, at: int, whole_until: int, budget: int) -> bool:
        """True when a cut at `at` leaves the passage half full, or keeps what follows in one piece.

        Under a sixth a passage says too little on its own, whatever its end would keep whole.
        """
        filled = self._ruler.count(start, at)
        if filled * 2 >= budget:
            return True
        return filled * 6 >= budget and self._ruler.count(at, whole_until) <= budget

    def _anywhere(self, start: int, low: int, limit: int, budget: int) -> int:
        """After a line, else after a word, else at the limit; lines and words only where that fills half."""
        for mark in ("\n", " ", "\t"):
            at = self._text.rfind(mark, low, limit) + 1
            if at > low and self._ruler.count(start, at) * 2 >= budget:
                return at
        return safe_cut(self._text, max(limit, low + 1), low, len(self._text))

    def _sentences_of(self, index: int) -> list[int]:
        if index not in self._sentences:
            found: list[int] = []
            if self._blocks and self._blocks[index].kind in ("paragraph", "list", "heading"):
                block = self._blocks[index]
                found = sentence_starts(self._text, block.start, block.end)
            self._sentences[index] = found
        return self._sentences[index]

    def _repeatable(self, index: int) -> list[int]:
        """Where the block, its items and its sentences start, in order: made once, long blocks are asked often."""
        if index not in self._repeats:
            block = self._blocks[index]
            self._repeats[index] = sorted({block.start, *block.cuts, *self._sentences_of(index)})
        return self._repeats[index]


def _last(places: Sequence[int], low: int, limit: int) -> int | None:
    """The last of the sorted places in `(low, limit]`."""
    index = bisect_right(places, limit) - 1
    return places[index] if index >= 0 and places[index] > low else None
