"""Evaluations kept as files: one JSON a run, checked when it is read again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Annotated, Literal, Self, TypeAlias

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError, model_validator

from localrag.errors import DatasetError
from localrag.evaluation.answers import JudgedAnswer, summarise
from localrag.evaluation.beir import BeirDataset, EntryId, QueryId
from localrag.evaluation.benchmark import HEADLINE, MODES, Comparison, Evaluation, Mode, SweepPoint, compare_legs

Share: TypeAlias = Annotated[float, Field(ge=0.0, le=1.0)]
Count: TypeAlias = Annotated[int, Field(ge=0)]
SettingValue: TypeAlias = str | int | float | bool | None

_PLACES = 6
_TITLE_CHARS = 120
_HINT = "A run is a file that `localrag evaluate` saved."


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class JudgedQuery(_Part):
    """One query: its words, and the relevance of the entries that were judged for it."""

    text: str
    qrels: dict[EntryId, Count]


class SavedAnswer(_Part):
    """One judged answer; see `JudgedAnswer`."""

    query: QueryId
    question: str
    answerable: bool
    gold: tuple[str, ...]
    text: str
    refused: bool
    mode: Literal["llm", "extractive"]
    confidence: Literal["high", "medium", "low", "none"]
    cited: tuple[EntryId, ...]
    citations: Count
    right_citations: Count
    citation_recall: Share | None
    exact: bool | None
    contained: bool | None
    first_quote: bool | None
    unsupported: Count
    sentences: Count
    milliseconds: Annotated[float, Field(ge=0.0)]

    def judged(self) -> JudgedAnswer:
        """The answer as it was measured."""
        return JudgedAnswer(**self.model_dump())


class SavedRun(_Part):
    """One evaluation as data.

    by_query: mode -> measure -> query -> value; by_mode holds their means.
    ranked: mode -> query -> entries, best first. titles: what entries named in `ranked` or judged are called.
    """

    format: Literal["localrag-evaluation"] = "localrag-evaluation"
    version: Literal[1] = 1
    dataset: str
    made_at: AwareDatetime
    settings: dict[str, SettingValue]
    documents: Count
    chunks: Count
    seconds: Annotated[float, Field(ge=0.0)]
    by_mode: dict[Mode, dict[str, Share]]
    queries: Annotated[dict[QueryId, JudgedQuery], Field(min_length=1)]
    titles: dict[EntryId, str]
    by_query: dict[Mode, dict[str, dict[QueryId, Share]]]
    ranked: dict[Mode, dict[QueryId, tuple[EntryId, ...]]]
    sweep: tuple[SweepPoint, ...] = ()
    answers: tuple[SavedAnswer, ...] = ()

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        for name, by_mode in (("by_mode", self.by_mode), ("by_query", self.by_query), ("ranked", self.ranked)):
            if set(by_mode) != set(MODES):
                raise ValueError(f"{name} must hold {', '.join(MODES)}")
        for mode in MODES:
            if self.ranked[mode].keys() != self.queries.keys():
                raise ValueError(f"ranked.{mode} is not of the queries of this run")
            if self.by_query[mode].keys() != self.by_mode[mode].keys() or HEADLINE not in self.by_mode[mode]:
                raise ValueError(
                    f"by_query.{mode} and by_mode.{mode} must hold the same measures, {HEADLINE} among them"
                )
            for measure, values in self.by_query[mode].items():
                if values.keys() != self.queries.keys():
                    raise ValueError(f"by_query.{mode}.{measure} is not of the queries of this run")
                if abs(sum(values.values()) / len(values) - self.by_mode[mode][measure]) > 10.0 ** (1 - _PLACES):
                    raise ValueError(f"by_mode.{mode}.{measure} is not the mean of its values")
        return self

    @property
    def metrics(self) -> Mapping[str, float]:
        """The measures of hybrid search."""
        return self.by_mode["hybrid"]

    @property
    def comparison(self) -> Comparison:
        """Hybrid against the better leg."""
        return compare_legs(self.by_query, self.by_mode)

    @property
    def answer_measures(self) -> Mapping[str, float | None]:
        """See `summarise`; empty when nothing was asked."""
        return summarise(self.judged_answers()) if self.answers else {}

    def judged_answers(self) -> list[JudgedAnswer]:
        """The answers as they were measured."""
        return [answer.judged() for answer in self.answers]

    @property
    def file_name(self) -> str:
        """`cranfield-20261130-220501.json`."""
        name = "".join(char if char.isalnum() or char in "-_" else "-" for char in self.dataset)
        return f"{name}-{self.made_at:%Y%m%d-%H%M%S}.json"

    def to_json(self) -> str:
        """The run as text: a line for each part and each query, so that two runs can be compared with `diff`."""
        parts = self.model_dump(mode="json")
        return "{\n" + ",\n".join(f"{json.dumps(key)}: {_lines(value)}" for key, value in parts.items()) + "\n}\n"


def _lines(value: object, depth: int = 2) -> str:
    """JSON whose outer levels stand on lines of their own."""
    if isinstance(value, dict) and value and depth:
        inner = (f"{json.dumps(key, ensure_ascii=False)}: {_lines(item, depth - 1)}" for key, item in value.items())
        return "{\n" + ",\n".join(inner) + "\n}"
    if isinstance(value, list) and value and depth and isinstance(value[0], dict):
        return "[\n" + ",\n".join(json.dumps(item, ensure_ascii=False) for item in value) + "\n]"
    return json.dumps(value, ensure_ascii=False)


def as_run(
    evaluation: Evaluation, dataset: BeirDataset, *, settings: Mapping[str, SettingValue], made_at: datetime
) -> SavedRun:
    """The evaluation of this data set as data; values to six places."""
    queries = {
        query: JudgedQuery(text=text, qrels=dict(dataset.qrels[query])) for query, text in dataset.queries.items()
    }
    named = {entry for query in queries.values() for entry in query.qrels}
    named |= {entry for run in evaluation.ranked.values() for entries in run.values() for entry in entries}
    named |= {entry for answer in evaluation.answers for entry in answer.cited}
    return SavedRun(
        dataset=dataset.name,
        made_at=made_at,
        settings=dict(settings),
        documents=evaluation.documents,
        chunks=evaluation.chunks,
        seconds=round(evaluation.seconds, 3),
        by_mode={mode: _rounded(measures) for mode, measures in evaluation.by_mode.items()},
        queries=queries,
        titles={entry.id: _title(entry.title, entry.text) for entry in dataset.corpus if entry.id in named},
        by_query={
            mode: {measure: _rounded(values) for measure, values in scores.items()}
            for mode, scores in evaluation.by_query.items()
        },
        ranked={
            mode: {query: tuple(entries) for query, entries in run.items()} for mode, run in evaluation.ranked.items()
        },
        sweep=tuple(_point(point) for point in evaluation.sweep),
        answers=tuple(_answer(answer) for answer in evaluation.answers),
    )


def _rounded(values: Mapping[str, float]) -> dict[str, float]:
    return {key: round(value, _PLACES) for key, value in values.items()}


def _title(title: str, text: str) -> str:
    """What the entry is called, or how it begins."""
    words = " ".join((title or text).split())
    return words if len(words) <= _TITLE_CHARS else words[: _TITLE_CHARS - 1].rstrip() + "…"


def _point(point: SweepPoint) -> SweepPoint:
    return SweepPoint(semantic=point.semantic, measures=_rounded(point.measures))


def _answer(answer: JudgedAnswer) -> SavedAnswer:
    fields = {name: getattr(answer, name) for name in SavedAnswer.model_fields}
    return SavedAnswer(**{**fields, "milliseconds": round(answer.milliseconds, 1)})


def load_run(path: Path) -> SavedRun:
    """The run in the file.

    Raises:
        DatasetError: there is no such file, or it is no run; the message says what is wrong and where in it.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise DatasetError(f"{path} cannot be read: {error.strerror}.", hint=_HINT) from error
    except UnicodeDecodeError as error:
        raise DatasetError(f"{path} is not UTF-8: {error.reason} at byte {error.start}.", hint=_HINT) from error
    try:
        return SavedRun.model_validate_json(text)
    except ValidationError as error:
        raise DatasetError(f"{path} is not an evaluation run: {_first(error)}.", hint=_HINT) from error


def _first(error: ValidationError) -> str:
    """The first thing wrong: where, and what."""
    first = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    what = first["msg"].removeprefix("Value error, ").rstrip(".")
    return f"{where}: {what}" if where else what
