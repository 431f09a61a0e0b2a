"""Hits, history and question packed into a prompt that fits."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from localrag.answering.prompts import SYSTEM, user_message, without_control_tokens
from localrag.protocols import Generation, TokenCounter
from localrag.types import ChunkId, Hit, Message, cite

# The longest answer asked for; a smaller context gives a quarter of itself.
ANSWER_TOKENS = 512
# What chat templates add around each message (ChatML: 5, Llama 3: 5, Gemma: 4), rounded up.
_MESSAGE_TOKENS = 8
# Other vocabularies than the one we count with need more tokens for the same text (Qwen and Gemma spend one per
# digit, Mistral up to a fifth more on English).
_VOCABULARY_MARGIN = 1.2
# Below this a passage says nothing.
_SMALLEST_PASSAGE = 24
# What an earlier answer cites: [file.pdf, p.4], [book.xlsx, sheet Q3], [notes.txt], [2].
_OLD_CITATION = re.compile(r"[ \t]*\[(?:[^\[\]\n]*(?:\.\w{1,5}(?=[,\]])|p\.\d+)[^\[\]\n]*|\d{1,3})\]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A numbered passage of the prompt. `text` is the beginning of the chunk's text, nearly always all of it."""

    number: int
    hit: Hit
    text: str

    @property
    def marker(self) -> str:
        return cite(self.hit.document, self.hit.chunk.page, self.hit.chunk.label)

    @property
    def label(self) -> str:
        """`handbook.pdf, p.4 — Leave > Annual`, on one line."""
        path = " > ".join(self.hit.chunk.heading_path)
        return " ".join((self.marker[1:-1] + (f" — {path}" if path else "")).split())


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """What is sent to the model, and which hits had no room."""

    messages: tuple[Message, ...]
    passages: tuple[Passage, ...]
    left_out: tuple[ChunkId, ...]
    generation: Generation

    def without_titles(self, reply: str) -> str:
        """The reply without the titles that its passages have here: small models copy them, and they claim nothing."""
        for passage in self.passages:
            reply = re.sub(rf"{re.escape(_title(passage))}:?\s*", "", reply)
        return reply


class PromptBuilder:
    """Builds prompts that fit a budget.

    Args:
        counter: measures text.
        context_tokens: for everything together: rules, history, passages, question and the answer.
        history_turns: how many earlier turns (question and answer) are repeated.
    """

    def __init__(self, *, counter: TokenCounter, context_tokens: int, history_turns: int) -> None:
        self._counter = counter
        self._context_tokens = context_tokens
        self._history_turns = history_turns
        self._answer_tokens = min(ANSWER_TOKENS, context_tokens // 4)

    def build(self, question: str, hits: Sequence[Hit], history: Sequence[Message], *, fence: str) -> Prompt:
        """The prompt with the best hits that fit, in the order of the ranking."""
        asked = without_control_tokens(self._cut(question, self._context_tokens // 4))
        earlier = self._recent(history)
        system = Message(role="system", content=SYSTEM)
        bare = [system, *earlier, Message(role="user", content=user_message(asked, "", fence))]
        passages = self._pack(hits, self._context_tokens - self._answer_tokens - self._cost(bare))
        packed = {passage.hit.chunk.id for passage in passages}
        body = "\n\n".join(_rendered(passage, fence) for passage in passages)
        messages = (system, *earlier, Message(role="user", content=user_message(asked, body, fence)))
        return Prompt(
            messages=messages,
            passages=passages,
            left_out=tuple(hit.chunk.id for hit in hits if hit.chunk.id not in packed),
            generation=Generation(context_tokens=self._window(messages), max_tokens=self._answer_tokens),
        )

    def _pack(self, hits: Sequence[Hit], budget: int) -> tuple[Passage, ...]:
        """The hits that fit, best first. Only the very first is cut when it alone is too long."""
        packed: list[Passage] = []
        for hit in hits:
            passage = Passage(number=len(packed) + 1, hit=hit, text=hit.chunk.text)
            cost = self._passage_cost(passage)
            if cost > budget and not packed and hit is hits[0]:
                passage = self._shortened(passage, budget)
                cost = self._passage_cost(passage)
            if cost <= budget and passage.text:
                packed.append(passage)
                budget -= cost
        return tuple(packed)

    def _shortened(self, passage: Passage, budget: int) -> Passage:
        empty = replace(passage, text="")
        room = budget - self._passage_cost(empty)
        return replace(passage, text=self._cut(passage.text, room)) if room >= _SMALLEST_PASSAGE else empty

    def _passage_cost(self, passage: Passage) -> int:
        # Two more for the blank line between passages, which may not join with either neighbour's tokens.
        return self._counter.count(_rendered(passage, "")) + 2

    def _recent(self, history: Sequence[Message]) -> list[Message]:
        """The last turns without their citations, at most a quarter of the budget; the oldest go first."""
        turns = [message for message in history if message.role != "system"]
        recent = turns[-2 * self._history_turns :] if self._history_turns else []
        clean = [replace(message, content=_without_citations(message)) for message in recent]
        while clean and (self._cost(clean) > self._context_tokens // 4 or clean[0].role == "assistant"):
            clean.pop(0)
        return clean

    def _cost(self, messages: Sequence[Message]) -> int:
        return sum(self._counter.count(message.content) + _MESSAGE_TOKENS for message in messages)

    def _window(self, messages: Sequence[Message]) -> int:
        """The num_ctx to ask for: never less than prompt and answer, and the same from question to question.

        Ollama loads the model anew whenever num_ctx changes, so it follows from the budget; only a prompt full of
        digits, which some vocabularies split one by one where ours takes three, can push it a step up.
        """
        digits = sum(character.isdigit() for message in messages for character in message.content)
        needed = (self._cost(messages) + 2 * digits // 3) * _VOCABULARY_MARGIN + self._answer_tokens
        return _step(max(needed, self._context_tokens * _VOCABULARY_MARGIN))

    def _cut(self, text: str, tokens: int) -> str:
        """The longest beginning of the text, ending between words, that has at most so many tokens."""
        if len(text) <= tokens or self._counter.count(text) <= tokens:  # a token is at least one character
            return text
        ends = [match.end() for match in re.finditer(r"\S+", text)] or [len(text)]
        if len(ends) == 1:
            ends = list(range(1, len(text) + 1))
        low, high = 0, len(ends)
        while low < high:
            middle = (low + high + 1) // 2
            if self._counter.count(text[: ends[middle - 1]]) <= tokens:
                low = middle
            else:
                high = middle - 1
        return text[: ends[low - 1]] if low else ""


def _rendered(passage: Passage, fence: str) -> str:
    text = without_control_tokens(passage.text)
    if fence:  # random, so a document cannot hold it on purpose; this keeps the promise even so
        text = text.replace(fence, "")
    return f"{_title(passage)}:\n{text}"


def _title(passage: Passage) -> str:
    return f"Passage {passage.number} ({without_control_tokens(passage.label)})"


def _without_citations(message: Message) -> str:
    text = without_control_tokens(message.content)
    return _OLD_CITATION.sub("", text) if message.role == "assistant" else text


def _step(tokens: float) -> int:
    """The next of 512, 768, 1024, 1536, 2048, 3072, ..."""
    size = 512
    while size < tokens:
        if size * 3 // 2 >= tokens:
            return size * 3 // 2
        size *= 2
    return size
