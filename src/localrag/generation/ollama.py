"""A chat model behind an Ollama server."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from localrag.errors import BackendError, BackendTimeout, BackendUnavailable, ModelMissing, without_password
from localrag.generation.thinking import ThinkingFilter
from localrag.protocols import Generation
from localrag.types import Check, Message

if TYPE_CHECKING:
    import ollama

SERVICE = "Ollama"
# Reaching the socket is not what a slow model delays; a host that drops packets would else hang for minutes.
_CONNECT_TIMEOUT_S = 5.0
# Health checks wait no longer than this: the server answers them at once even while it generates.
_CHECK_TIMEOUT_S = 5.0
# Ollama sends a token a part and stops at `num_predict`; a server that does neither must not fill the memory.
_MOST_PARTS = 4
# Equal prompts give equal answers.
_SEED = 0


class OllamaLLM:
    """Streams replies of one model.

    Args:
        host: URL of the server, such as `http://127.0.0.1:11434`.
        model: name as `ollama list` prints it; without a tag, `:latest` is meant.
        timeout_s: how long to wait for the first token and then for each next one; 0 waits for ever. It bounds
            silence, not the whole reply: a slow model that keeps writing is never cut off.
        num_gpu: layers to put on the GPU, sent with every request when set (0 keeps small GPUs out of it).
        keep_alive: how long the server keeps the model in memory after a reply.
    """

    def __init__(
        self,
        *,
        host: str,
        model: str,
        timeout_s: float = 120.0,
        num_gpu: int | None = None,
        keep_alive: str = "10m",
    ) -> None:
        self._host = host
        self._shown = without_password(host)
        self._model = model
        self._timeout_s = timeout_s
        self._num_gpu = num_gpu
        self._keep_alive = keep_alive
        self._connected: ollama.Client | None = None

    @property
    def name(self) -> str:
        return self._model

    def stream(self, messages: Sequence[Message], generation: Generation) -> Iterator[str]:
        """Pieces of the reply as they come, thinking left out.

        Raises:
            BackendUnavailable, BackendTimeout, ModelMissing, BackendError: what came so far stays valid.
        """
        thinking = ThinkingFilter()
        try:
            for text in self._contents(messages, generation):
                if shown := thinking.feed(text):
                    yield shown
        except _foreign_errors() as error:
            raise self._translated(error) from error
        if shown := thinking.close():
            yield shown

    def check(self) -> list[Check]:
        """Whether the server answers, has the model, and is on this machine."""
        try:
            version, installed = self._inventory()
        except _foreign_errors() as error:
            problem = self._translated(error)
            return [Check(name=SERVICE, ok=False, detail=problem.message, hint=problem.hint), *self._locality()]
        return [
            Check(name=SERVICE, ok=True, detail=f"Version {version} answers at {self._shown}."),
            self._model_check(installed),
            *self._locality(),
        ]

    def close(self) -> None:
        """Closes the connection; a later call opens a new one."""
        if self._connected is not None:
            self._connected.close()  # type: ignore[no-untyped-call]
            self._connected = None

    def _contents(self, messages: Sequence[Message], generation: Generation) -> Iterator[str]:
        """The text of each part as the server sends it. The model's `thinking` field is not read."""
        finished = False
        most = _MOST_PARTS * generation.max_tokens
        parts = self._client().chat(
            model=self._model,
            messages=[{"role": message.role, "content": message.content} for message in messages],
            stream=True,
            think=False,  # quoting from passages gains nothing from it, and on a CPU it takes minutes
            options=self._options(generation),
            keep_alive=self._keep_alive,
        )
        for count, part in enumerate(_checked(parts), start=1):
            if count > most:
                raise self._failed(f"{SERVICE} at {self._shown} did not stop after {generation.max_tokens} tokens.")
            finished = finished or bool(part.done)
            if part.message.content:
                yield part.message.content
        if not finished:
            raise BackendError(
                f"{SERVICE} at {self._shown} ended the reply before it was complete.",
                service=SERVICE,
                url=self._shown,
                hint="Ask again; the log of `ollama serve` says more.",
            )

    def _options(self, generation: Generation) -> dict[str, Any]:
        options: dict[str, Any] = {
            # Always sent: without it Ollama cuts the prompt at its default (2048 or 4096) and says nothing.
            "num_ctx": generation.context_tokens,
            "num_predict": generation.max_tokens,
            "temperature": generation.temperature,
            "seed": _SEED,
        }
        if self._num_gpu is not None:
            options["num_gpu"] = self._num_gpu
        return options

    def _client(self) -> ollama.Client:
        if self._connected is None:
            import httpx  # deferred with ollama
            import ollama  # deferred: 0.4 s, and commands that only search never need it

            silence = self._timeout_s or None
            self._connected = ollama.Client(
                host=self._host,
                timeout=httpx.Timeout(silence, connect=_CONNECT_TIMEOUT_S),
                trust_env=False,  # a proxy from the environment would carry the user's documents away
                follow_redirects=False,  # and so would a redirect
            )
        return self._connected

    def _inventory(self) -> tuple[str, list[str]]:
        """The server's version and the names of its models."""
        import httpx  # deferred with ollama

        url = self._host.rstrip("/")
        with httpx.Client(timeout=_CHECK_TIMEOUT_S, trust_env=False) as client:
            version = client.get(f"{url}/api/version").raise_for_status().json()
            tags = client.get(f"{url}/api/tags").raise_for_status().json()
        if not isinstance(version, dict) or not isinstance(tags, dict):
            raise ValueError("the replies of /api/version and /api/tags are no JSON objects")
        entries = tags.get("models") or []
        names = [str(entry.get("name", "")) for entry in entries if isinstance(entry, dict)]
        return str(version.get("version", "unknown")), names

    def _model_check(self, installed: Sequence[str]) -> Check:
        if _with_tag(self._model) in map(_with_tag, installed):
            return Check(name="Language model", ok=True, detail=f"{self._model} is installed.")
        problem = self._model_missing()
        return Check(name="Language model", ok=False, detail=problem.message, hint=problem.hint)

    def _locality(self) -> list[Check]:
        """A warning when questions and passages leave this machine; nothing when they do not."""
        try:
            hostname = urlsplit(self._host).hostname or ""
        except ValueError:  # no URL: nothing can be sent there, and the server check says so
            return []
        if _is_loopback(hostname):
            return []
        return [
            Check(
                name="Privacy",
                ok=False,
                detail=f"{SERVICE} runs on another machine ({hostname}): questions and passages are sent there.",
                hint="Set OLLAMA_HOST=http://127.0.0.1:11434 to keep them on this one.",
            )
        ]

    def _translated(self, error: Exception) -> BackendError:
        """The error in our words; every class of httpx and ollama has its place here (a test enumerates them)."""
        import httpx  # deferred with ollama
        import ollama  # deferred, see _client

        match error:
            case BackendError():
                return error
            case ollama.ResponseError() if error.status_code == 404 or _names_missing_model(error.error):
                return self._model_missing()
            case ollama.ResponseError():
                status = f" (status {error.status_code})" if error.status_code > 0 else ""
                return self._failed(f"{SERVICE} at {self._shown} reports: {error.error}{status}")
            case httpx.ConnectError() | httpx.ConnectTimeout() | ConnectionError():
                return BackendUnavailable(
                    f"{SERVICE} is not running at {self._shown}.",
                    service=SERVICE,
                    url=self._shown,
                    hint="Start it with: ollama serve",
                )
            case httpx.TimeoutException():
                return BackendTimeout(
                    f"{SERVICE} at {self._shown} was silent for {self._timeout_s:g} s.",
                    service=SERVICE,
                    url=self._shown,
                    hint="Set LOCALRAG_LLM_TIMEOUT_S higher (0 = no limit), or choose a smaller model.",
                )
            case _:
                reason = str(error) or type(error).__name__
                return self._failed(f"{SERVICE} at {self._shown} failed: {reason}")

    def _failed(self, message: str) -> BackendError:
        hint = "Ask again; the log of `ollama serve` says more."
        return BackendError(message, service=SERVICE, url=self._shown, hint=hint)

    def _model_missing(self) -> ModelMissing:
        return ModelMissing(
            f"{SERVICE} at {self._shown} does not have the model {self._model}.",
            service=SERVICE,
            url=self._shown,
            hint=f"Get it with: ollama pull {self._model}",
        )


