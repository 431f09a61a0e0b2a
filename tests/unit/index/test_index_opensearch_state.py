"""The state of a library in OpenSearch, over a transport of the test's own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from localrag.index.opensearch_errors import Conflict
from localrag.index.opensearch_http import Http
from localrag.index.opensearch_schema import Names
from localrag.index.opensearch_state import LibraryState, State

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
