"""Requests to OpenSearch: one place that retries, bounds and translates."""

from __future__ import annotations

import json
import logging
import random
import ssl
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

from localrag.errors import (
    BackendError,
    BackendTimeout,
    BackendUnavailable,
    LocalRagError,
    SettingsError,
    without_password,
)
from localrag.index.opensearch_errors import INSTALL_HINT, SERVICE, Busy, Missing, refused, translated

Json: TypeAlias = dict[str, Any]
Action: TypeAlias = tuple[Json, Json]

# A bulk request of some megabytes is where throughput stops growing (OpenSearch documentation, "Index tuning");
# both bounds keep one request far below its limit of 100 MB and the memory of either side small.
BULK_BYTES = 5_000_000
BULK_ACTIONS = 1_000

_ATTEMPTS = {Busy: 8, BackendUnavailable: 4, BackendTimeout: 2}
_FIRST_WAIT_S = 0.1
_LONGEST_WAIT_S = 5.0
# A write of one entry to a library that was deleted must not make an index of the alias's name, which nobody could
# then make the library under.
TO_ALIAS = {"require_alias": "true"}
# How long a look at a single node may take.
_PROBE_S = 3.0


class Transport(Protocol):
    """The one method of opensearch-py that is used; tests put their own here."""

    def perform_request(
        self,
        method: str,
        url: str,
        params: Mapping[str, Any] | None = None,
        body: Any = None,
        timeout: int | float | None = None,
    ) -> Any: ...

    def close(self) -> Any: ...


def connect(
    url: str, *, user: str, password: str, ca_file: str, timeout_s: float = 60.0, connections: int = 16
) -> Transport:
    """The client's transport; nothing is contacted yet.

    Args:
        url: one address, or several of one cluster separated by commas.
        user, password: both empty when the cluster asks for none.
        ca_file: certificate authorities to trust in place of the system's; empty: the system's.
        timeout_s: how long one request may take.
        connections: kept open to each address, for as many threads.

    Raises:
        SettingsError: opensearch-py is not installed, or a setting cannot be used.
    """
    try:
        from opensearchpy import OpenSearch  # an optional extra, and slow to import
    except ImportError as error:
        raise SettingsError(
            f"LOCALRAG_INDEX_URL={without_password(url)} needs the library opensearch-py, which is not installed.",
            hint=INSTALL_HINT,
        ) from error
    # It warns of every answer but success, of which many are expected here; all are raised, so nothing is lost.
    logging.getLogger("opensearch").setLevel(logging.CRITICAL)
    extra: dict[str, Any] = {"http_auth": (user, password)} if user else {}
    if ca_file:
        extra["ca_certs"] = _require_certificates(ca_file)
    hosts = [part.strip() for part in url.split(",") if part.strip()]
    if any(host.startswith("https://") for host in hosts):
        extra["verify_certs"] = True
    try:
        client = OpenSearch(hosts, timeout=timeout_s, max_retries=0, pool_maxsize=connections, **extra)
    except Exception as error:  # whatever it finds wrong with a setting: it has no class of its own for that
        raise SettingsError(
            f"LOCALRAG_INDEX_URL={without_password(url)} cannot be used ({type(error).__name__}).",
            hint="Use http(s)://HOST:PORT.",
        ) from error
    made: Transport = client.transport
    return made


def _require_certificates(ca_file: str) -> str:
    """The file, or SettingsError when it holds no certificates."""
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(ca_file)
    except OSError as error:  # of which the errors of TLS are a kind
        raise SettingsError(
            f"LOCALRAG_INDEX_CA_FILE={ca_file} cannot be used ({error}).",
            hint="Name a PEM file of certificates, or leave it empty for those of the system.",
        ) from error
    return ca_file


