"""Which implementation stands behind each protocol, made from the settings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from localrag.app.embedders import embedder as embedder
from localrag.app.folders import DataFolders
from localrag.errors import SettingsError, without_password
from localrag.generation.ollama import OllamaLLM
from localrag.generation.tokens import TiktokenCounter
from localrag.index.sqlite import SqliteIndex
from localrag.index.sqlite_successor import files_beside
from localrag.parsing.formats import SUPPORTED_TYPES
from localrag.parsing.isolated import IsolatedParser
from localrag.parsing.programs import find_soffice, find_tesseract
from localrag.parsing.source import Limits, Tools
from localrag.protocols import LLM, Embedder, Library, Reranker, TokenCounter
from localrag.settings import Settings
from localrag.types import IndexHeader

if TYPE_CHECKING:
    from localrag.chunking.split import Chunker

_MEGABYTE = 1024 * 1024


def supported_types() -> str:
    """The extensions of all types that are read, for people."""
    return SUPPORTED_TYPES


def chunker(settings: Settings, embedder: Embedder) -> Chunker:
    """A chunker that measures with the embedder's own tokenizer."""
    from localrag.chunking.split import Chunker  # deferred: only an ingest cuts

    return Chunker(embedder.tokenizer, settings.chunk_tokens, settings.chunk_overlap_tokens)


def index(settings: Settings, embedder: Embedder, *, reset: bool = False) -> Library:
    """The index that the settings name, created when there is none, emptied when `reset`.

    Raises:
        SettingsError: the URL is not of an index this version opens, or OpenSearch does not take the settings.
        IndexMismatchError: it was built with other parameters, and `reset` is off.
        BackendUnavailable: OpenSearch does not answer.
    """
    return open_index(settings.resolved_index_url, settings, header(settings, embedder), reset=reset)


def header(settings: Settings, embedder: Embedder) -> IndexHeader:
    """What the settings ask an index to be built with."""
    return IndexHeader(
        model=embedder.model,
        chunk_tokens=settings.chunk_tokens,
        chunk_overlap_tokens=settings.chunk_overlap_tokens,
    )


def open_index(url: str, settings: Settings, header: IndexHeader, *, reset: bool = False) -> Library:
    """The index at this URL; its name, user and copies are those of the settings. Raises as `index` does."""
    if path := _sqlite_path(url):
        return SqliteIndex.reset(path, header) if reset else SqliteIndex.open(path, header)
    from localrag.index.opensearch import OpenSearchIndex  # deferred: not needed by those who keep a file
    from localrag.index.opensearch_schema import Copies

    make = OpenSearchIndex.reset if reset else OpenSearchIndex.open
    copies = Copies(shards=settings.index_shards, replicas=settings.index_replicas)
    return make(url, settings.index_name, header, copies=copies, **_credentials(settings))


def stored_header(url: str, settings: Settings) -> IndexHeader | None:
    """What the index at this URL was built with; None when there is none. Changes nothing, raises as `index` does."""
    if path := _sqlite_path(url):
        return SqliteIndex.read_header(path)
    from localrag.index.opensearch import OpenSearchIndex  # deferred, as above

    return OpenSearchIndex.read_header(url, settings.index_name, **_credentials(settings))


def own_files(settings: Settings) -> set[Path]:
    """What the library itself writes: `ingest .` beside the data folder must not take it for documents."""
    index = _sqlite_path(settings.resolved_index_url)
    own = (*DataFolders.of(settings).all(), *(files_beside(index) if index else ()))
    return {path.resolve() for path in own}


def _sqlite_path(url: str) -> Path | None:
    """The file of a `sqlite:///` URL, None when it is an OpenSearch address, else SettingsError."""
    scheme, _, path = url.partition(":///")
    if scheme == "sqlite" and path:
        return Path(path)
    if url.startswith(("http://", "https://")):
        return None
    raise SettingsError(
        f"LOCALRAG_INDEX_URL={without_password(url)} is not an index this version opens.",
        hint="Use sqlite:///PATH, or http(s)://HOST:PORT for OpenSearch, or leave it empty for the index in "
        "LOCALRAG_DATA_DIR.",
    )


def _credentials(settings: Settings) -> dict[str, str]:
    return {
        "user": settings.index_user,
        "password": settings.index_password.get_secret_value(),
        "ca_file": settings.index_ca_file,
    }


def llm(settings: Settings) -> LLM:
    """The answering model; nothing is contacted until it is used."""
    return OllamaLLM(
        host=settings.ollama_host,
        model=settings.llm_model,
        timeout_s=settings.llm_timeout_s,
        num_gpu=settings.ollama_num_gpu,
    )


def reranker(settings: Settings) -> Reranker | None:
    """Who reads the best passages again; None when the settings name nobody. Nothing is loaded until it is used."""
    if not settings.reranker:
        return None
    models_dir = DataFolders.of(settings).models
    if settings.reranker == "late-interaction":
        from localrag.embedding.registry import find_model  # deferred: few libraries rerank
        from localrag.reranking.late_interaction import LateInteraction

        model = find_model(settings.embedding_model, models_dir)
        return LateInteraction(model, max_tokens=model.max_tokens)
    if settings.reranker != "ollama":
        from localrag.reranking.registry import NamedReranker  # deferred, as above

        return NamedReranker(settings.reranker, models_dir=models_dir)
    from localrag.reranking.llm_judge import LlmReranker  # deferred, as above

    limit = settings.rerank_timeout_s
    patient = min(settings.llm_timeout_s or limit, limit)
    return LlmReranker(
        llm(settings.model_copy(update={"llm_timeout_s": patient})), context_tokens=_window(settings), timeout_s=limit
    )


def _window(settings: Settings) -> int:
    """The num_ctx that answers ask for."""
    from localrag.answering.context import PromptBuilder  # deferred, as above

    builder = PromptBuilder(
        counter=token_counter(), context_tokens=settings.context_tokens, history_turns=settings.history_turns
    )
    return builder.build("", (), (), fence="").generation.context_tokens


def token_counter() -> TokenCounter:
    """The ruler for prompts."""
    return TiktokenCounter()


def limits(settings: Settings) -> Limits:
    """What one file may cost."""
    return Limits(
        timeout_s=settings.parse_timeout_s,
        memory_mb=settings.parse_memory_mb,
        file_bytes=settings.max_file_mb * _MEGABYTE,
    )


def tools(settings: Settings) -> Tools:
    """What readers may use: text recognition, and the programs that are installed here."""
    return Tools(
        ocr=settings.ocr,
        ocr_language=settings.ocr_language,
        ocr_cache=str(DataFolders.of(settings).ocr.resolve()),
        ocr_page_s=settings.ocr_page_timeout_s,
        tesseract=find_tesseract(),
        soffice=find_soffice(),
    )


def parser(settings: Settings, *, workers: int = 1) -> IsolatedParser:
    """A parser in child processes; none is started before the first file."""
    return IsolatedParser(limits=limits(settings), workers=workers, tools=tools(settings))
