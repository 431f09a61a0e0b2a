"""Questions that search is the wrong tool for: about the library, a whole document, or all rows of a table."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from time import perf_counter

from localrag.answering.library_questions import Catalogued, library_answer
from localrag.answering.naming import close_names, file_name, meant
from localrag.answering.summary import Summariser, Summary
from localrag.answering.table_answers import Computed, TableQuestions
from localrag.protocols import LLM, SearchIndex, TokenCounter
from localrag.retrieval.naming import documents_named
from localrag.types import Answer, Citation, Document, Failure, Timings

_SUMMARY = re.compile(
    r"^(?:(?:please|bitte)[,\s]+|(?:can|could|would) you (?:please )?)*(?:(?:"
    r"(?:summari[sz]e|sum up|fasse?|tl;?dr(?: of)?:?)|"
    r"(?:give me |write |show me |i (?:need|want) )?(?:an?|the) (?:\w+ )?"
    r"(?:summary|overview|abstract|synopsis) (?:of|for)|"
    r"(?:gib mir )?(?:eine )?(?:zusammenfassung|(?:einen )?überblick) (?:von|über|zu|der|des)"
    r")\s+(?P<what>.+?)(?: zusammen)?|what(?:['’]s| is) (?P<about>\S+\.\w{2,5}) about)"
    r"(?: (?:for me|please|in (?:a few|three|five) (?:sentences|words)|briefly))*[\s?.!]*$",
    re.IGNORECASE,
)
_THIS = re.compile(
    r"(?:(?:the|this|my|whole|entire|das|dieses|den) )*(?:document|file|pdf|text|report|dokument|datei)", re.IGNORECASE
)
_ARTICLE = re.compile(
    r"^(?:(?:the|this|my|our|whole|entire|das|die|der|den|mein\w*) |(?:document|file|datei|dokument) (?=\S))+",
    re.IGNORECASE,
)


class SpecialQuestions:
    """Tells such questions by rules and answers them; everything else is None and goes the usual way.

    Args:
        counter, context_tokens: for the prompts of summaries.
        failures: of files that could not be read; told only where the whole library may be looked at.
    """

    def __init__(
        self,
        index: SearchIndex,
        *,
        counter: TokenCounter,
        context_tokens: int,
        failures: Callable[[], Sequence[Failure]],
    ) -> None:
        self._index = index
        self._tables = TableQuestions(index)
        self._summariser = Summariser(counter=counter, context_tokens=context_tokens, page=index.page)
        self._failures = failures

    def stream(
        self, question: str, *, documents: Callable[[], Sequence[Document]], llm: LLM | None, whole: bool
    ) -> Iterator[str | Answer] | None:
        """Pieces of the answer and then the Answer; None when the question is none of these.

        Args:
            documents: those in the scope of the question; no other is looked at or told of.
            whole: the scope is the whole library.
        """
        started = perf_counter()
        known: list[Sequence[Document]] = []

        def seen() -> Sequence[Document]:
            if not known:
                known.append(documents())
            return known[0]

        summary = self._summary(question, seen, llm, started)
        if summary is not None:
            return summary
        text = library_answer(question, lambda: Catalogued(seen(), self._failures() if whole else ()))
        if text is not None:
            return iter((text, _answer(question, text, started)))
        computed = self._tables.answer(question, seen, lambda: _named(question, seen()))
        return None if computed is None else iter((computed.text, _computed(question, computed, started)))

    def _summary(
        self, question: str, documents: Callable[[], Sequence[Document]], llm: LLM | None, started: float
    ) -> Iterator[str | Answer] | None:
        asked = _SUMMARY.match(" ".join(question.split()))
        if asked is None:
            return None
        said = asked["what"] or asked["about"]
        what = "" if _THIS.fullmatch(said) else _ARTICLE.sub("", said)
        found = meant(what, documents()) if what else list(documents())
        if len(found) == 1:
            return self._summarised(question, found[0], llm, started)
        if found and (what or len(documents()) > 1):
            names = "\n".join(f"- {document.name}" for document in found[:20])
            more = f"\n- and {len(found) - 20:,} more" if len(found) > 20 else ""
            text = f"{len(found)} documents may be meant. Name one of them:\n\n{names}{more}"
        elif name := file_name(what):
            close = close_names(name, documents())
            text = f"There is no document called {name} in the library."
            text += f" Close to it: {', '.join(close)}." if close else ""
        else:
            return None
        return iter((text, _answer(question, text, started)))

    def _summarised(self, question: str, document: Document, llm: LLM | None, started: float) -> Iterator[str | Answer]:
        chunks = self._index.document_chunks(document.id)
        for item in self._summariser.stream(document, chunks, llm):
            if isinstance(item, str):
                yield item
                continue
            yield item.text
            yield _summary_answer(question, document, item, started)


def _named(question: str, documents: Sequence[Document]) -> list[Document]:
    named = documents_named(question, documents)
    return [document for document in documents if document.id in named]


def _summary_answer(question: str, document: Document, summary: Summary, started: float) -> Answer:
    if not summary.text:
        text = f"{document.name} has no sentence that could stand for the whole; it may be a table or a list."
        return _answer(question, text, started)
    return _answer(
        question,
        summary.text,
        started,
        citations=summary.citations,
        unsupported=summary.unsupported,
        model=summary.model,
        notice=summary.notice,
        computed=False,
    )


def _computed(question: str, computed: Computed, started: float) -> Answer:
    return _answer(question, computed.text, started, citations=computed.citations)


def _answer(
    question: str,
    text: str,
    started: float,
    *,
    citations: tuple[Citation, ...] = (),
    unsupported: tuple[str, ...] = (),
    model: str | None = None,
    notice: str = "",
    computed: bool = True,
) -> Answer:
    milliseconds = (perf_counter() - started) * 1000.0
    return Answer(
        question=question,
        text=text,
        citations=citations,
        confidence="medium" if unsupported else "high",
        refused=False,
        mode="llm" if model else "extractive",
        model=model,
        unsupported=unsupported,
        queries=(),
        hits=(),
        left_out=(),
        timings=Timings(retrieval=0.0, first_token=None, total=milliseconds),
        notice=notice,
        computed=computed,
    )
