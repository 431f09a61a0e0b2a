"""Answers of a small model with localrag and with a plain "stuff the context" prompt, over the same passages.

    python benchmarks/answers.py generate [--only plain|localrag] [--host URL] [--threads 1]
    python benchmarks/answers.py

`generate` asks a real Ollama and can be stopped and started again: replies are remembered by model, whole prompt and
options. Without it the replies there are get judged; the figures go to `benchmarks/results/answers.json`.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import answer_sets
import claim_judge
from answer_sets import AnswerSet, Case, Place
from model_cache import CachedLLM
from retrieval import BENCH

from localrag.answering.answer import Answerer
from localrag.answering.citations import CitationReader, Cited, Grammar
from localrag.answering.context import PromptBuilder
from localrag.answering.evidence import CALIBRATED_MODEL
from localrag.answering.sentences import sentence_spans
from localrag.generation.ollama import OllamaLLM
from localrag.generation.tokens import TiktokenCounter
from localrag.protocols import LLM, Generation
from localrag.types import Hit, Message, cite

RESULTS = Path(__file__).parent / "results" / "answers.json"
MODEL = "qwen2.5:0.5b"
# Half a billion parameters on two shared cores read some 20 tokens a second: two passages, for both sides the same.
PASSAGES = 2
CONTEXT_TOKENS = 1700
FENCE = "=== 0123456789abcdef ==="
# Answers to these questions are a few words; a small model that loses its way goes on to the limit.
LONGEST_REPLY = 96
# What tutorials and most local programs send. They list what was retrieved as the sources of the answer. Asked for
# numbers in brackets as well, this model says "[1] [2]" and nothing else to every second question.
PLAIN = """Use the following pieces of context to answer the question at the end. If you don't know the answer, just \
say that you don't know, don't try to make up an answer.

{context}

Question: {question}
Helpful Answer:"""

_DOES_NOT_KNOW = re.compile(
    r"\b(?:don.t|do not|does not|doesn.t|cannot|can.t|could not|couldn.t) (?:know|have|provide|contain|mention|specify|"
    r"find|determine|answer|state|give|explicitly)|"
    r"\b(?:not|no) (?:\w+ ){0,2}(?:mention|information|specified|provided|stated)|unable to|not enough",
    re.IGNORECASE,
)


def plain_prompt(case: Case) -> tuple[list[Message], Generation]:
    """Everything in one message."""
    context = "\n\n".join(hit.chunk.text for hit in given(case))
    message = Message(role="user", content=PLAIN.format(context=context, question=case.question))
    return [message], Generation(context_tokens=2048, max_tokens=LONGEST_REPLY)


def localrag_prompt(case: Case, builder: PromptBuilder) -> tuple[Sequence[Message], Generation]:
    """What an Answerer sends."""
    prompt = builder.build(case.question, given(case), (), fence=FENCE)
    return prompt.messages, prompt.generation


def given(case: Case) -> Sequence[Hit]:
    """The hits that both prompts show."""
    return case.ranking.hits[:PASSAGES]


def drawn(found: AnswerSet, *, answerable: int, unanswerable: int) -> tuple[list[Case], list[Case]]:
    """All questions of paragraphs drawn with a fixed seed, those with the same passages beside each other.

    Whole paragraphs, because a server that has just read a passage need not read it again for the next question.
    """
    groups: dict[str, list[Case]] = {}
    for case in [*found.answerable, *found.unanswerable]:
        groups.setdefault(given(case)[0].chunk.id if given(case) else "", []).append(case)
    order = sorted(groups)
    random.Random(5).shuffle(order)
    answers: list[Case] = []
    others: list[Case] = []
    asked = {case.id for case in found.answerable}
    for key in order:
        for case in sorted(groups[key], key=lambda case: [hit.chunk.id for hit in given(case)]):
            (answers if case.id in asked else others).append(case)
    return answers[:answerable], others[:unanswerable]


def generate(cases: Sequence[Case], sides: Sequence[str], llm: CachedLLM) -> None:
    """Asks the model for every reply that is not there yet."""
    builder = PromptBuilder(counter=TiktokenCounter(), context_tokens=CONTEXT_TOKENS, history_turns=0)
    started = time.perf_counter()
    for done, case in enumerate(cases, start=1):
        for side in sides:
            messages, generation = plain_prompt(case) if side == "plain" else localrag_prompt(case, builder)
            reply = "".join(llm.stream(messages, generation))
            print(f"{done} {time.perf_counter() - started:.0f}s {side} {case.question} -> {reply!r}", flush=True)


class _FewThreads(OllamaLLM):
    """Threads that wait for each other on a busy machine read no faster than one."""

    threads = 1

    def _options(self, generation: Generation) -> dict[str, object]:
        return {**super()._options(generation), "num_thread": self.threads}


def mixed(answerable: Sequence[Case], unanswerable: Sequence[Case]) -> list[Case]:
    """Both kinds evenly, in the order of their passages, so that a run that is stopped has some of each."""
    every = [*answerable, *unanswerable]
    order = {hit.chunk.id: place for place, case in reversed(list(enumerate(every))) for hit in given(case)[:1]}
    return sorted(every, key=lambda case: order[given(case)[0].chunk.id] if given(case) else -1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What a reader gets. `cited`: each sentence with a page that is shown as its source."""

    text: str
    refused: bool
    cited: tuple[tuple[str, Place], ...]
    outside: int = 0
    confidence: str = ""