class Http:
    """Requests with retries. Every request that is sent can be sent twice: writes name their ids."""

    def __init__(self, transport: Transport, url: str, *, sleep: Callable[[float], None] = time.sleep) -> None:
        self.url = without_password(url)
        self._transport = transport
        self._sleep = sleep

    def close(self) -> None:
        """Closes the connections."""
        self._transport.close()

    def call(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        body: object = None,
        timeout_s: float | None = None,
    ) -> Any:
        """The answer's JSON.

        Raises:
            LocalRagError: as `translated` says, after the retries that can help.
        """
        return self._retried(lambda: self._once(method, path, params, body, timeout_s))

    def silent(self) -> list[str]:
        """Those of several addresses at which no node answers now; with a single one there is nobody else to ask."""
        from opensearchpy import TransportError  # as in `connect`

        pool = getattr(self._transport, "connection_pool", None)
        found = []
        for node in getattr(pool, "orig_connections", ()):
            try:
                node.perform_request("GET", "/", timeout=_PROBE_S)
            except TransportError:
                found.append(without_password(node.host))
        return sorted(found)

    def get(self, path: str, **options: Any) -> Any:
        """The answer's JSON, or None when there is no such thing."""
        try:
            return self.call("GET", path, **options)
        except Missing:
            return None

    def search(self, index: str, body: Json) -> Json:
        """The answer to one search over all shards."""
        return self.searches([(index, body)])[0]

    def searches(self, asked: Sequence[tuple[str, Json]]) -> list[Json]:
        """The answers to all searches, in one request; a part that failed fails the whole."""
        lines = []
        for index, body in asked:
            # Answers that lack a shard would be taken for answers.
            lines.append(json.dumps({"index": index, "allow_partial_search_results": False}))
            lines.append(json.dumps(body))
        text = "\n".join(lines) + "\n"

        def ask() -> list[Json]:
            answers: list[Json] = self._once("POST", "/_msearch", None, text, None)["responses"]
            for answer in answers:
                if "error" in answer:
                    raise refused(int(answer.get("status", 500)), answer["error"], self.url)
            return answers

        answered: list[Json] = self._retried(ask)
        return answered

    def bulk(
        self,
        actions: Iterable[Action],
        *,
        ignore: frozenset[int] = frozenset(),
        before_batch: Callable[[], None] = lambda: None,
        refresh: bool = False,
    ) -> None:
        """Performs all actions, a bounded batch at a time; items that were refused for load are sent again.

        Args:
            actions: pairs of action line and source.
            ignore: statuses of items that are as good as success.
            before_batch: called before each request.
            refresh: make what the last request wrote searchable, and all before it in the same shard.

        Raises:
            StorageFullError: it takes no writes.
            BackendError: naming the items that failed, and why.
        """
        last: list[str] = []
        for batch in batches(actions):
            if last:
                before_batch()
                self._bulk_batch(last, ignore, refresh=False)
            last = batch
        if last:
            before_batch()
            self._bulk_batch(last, ignore, refresh=refresh)

    def _bulk_batch(self, batch: list[str], ignore: frozenset[int], *, refresh: bool) -> None:
        left = batch
        params = {**TO_ALIAS, "refresh": "true" if refresh else "false"}

        def send() -> None:
            nonlocal left
            answer = self._once("POST", "/_bulk", params, "".join(left), None)
            if not answer["errors"]:
                return
            again: list[str] = []
            failed: list[tuple[str, LocalRagError]] = []
            for lines, item in zip(left, answer["items"], strict=True):
                (result,) = item.values()
                if result["status"] < 300 or result["status"] in ignore:
                    continue
                error = refused(result["status"], result.get("error", ""), self.url)
                if isinstance(error, Busy):
                    again.append(lines)
                failed.append((str(result["_id"]), error))
            left = again
            if failed:
                self._raise_items(failed)

        self._retried(send)

    def _raise_items(self, failed: list[tuple[str, LocalRagError]]) -> None:
        """Raises the worst of them: one that a retry cannot help before one that it can."""
        lasting = [(name, error) for name, error in failed if not isinstance(error, Busy)]
        if not lasting:
            raise failed[0][1]
        named = "; ".join(f"{name}: {error.message}" for name, error in lasting[:3])
        first = lasting[0][1]
        if not isinstance(first, BackendError):
            raise first
        raise BackendError(
            f"{SERVICE} at {self.url} did not store {len(lasting)} entries ({named}).",
            service=SERVICE,
            url=self.url,
            hint=first.hint,
        )

    def _once(
        self, method: str, path: str, params: Mapping[str, str] | None, body: object, timeout_s: float | None
    ) -> Any:
        text = body if isinstance(body, str) or body is None else json.dumps(body)
        try:
            return self._transport.perform_request(
                method, path, params=dict(params or {}), body=text, timeout=timeout_s
            )
        except Exception as error:  # every class of the client is told apart in `translated`
            raise translated(error, self.url) from error

    def _retried(self, action: Callable[[], Any]) -> Any:
        attempt, wait = 1, _FIRST_WAIT_S
        while True:
            try:
                return action()
            except (BackendUnavailable, BackendTimeout) as error:
                if attempt >= _ATTEMPTS[type(error)]:
                    raise
            # Many clients that were refused together must not come back together.
            self._sleep(wait * random.uniform(0.5, 1.0))
            attempt, wait = attempt + 1, min(wait * 2, _LONGEST_WAIT_S)


def batches(actions: Iterable[Action]) -> Iterator[list[str]]:
    """The actions as lines, in lists within `BULK_ACTIONS` and `BULK_BYTES` (a single larger action goes alone)."""
    batch: list[str] = []
    size = 0
    for action, source in actions:
        # Escaped to ASCII, which keeps half surrogate pairs that UTF-8 has no bytes for.
        lines = f"{json.dumps(action)}\n{json.dumps(source)}\n"
        if batch and (len(batch) >= BULK_ACTIONS or size + len(lines) > BULK_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(lines)
        size += len(lines)
    if batch:
        yield batch
