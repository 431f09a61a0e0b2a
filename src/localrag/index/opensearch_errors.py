"""What goes wrong between us and OpenSearch, in localrag's own errors with the next step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from localrag.errors import (
    BackendError,
    BackendTimeout,
    BackendUnavailable,
    LocalRagError,
    SettingsError,
    StorageFullError,
)

SERVICE = "OpenSearch"
INSTALL_HINT = "Install it: `pip install 'localrag[opensearch]'`."
START_HINT = (
    "Start it (`docker compose up -d opensearch`, or `bash scripts/services/opensearch.sh start`), or correct "
    "LOCALRAG_INDEX_URL. Nothing is lost: what was stored is still there once it answers."
)
SPACE_HINT = (
    "Free disk space on its machine and lift the block (`PUT /_all/_settings "
    '{"index.blocks.read_only_allow_delete": null}`), then try again. What is stored can still be searched.'
)
TLS_HINT = "If it speaks TLS, write https:// in LOCALRAG_INDEX_URL; else look whether it has just ended, and its log."
_NODES_HINT = (
    "Start the nodes of the cluster that do not run; `localrag health` names them. What is stored on them is not lost."
)
# What a server that expects TLS does with a request that is not, as Python's http client tells it.
_HUNG_UP = ("RemoteDisconnected", "BadStatusLine", "Connection reset", "closed connection")
_WITHOUT_NODES = frozenset(
    {
        "cluster_manager_not_discovered_exception",
        "master_not_discovered_exception",
        "no_shard_available_action_exception",
        "search_phase_execution_exception",
        "unavailable_shards_exception",
    }
)
# A node that ends in the middle of a request makes it fail with 500; asked again, the other copies answer.
_NODE_GONE = frozenset({"node_disconnected_exception", "node_not_connected_exception", "node_closed_exception"})
_RETRYABLE = frozenset({429, 502, 503, 504})


class Conflict(BackendError):
    """Another writer was faster; read again and decide anew."""


class Exists(BackendError):
    """The index is there already; another process was faster."""


class Missing(BackendError):
    """The index or the entry is not there."""


class Busy(BackendUnavailable):
    """It asks to be asked again later (429), or part of the cluster is not ready (502, 503, 504)."""


def kept_changing(url: str) -> BackendTimeout:
    """The error for a reader or writer that others overtook every time."""
    return BackendTimeout(
        f"Other writers kept changing the library in {SERVICE} at {url}.", service=SERVICE, url=url, hint="Try again."
    )


def translated(error: Exception, url: str) -> LocalRagError:
    """The error of opensearch-py as one of ours.

    Args:
        error: whatever the client raised.
        url: the address, for the message.
    """
    from opensearchpy import exceptions as client  # the caller's optional library; loaded when an error is here

    if isinstance(error, client.SSLError):
        return _not_trusted(_short(error.error), url)
    if isinstance(error, client.ConnectionTimeout):
        return BackendTimeout(
            f"{SERVICE} at {url} did not answer in time.",
            service=SERVICE,
            url=url,
            hint="Try again; if it stays so, look at its load and log.",
        )
    if isinstance(error, client.ConnectionError):
        told = _short(error.error)
        hung_up = url.startswith("http://") and any(word in told for word in _HUNG_UP)
        hint = TLS_HINT if hung_up else START_HINT
        return BackendUnavailable(f"{SERVICE} does not answer at {url} ({told}).", service=SERVICE, url=url, hint=hint)
    if isinstance(error, client.TransportError):
        status = error.status_code if isinstance(error.status_code, int) else 500
        told = error.info.get("error", error.error) if isinstance(error.info, Mapping) else error.error
        return refused(status, told, url)
    if isinstance(error, client.SerializationError):
        return BackendError(
            f"What answers at {url} does not speak JSON as {SERVICE} does.",
            service=SERVICE,
            url=url,
            hint="Check LOCALRAG_INDEX_URL: another program may listen there.",
        )
    if isinstance(error, client.ImproperlyConfigured):
        return SettingsError(
            f"LOCALRAG_INDEX_URL={url} cannot be used ({_short(error)}).", hint="Use http(s)://HOST:PORT."
        )
    return BackendError(
        f"The client library of {SERVICE} at {url} failed ({type(error).__name__}: {_short(error)}).",
        service=SERVICE,
        url=url,
        hint="This is a fault of localrag or of opensearch-py; please report it.",
    )


def _not_trusted(told: str, url: str) -> SettingsError:
    """The error for a TLS connection that did not come about."""
    if "WRONG_VERSION_NUMBER" in told or "record layer" in told:
        return SettingsError(f"What answers at {url} does not speak TLS.", hint="Write http:// in LOCALRAG_INDEX_URL.")
    if "mismatch" in told.lower() or "doesn't match" in told:
        return SettingsError(
            f"The certificate of {SERVICE} at {url} is for another name ({told}).",
            hint="Write the host in LOCALRAG_INDEX_URL as the certificate has it.",
        )
    return SettingsError(
        f"The certificate of {SERVICE} at {url} was not accepted ({told}).",
        hint="Set LOCALRAG_INDEX_CA_FILE to the file of the authority that signed it.",
    )


def refused(status: int, told: object, url: str) -> LocalRagError:
    """The error for an answer with this status, whole or of one item of a bulk or multi search.

    Args:
        status: the HTTP status.
        told: its `error`: an object with `type` and `reason`, or a text.
        url: the address, for the message.
    """
    kind, reason = _kind_and_reason(told)
    if status == 500 and _NODE_GONE & {str(cause.get("type")) for cause in _causes(told)}:
        status = 503
    if _is_out_of_space(kind, reason):
        return StorageFullError(f"{SERVICE} at {url} takes no writes ({_short(reason)}).", hint=SPACE_HINT)
    if status in (401, 403):
        return SettingsError(
            f"{SERVICE} at {url} refused the user or password (HTTP {status}).",
            hint="Set LOCALRAG_INDEX_USER and LOCALRAG_INDEX_PASSWORD to a user that may manage these indices.",
        )
    if "knn_vector" in reason or "index.knn" in reason:
        return SettingsError(
            f"{SERVICE} at {url} has no k-NN plugin ({_short(reason)}).",
            hint="Use a distribution that has it: the official image does, its -min variant does not.",
        )
    if kind == "resource_already_exists_exception":
        return Exists(f"{SERVICE} at {url} has it already ({_short(reason)}).", service=SERVICE, url=url)
    known: dict[int, type[BackendError]] = {404: Missing, 409: Conflict, **dict.fromkeys(_RETRYABLE, Busy)}
    hints = {
        404: "If its indices were deleted by hand, `localrag ingest PATH... --reset --yes` makes them anew.",
        413: "Raise `http.max_content_length` in its settings.",
    }
    hint = hints.get(status, "Try again in a moment." if status in _RETRYABLE else "Its log tells more.")
    if status == 503 and kind in _WITHOUT_NODES:
        hint = _NODES_HINT
    return known.get(status, BackendError)(
        f"{SERVICE} at {url} answered HTTP {status} ({kind}: {_short(reason)}).", service=SERVICE, url=url, hint=hint
    )


def _kind_and_reason(told: object) -> tuple[str, str]:
    """Type and reason, with the first root cause when there is one: a failed search hides the reason there."""
    if not isinstance(told, Mapping):
        return "error", str(told)
    kind, reasons = str(told.get("type", "error")), [str(told.get("reason", ""))]
    for cause in _causes(told)[1:]:
        if str(cause.get("reason", "")) not in reasons:
            reasons.append(str(cause.get("reason", "")))
    return kind, ": ".join(reason for reason in reasons if reason)


def _causes(told: object) -> list[Mapping[str, Any]]:
    """The error and those that it names as its causes."""
    if not isinstance(told, Mapping):
        return []
    every = [told, *told.get("root_cause", []), told.get("caused_by")]
    return [cause for cause in every if isinstance(cause, Mapping)]


def _is_out_of_space(kind: str, reason: str) -> bool:
    if "No space left on device" in reason:
        return True
    return kind == "cluster_block_exception" and any(
        word in reason for word in ("read-only", "read_only", "disk usage")
    )


def _short(told: object) -> str:
    text = " ".join(str(told).split())
    return text if len(text) <= 300 else f"{text[:300]}…"
