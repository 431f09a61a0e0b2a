"""The reply as the reader sees it while it is written."""

from __future__ import annotations

from localrag.answering.citations import CitationReader, Cited, Grammar


class LiveText:
    """Pieces of a reply with `[1]` turned into `[file, p.X]` as they come."""

    def __init__(self, grammar: Grammar) -> None:
        self._grammar = grammar
        self._reader = CitationReader(grammar)

    def feed(self, piece: str) -> str:
        """What can be shown now; at most the beginning of a citation is held back."""
        return self._shown(self._reader.feed(piece))

    def close(self) -> str:
        """What was held back."""
        return self._shown(self._reader.close())

    def _shown(self, parts: list[str | Cited]) -> str:
        return "".join(p if isinstance(p, str) else p.lead + self._grammar.text(p.passages) for p in parts)


def has_words(reply: str) -> bool:
    """Whether the reply says anything beside citations: small models sometimes answer `[1][2]` and nothing else."""
    without = LiveText(Grammar([]))
    return any(character.isalnum() for character in without.feed(reply) + without.close())
