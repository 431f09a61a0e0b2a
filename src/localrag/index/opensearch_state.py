"""One entry that says which versions of documents are to be seen, and so makes every change of a library atomic.

Every write of a document makes a new version of it: new entries for the document, its pages and its chunks. All
searches leave out the versions that the state lists as hidden, which OpenSearch looks up itself, in the same request:

    begin      the new version is listed, then written and made searchable: nobody sees it
    publish    one write of the state: the new version is off the list and the old one on it
    sweep      what is hidden is deleted, once no search can be under way that still looks for it

A kill at any moment leaves a whole version visible, and hidden rest that the next writer sweeps. Writers of several
processes agree through the sequence number of the state: a publish that another one has overtaken decides anew.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from localrag.errors import NotFoundError
from localrag.index.opensearch_errors import SERVICE, Conflict, kept_changing
from localrag.index.opensearch_http import TO_ALIAS, Http, Json
from localrag.index.opensearch_schema import LIBRARY, Names, call_off

# How long a search may be between reading the list and reading the chunks.
GRACE_S = 2.0
# Longer than a switch to another index takes, from the word to the writers on.
SWITCH_S = 60.0
# A writer that has said nothing for so long is gone; it says something before every bulk request.
ABANDONED_S = 600.0
HEARTBEAT_S = 30.0

_TRIES = 100
_BEGIN = """
ctx._source.sequence += 1;
ctx._source.hidden.removeIf(each -> each.version == params.version);
ctx._source.hidden.add(['version': params.version, 'at': ctx._now, 'writing': true]);
"""
_HEARTBEAT = """
boolean known = false;
for (each in ctx._source.hidden) { if (each.version == params.version) { each.at = ctx._now; known = true; } }
if (!known) { ctx.op = 'none'; }
"""
_CHANGE = """
ctx._source.hidden.removeIf(each -> params.shown.contains(each.version) || params.hidden.contains(each.version));
for (version in params.hidden) { ctx._source.hidden.add(['version': version, 'at': ctx._now, 'writing': false]); }
ctx._source.changes += 1;
"""
_ABANDON = """
for (each in ctx._source.hidden) { if (each.version == params.version) { each.at = ctx._now; each.writing = false; } }
"""
_FORGET = "ctx._source.hidden.removeIf(each -> params.versions.contains(each.version));"
_NEW_EPOCH = """
ctx._source.epoch = params.epoch;
ctx._source.hidden = [];
ctx._source.changes += 1;
ctx._source.remove('switching');
"""
_SWITCHING = """
if (ctx._source.changes != params.changes) { ctx.op = 'none'; } else { ctx._source.switching = params.token; }
"""
_NOT_SWITCHING = """
if (ctx._source.switching == params.token) { ctx._source.remove('switching'); } else { ctx.op = 'none'; }
"""
_GO_ON_FROM = "ctx._source.changes = (long) Math.max(ctx._source.changes, params.changes) + 1;"


@dataclass(frozen=True, slots=True)
class Hidden:
    """A version that no search sees. `at`: seconds since 1970 when it was hidden, or its writer last seen."""

    version: str
    at: float
    writing: bool

    def due(self, now: float) -> bool:
        """Whether it can be deleted without anybody missing it."""
        return now - self.at > (ABANDONED_S if self.writing else GRACE_S)


@dataclass(frozen=True, slots=True)
class LibraryState:
    """The state as it was read, with what a write needs that must not overtake another.

    `switching`: another index is about to take this one's place, and nothing is to change until it has; else empty.
    """

    epoch: str
    sequence: int
    changes: int
    hidden: tuple[Hidden, ...]
    place: tuple[int, int]
    switching: str = ""

    @property
    def hidden_versions(self) -> list[str]:
        """The versions that no search sees."""
        return [each.version for each in self.hidden]


class State:
    """The library's state entry."""

    def __init__(self, http: Http, names: Names, *, sleep: Callable[[float], None] = time.sleep) -> None:
        self._http = http
        self._path = f"/{names.state}/_doc/{LIBRARY}"
        self._update_path = f"/{names.state}/_update/{LIBRARY}"
        self._names = names
        self._sleep = sleep

    def create(self, epoch: str = "1") -> None:
        """The state of an empty library, when there is none."""
        # Counting from the clock keeps counters of a library and of its successor under the same name apart.
        fresh = {"kind": LIBRARY, "epoch": epoch, "sequence": 0, "changes": _milliseconds(), "hidden": []}
        try:
            self._http.call("PUT", self._path, params={**TO_ALIAS, "op_type": "create", "refresh": "true"}, body=fresh)
        except Conflict:
            return  # there is one

    def read(self) -> LibraryState:
        """The state now, whether it is searchable yet or not."""
        found = self._http.call("GET", self._path)
        return _state(found["_source"], (found["_seq_no"], found["_primary_term"]))

    def visible(self) -> list[Json]:
        """Filter clauses for what is to be seen, looked up by OpenSearch when it searches."""
        epoch = {"index": self._names.state, "id": LIBRARY, "path": "epoch"}
        hidden = {"index": self._names.state, "id": LIBRARY, "path": "hidden.version"}
        return [{"terms": {"epoch": epoch}}, {"bool": {"must_not": [{"terms": {"version": hidden}}]}}]

    def visible_at(self, state: LibraryState) -> list[Json]:
        """Filter clauses for what was to be seen at that state."""
        return [
            {"term": {"epoch": state.epoch}},
            {"bool": {"must_not": [{"terms": {"version": state.hidden_versions}}]}},
        ]

    def begin(self, version: str) -> LibraryState:
        """Lists the version as hidden; its sequence number is of this write alone."""
        return self._update(_BEGIN, {"version": version}, seen=False)

    def heartbeat(self, version: str) -> None:
        """Says that the version's writer is alive."""
        self._update(_HEARTBEAT, {"version": version}, seen=False)

    def change(self, state: LibraryState, *, shown: Sequence[str] = (), hidden: Sequence[str] = ()) -> LibraryState:
        """Shows and hides versions and counts a change, if nothing has changed since `state`.

        Raises:
            Conflict: something has; read the state again and decide anew.
        """
        sequence, term = state.place
        now = self._update(
            _CHANGE,
            {"shown": list(shown), "hidden": list(hidden)},
            {"if_seq_no": str(sequence), "if_primary_term": str(term)},
        )
        if now.epoch != state.epoch:
            # Another index has taken this one's place, whose state has come to the same number by chance. It hides
            # versions that it does not have, which the next sweep forgets.
            raise Conflict(f"Another library is in this one's place at {self._http.url}.", service=SERVICE, url="")
        return now

    def count_change(self) -> LibraryState:
        """Counts a change that shows and hides nothing."""
        return self._update(_CHANGE, {"shown": [], "hidden": []})

    def abandon(self, version: str) -> None:
        """Marks the version as one that nobody writes any more; one that is published stays so."""
        self._update(_ABANDON, {"version": version}, seen=False)

    def forget(self, versions: Sequence[str]) -> None:
        """Takes versions off the list that are all deleted."""
        self._update(_FORGET, {"versions": list(versions)}, seen=False)

    def new_epoch(self, epoch: str) -> LibraryState:
        """From here on nothing that was stored before is seen."""
        return self._update(_NEW_EPOCH, {"epoch": epoch})

    def switching(self, token: str, changes: int) -> bool:
        """Has all writers wait for the switch to another index; false when there were changes after `changes`."""
        return self._update(_SWITCHING, {"token": token, "changes": changes}).switching == token

    def not_switching(self, token: str) -> None:
        """Lets the writers go on."""
        self._update(_NOT_SWITCHING, {"token": token})

    def go_on_from(self, changes: int) -> None:
        """Counts on from there, if it is more than was counted here."""
        self._update(_GO_ON_FROM, {"changes": changes})

    def settled(self) -> LibraryState:
        """The state once no switch to another index is about to happen.

        Who switches and is killed keeps writers waiting for some seconds: then the switch is called off.
        """
        deadline = time.monotonic() + SWITCH_S
        while (state := self.read()).switching:
            if time.monotonic() > deadline:
                call_off(self._http, self._names, state.switching)
                self.not_switching(state.switching)
            self._sleep(0.1)
        return state

    def deciding(self, decide: Callable[[LibraryState], LibraryState]) -> LibraryState:
        """What `decide` gives once no other writer comes in between; it is called again after each that does."""
        for _ in range(_TRIES):
            try:
                return decide(self.settled())
            except Conflict:
                self._sleep(random.uniform(0.0, 0.02))
        raise kept_changing(self._http.url)

    def _update(
        self, script: str, values: Json, params: dict[str, str] | None = None, *, seen: bool = True
    ) -> LibraryState:
        """The state after the script. The list of hidden versions holds at once; `seen`: so does the rest."""
        # Scripts without a condition commute, so the server may try them again after another's.
        options = params or {"retry_on_conflict": "50"}
        told = self._http.call(
            "POST",
            self._update_path,
            params={**TO_ALIAS, **options, "refresh": "true" if seen else "false", "_source": "true"},
            body={"script": {"source": " ".join(script.split()), "lang": "painless", "params": values}},
        )
        return _state(told["get"]["_source"], (told["_seq_no"], told["_primary_term"]))


def no_such_document(document_id: str) -> NotFoundError:
    """The error for an id that no document has."""
    return NotFoundError(f"No document has the id {document_id!r}.", hint="`localrag documents` lists what there is.")


def _state(source: Json, place: tuple[int, int]) -> LibraryState:
    hidden = (Hidden(each["version"], each["at"] / 1000, each["writing"]) for each in source["hidden"])
    switching = source.get("switching", "")
    return LibraryState(source["epoch"], source["sequence"], source["changes"], tuple(hidden), place, switching)


def _milliseconds() -> int:
    return time.time_ns() // 1_000_000
