"""Another index beside the one in use, and the switch from one to the other.

The successor is a whole library under aliases of its own, content and state. The switch moves both aliases in one
request, which the cluster performs as one step: searches see the old index or the new one, and a kill at any moment
leaves the old one. Before it all writers are made to wait: the state says so, which every write looks at. Should
they wait for one that was killed, the first takes away the alias that the switch cannot happen without, and goes on.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable

from localrag.index.opensearch_errors import Missing
from localrag.index.opensearch_http import Http, Json
from localrag.index.opensearch_notes import Notes
from localrag.index.opensearch_schema import Copies, Names, call_off, create_content, create_state, marker
from localrag.index.opensearch_state import GRACE_S, State
from localrag.types import IndexHeader


def create_next(http: Http, names: Names, header: IndexHeader, copies: Copies, state: State) -> None:
    """An empty index of these parameters under the aliases of what is being built."""
    number = 1 + max(int(state.read().epoch), *_numbers(http, names))
    following = names.next
    create_state(http, following, copies, number)
    # Its epoch differs from that of the index in use: by that everybody notices the switch.
    State(http, following).create(epoch=str(number))
    physical = create_content(http, following, header, copies, number)
    # The alias comes last: what has it is whole.
    add = {"add": {"index": physical, "alias": following.content}}
    http.call("POST", "/_aliases", body={"actions": [add]})


def switch(
    http: Http,
    names: Names,
    state: State,
    notes: Notes,
    seen: int,
    *,
    sleep: Callable[[float], None] = time.sleep,
) -> bool:
    """Puts the successor in the place of the index in use; false when that has changed since `seen`."""
    following = State(http, names.next)
    (new_content,) = http.call("GET", f"/_alias/{names.next.content}")
    token = uuid.uuid4().hex
    mark = {"index": new_content, "alias": marker(names, token)}
    http.call("POST", "/_aliases", body={"actions": [{"add": mark}]})
    try:
        if not state.switching(token, seen):
            return False
        # Searches that began before they could see the word, and writes of conversations, are over by then.
        sleep(GRACE_S)
        following.go_on_from(seen)
        notes.copy_to(names.next)
        return _move(http, names, token, new_content)
    finally:
        # After the switch there is neither any more; else the old index goes on.
        call_off(http, names, token)
        state.not_switching(token)


def _move(http: Http, names: Names, token: str, new_content: str) -> bool:
    """Whether the aliases are at the new indices, and the old ones are gone."""
    (new_state,) = http.call("GET", f"/_alias/{names.next.state}")
    aliases = http.call("GET", f"/{new_content}/_alias")[new_content]["aliases"]
    required = marker(names, token)
    actions: list[Json] = [
        {"remove": {"index": new_content, "alias": required, "must_exist": True}},
        *({"remove": {"index": new_content, "alias": alias}} for alias in aliases if alias != required),
        {"remove": {"index": new_state, "alias": names.next.state}},
    ]
    for alias, new in ((names.content, new_content), (names.state, new_state)):
        actions += [{"remove_index": {"index": old}} for old in http.call("GET", f"/_alias/{alias}")]
        actions.append({"add": {"index": new, "alias": alias}})
    try:
        http.call("POST", "/_aliases", body={"actions": actions})
    except Missing:
        # It was called off, or done by a request whose answer was lost.
        return new_content in (http.get(f"/_alias/{names.content}") or {})
    return True


def _numbers(http: Http, names: Names) -> list[int]:
    """The numbers of all indices of the library."""
    found = http.get(f"/{names.name}-content-*,{names.name}-state-*/_alias") or {}
    endings = [name.rpartition("-")[2] for name in found]
    return [0, *(int(ending) for ending in endings if ending.isdecimal())]
