"""What the library keeps beside documents, in its state index: failures, leases and conversations."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator

from localrag.index.filters import microseconds, moment
from localrag.index.opensearch_errors import Conflict, Missing
from localrag.index.opensearch_http import TO_ALIAS, Action, Http, Json
from localrag.index.opensearch_schema import Names
from localrag.types import Failure

_PAGE = 1_000
_AT_ONCE = {"refresh": "true"}


class Notes:
    """Small entries, each under an id made of its kind and key."""

    def __init__(self, http: Http, names: Names, settled: Callable[[], object]) -> None:
        """`settled` returns once no switch to another index is about to happen: what is written then goes along."""
        self._http = http
        self._settled = settled
        self._index = names.state

    def save_failure(self, failure: Failure) -> None:
        """Keeps the failure in place of an earlier one of the same source."""
        payload = {
            "uri": failure.uri,
            "name": failure.name,
            "kind": failure.kind,
            "message": failure.message,
            "hint": failure.hint,
            "failed_at": microseconds(failure.failed_at),
        }
        entry = {"kind": "failure", "payload": payload}
        self._settled()
        self._http.call("PUT", self._path("failure", failure.uri), params={**TO_ALIAS, **_AT_ONCE}, body=entry)

    def failures(self) -> list[Failure]:
        """All failures by name, then uri."""
        found = [_failure(payload) for payload in self._payloads("failure")]
        return sorted(found, key=lambda failure: (failure.name, failure.uri))

    def delete_failure(self, uri: str) -> None:
        """Forgets the failure of this source."""
        self._delete("failure", uri)

    def delete_failures(self) -> None:
        """Forgets all failures."""
        self._http.call(
            "POST",
            f"/{self._index}/_delete_by_query",
            params={"conflicts": "proceed", "refresh": "true"},
            body={"query": {"term": {"kind": "failure"}}},
        )

    def take_lease(self, name: str, holder: str, *, now: float, ttl_s: float) -> bool:
        """Whether the holder has the lease now; no two can be told yes."""
        path = self._path("lease", name)
        found = self._http.get(path)
        entry = {"kind": "lease", "payload": {"holder": holder, "expires_at": now + ttl_s}}
        if found is None:
            condition = {"op_type": "create"}
        else:
            held = found["_source"]["payload"]
            if held["holder"] != holder and held["expires_at"] > now:
                return False
            condition = _if_unchanged(found)
        try:
            self._http.call("PUT", path, params={**TO_ALIAS, **condition}, body=entry)
        except Conflict:
            # Another has it by now, unless the answer to our own request was lost and this was sent again.
            found = self._http.get(path)
            return found is not None and bool(found["_source"]["payload"] == entry["payload"])
        return True

    def lease_is_held(self, name: str, now: float) -> bool:
        """Whether anybody has the lease."""
        found = self._http.get(self._path("lease", name))
        return found is not None and bool(found["_source"]["payload"]["expires_at"] > now)

    def drop_lease(self, name: str, holder: str) -> None:
        """Frees the lease if this holder has it."""
        path = self._path("lease", name)
        found = self._http.get(path)
        if found is None or found["_source"]["payload"]["holder"] != holder:
            return
        try:
            self._http.call("DELETE", path, params=_if_unchanged(found))
        except (Conflict, Missing):
            return  # it is another's by now

    def save_conversation(self, conversation_id: str, turns_json: str, *, now: float) -> None:
        """Keeps the turns in place of earlier ones."""
        entry = {"kind": "conversation", "payload": {"id": conversation_id, "turns": turns_json, "saved_at": now}}
        self._settled()
        self._http.call("PUT", self._path("conversation", conversation_id), params=TO_ALIAS, body=entry)

    def load_conversation(self, conversation_id: str) -> str | None:
        """The turns, or None."""
        found = self._http.get(self._path("conversation", conversation_id))
        return None if found is None else str(found["_source"]["payload"]["turns"])

    def delete_conversation(self, conversation_id: str) -> None:
        """Forgets the conversation."""
        self._delete("conversation", conversation_id)

    def conversation_ids(self) -> list[str]:
        """The ids of all conversations, in order."""
        self._http.call("POST", f"/{self._index}/_refresh")  # a turn is saved without waiting for that
        return sorted(payload["id"] for payload in self._payloads("conversation"))

    def copy_to(self, names: Names) -> None:
        """The failures and conversations in the state index of these names, in place of those there."""
        refreshed = {"conflicts": "proceed", "refresh": "true"}
        kept = {"terms": {"kind": ["failure", "conversation"]}}
        self._http.call("POST", f"/{names.state}/_delete_by_query", params=refreshed, body={"query": kept})
        self._http.call("POST", f"/{self._index}/_refresh")

        def actions() -> Iterator[Action]:
            for kind, key in (("failure", "uri"), ("conversation", "id")):
                for payload in self._payloads(kind):
                    action = {"_index": names.state, "_id": _identifier(kind, payload[key])}
                    yield {"index": action}, {"kind": kind, "payload": payload}

        self._http.bulk(actions(), refresh=True)

    def _payloads(self, kind: str) -> list[Json]:
        """What all entries of the kind hold."""
        found: list[Json] = []
        body: Json = {"query": {"term": {"kind": kind}}, "size": _PAGE, "sort": [{"_id": "asc"}]}
        while True:
            hits = self._http.search(self._index, body)["hits"]["hits"]
            found += [hit["_source"]["payload"] for hit in hits]
            if len(hits) < _PAGE:
                return found
            body["search_after"] = hits[-1]["sort"]

    def _delete(self, kind: str, key: str) -> None:
        if self._http.get(self._path(kind, key), params={"_source": "false"}) is None:
            return
        self._settled()
        try:
            self._http.call("DELETE", self._path(kind, key), params=_AT_ONCE)
        except Missing:
            return  # another was faster

    def _path(self, kind: str, key: str) -> str:
        return f"/{self._index}/_doc/{_identifier(kind, key)}"


def _identifier(kind: str, key: str) -> str:
    # An id has at most 512 bytes, and a key may be any text.
    return f"{kind}-{hashlib.sha256(key.encode('utf-8', 'surrogatepass')).hexdigest()}"


def _if_unchanged(found: Json) -> dict[str, str]:
    return {"if_seq_no": str(found["_seq_no"]), "if_primary_term": str(found["_primary_term"])}


def _failure(payload: Json) -> Failure:
    return Failure(
        uri=payload["uri"],
        name=payload["name"],
        kind=payload["kind"],
        message=payload["message"],
        hint=payload["hint"],
        failed_at=moment(payload["failed_at"]),
    )


class Kept:
    """The part of the index that keeps them."""

    def __init__(self, notes: Notes, clock: Callable[[], float]) -> None:
        self._notes = notes
        self._clock = clock

    def record_failure(self, failure: Failure) -> None:
        self._notes.save_failure(failure)

    def failures(self) -> list[Failure]:
        return self._notes.failures()

    def clear_failure(self, uri: str) -> None:
        self._notes.delete_failure(uri)

    def acquire_lease(self, name: str, holder: str, ttl_s: float) -> bool:
        return self._notes.take_lease(name, holder, now=self._clock(), ttl_s=ttl_s)

    def release_lease(self, name: str, holder: str) -> None:
        self._notes.drop_lease(name, holder)

    def save_conversation(self, conversation_id: str, turns_json: str) -> None:
        self._notes.save_conversation(conversation_id, turns_json, now=self._clock())

    def load_conversation(self, conversation_id: str) -> str | None:
        return self._notes.load_conversation(conversation_id)

    def delete_conversation(self, conversation_id: str) -> None:
        self._notes.delete_conversation(conversation_id)

    def conversation_ids(self) -> list[str]:
        return self._notes.conversation_ids()
