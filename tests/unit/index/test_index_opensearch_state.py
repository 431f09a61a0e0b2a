"""The state of a library in OpenSearch, over a transport of the test's own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from opensearchpy import exceptions

from localrag.errors import IndexMismatchError
from localrag.index import opensearch
from localrag.index.content import header_json
from localrag.index.opensearch import OpenSearchIndex
from localrag.index.opensearch_errors import Conflict
from localrag.index.opensearch_http import Http
from localrag.index.opensearch_notes import Notes
from localrag.index.opensearch_schema import SCHEMA_VERSION, Copies, Names
from localrag.index.opensearch_search import Totals
from localrag.index.opensearch_state import LibraryState, State
from localrag.types import EmbeddingModel, Failure, IndexHeader, LegResults

MODEL = EmbeddingModel(name="m", revision="r", dimension=4, max_tokens=512)
HEADER = IndexHeader(model=MODEL, chunk_tokens=256, chunk_overlap_tokens=32)

SEEN = LibraryState(epoch="1", sequence=4, changes=9, hidden=(), place=(70, 1))


class Told:
    """A transport whose server performs every update and shows a state of this epoch."""

    def __init__(self, epoch: str) -> None:
        self.epoch = epoch
        self.conditions: list[Mapping[str, Any]] = []

    def perform_request(
        self,
        method: str,
        url: str,
        params: Mapping[str, Any] | None = None,
        body: Any = None,
        timeout: float | None = None,
    ) -> Any:
        self.conditions.append(params or {})
        source = {"epoch": self.epoch, "sequence": 4, "changes": 10, "hidden": []}
        return {"get": {"_source": source}, "_seq_no": 71, "_primary_term": 1}

    def close(self) -> None: ...


def change(told: Told) -> LibraryState:
    return State(Http(told, "http://box:9200"), Names("x")).change(SEEN, shown=["v"])


def test_a_change_holds_only_for_the_state_that_was_seen() -> None:
    told = Told("1")
    assert change(told).changes == 10
    assert (told.conditions[0]["if_seq_no"], told.conditions[0]["if_primary_term"]) == ("70", "1")


def test_a_change_that_met_another_index_by_its_number_is_decided_anew() -> None:
    with pytest.raises(Conflict):
        change(Told("2"))


class Switched(Told):
    """A server at which an index of other chunks, in epoch 2, has taken the place."""

    def perform_request(
        self,
        method: str,
        url: str,
        params: Mapping[str, Any] | None = None,
        body: Any = None,
        timeout: float | None = None,
    ) -> Any:
        self.conditions.append(params or {})
        if url.endswith("/_mapping"):
            told = {"schema": SCHEMA_VERSION, "header": header_json(replace(HEADER, chunk_tokens=64)), "analysis": "1"}
            fields = {"embedding": {"type": "knn_vector", "dimension": 4}, "terms": {"type": "text"}}
            return {"x-content-000002": {"mappings": {"_meta": {"localrag": told}, "properties": fields}}}
        if url.startswith("/_alias"):
            return {}
        source = {"epoch": self.epoch, "sequence": 4, "changes": 10, "hidden": []}
        return {"_source": source, "_seq_no": 71, "_primary_term": 1}


class FromBefore:
    """Both legs of a search, the first part of which met the index of epoch 1."""

    def search(self, *_: object, **__: object) -> tuple[LegResults, Totals]:
        totals = Totals(changes=9, epoch="1", chunks=1, terms=1, embedded=1, languages=frozenset(), switching=False)
        return LegResults(lexical=(), vector=None, vectors_ready=1.0), totals


@pytest.mark.parametrize(("grace_s", "slow"), [(60.0, False), (-1.0, True)])
def test_a_slow_search_looks_again_which_index_there_is(
    grace_s: float, slow: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    served = Switched("2")
    index = OpenSearchIndex(Http(served, "http://box:9200"), Names("x"), HEADER, Copies(), clock=lambda: 0.0)
    monkeypatch.setattr(index, "_legs", FromBefore())
    monkeypatch.setattr(index, "_epoch", "1")
    monkeypatch.setattr(opensearch, "GRACE_S", grace_s)
    if not slow:
        index.search_legs("word", None, limit=1)
        assert served.conditions == []  # no other request
        return
    with pytest.raises(IndexMismatchError, match="LOCALRAG_CHUNK_TOKENS"):
        index.search_legs("word", None, limit=1)


def test_no_write_makes_an_index_where_a_deleted_library_had_its_alias() -> None:
    class Deleted(Switched):
        """The parameters of writes are what is asked."""

        def perform_request(self, method: str, url: str, *arguments: Any, **options: Any) -> Any:
            if method == "GET":
                raise exceptions.NotFoundError(404, "x", {})
            return super().perform_request(method, url, *arguments, **options)

    served = Deleted("1")
    notes = Notes(Http(served, "http://box:9200"), Names("x"), settled=lambda: None)
    failed = Failure(uri="u", name="n", kind="k", message="m", hint="h", failed_at=datetime(2026, 3, 1, tzinfo=UTC))
    notes.save_failure(failed)
    notes.save_conversation("c", "[]", now=1.0)
    notes.take_lease("rebuild", "me", now=1.0, ttl_s=1.0)
    State(Http(served, "http://box:9200"), Names("x")).create()
    told = Told("1")
    change(told)
    assert [asked.get("require_alias") for asked in [*served.conditions, *told.conditions]] == ["true"] * 5
