"""Requests to OpenSearch over a transport of the test's own: retries, bounds, and every error in our words."""

from __future__ import annotations

import builtins
import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import opensearchpy
import pytest
from opensearchpy import exceptions as client

from localrag.errors import (
    BackendError,
    BackendTimeout,
    BackendUnavailable,
    IndexMismatchError,
    LocalRagError,
    SettingsError,
    StorageFullError,
    without_password,
)
from localrag.index.content import header_json
from localrag.index.opensearch_errors import Busy, Conflict, Missing, translated
from localrag.index.opensearch_http import Http, batches, connect
from localrag.index.opensearch_schema import SCHEMA_VERSION, Names, require_header, require_opensearch
from localrag.types import EmbeddingModel, IndexHeader

URL = "http://box:9200"
HEADER = IndexHeader(
    model=EmbeddingModel(name="m", revision="r", dimension=4, max_tokens=512), chunk_tokens=256, chunk_overlap_tokens=32
)


class Answers:
    """A transport that gives the answers in turn and keeps what it was asked."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[str, str, Any]] = []

    def perform_request(
        self,
        method: str,
        url: str,
        params: Mapping[str, Any] | None = None,
        body: Any = None,
        timeout: float | None = None,
    ) -> Any:
        self.asked.append((method, url, body))
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def close(self) -> None: ...


def http(*answers: Any) -> tuple[Http, Answers, list[float]]:
    transport, waits = Answers(*answers), list[float]()
    return Http(transport, URL, sleep=waits.append), transport, waits


def error(kind: str, reason: str) -> dict[str, Any]:
    return {"error": {"type": kind, "reason": reason}}


BLOCKED = error(
    "cluster_block_exception",
    "index [x] blocked by: [TOO_MANY_REQUESTS/12/disk usage exceeded flood-stage watermark, "
    "index has read-only-allow-delete block];",
)
TOLD: dict[type[Exception], tuple[Exception, type[LocalRagError], str]] = {
    client.ConnectionError: (
        client.ConnectionError("N/A", "refused", OSError("refused")),
        BackendUnavailable,
        "docker compose up -d opensearch",
    ),
    client.SSLError: (client.SSLError("N/A", "bad", OSError("self-signed")), SettingsError, "LOCALRAG_INDEX_CA_FILE"),
    client.ConnectionTimeout: (client.ConnectionTimeout("TIMEOUT", "slow", OSError("slow")), BackendTimeout, "again"),
    client.NotFoundError: (
        client.NotFoundError(404, "x", error("index_not_found_exception", "no such index [a]")),
        Missing,
        "--reset",
    ),
    client.ConflictError: (client.ConflictError(409, "x", error("version_conflict", "v")), Conflict, ""),
    client.RequestError: (client.RequestError(400, "x", error("parsing_exception", "bad")), BackendError, "log"),
    client.AuthenticationException: (client.AuthenticationException(401, "Unauthorized", {}), SettingsError, "_USER"),
    client.AuthorizationException: (client.AuthorizationException(403, "x", "denied"), SettingsError, "_PASSWORD"),
    client.TransportError: (client.TransportError(429, "x", BLOCKED), StorageFullError, "read_only_allow_delete"),
    client.SerializationError: (client.SerializationError("<html>"), BackendError, "another program"),
    client.ImproperlyConfigured: (client.ImproperlyConfigured("no"), SettingsError, "http(s)://"),
    client.OpenSearchException: (client.OpenSearchException("?"), BackendError, "report"),
    client.OpenSearchDslException: (client.OpenSearchDslException("?"), BackendError, "report"),
    client.UnknownDslObject: (client.UnknownDslObject("?"), BackendError, "report"),
    client.ValidationException: (client.ValidationException("?"), BackendError, "report"),
    client.IllegalOperation: (client.IllegalOperation("?"), BackendError, "report"),
}


def test_every_exception_of_the_client_has_a_translation() -> None:
    defined = {
        each
        for _, each in inspect.getmembers(client, inspect.isclass)
        if issubclass(each, Exception) and not issubclass(each, Warning)
    }
    assert defined == set(TOLD)


@pytest.mark.parametrize("raised", TOLD, ids=lambda each: each.__name__)
def test_an_error_tells_what_to_do(raised: type[Exception]) -> None:
    example, expected, hint = TOLD[raised]
    ours = translated(example, URL)
    assert isinstance(ours, expected)
    assert hint in ours.hint
    assert "box:9200" in ours.message


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_a_busy_server_is_asked_again_with_longer_waits(status: int) -> None:
    busy = client.TransportError(status, "busy", error("es_rejected_execution_exception", "queue full"))
    asked, transport, waits = http(busy, busy, busy, {"done": True})
    assert asked.call("GET", "/x") == {"done": True}
    assert len(transport.asked) == 4
    # 0.1, 0.2, 0.4 s, each times a random 0.5 to 1
    assert 0.05 <= waits[0] <= 0.1
    assert 0.1 <= waits[1] <= 0.2
    assert 0.2 <= waits[2] <= 0.4


def test_a_server_that_stays_busy_or_down_is_given_up() -> None:
    busy = client.TransportError(503, "busy", {})
    asked, transport, _ = http(*[busy] * 20)
    with pytest.raises(Busy):
        asked.call("GET", "/x")
    assert len(transport.asked) == 8
    down = client.ConnectionError("N/A", "refused", OSError("refused"))
    asked, transport, _ = http(*[down] * 20)
    with pytest.raises(BackendUnavailable, match="does not answer"):
        asked.call("GET", "/x")
    assert len(transport.asked) == 4


def test_what_a_retry_cannot_help_is_asked_once() -> None:
    for example in (TOLD[client.RequestError][0], TOLD[client.TransportError][0], TOLD[client.SSLError][0]):
        asked, transport, waits = http(example)
        with pytest.raises(LocalRagError):
            asked.call("GET", "/x")
        assert (len(transport.asked), waits) == (1, [])


def item(identifier: str, status: int, told: Mapping[str, Any] | None = None) -> dict[str, Any]:
    return {"index": {"_id": identifier, "status": status, **(told or {})}}


def actions(*identifiers: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    return [({"index": {"_id": each}}, {"text": each}) for each in identifiers]


def sent(asked: tuple[str, str, Any]) -> list[str]:
    lines = [json.loads(line) for line in asked[2].splitlines()]
    return [line["index"]["_id"] for line in lines if "index" in line]


def test_items_refused_for_load_are_sent_again_alone() -> None:
    full = error("rejected_execution_exception", "queue full")
    some = {"errors": True, "items": [item("a", 201), item("b", 429, full), item("c", 429, full)]}
    asked, transport, waits = http(some, {"errors": False, "items": []})
    asked.bulk(actions("a", "b", "c"))
    assert [sent(each) for each in transport.asked] == [["a", "b", "c"], ["b", "c"]]
    assert len(waits) == 1


def test_a_refused_item_is_named_with_its_reason() -> None:
    bad = error("mapper_parsing_exception", "failed to parse field [embedding]")
    answer = {"errors": True, "items": [item("a", 201), item("chunk-7", 400, bad)]}
    asked, _, _ = http(answer)
    with pytest.raises(BackendError, match=r"did not store 1 entries.*chunk-7.*failed to parse field"):
        asked.bulk(actions("a", "chunk-7"))


def test_a_full_disk_in_a_bulk_answer_is_told_as_such() -> None:
    asked, transport, _ = http({"errors": True, "items": [item("a", 429, BLOCKED)]})
    with pytest.raises(StorageFullError, match="takes no writes"):
        asked.bulk(actions("a"))
    assert len(transport.asked) == 1


def test_ignored_statuses_are_as_good_as_success() -> None:
    asked, _, _ = http({"errors": True, "items": [item("a", 404), item("b", 200)]})
    asked.bulk(actions("a", "b"), ignore=frozenset({404}))


def test_batches_are_bounded_by_count_and_bytes() -> None:
    many = actions(*(str(number) for number in range(2_500)))
    assert [len(batch) for batch in batches(many)] == [1_000, 1_000, 500]
    large = [({"index": {}}, {"text": "x" * 2_000_000}) for _ in range(5)]
    # 2 MB each: two are within 5 MB, three are not
    assert [len(batch) for batch in batches(large)] == [2, 2, 1]
    (alone,) = batches([({"index": {}}, {"text": "x" * 9_000_000})])
    assert len(alone) == 1


def test_one_failed_search_fails_the_whole() -> None:
    failed = {"status": 400, **error("search_phase_execution_exception", "all shards failed")}
    asked, _, _ = http({"responses": [{"hits": {}}, failed]})
    with pytest.raises(BackendError, match="all shards failed"):
        asked.searches([("a", {}), ("b", {})])


def test_a_search_whose_node_ended_is_asked_again() -> None:
    gone = {"type": "node_disconnected_exception", "reason": "[b][127.0.0.1:9301][search[phase/fetch/id]] disconnected"}
    whole = {"type": "search_phase_execution_exception", "reason": "Partial shards failure", "root_cause": [gone]}
    asked, transport, _ = http({"responses": [{"status": 500, "error": whole}]}, {"responses": [{"hits": {}}]})
    assert asked.search("a", {}) == {"hits": {}}
    assert len(transport.asked) == 2
    fault = {"type": "null_pointer_exception", "reason": "?"}
    asked, transport, _ = http({"responses": [{"status": 500, "error": {**whole, "root_cause": [fault]}}]})
    with pytest.raises(BackendError, match="HTTP 500"):
        asked.search("a", {})
    assert len(transport.asked) == 1


def test_a_search_that_lost_a_shard_is_asked_again() -> None:
    lost = {"status": 503, **error("search_phase_execution_exception", "no shard available")}
    asked, transport, _ = http({"responses": [lost]}, {"responses": [{"hits": {"total": 1}}]})
    assert asked.search("a", {}) == {"hits": {"total": 1}}
    assert json.loads(transport.asked[0][2].splitlines()[0])["allow_partial_search_results"] is False


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({"version": {"distribution": "opensearch", "number": "1.3.19"}}, "opensearch .version 1.3.19"),
        ({"version": {"number": "8.15.0", "lucene_version": "9"}}, "like Elasticsearch .version 8.15.0"),
        ({"hello": "world"}, "not a search server"),
        ({"couchdb": "Welcome", "version": "3.3.2"}, "not a search server .version 3.3.2"),
        ("<html>", "not a search server"),
    ],
)
def test_another_server_or_version_is_refused(told: object, said: str) -> None:
    with pytest.raises(SettingsError, match=said) as caught:
        require_opensearch(http(told)[0])
    assert "LOCALRAG_INDEX_URL" in caught.value.hint


def test_a_supported_version_passes() -> None:
    require_opensearch(http({"version": {"distribution": "opensearch", "number": "2.19.1"}})[0])


def test_a_missing_knn_plugin_is_told() -> None:
    reason = "No handler for type [knn_vector] declared on field [embedding]"
    refused = client.RequestError(400, "x", error("mapper_parsing_exception", reason))
    ours = translated(refused, URL)
    assert isinstance(ours, SettingsError)
    assert "k-NN plugin" in ours.message


def mapping(meta: object) -> dict[str, Any]:
    return {"lib-content-000001": {"mappings": {"_meta": {} if meta is None else {"localrag": meta}}}}


def test_another_programs_index_is_left_alone() -> None:
    asked, transport, _ = http(mapping(None))
    with pytest.raises(IndexMismatchError, match="another program and was left alone"):
        require_header(asked, Names("lib"), HEADER)
    assert [each[0] for each in transport.asked] == ["GET"]


@pytest.mark.parametrize(
    ("field", "told"),
    [
        ({"type": "float"}, "float of no dimensions"),
        ({"type": "knn_vector", "dimension": 8}, "knn_vector of 8 dimensions"),
        (None, "nothing of no dimensions"),
    ],
)
def test_a_mapping_that_does_not_fit_is_refused(field: dict[str, Any] | None, told: str) -> None:
    found = mapping({"schema": SCHEMA_VERSION, "header": header_json(HEADER), "analysis": ""})
    properties = {"terms": {"type": "text"}} | ({"embedding": field} if field else {})
    found["lib-content-000001"]["mappings"]["properties"] = properties
    with pytest.raises(IndexMismatchError, match=told) as caught:
        require_header(http(found)[0], Names("lib"), HEADER)
    assert caught.value.expected == "knn_vector of 4 dimensions"


def test_another_schema_version_is_refused() -> None:
    later = {"schema": SCHEMA_VERSION + 1, "header": "{}", "analysis": ""}
    with pytest.raises(IndexMismatchError, match=f"schema version {SCHEMA_VERSION + 1}"):
        require_header(http(mapping(later))[0], Names("lib"), HEADER)


def test_a_missing_library_names_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    real: Callable[..., Any] = builtins.__import__

    def without(name: str, *arguments: Any, **options: Any) -> Any:
        if name == "opensearchpy":
            raise ImportError(name)
        return real(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(SettingsError) as caught:
        connect(URL, user="", password="", ca_file="", timeout_s=1)
    assert "pip install 'localrag[opensearch]'" in caught.value.hint


def test_a_wrong_ca_file_is_a_setting() -> None:
    with pytest.raises(SettingsError, match=r"LOCALRAG_INDEX_CA_FILE=nowhere\.pem cannot be used .*No such file"):
        connect("https://box:9200", user="a", password="b", ca_file="nowhere.pem", timeout_s=1)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://ann:secret@box:9200", "https://ann:…@box:9200"),
        ("https://ann:s@cret@box:9200", "https://ann:…@box:9200"),
        ("https://ann:s@a:9200,https://bob:t@b:9200", "https://ann:…@a:9200,https://bob:…@b:9200"),
        ("http://box:9200", "http://box:9200"),
    ],
)
def test_a_password_in_the_address_is_not_shown(url: str, shown: str) -> None:
    assert without_password(url) == shown


def test_the_client_is_the_one_that_was_tried() -> None:
    # the classes above are of this major version; another one is to be looked through again
    versions: Sequence[int] = opensearchpy.VERSION
    assert versions[0] in (2, 3)
