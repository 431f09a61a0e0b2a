"""A question in its conversation -> what is searched for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from localrag.retrieval.followups import carried_over, leans
from localrag.types import Message


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The queries of one question.

    queries: first the question as it was asked, so that nothing it would find alone is lost.
    standalone: the question with all that it says or leaves unsaid: what hits are judged against.
    parts: how many questions it asks; as many times `top_k` hits are worth showing, at most twice.
    """

    queries: tuple[str, ...]
    standalone: str
    parts: int = 1

    def hits(self, top_k: int) -> int:
        """How many hits to keep of all queries together."""
        return top_k * min(self.parts, 2)


def plan(question: str, history: Sequence[Message] = ()) -> Plan:
    """The question alone, unless it leans on the history: then it is searched a second time with words of that."""
    if history and leans(question):
        carried = carried_over(question, history)
        if carried:
            standalone = f"{question} {carried}"
            return Plan(queries=(question, standalone), standalone=standalone)
    return Plan(queries=(question,), standalone=question)
