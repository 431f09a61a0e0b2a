"""The indices of a library in OpenSearch: names, mappings, and the header that says what it was built with.

    {name}-content  alias of {name}-content-000001, …  documents, pages and chunks, with text and vectors
    {name}-state    alias of {name}-state-000001       the library's state, failures, leases, conversations

An index that is being built beside it for other parameters has the next number, and aliases that end in `-next`.

All of a document lives in one index and, by routing, in one shard. Text is indexed as the terms of our own analyser,
not by the engine's language analysers: a search then means the same in every backend (the contract tests compare
scores), one field serves every language and script, and the index holds each text once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from localrag.errors import IndexMismatchError, SettingsError
from localrag.index import bm25
from localrag.index.analysis import analysis_version
from localrag.index.content import (
    REINGEST_HINT,
    header_from_json,
    header_json,
    rebuild_hint,
    require_same_header,
)
from localrag.index.opensearch_errors import Exists, Missing
from localrag.index.opensearch_http import Http, Json
from localrag.types import IndexHeader

SCHEMA_VERSION = 1
OLDEST_VERSION = 2
LIBRARY = "library"  # the id of the entry with the library's state

_KEYWORDS = ("kind", "epoch", "version", "document", "id", "text_hash", "language", "content_hash", "media_type")
_FILTERS = ("tags", "collections", "readable_by")
_NUMBERS = ("position", "text_order", "length", "chunk_count", "indexed_at")


@dataclass(frozen=True, slots=True)
class Names:
    """What the indices of one library are called; `ending` tells those that are being built from those in use."""

    name: str
    ending: str = ""

    @property
    def content(self) -> str:
        """The alias that is read and written."""
        return f"{self.name}-content{self.ending}"

    @property
    def state(self) -> str:
        """The alias that is read and written."""
        return f"{self.name}-state{self.ending}"

    @property
    def next(self) -> Names:
        """The names of the indices that are being built beside these."""
        return Names(self.name, "-next")

    def physical(self, kind: str, number: int) -> str:
        """The index behind the alias of `content` or `state`."""
        return f"{self.name}-{kind}-{number:06d}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Copies:
    """How the content is spread: shards are fixed when an index is created."""

    shards: int = 1
    replicas: int = 0


def require_opensearch(http: Http) -> None:
    """Nothing, or SettingsError when what answers is not OpenSearch, or too old."""
    told = http.call("GET", "/")
    version = told.get("version") if isinstance(told, dict) else None
    if not isinstance(version, dict):  # of other servers that speak JSON it is a text
        version = {"number": version or "unknown"}
    number = str(version.get("number", "unknown"))
    if version.get("distribution") == "opensearch" and int(number.split(".")[0]) >= OLDEST_VERSION:
        return
    product = version.get("distribution") or ("a server like Elasticsearch" if "lucene_version" in version else "")
    raise SettingsError(
        f"What answers at {http.url} is {product or 'not a search server'} (version {number}).",
        hint=f"Set LOCALRAG_INDEX_URL to OpenSearch {OLDEST_VERSION}.0 or newer; docker-compose.yml starts one.",
    )


def stored_header(http: Http, names: Names) -> IndexHeader | None:
    """What the library was built with; None when there is none yet.

    Raises:
        IndexMismatchError: the index is another program's, or of another schema version.
    """
    found = http.get(f"/{names.content}/_mapping")
    if not found:
        return None
    metas = [index["mappings"].get("_meta", {}).get("localrag") for index in found.values()]
    meta = metas[0]
    if meta is None or len(metas) != 1:
        raise IndexMismatchError(
            f"The index {names.content} at {http.url} is of another program and was left alone.",
            expected="a localrag index",
            found=", ".join(sorted(found)),
            hint="Set LOCALRAG_INDEX_NAME or LOCALRAG_INDEX_URL to another place.",
        )
    if meta["schema"] != SCHEMA_VERSION:
        raise IndexMismatchError(
            f"{names.content} at {http.url} has index schema version {meta['schema']}, "
            f"this release reads version {SCHEMA_VERSION}.",
            expected=f"schema version {SCHEMA_VERSION}",
            found=f"schema version {meta['schema']}",
            hint=f"Use the release that made it, or {REINGEST_HINT}.",
        )
    header = header_from_json(meta["header"])
    (mapping,) = found.values()
    _require_vector_field(http, names, mapping["mappings"].get("properties", {}), header)
    return header


def _require_vector_field(http: Http, names: Names, properties: Json, header: IndexHeader) -> None:
    """Nothing, or IndexMismatchError: a copy made without our mapping takes or finds nothing."""
    field = properties.get("embedding", {})
    found = f"{field.get('type', 'nothing')} of {field.get('dimension', 'no')} dimensions"
    expected = f"knn_vector of {header.model.dimension} dimensions"
    if found != expected or "terms" not in properties:
        raise IndexMismatchError(
            f"The mappings of {names.content} at {http.url} do not fit the library ({found} for its vectors).",
            expected=expected,
            found=found,
            hint="Restore the index with its own mapping, or set LOCALRAG_INDEX_NAME to another name and ingest there.",
        )


def require_header(http: Http, names: Names, expected: IndexHeader, hint: Callable[[], str] = rebuild_hint) -> None:
    """Nothing, or IndexMismatchError naming every difference from the stored header, and `hint`."""
    found = stored_header(http, names)
    if found is not None:
        require_same_header(f"The index {names.content} at {http.url}", expected, found, hint)


def stored_analysis(http: Http, names: Names) -> str:
    """The version of the analyser that wrote the terms."""
    (index,) = http.call("GET", f"/{names.content}/_mapping").values()
    return str(index["mappings"]["_meta"]["localrag"]["analysis"])


def mark_analysis(http: Http, names: Names, header: IndexHeader) -> None:
    """Says that all terms are of the present analyser."""
    http.call("PUT", f"/{names.content}/_mapping", body={"_meta": _meta(header)})


def create_state(http: Http, names: Names, copies: Copies, number: int = 1) -> None:
    """The state index, when there is none yet."""
    settings = {"number_of_shards": 1, "number_of_replicas": copies.replicas, "refresh_interval": -1}
    mappings = {"dynamic": False, "properties": {"kind": {"type": "keyword"}}}
    body = {"settings": settings, "mappings": mappings, "aliases": {names.state: {}}}
    _create(http, names.physical("state", number), body)


def create_content(http: Http, names: Names, header: IndexHeader, copies: Copies, number: int) -> str:
    """A new empty index of content, not yet behind the alias; its name."""
    settings: Json = {
        "number_of_shards": copies.shards,
        "number_of_replicas": copies.replicas,
        # Each write says itself when it is to be seen.
        "refresh_interval": -1,
        "index.knn": True,
        "similarity": {"plain": {"type": "BM25", "k1": bm25.K1, "b": bm25.B}},
    }
    template = {"settings": settings, "mappings": _content_mappings(header)}
    # The template keeps indices that others make under this pattern, a restore or a reindex, of the same mapping.
    http.call(
        "PUT",
        f"/_index_template/{names.name}-content",
        body={"index_patterns": [f"{names.name}-content-*"], "priority": 500, "template": template},
    )
    name = names.physical("content", number)
    _create(http, name, template)
    return name


def point_content_at(http: Http, names: Names, physical: str) -> None:
    """Moves the alias to this index and drops the index it was at, in one step that no search can see half of."""
    before = http.get(f"/_alias/{names.content}") or {}
    actions: list[Json] = [{"remove_index": {"index": old}} for old in before if old != physical]
    actions.append({"add": {"index": physical, "alias": names.content}})
    http.call("POST", "/_aliases", body={"actions": actions})


def drop_unused(http: Http, names: Names) -> None:
    """Deletes content indices that no alias points at: what a kill between two steps left."""
    found = http.get(f"/{names.content}-*/_alias") or {}
    for name, told in found.items():
        if not told["aliases"]:
            http.call("DELETE", f"/{name}")


def marker(names: Names, token: str) -> str:
    """An alias that the switch to another index takes along, and cannot happen without."""
    return f"{names.name}-switch-{token}"


def call_off(http: Http, names: Names, token: str) -> None:
    """Makes sure that the switch of this token does not happen any more, if it has not yet."""
    try:
        http.call("DELETE", f"/{names.name}-content-*/_alias/{marker(names, token)}")
    except Missing:
        return  # it has happened, or was called off


def drop_next(http: Http, names: Names) -> None:
    """Deletes the indices that are being built beside those in use."""
    for alias in (names.next.content, names.next.state):
        for physical in http.get(f"/_alias/{alias}") or {}:
            http.call("DELETE", f"/{physical}", params={"ignore_unavailable": "true"})


def drop_library(http: Http, names: Names) -> None:
    """Deletes all indices of the library and its template, if they are ours."""
    stored_header(http, names)
    indices = http.get(f"/{names.content}-*,{names.state}-*/_alias") or {}
    if indices:
        http.call("DELETE", f"/{','.join(indices)}")
    if http.get(f"/_index_template/{names.content}"):
        http.call("DELETE", f"/_index_template/{names.content}")


def _content_mappings(header: IndexHeader) -> Json:
    vector = {
        "type": "knn_vector",
        "dimension": header.model.dimension,
        "method": {"name": "hnsw", "space_type": "cosinesimil", "engine": "lucene"},
    }
    properties: dict[str, Any] = {
        **{field: {"type": "keyword"} for field in (*_KEYWORDS, *_FILTERS)},
        **{field: {"type": "long"} for field in _NUMBERS},
        "embedded": {"type": "boolean"},
        "embedding": vector,
        "terms": {"type": "text", "analyzer": "whitespace", "similarity": "plain", "index_options": "freqs"},
        # What is given back as it is, and never searched.
        "payload": {"type": "object", "enabled": False},
    }
    return {"dynamic": False, "_meta": _meta(header), "properties": properties}


def _meta(header: IndexHeader) -> Json:
    told = {"schema": SCHEMA_VERSION, "header": header_json(header), "analysis": analysis_version()}
    return {"localrag": told}


def _create(http: Http, name: str, body: Json) -> None:
    """Creates the index; that another process has just done so is as good."""
    if http.get(f"/{name}/_settings"):
        return
    try:
        http.call("PUT", f"/{name}", body=body, params={"wait_for_active_shards": "1"})
    except Exists:
        return
