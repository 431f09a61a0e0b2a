"""A conversation: its turns, as they are kept, sent to the model and exported."""

from __future__ import annotations

import re
import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import TypeAdapter, ValidationError

from localrag.types import Answer, Citation, Message
from localrag.ui.safe import plain, render_safe
from localrag.ui.worker import Problem

_ID = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One question and what came of it: an answer, or the text so far and why there is no more."""

    question: str
    answer: Answer | None = None
    partial: str = ""
    problem: Problem | None = None

    @property
    def stopped(self) -> bool:
        """Whether the reader stopped the answer."""
        return self.answer is None and self.problem is None


@dataclass(slots=True)
class Conversation:
    """What a tab holds. Mutable on purpose: while a script is being ended from outside, every touch of the session
    state ends it at once, but the turn it was at must still be kept."""

    id: str
    turns: tuple[Turn, ...] = ()


_TURNS = TypeAdapter(tuple[Turn, ...])


def new_id() -> str:
    """An id for a new conversation."""
    return uuid.uuid4().hex


def valid_id(text: str | None) -> str | None:
    """The text when it can be the id of a conversation: it comes from the address bar."""
    return text if text is not None and _ID.fullmatch(text) else None


def dump(turns: Sequence[Turn]) -> str:
    """The turns as JSON."""
    return _TURNS.dump_json(tuple(turns)).decode()


def load(turns_json: str | None) -> tuple[Turn, ...] | None:
    """The turns, none when nothing was kept, None when what was kept cannot be read."""
    if turns_json is None:
        return ()
    try:
        return _TURNS.validate_json(turns_json)
    except ValidationError:
        return None


def history(turns: Sequence[Turn]) -> list[Message]:
    """The answered turns as messages, oldest first."""
    messages = []
    for turn in turns:
        if turn.answer is not None:
            messages.append(Message(role="user", content=turn.question))
            messages.append(Message(role="assistant", content=turn.answer.text))
    return messages


def cited(answer: Answer) -> list[list[Citation]]:
    """The citations by passage, in the order in which the passages first appear in the answer's text."""
    groups: dict[str, list[Citation]] = {}
    ordered = sorted(answer.citations, key=lambda citation: _position(answer.text, citation.marker))
    for citation in ordered:
        groups.setdefault(citation.chunk_id, []).append(citation)
    return list(groups.values())


def _position(text: str, marker: str) -> int:
    found = text.find(marker)
    return found if found >= 0 else len(text)


def to_markdown(turns: Sequence[Turn]) -> str:
    """The conversation as a Markdown file with its sources; as harmless in any viewer as on the page."""
    parts = ["# Conversation"]
    for turn in turns:
        parts.append(f"## {plain(turn.question)}")
        if turn.answer is None:
            parts += [render_safe(turn.partial), f"*{_why_incomplete(turn)}*"]
            continue
        parts.append(render_safe(turn.answer.text))
        parts.append(_exported_facts(turn.answer))
        parts += _exported_sources(turn.answer)
    return "\n\n".join(part for part in parts if part) + "\n"


def _why_incomplete(turn: Turn) -> str:
    return plain(turn.problem.message) if turn.problem else "The answer was stopped."


def _exported_facts(answer: Answer) -> str:
    model = answer.model if answer.mode == "llm" and answer.model else "no model, quoted from the documents"
    lines = [f"*Confidence: {answer.confidence} · {plain(model)}*"]
    lines += [f"*Not supported by the documents: {plain(sentence)}*" for sentence in answer.unsupported]
    return "\n\n".join(lines)


def _exported_sources(answer: Answer) -> list[str]:
    if not answer.citations:
        return []
    parts = ["### Sources"]
    for citations in cited(answer):
        parts.append(f"**{plain(citations[0].marker)}**")
        parts += [f"> {plain(citation.quote)}" for citation in citations]
    return parts
