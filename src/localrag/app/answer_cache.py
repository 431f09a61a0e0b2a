"""Answers by exact inputs: the same question to the same library, model and settings is not worked out twice."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass, replace
from time import perf_counter

from localrag import __version__
from localrag.errors import LocalRagError
from localrag.filters import Filter
from localrag.protocols import AnswerStore
from localrag.settings import Settings
from localrag.types import Answer, Message, Query, Timings

logger = logging.getLogger(__name__)

# What no answer depends on: where things are, and how files are read. A setting that comes later counts by itself.
_NO_INPUT = {
    "data_dir",
    "index_url",
    "index_name",
    "index_user",
    "index_password",
    "index_ca_file",
    "index_shards",
    "index_replicas",
    "parse_timeout_s",
    "parse_memory_mb",
    "max_file_mb",
}


def answer_key(
    settings: Settings,
    query: Query,
    *,
    history: Sequence[Message],
    where: Filter | None,
    models: Sequence[str],
) -> str:
    """The SHA-256 of all that an answer comes from, but for the documents.

    Args:
        query: the question as it was asked, with its `top_k` and `semantic`.
        where: the scope, documents by id. models: the names of those that embed, rerank and write.
    """
    from localrag.answering.prompts import REFUSAL, SYSTEM, user_message  # deferred: only asking needs answering

    inputs = [
        __version__,
        [SYSTEM, REFUSAL, user_message("", "", "")],
        settings.model_dump(mode="json", exclude=_NO_INPUT),
        [query.text, query.top_k, query.semantic],
        [[message.role, message.content] for message in history],
        _plain(where),
        list(models),
    ]
    return hashlib.sha256(json.dumps(inputs, sort_keys=True).encode("utf-8", "surrogatepass")).hexdigest()


def _plain(value: object) -> object:
    """The value as JSON has it, the same in every process: a set has no order of its own."""
    if is_dataclass(value):
        return [type(value).__name__, *(_plain(getattr(value, field.name)) for field in fields(value))]
    if isinstance(value, frozenset):
        return sorted(map(str, value))
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value if value is None or isinstance(value, str | int | float) else str(value)


def recall(store: AnswerStore, key: str) -> Answer | None:
    """The answer that was kept under the key, marked as such, with the timings of looking it up."""
    started = perf_counter()
    kept = store.load_answer(key)
    if kept is None:
        return None
    from pydantic import TypeAdapter, ValidationError  # deferred, as below

    try:
        answer = TypeAdapter(Answer).validate_json(kept)
    except ValidationError:  # written by another version: it is made anew
        return None
    milliseconds = (perf_counter() - started) * 1000.0
    return replace(answer, cached=True, timings=Timings(retrieval=milliseconds, first_token=None, total=milliseconds))


def remembered(stream: Iterator[str | Answer], store: AnswerStore, key: str, *, change: int) -> Iterator[str | Answer]:
    """The stream; its answer is kept, unless something went wrong on the way to it (it then has a notice).

    Nor is a refusal that asked no model: it takes no time, and a question about what was deleted leaves no trace.

    Args:
        change: the store's change counter before anything was searched.
    """
    for item in stream:
        if isinstance(item, Answer) and not item.notice and item.timings.first_token is not None:
            _keep(item, store, key, change)
        yield item


def _keep(answer: Answer, store: AnswerStore, key: str, change: int) -> None:
    from pydantic import TypeAdapter  # deferred: 30 ms for the first of them, and a search needs none

    try:
        store.save_answer(key, TypeAdapter(Answer).dump_json(answer).decode(), change=change)
    except (LocalRagError, ValueError) as error:  # a disk that is full costs no answer, nor does half a character
        logger.warning("an answer was not kept: %s", type(error).__name__)
