"""The path of a question: search, judge the evidence, ask the model, check what it said."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter

from localrag.answering.citations import Grammar
from localrag.answering.confidence import Signals, agreement, judge, judge_extract
from localrag.answering.context import Prompt, PromptBuilder
from localrag.answering.evidence import Evidence, weigh
from localrag.answering.extractive import extract
from localrag.answering.grounding import Grounded, Grounding
from localrag.answering.prompts import REFUSAL
from localrag.answering.quotes import PageLookup, quote
from localrag.answering.stream import LiveText, has_words
from localrag.errors import BackendError
from localrag.protocols import LLM, TokenCounter
from localrag.types import Answer, AnswerMode, ChunkId, Citation, Confidence, Hit, Message, Ranking, Timings

# A reply of which nothing is supported is shown, marked, only where the hits are surely about the question: from here.
DOUBTED = 0.7

_NO_MODEL = "No language model was used: these are the sentences that fit best, word for word."
_INSTEAD = "These are the sentences that fit best, word for word."
_END_OF_THINKING = re.compile(r"</think(?:ing)?>")
_COMPLETE = re.compile(r"[.!?…。！？:;|)\]}\"”»'*_`]\s*$")


def random_fence() -> str:
    """A line that no document can hold on purpose: new for every prompt."""
    return f"=== {secrets.token_hex(8)} ==="


@dataclass(frozen=True, slots=True)
class _Question:
    """What is known before anything is generated."""

    text: str
    ranking: Ranking
    evidence: Evidence
    started: float
    retrieval_ms: float

    @property
    def hits(self) -> tuple[Hit, ...]:
        return self.ranking.hits


@dataclass(slots=True)
class _Reply:
    """What the model said so far; `first_ms` is when it began, `failure` why it stopped early."""

    text: str = ""
    first_ms: float | None = None
    failure: BackendError | None = None


class Answerer:
    """Answers questions from hits, with citations.

    Args:
        llm: the model; None quotes the best sentences instead.
        counter: measures prompts.
        page: looks up a page of a document, to prove quotes on it.
        context_tokens: for the whole prompt and the answer.
        history_turns: how many earlier turns the model sees.
        embedding_model: the name of the model that the hits' cosines come from.
        new_fence: makes the line that sets passages apart; one that a document cannot guess.
    """

    def __init__(
        self,
        *,
        llm: LLM | None,
        counter: TokenCounter,
        page: PageLookup,
        context_tokens: int = 3000,
        history_turns: int = 6,
        embedding_model: str | None = None,
        new_fence: Callable[[], str] = random_fence,
    ) -> None:
        self._llm = llm
        self._counter = counter
        self._page = page
        self._prompts = PromptBuilder(counter=counter, context_tokens=context_tokens, history_turns=history_turns)
        self._embedding_model = embedding_model
        self._new_fence = new_fence

    def answer(
        self,
        question: str,
        *,
        search: Callable[[str], Ranking],
        history: Sequence[Message] = (),
        use_llm: bool = True,
    ) -> Answer:
        """The finished answer; see `stream`."""
        *_, last = self.stream(question, search=search, history=history, use_llm=use_llm)
        if not isinstance(last, Answer):
            raise AssertionError("the stream ends with the answer")
        return last

    def stream(
        self,
        question: str,
        *,
        search: Callable[[str], Ranking],
        history: Sequence[Message] = (),
        use_llm: bool = True,
    ) -> Iterator[str | Answer]:
        """Pieces of text to show as they come, then exactly one Answer, whose text replaces them.

        The two differ where a check after the last token moved or added a citation, and where the model refused in
        words of its own. A model that fails is no error here: the answer's `notice` says what happened and what to do.
        """
        started = perf_counter()
        ranking = search(question)
        evidence = self._weighed(question, ranking)
        asked = _Question(question, ranking, evidence, started, _since(started))
        if not asked.evidence.is_worth_asking:
            yield REFUSAL
            yield self._refusal(asked, mode="llm" if self._llm and use_llm else "extractive")
        elif self._llm is None or not use_llm:
            yield from self._quoted(asked, _NO_MODEL)
        else:
            yield from self._generated(asked, self._llm, history)

    def _weighed(self, question: str, ranking: Ranking) -> Evidence:
        """The evidence for what was searched; of a question in parts, that for the part that has most."""
        parts = ranking.queries or (ranking.query or question,)
        weighed = [weigh(part, ranking.hits, self._embedding_model) for part in parts]
        return max(weighed, key=lambda evidence: evidence.probability)

    def _generated(self, asked: _Question, llm: LLM, history: Sequence[Message]) -> Iterator[str | Answer]:
        """The model's answer, or quotes when it gives none."""
        prompt = self._prompts.build(asked.text, asked.hits, history, fence=self._new_fence())
        if not prompt.passages:
            yield from self._quoted(asked, f"No passage fits into LOCALRAG_CONTEXT_TOKENS; set it higher. {_INSTEAD}")
            return
        grammar = Grammar([passage.marker for passage in prompt.passages])
        reply = _Reply()
        yield from _shown(llm, prompt, LiveText(grammar), reply, asked.started)
        text = prompt.without_titles(_END_OF_THINKING.split(reply.text)[-1]).strip()
        if has_words(text):
            grounded = Grounding(asked.text, prompt.passages, grammar, self._page).ground(text)
            yield self._checked(asked, llm.name, prompt, reply, grounded)
        else:
            failure = reply.failure
            notice = (
                f"{failure.message} {_INSTEAD} {failure.hint}" if failure else f"{llm.name} said nothing. {_INSTEAD}"
            )
            yield from self._quoted(asked, notice.strip())

    def _checked(self, asked: _Question, model: str, prompt: Prompt, reply: _Reply, grounded: Grounded) -> Answer:
        notice = self._notice(reply, prompt)
        if grounded.refused or (not grounded.supported and asked.evidence.probability < DOUBTED):
            return self._refusal(
                asked, mode="llm", model=model, first_ms=reply.first_ms, left_out=prompt.left_out, notice=notice
            )
        proven = {citation.chunk_id for citation in grounded.citations if citation.verified}
        cited = [passage.hit for passage in prompt.passages if passage.hit.chunk.id in proven]
        signals = _signals(asked, cited, grounded.supported / grounded.claims if grounded.claims else 0.0)
        return self._finished(
            asked,
            text=grounded.text,
            citations=grounded.citations,
            confidence=judge(signals, complete=not notice),
            mode="llm",
            model=model,
            unsupported=grounded.unsupported,
            wrong=grounded.wrong,
            left_out=prompt.left_out,
            first_ms=reply.first_ms,
            notice=notice,
        )

    def _notice(self, reply: _Reply, prompt: Prompt) -> str:
        """Why the text may be incomplete; empty when it is not."""
        if reply.failure:
            return f"The answer was cut short. {reply.failure}"
        # Vocabularies differ, so the limit may be reached at fewer of our tokens than were asked for.
        long = self._counter.count(reply.text) >= 0.7 * prompt.generation.max_tokens
        if long and not _COMPLETE.search(reply.text):
            return "The answer reached its length limit and ends early. Ask for the rest, or ask a narrower question."
        return ""

    def _quoted(self, asked: _Question, notice: str) -> Iterator[str | Answer]:
        """The best sentences, each with its source; a refusal where the hits are about something else."""
        extracts = extract(asked.text, asked.hits) if asked.evidence.is_worth_quoting else []
        if not extracts:
            yield REFUSAL
            yield self._refusal(asked, mode="extractive", notice=notice)
            return
        lines = [found.line for found in extracts]
        yield lines[0]
        yield from (f"\n\n{line}" for line in lines[1:])
        citations = tuple(quote(found.passage, found.span, self._page, verified=True) for found in extracts)
        yield self._finished(
            asked,
            text="\n\n".join(lines),
            citations=citations,
            confidence=judge_extract(
                asked.evidence.probability, verified=any(citation.verified for citation in citations)
            ),
            mode="extractive",
            notice=notice,
        )

    def _refusal(
        self,
        asked: _Question,
        *,
        mode: AnswerMode,
        model: str | None = None,
        first_ms: float | None = None,
        left_out: tuple[ChunkId, ...] = (),
        notice: str = "",
    ) -> Answer:
        return self._finished(
            asked,
            text=REFUSAL,
            confidence="none",
            refused=True,
            mode=mode,
            model=model,
            first_ms=first_ms,
            left_out=left_out,
            notice=notice,
        )

    def _finished(
        self,
        asked: _Question,
        *,
        text: str,
        confidence: Confidence,
        mode: AnswerMode,
        citations: tuple[Citation, ...] = (),
        refused: bool = False,
        model: str | None = None,
        unsupported: tuple[str, ...] = (),
        wrong: tuple[tuple[str, ...], ...] = (),
        left_out: tuple[ChunkId, ...] = (),
        first_ms: float | None = None,
        notice: str = "",
    ) -> Answer:
        return Answer(
            question=asked.text,
            text=text,
            citations=citations,
            confidence=confidence,
            refused=refused,
            mode=mode,
            model=model,
            unsupported=unsupported,
            wrong=wrong,
            queries=asked.ranking.queries or (asked.ranking.query,),
            hits=asked.hits,
            left_out=left_out,
            timings=Timings(retrieval=asked.retrieval_ms, first_token=first_ms, total=_since(asked.started)),
            notice=notice,
        )


def _shown(llm: LLM, prompt: Prompt, live: LiveText, reply: _Reply, started: float) -> Iterator[str]:
    """The reply's text as it can be shown; all of it, and a failure if one ends it, is kept in `reply`."""
    try:
        for piece in llm.stream(prompt.messages, prompt.generation):
            if reply.first_ms is None:
                reply.first_ms = _since(started)
            reply.text += piece
            if text := live.feed(_END_OF_THINKING.sub("", piece)):
                yield text
    except BackendError as error:
        reply.failure = error
    if text := live.close():
        yield text


def _signals(asked: _Question, cited: Sequence[Hit], verified: float) -> Signals:
    # A question without content words is covered by anything.
    evidence = weigh(asked.text, cited)
    coverage = evidence.together if evidence.words else 1.0
    return Signals(verified=verified, coverage=coverage, agreement=agreement(cited))


def _since(started: float) -> float:
    """Milliseconds since then."""
    return (perf_counter() - started) * 1000.0
