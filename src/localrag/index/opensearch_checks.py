"""Whether the library in OpenSearch agrees with itself, and what of it can be built anew."""

from __future__ import annotations

from collections.abc import Iterator

from localrag.errors import LocalRagError
from localrag.index.content import chunk_terms, unfinished_rebuild
from localrag.index.opensearch_entries import chunk_of, routing, term_fields
from localrag.index.opensearch_errors import SERVICE, SPACE_HINT
from localrag.index.opensearch_filters import Query
from localrag.index.opensearch_http import Action, Http
from localrag.index.opensearch_reads import Reads
from localrag.index.opensearch_schema import Names
from localrag.index.opensearch_state import State
from localrag.types import Check

REPAIR_HINT = "Run `localrag health --repair`, which rebuilds what is derived from the stored text."
_CHUNK: Query = {"term": {"kind": "chunk"}}
_DOCUMENT: Query = {"term": {"kind": "document"}}


def run_checks(http: Http, names: Names, state: State, reads: Reads, *, deep: bool) -> list[Check]:
    """The checks that could be run; a service that does not answer is the last."""
    checks: list[Check] = []
    try:
        checks.append(_health(http, names, http.silent()))
        checks.extend(_blocks(http, names))
        checks.extend(_counts(reads, deep=deep))
        checks.append(_hidden(http, names, state))
        if successor := http.get(f"/_alias/{names.next.content}"):
            checks.append(unfinished_rebuild(", ".join(sorted(successor))))
    except LocalRagError as error:
        checks.append(Check(name="index", ok=False, detail=error.message, hint=error.hint))
    return checks


def rewrite_terms(http: Http, names: Names, reads: Reads) -> None:
    """The terms of every chunk that is to be seen, as the present analyser makes them."""

    def actions() -> Iterator[Action]:
        fields = ["id", "document", "version", "position", "payload"]
        for source in reads.entries([_CHUNK], sort="id", fields=fields):
            identifier = f"{source['version']}-chunk-{source['position']}"
            action = {"_index": names.content, "_id": identifier, "routing": routing(source["document"])}
            terms = chunk_terms(chunk_of(source), source["payload"]["name"])
            yield {"update": {**action, "retry_on_conflict": 5}}, {"doc": term_fields(terms)}

    http.bulk(actions(), ignore=frozenset({404}))  # 404: its document was replaced or deleted meanwhile
    http.call("POST", f"/{names.content}/_refresh")


def _health(http: Http, names: Names, silent: list[str]) -> Check:
    """The state of the cluster. Yellow is no fault, as all is there and answers, but its hint is to be read."""
    told = http.call("GET", f"/_cluster/health/{names.content},{names.state}")
    status = told["status"]
    detail = (
        f"{SERVICE} at {http.url}: {status}, {told['number_of_data_nodes']} data nodes, "
        f"{told['active_shards']} shards, {told['unassigned_shards']} without a node"
    )
    if silent:
        detail += f", no answer from {', '.join(silent)}"
    hint = {
        "green": f"Start the node at {', '.join(silent)}, or take it out of LOCALRAG_INDEX_URL." if silent else "",
        "yellow": "All is there and can be searched, but not every copy: start the missing nodes. On a single node "
        f'keep no copies: `PUT /{names.content},{names.state}/_settings {{"index.number_of_replicas": 0}}`.',
    }.get(status, "Part of the library cannot be read: start the missing nodes. What is stored on them is not lost.")
    return Check(name="index", ok=status != "red", detail=detail, hint=hint)


def _blocks(http: Http, names: Names) -> Iterator[Check]:
    """A failed check for each index that takes no writes: OpenSearch sets the block itself when its disk is full."""
    found = http.call("GET", f"/{names.content},{names.state}/_settings", params={"flat_settings": "true"})
    for name, told in sorted(found.items()):
        blocks = sorted(
            key for key, value in told["settings"].items() if key.startswith("index.blocks.") and value == "true"
        )
        if blocks:
            yield Check(name="writes", ok=False, detail=f"{name} takes none ({', '.join(blocks)})", hint=SPACE_HINT)


def _counts(reads: Reads, *, deep: bool) -> Iterator[Check]:
    chunks = reads.count(_CHUNK)
    findable = reads.count(_CHUNK, {"exists": {"field": "terms"}})
    wordless = reads.count(_CHUNK, {"term": {"length": 0}})
    same = chunks == findable + wordless
    detail = f"{findable + wordless} of {chunks} chunks findable by keyword"
    yield Check(name="keyword index", ok=same, detail=detail, hint="" if same else REPAIR_HINT)
    bare = reads.count(
        _CHUNK, {"term": {"embedded": True}}, {"bool": {"must_not": [{"exists": {"field": "embedding"}}]}}
    )
    yield Check(
        name="vectors",
        ok=not bare,
        detail=f"{bare} chunks marked as embedded without a vector",
        hint=REPAIR_HINT if bare else "",
    )
    wrong = _documents_with_missing_chunks(reads) if deep else None
    if wrong is None:
        documents = reads.count(_DOCUMENT)
        yield Check(name="documents", ok=True, detail=f"{documents} documents, {chunks} chunks")
        return
    hint = "Ingest these files again with --force." if wrong else ""
    told = f"{len(wrong)} documents whose chunks are not all there" + (f": {', '.join(wrong[:3])}" if wrong else "")
    yield Check(name="chunk counts", ok=not wrong, detail=told, hint=hint)


def _documents_with_missing_chunks(reads: Reads) -> list[str]:
    present = reads.counts([_CHUNK], "version")
    fields = ["version", "chunk_count", "payload"]
    sources = reads.entries([_DOCUMENT], sort="document", fields=fields)
    return [
        source["payload"]["name"] for source in sources if source["chunk_count"] != present.get(source["version"], 0)
    ]


def _hidden(http: Http, names: Names, state: State) -> Check:
    """Not a fault: the next write or `purge` deletes it, and no search sees it."""
    now = state.read()
    strays = {"query": {"bool": {"must_not": [{"term": {"epoch": now.epoch}}]}}}
    left = http.call("POST", f"/{names.content}/_count", body=strays)["count"]
    told = f"{len(now.hidden)} versions hidden until they are deleted, {left} entries of an emptied library"
    return Check(name="deleted text", ok=True, detail=told if now.hidden or left else "no trace of deleted text")
