"""A question in its conversation -> what is searched for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from localrag.retrieval.compound import parts
from localrag.retrieval.followups import carried_over, leans
from localrag.retrieval.merging import add_up, take_turns
from localrag.types import Message, Ranking


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The queries of one question.

    queries: first the question as it was asked, so that nothing it would find alone is lost.
    standalone: the question with what it leaves unsaid: what hits are judged against.
    compound: the others are parts of the question, and not the question in other words.
    """

    queries: tuple[str, ...]
    standalone: str
    compound: bool = False

    def kept(self, top_k: int) -> int:
        """How many hits to keep: twice as many where several things are asked."""
        return 2 * top_k if self.compound else top_k

    def merged(self, rankings: Sequence[Ranking], *, limit: int) -> Ranking:
        """One ranking of those of the queries, in their order."""
        merge = take_turns if self.compound else add_up
        return merge(rankings, query=self.standalone, limit=limit)


def plan(question: str, history: Sequence[Message] = ()) -> Plan:
    """The question alone, unless it leans on the history, whose words are then searched with it, or has parts."""
    carried = carried_over(question, history) if leans(question) else ""
    if carried:
        standalone = f"{question} {carried}"
        return Plan(queries=(question, standalone), standalone=standalone)
    asked = parts(question)
    return Plan(queries=(question, *asked), standalone=question, compound=bool(asked))
