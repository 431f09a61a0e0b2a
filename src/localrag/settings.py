"""Settings: the only module that reads the environment and `.env`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from localrag.errors import SettingsError


class Settings(BaseSettings):
    """All that a user can set, validated whole. Units are in the names.

    Environment names carry the prefix `LOCALRAG_`, except Ollama's own `OLLAMA_HOST` and `OLLAMA_NUM_GPU`.
    """

    model_config = SettingsConfigDict(
        env_prefix="LOCALRAG_",
        env_file=".env",
        env_file_encoding="utf-8",
        env_ignore_empty=True,
        extra="ignore",
        frozen=True,
        populate_by_name=True,
    )

    data_dir: Path = Path("data")
    index_url: str = ""
    index_name: str = Field(default="localrag", pattern=r"^[a-z0-9][a-z0-9_-]*$")
    index_user: str = ""
    index_password: SecretStr = SecretStr("")
    index_ca_file: str = ""
    index_shards: Annotated[int, Field(ge=1, le=1024)] = 1
    index_replicas: Annotated[int, Field(ge=0, le=100)] = 0

    embedding_model: str = "bge-small-en-v1.5"
    chunk_tokens: Annotated[int, Field(ge=48, le=8192)] = 256
    chunk_overlap_tokens: Annotated[int, Field(ge=0, le=4096)] = 32

    top_k: Annotated[int, Field(ge=1, le=100)] = 8
    semantic: Annotated[float, Field(ge=0.0, le=1.0)] = 0.5
    fusion: Literal["rrf", "blend"] = "blend"
    reranker: str = ""
    rerank: bool = False
    rerank_timeout_s: Annotated[float, Field(gt=0.0, le=3600.0)] = 30.0

    context_tokens: Annotated[int, Field(ge=256, le=131072)] = 3000
    history_turns: Annotated[int, Field(ge=0, le=100)] = 6
    llm_model: str = "llama3.2:3b"
    llm_timeout_s: Annotated[float, Field(ge=0.0, allow_inf_nan=False)] = 120.0
    ollama_host: str = Field(default="http://127.0.0.1:11434", validation_alias="OLLAMA_HOST")
    ollama_num_gpu: int | None = Field(default=None, validation_alias="OLLAMA_NUM_GPU")

    parse_timeout_s: Annotated[float, Field(gt=0.0, le=86_400.0)] = 120.0
    parse_memory_mb: Annotated[int, Field(ge=256, le=1_048_576)] = 2048
    max_file_mb: Annotated[int, Field(ge=1)] = 512

    ocr: Literal["auto", "builtin", "tesseract", "off"] = "auto"
    ocr_language: str = Field(default="", pattern=r"^([A-Za-z_]{3,16}(\+[A-Za-z_]{3,16})*)?$")
    ocr_page_timeout_s: Annotated[float, Field(gt=0.0, le=3600.0)] = 60.0

    @field_validator("ollama_host")
    @classmethod
    def _with_scheme(cls, value: str) -> str:
        """Ollama accepts `127.0.0.1:11434`, `0.0.0.0` and URLs; a client needs a URL it can connect to."""
        url = value if "://" in value else f"http://{value}"
        scheme, _, rest = url.partition("://")
        authority, slash, path = rest.partition("/")
        if authority.rpartition(":")[0] == "" or authority.endswith("]"):
            authority += ":11434"
        if authority.startswith("0.0.0.0:"):
            authority = authority.replace("0.0.0.0", "127.0.0.1", 1)
        url = f"{scheme}://{authority}{slash}{path}".rstrip("/")
        if scheme not in ("http", "https") or not urlsplit(url).hostname or urlsplit(url).port is None:
            raise ValueError("this is no http address, such as http://127.0.0.1:11434")
        return url

    @model_validator(mode="after")
    def _overlap_leaves_room(self) -> Settings:
        if self.chunk_overlap_tokens * 2 > self.chunk_tokens:
            raise ValueError("LOCALRAG_CHUNK_OVERLAP_TOKENS must be at most half of LOCALRAG_CHUNK_TOKENS")
        return self

    @model_validator(mode="after")
    def _rerank_by_something(self) -> Settings:
        if self.rerank and not self.reranker:
            raise ValueError(
                "LOCALRAG_RERANK=true needs LOCALRAG_RERANKER: late-interaction, ollama, or a model of "
                "`localrag models list`"
            )
        return self

    @property
    def resolved_index_url(self) -> str:
        """The index URL; by default the embedded index inside `data_dir`."""
        return self.index_url or f"sqlite:///{self.data_dir / 'localrag.db'}"


def load_settings(**overrides: object) -> Settings:
    """Settings from arguments, then the environment, then `.env`, then defaults.

    Raises:
        SettingsError: naming each variable that is wrong, its value and what is accepted.
    """
    try:
        return Settings(**overrides)  # type: ignore[arg-type]
    except ValidationError as error:
        lines = [f"{_variable(item['loc'])}: {item['msg']} (found {item['input']!r})" for item in error.errors()]
        raise SettingsError(
            "A setting cannot be used: " + "; ".join(lines) + ".",
            hint="Correct it in the environment or in .env (see .env.example).",
        ) from error


def _variable(location: tuple[int | str, ...]) -> str:
    name = str(location[0]) if location else "settings"
    return name if name.isupper() else f"LOCALRAG_{name.upper()}"
