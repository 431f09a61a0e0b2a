"""A data set in the BEIR layout: `corpus.jsonl`, `queries.jsonl`, `qrels/test.tsv` and perhaps `pdfs/`.

A corpus line is `{"_id", "title", "text"}`. It may instead be one page of a PDF: `{"_id", "file": "report.pdf",
"page": 4}` is page 4, from 1, of `pdfs/report.pdf`. Both may also stand in the line's `metadata`.

To measure answers, a query line may hold what is right as `answer` (a text) or `answers` (several, any of which will
do), `aliases` beside them, and the turns before it as `history`: `[{"role": "user", "text": ...}]`. Questions that
the corpus does not answer stand in `queries_unanswerable.jsonl` or `queries_other.jsonl`; where lines there say
their `answerability`, those that are `UNANSWERABLE` count. All of it may stand in `metadata`.
Thakur et al., "BEIR: A Heterogeneous Benchmark for Zero-shot Evaluation of Information Retrieval Models",
NeurIPS 2021 Datasets and Benchmarks, https://arxiv.org/abs/2104.08663; files, pages and answers are our addition.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from localrag.errors import DatasetError
from localrag.types import Message

EntryId: TypeAlias = str
QueryId: TypeAlias = str

CORPUS = Path("corpus.jsonl")
QUERIES = Path("queries.jsonl")
QRELS = Path("qrels") / "test.tsv"
PDFS = Path("pdfs")
UNANSWERABLE = (Path("queries_unanswerable.jsonl"), Path("queries_other.jsonl"))
_LAYOUT = "A data set is a folder with corpus.jsonl, queries.jsonl and qrels/test.tsv (the BEIR layout)."


@dataclass(frozen=True, slots=True, kw_only=True)
class CorpusEntry:
    """One unit of the corpus: a text, or one page (from 1) of the PDF at `pdf`. The text may be empty."""

    id: EntryId
    title: str = ""
    text: str = ""
    pdf: Path | None = None
    page: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BeirDataset:
    """Corpus, those queries that were judged, and their judgements: query -> entry -> relevance, 0 is not relevant.

    Every query has at least one relevant entry: the others could only score 0, whatever was found.

    gold: the right answers of those queries that come with any.
    unanswerable: further questions, which the corpus does not answer.
    histories: the turns before a question of either kind, oldest first, where there are any.
    """

    name: str
    corpus: tuple[CorpusEntry, ...]
    queries: Mapping[QueryId, str]
    qrels: Mapping[QueryId, Mapping[EntryId, int]] = field(default_factory=dict)
    gold: Mapping[QueryId, tuple[str, ...]] = field(default_factory=dict)
    unanswerable: Mapping[QueryId, str] = field(default_factory=dict)
    histories: Mapping[QueryId, tuple[Message, ...]] = field(default_factory=dict)


def load_dataset(folder: Path) -> BeirDataset:
    """The data set in the folder.

    Raises:
        DatasetError: a file is missing or a line is wrong; the message names both.
    """
    if not folder.is_dir():
        raise DatasetError(f"{folder} is not a folder.", hint=_LAYOUT)
    corpus = tuple(_entry(line, folder / PDFS) for line in _identified(folder / CORPUS))
    if not corpus:
        raise DatasetError(f"{folder / CORPUS} holds no documents.", hint=_LAYOUT)
    asked = {line.text("_id"): line for line in _identified(folder / QUERIES)}
    queries = {query: line.text("text") for query, line in asked.items()}
    qrels = _qrels(folder / QRELS, entries={entry.id for entry in corpus}, queries=queries)
    answerable = {query: judged for query, judged in qrels.items() if any(judged.values())}
    if not answerable:
        raise DatasetError(f"{folder / QRELS} judges nothing relevant.", hint=_LAYOUT)
    unanswerable = _unanswerable(folder, queries)
    lines = {query: line for query, line in asked.items() if query in answerable} | unanswerable
    return BeirDataset(
        name=folder.resolve().name,
        corpus=corpus,
        queries={query: text for query, text in queries.items() if query in answerable},
        qrels=answerable,
        gold={query: gold for query in answerable if (gold := _gold(asked[query]))},
        unanswerable={query: line.text("text") for query, line in unanswerable.items()},
        histories={query: history for query, line in lines.items() if (history := _history(line))},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    """A line of a JSON Lines file and where it stands, for messages."""

    path: Path
    number: int
    fields: Mapping[str, object]

    def error(self, problem: str) -> DatasetError:
        return DatasetError(f"{self.path}, line {self.number}: {problem}.", hint=_LAYOUT)

    def text(self, key: str, default: str | None = None) -> str:
        """The field as text that can be stored: half a surrogate pair becomes `?`. Ids may be written as numbers."""
        value = self.fields.get(key)
        if value is None and default is not None:
            return default
        if key == "_id" and isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        if not isinstance(value, str):
            found = "it is missing" if value is None else f"found {type(value).__name__}"
            raise self.error(f'"{key}" must be a text, {found}')
        if key == "_id" and not value:
            raise self.error('"_id" must not be empty')
        return value.encode("utf-8", "replace").decode("utf-8")

    def extra(self, key: str) -> object:
        """The field of the line, or else of its metadata."""
        metadata = self.fields.get("metadata")
        return self.fields.get(key, metadata.get(key) if isinstance(metadata, dict) else None)


def _entry(line: _Line, pdfs: Path) -> CorpusEntry:
    page = line.extra("page")
    if page is not None and (not isinstance(page, int) or isinstance(page, bool) or page < 1):
        raise line.error(f'"page" must be a number from 1, found {page!r}')
    text = line.text("text", default=None if line.extra("file") is None else "")
    return CorpusEntry(
        id=line.text("_id"),
        title=line.text("title", default=""),
        text=text,
        pdf=_pdf(line, pdfs, page, text),
        page=page,
    )


def _pdf(line: _Line, pdfs: Path, page: int | None, text: str) -> Path | None:
    """The PDF the line names, or None. One that is not there is an error unless the line has the text as well."""
    name = line.extra("file")
    if name is None:
        return None
    if not isinstance(name, str) or Path(name).name != name or name in {"", ".", ".."}:
        raise line.error(f'"file" must be the name of a file in {PDFS}/, found {name!r}')
    if page is None:
        raise line.error(f'"file" needs a "page" beside it: which page of {name}?')
    if (pdfs / name).is_file():
        return pdfs / name
    if not text:
        raise line.error(f"{pdfs / name} does not exist and the line has no text")
    return None


def _unanswerable(folder: Path, queries: Mapping[QueryId, str]) -> dict[QueryId, _Line]:
    """The lines of the questions that the corpus does not answer, by id; most sets have none."""
    found: dict[QueryId, _Line] = {}
    for path in (folder / name for name in UNANSWERABLE):
        for line in _identified(path) if path.exists() else ():
            kinds = line.extra("answerability")
            if kinds is not None and "unanswerable" not in [str(kind).lower() for kind in _listed(kinds)]:
                continue  # a turn that calls for a question in return, or for small talk
            query = line.text("_id")
            if query in queries or query in found:
                raise line.error(f'"_id" {query!r} is that of another question')
            found[query] = line
    return found


def _gold(line: _Line) -> tuple[str, ...]:
    """The right answers. Sets of other people put other things there too; what is neither text nor number is no answer.

    The aliases of no answer are aliases of something else.
    """
    given = [*_listed(line.extra("answers")), *_listed(line.extra("answer"))]
    answers = [*given, *_listed(line.extra("aliases"))] if given else []
    texts = [str(answer).strip() for answer in answers if isinstance(answer, str | int | float)]
    return tuple(dict.fromkeys(text for text in texts if text))


def _history(line: _Line) -> tuple[Message, ...]:
    """The turns before the question; who is not `user` is the one who answers."""
    turns = []
    for turn in _listed(line.extra("history")):
        fields = turn if isinstance(turn, dict) else {}
        text = fields.get("text", fields.get("content"))
        if not isinstance(text, str):
            raise line.error('"history" must list turns such as {"role": "user", "text": "..."}')
        turns.append(Message(role="user" if fields.get("role") == "user" else "assistant", content=text))
    return tuple(turns)


def _listed(value: object) -> list[object]:
    """The value as a list: one alone is a list of one, None of none."""
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _identified(path: Path) -> Iterator[_Line]:
    """The lines of the file, no two of which may have the same `_id`."""
    seen: dict[str, int] = {}
    for line in _json_lines(path):
        identity = line.text("_id")
        first = seen.setdefault(identity, line.number)
        if first != line.number:
            raise line.error(f'"_id" {identity!r} stands on line {first} already')
        yield line


def _json_lines(path: Path) -> Iterator[_Line]:
    for number, text in _lines(path):
        try:
            fields = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise DatasetError(f"{path}, line {number}: not JSON ({error}).", hint=_LAYOUT) from error
        if not isinstance(fields, dict):
            raise DatasetError(f"{path}, line {number}: expected a JSON object.", hint=_LAYOUT)
        yield _Line(path=path, number=number, fields=fields)


def _qrels(path: Path, *, entries: set[EntryId], queries: Mapping[QueryId, str]) -> dict[QueryId, dict[EntryId, int]]:
    """The judgements. A name that the corpus or the queries lack is an error: it would only lower the scores."""
    qrels: dict[QueryId, dict[EntryId, int]] = {}
    for number, text in _lines(path):
        fields = text.split("\t")
        where = f"{path}, line {number}"
        if len(fields) != 3:
            raise DatasetError(f"{where}: expected query, document and score between tabs, found {text!r}.")
        query, entry, score = (item.strip() for item in fields)
        relevance = _relevance(score)
        if relevance is None:
            if number == 1 and query not in queries:
                continue  # the header, which some sets lack
            raise DatasetError(f"{where}: the score must be a whole number, found {score!r}.")
        if query not in queries:
            raise DatasetError(f"{where}: {QUERIES} has no query {query!r}.")
        if entry not in entries:
            raise DatasetError(f"{where}: {CORPUS} has no document {entry!r}.")
        qrels.setdefault(query, {})[entry] = max(relevance, 0)
    return qrels


def _relevance(score: str) -> int | None:
    try:
        return int(score)
    except ValueError:
        return None


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines that are not blank, each with its number from 1."""
    try:
        with path.open(encoding="utf-8-sig", newline="\n") as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    yield number, line.rstrip("\r\n")
    except FileNotFoundError as error:
        raise DatasetError(f"{path} is missing.", hint=_LAYOUT) from error
    except OSError as error:
        raise DatasetError(f"{path} cannot be read: {error.strerror}.", hint=_LAYOUT) from error
    except UnicodeDecodeError as error:
        raise DatasetError(f"{path} is not UTF-8: {error.reason} at byte {error.start}.", hint=_LAYOUT) from error