def by_localrag(case: Case, found: AnswerSet, llm: LLM) -> Shown:
    """The answer of an Answerer with the replies that are there; LookupError when the model would have to be asked."""
    answerer = Answerer(
        llm=llm,
        counter=TiktokenCounter(),
        page=found.page,
        context_tokens=CONTEXT_TOKENS,
        history_turns=0,
        embedding_model=CALIBRATED_MODEL,
        new_fence=lambda: FENCE,
    )
    ranking = replace(case.ranking, hits=tuple(given(case)))
    answer = answerer.answer(case.question, search=lambda _: ranking)
    grammar = Grammar([cite(hit.document, hit.chunk.page, hit.chunk.label) for hit in given(case)])
    places = [place_of(hit) for hit in given(case)]
    cited = [
        (sentence, places[number - 1]) for sentence, numbers in _sentences(answer.text, grammar) for number in numbers
    ]
    known = {hit.chunk.id for hit in given(case)}
    return Shown(
        text=answer.text,
        refused=answer.refused,
        cited=tuple(cited),
        outside=sum(citation.chunk_id not in known for citation in answer.citations),
        confidence=answer.confidence,
    )


def by_plain_prompt(case: Case, llm: LLM) -> Shown:
    """The reply as it came, with everything that was stuffed into the prompt listed as its sources."""
    messages, generation = plain_prompt(case)
    text = "".join(llm.stream(messages, generation)).strip()
    refused = bool(_DOES_NOT_KNOW.search(text)) or not text
    spans = [] if refused else sentence_spans(text)
    cited = [(text[start:end], place_of(hit)) for start, end in spans for hit in given(case)]
    return Shown(text=text, refused=refused, cited=tuple(cited))


def _sentences(text: str, grammar: Grammar) -> list[tuple[str, tuple[int, ...]]]:
    """Each sentence with a citation, and the passages cited there; one before all text belongs to the first."""
    reader = CitationReader(grammar)
    plain = ""
    cited: list[tuple[int, tuple[int, ...]]] = []
    for part in [*reader.feed(text), *reader.close()]:
        if isinstance(part, Cited):
            cited.append((len(plain), part.passages))
        else:
            plain += part
    spans = sentence_spans(plain)
    found = []
    for at, passages in cited:
        start, end = max((span for span in spans if span[0] < at), default=spans[0] if spans else (0, 0))
        found.append((plain[start:end], passages))
    return found


def place_of(hit: Hit) -> Place:
    """The page that the hit stands on."""
    return hit.chunk.document_id, hit.chunk.page_ordinal


