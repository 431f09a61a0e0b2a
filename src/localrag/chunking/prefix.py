"""What the embedder sees before a passage: its section and, inside a table, the table's header row."""

from __future__ import annotations

from localrag.protocols import Tokenizer

_LEAD = "Section: "
_JOIN = " > "
_CUT = "…"


def section_prefix(path: tuple[str, ...], room: int, tokenizer: Tokenizer) -> str:
    """`Section: A > B` in at most `room` tokens: shortened from the left, then inside the last title.

    The innermost title says most about the passage, so it is kept longest. Empty when nothing useful fits.
    """
    if not path:
        return ""
    for skipped in range(len(path)):
        titles = path[skipped:] if skipped == 0 else (_CUT, *path[skipped:])
        prefix = _LEAD + _JOIN.join(titles)
        if tokenizer.count(prefix) <= room:
            return prefix
    return _shortened(_LEAD + path[-1], room, tokenizer, least=len(_LEAD) + 1)


def header_prefix(header: str, room: int, tokenizer: Tokenizer) -> str:
    """The header row in at most `room` tokens, cut after a whole cell when it is too long."""
    # No more than this can fit, and a header may be a megabyte: 32 characters a token is past any vocabulary.
    header = header[: max(room, 0) * 32]
    if tokenizer.count(header) <= room:
        return header
    return _shortened(header, room, tokenizer, least=2, at_cell=True)


def _shortened(text: str, room: int, tokenizer: Tokenizer, *, least: int, at_cell: bool = False) -> str:
    """The text's beginning in at most `room` tokens; empty when that is under `least` characters."""
    offsets = tokenizer.offsets(text)
    kept = min(room, len(offsets))
    while kept > 0:
        short = text[: offsets[kept - 1][1]]
        short = short[: short.rfind("|") + 1] if at_cell else short
        if len(short) < least:
            return ""
        short += "" if at_cell else _CUT
        over = tokenizer.count(short) - room
        if over <= 0:
            return short
        kept -= over
    return ""