def _foreign_errors() -> tuple[type[Exception], ...]:
    """Bases of all that httpx and ollama raise; ValueError covers replies that are no JSON or not of its shape."""
    import httpx  # deferred with ollama
    import ollama  # deferred, see OllamaLLM._client

    return (
        httpx.HTTPError,
        httpx.InvalidURL,
        httpx.StreamError,
        httpx.CookieConflict,
        ollama.ResponseError,
        ollama.RequestError,
        OSError,
        ValueError,
    )


def _checked(parts: Iterator[ollama.ChatResponse]) -> Iterator[ollama.ChatResponse]:
    """The parts; a line of JSON that is no object, on which ollama's client stumbles, is a ValueError."""
    try:
        yield from parts
    except (AttributeError, TypeError) as error:
        raise ValueError("a part of the reply is no JSON object") from error


def _names_missing_model(message: str) -> bool:
    return "model" in message.lower() and "not found" in message.lower()


def _with_tag(model: str) -> str:
    """The name as Ollama lists it: `llama3` is `llama3:latest`; a registry's port is no tag."""
    return model if ":" in model.rpartition("/")[2] else f"{model}:latest"


def _is_loopback(hostname: str) -> bool:
    if hostname == "localhost":
        return True
    try:
        return ipaddress.ip_address(hostname).is_loopback
    except ValueError:  # a name that must be resolved is another machine as far as we know
        return False