def is_right(case: Case, shown: Shown) -> bool:
    """Whether a gold answer stands in the text; a question without one is answered right by a refusal."""
    return not shown.refused and claim_judge.holds(case.answers, shown.text) if case.answers else shown.refused


def figures(asked: Sequence[tuple[Case, Shown]], found: AnswerSet) -> dict[str, object]:
    """The measures of one side."""
    answerable = [(case, shown) for case, shown in asked if case.answers]
    others = [(case, shown) for case, shown in asked if not case.answers]
    verdicts = [
        (claim_judge.is_held(sentence, found.pages[place].markdown, case.answers), place in case.gold)
        for case, shown in answerable
        for sentence, place in shown.cited
    ]
    right = sum(is_right(case, shown) for case, shown in answerable)
    answered = sum(not shown.refused for _, shown in answerable)
    return {
        "answerable": {
            "questions": len(answerable),
            "answered": answered,
            "right": right,
            "citations": len(verdicts),
            "citations that hold": round(sum(held for held, _ in verdicts) / max(len(verdicts), 1), 4),
            "citations of the gold page": round(sum(gold for _, gold in verdicts) / max(len(verdicts), 1), 4),
            "citations outside what was retrieved": sum(shown.outside for _, shown in answerable),
        },
        "unanswerable": {"questions": len(others), "refused": sum(shown.refused for _, shown in others)},
    }


def judge(cases: Sequence[Case], found: AnswerSet, llm: LLM, samples: int) -> dict[str, object]:
    """Both sides over the questions for which both replies are there."""
    pairs: list[tuple[Case, Shown, Shown]] = []
    for case in cases:
        try:
            pairs.append((case, by_localrag(case, found, llm), by_plain_prompt(case, llm)))
        except LookupError:
            continue
    for case, ours, plain in pairs[:samples]:
        print(f"? {case.question}  gold {list(case.answers)}\n  localrag: {ours.text!r}\n  plain: {plain.text!r}")
        for sentence, place in ours.cited:
            held = claim_judge.is_held(sentence, found.pages[place].markdown, case.answers)
            print(f"    {'holds' if held else 'FAILS'}: {sentence!r} {found.pages[place].markdown[:1500]!r}")
    ours, plain = [(case, shown) for case, shown, _ in pairs], [(case, shown) for case, _, shown in pairs]
    return {"localrag": figures(ours, found), "plain prompt": figures(plain, found)}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("step", nargs="?", choices=("generate", "judge"), default="judge")
    options.add_argument("--samples", type=int, default=0, help="print so many answers with what the judge says")
    options.add_argument("--only", choices=("plain", "localrag"))
    options.add_argument("--host", default="http://127.0.0.1:11434")
    options.add_argument("--bench", type=Path, default=BENCH)
    options.add_argument("--scratch", type=Path, default=Path(tempfile.gettempdir()) / "localrag-bench")
    chosen = options.parse_args()
    offline = chosen.step == "judge"
    model = _FewThreads(host=chosen.host, model=MODEL, timeout_s=900)
    llm = CachedLLM(model, chosen.scratch / "replies.db", longest=LONGEST_REPLY, offline=offline)
    squad = answer_sets.load("squad2-dev", scratch=chosen.scratch, bench=chosen.bench)
    mtrag = answer_sets.load("mtrag-un", scratch=chosen.scratch, bench=chosen.bench, limit=300)
    cases = mixed(*drawn(squad, answerable=200, unanswerable=100))
    if not offline:
        sides = [chosen.only] if chosen.only else ["plain", "localrag"]
        generate(cases, sides, llm)
        generate(mtrag.unanswerable[:60], sides, llm)
        return
    kept = {
        "model": MODEL,
        "passages": PASSAGES,
        "squad2-dev": judge(cases, squad, llm, chosen.samples),
        "mtrag-un": judge(mtrag.unanswerable[:60], mtrag, llm, 0),
    }
    print(json.dumps(kept, indent=1))
    RESULTS.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
