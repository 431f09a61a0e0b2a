"""The library as a Python object: what the command line and the app call, and so can you."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Self

from localrag.app import wiring
from localrag.app.asking import Asking
from localrag.app.asking import Scope as Scope
from localrag.app.folders import DataFolders
from localrag.app.upkeep import Upkeep
from localrag.errors import DocumentError, EmptyDocument
from localrag.library.catalog import Catalog, Deletion
from localrag.library.embedding_queue import EmbeddingQueue, EmbedProgress
from localrag.library.files import discover, document_id, file_uri, printable, upload_uri, write_atomically
from localrag.library.ingest import FileSource, Ingestor, Outcome, display_name
from localrag.library.labels import checked_labels
from localrag.library.markdown_files import MarkdownFiles
from localrag.parsing.isolated import IsolatedParser
from localrag.protocols import LLM, Embedder, Library, PagePicture, Reranker
from localrag.settings import Settings, load_settings
from localrag.types import (
    Answer,
    Document,
    DocumentId,
    Failure,
    IndexStats,
    Message,
    Page,
    Ranking,
)

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestReport:
    """What became of every file, in the order they were found."""

    outcomes: tuple[Outcome, ...]
    seconds: float

    def count(self, status: str) -> int:
        """How many outcomes have this status."""
        return sum(outcome.status == status for outcome in self.outcomes)


class RAG(Upkeep):
    """A library of documents that can be asked. Open it, use it from any thread, close it.

    with RAG.open() as rag:
        rag.ingest("contracts/")
        print(rag.ask("When does the lease end?").text)
    """

    def __init__(
        self,
        settings: Settings,
        *,
        index: Library,
        embedder: Embedder,
        llm: LLM | None,
        parser: IsolatedParser,
        reranker: Reranker | None = None,
    ) -> None:
        super().__init__(settings, index=index, embedder=embedder, llm=llm, reranker=reranker)
        self._parser = parser
        folders = DataFolders.of(settings)
        self._uploads = folders.uploads
        self._markdown = MarkdownFiles(folders.markdown)
        self._catalog = Catalog(index=index, markdown=self._markdown, uploads=self._uploads)
        self._asking = Asking(
            settings, index=index, embedder=embedder, llm=llm, catalog=self._catalog, reranker=reranker
        )

    # ------------------------------------------------------------------ life

    @classmethod
    def open(
        cls,
        settings: Settings | None = None,
        *,
        jobs: int = 1,
        reset: bool = False,
        preload: bool = False,
        embedder: Embedder | None = None,
        llm: LLM | None = None,
        reranker: Reranker | None = None,
        **overrides: object,
    ) -> RAG:
        """A library on the settings' index, created when there is none.

        Args:
            settings: by default those of the environment and `.env`; `overrides` name single settings.
            jobs: how many files are parsed at once.
            reset: drop the documents first, whatever model or chunk size the index was built with.
            preload: load the embedding model in the background at once, for a question that is sure to come.
            embedder, llm, reranker: used in place of those that the settings name.

        Raises:
            IndexMismatchError: the index was built with other parameters; nothing was touched.
            SettingsError, ModelError, StorageFullError: as their messages say.
        """
        settings = settings or load_settings(**overrides)
        embedder = embedder or wiring.embedder(settings, preload=preload)
        return cls(
            settings,
            index=wiring.index(settings, embedder, reset=reset),
            embedder=embedder,
            llm=llm or wiring.llm(settings),
            parser=wiring.parser(settings, workers=jobs),
            reranker=reranker or wiring.reranker(settings),
        )

    def close(self) -> None:
        """Ends the parser processes and closes the index."""
        self._parser.close()
        self._index.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # ---------------------------------------------------------------- ingest

    def ingest(
        self,
        *paths: str | Path,
        force: bool = False,
        tags: Mapping[str, str] | None = None,
        collection: str | None = None,
        jobs: int = 1,
        embed: bool = True,
        on_file: Callable[[Outcome], None] = lambda _: None,
        on_embed: Callable[[EmbedProgress], None] = lambda _: None,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> IngestReport:
        """Takes files and whole folders into the library; one bad file never stops the rest.

        The text of every file is committed first and can be found by keyword at once; then, with `embed`, the
        vectors are made. Cancelled or killed, what was done stays, and the next call goes on from there.
        """
        started = datetime.now(UTC)
        tags, collection = checked_labels(tags, collection)
        self._markdown.sweep({document.content_hash for document in self._index.documents()})

        def take(path: Path, error: DocumentError | None) -> Outcome | None:
            if cancelled():
                return None
            source = FileSource(
                path=path, uri=file_uri(path), name=display_name(path), tags=tags, collection=collection
            )
            outcome = self._ingestor.fail(source, error) if error else self._ingestor.ingest(source, force=force)
            on_file(outcome)
            return outcome

        found = discover([Path(path) for path in paths], passed_over=wiring.own_files(self.settings))
        with ThreadPoolExecutor(max_workers=max(1, jobs), thread_name_prefix="ingest") as pool:
            results = pool.map(lambda item: take(item.path, item.error), found)
            outcomes = tuple(outcome for outcome in results if outcome is not None)
        if embed and not cancelled():
            self.embed_pending(progress=on_embed, cancelled=cancelled)
        return IngestReport(outcomes=outcomes, seconds=(datetime.now(UTC) - started).total_seconds())

    def ingest_bytes(
        self,
        content: bytes,
        name: str,
        *,
        force: bool = False,
        tags: Mapping[str, str] | None = None,
        collection: str | None = None,
    ) -> Outcome:
        """Takes one upload into the library; its bytes are kept under their hash. Does not embed: see `embed_pending`.

        An upload of a name that is there already replaces it; the same bytes under another name are not stored again.
        """
        shown = printable(name)
        tags, collection = checked_labels(tags, collection)
        source = FileSource(
            path=self._uploads / hashlib.sha256(content).hexdigest(),
            uri=upload_uri(shown),
            name=shown,
            tags=tags,
            collection=collection,
        )
        if not content:
            error = EmptyDocument(f"{shown} is empty (0 bytes).", path=shown, hint="Check the original.")
            return self._ingestor.fail(source, error)
        earlier = self._index.get_document(document_id(source.uri))
        write_atomically(source.path, content)
        outcome = self._ingestor.ingest(source, force=force)
        self._catalog.drop_unused_uploads({source.path.name} | ({earlier.content_hash} if earlier else set()))
        return outcome

    def embed_pending(
        self,
        *,
        progress: Callable[[EmbedProgress], None] = lambda _: None,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> EmbedProgress:
        """Makes the vectors that are still missing; see EmbeddingQueue.drain.

        Ends by overwriting what replaced and deleted documents left in the file, a good moment for slow work.
        """
        queue = EmbeddingQueue(index=self._index, embedder=self._embedder)
        final = queue.drain(progress=progress, cancelled=cancelled)
        self._index.purge()
        return final

    def pending_count(self) -> int:
        """How many distinct texts have no vector yet."""
        return self._index.pending_count()

    # ------------------------------------------------------------- questions

    def search(
        self,
        query: str,
        *,
        top_k: int | None = None,
        semantic: float | None = None,
        scope: Scope | None = None,
        rerank: bool | None = None,
    ) -> Ranking:
        """The best chunks for the query. Nothing found is an empty ranking.

        Raises:
            NotFoundError: the scope names a document that is not in the library.
            SettingsError: `rerank` is on, and the settings name no reranker.
        """
        return self._asking.search(query, top_k=top_k, semantic=semantic, scope=scope, rerank=rerank)

    def ask_stream(
        self,
        question: str,
        *,
        history: Sequence[Message] = (),
        top_k: int | None = None,
        semantic: float | None = None,
        scope: Scope | None = None,
        use_llm: bool = True,
        rerank: bool | None = None,
        fresh: bool = False,
    ) -> Iterator[str | Answer]:
        """Pieces of the answer as they come, then the whole checked Answer as the last item; arguments as for `ask`."""
        return self._asking.stream(
            question,
            history=history,
            top_k=top_k,
            semantic=semantic,
            scope=scope,
            use_llm=use_llm,
            rerank=rerank,
            fresh=fresh,
        )

    def ask(
        self,
        question: str,
        *,
        history: Sequence[Message] = (),
        top_k: int | None = None,
        semantic: float | None = None,
        scope: Scope | None = None,
        use_llm: bool = True,
        rerank: bool | None = None,
        fresh: bool = False,
    ) -> Answer:
        """The cited answer. Without a model, or with `use_llm` off, the best sentences are quoted instead.

        Args:
            fresh: work it out even where the same question was answered before and nothing has changed since.

        Raises:
            NotFoundError: the scope names a document that is not in the library.
            SettingsError: `rerank` is on, and the settings name no reranker.
        """
        *_, answer = self.ask_stream(
            question,
            history=history,
            top_k=top_k,
            semantic=semantic,
            scope=scope,
            use_llm=use_llm,
            rerank=rerank,
            fresh=fresh,
        )
        if not isinstance(answer, Answer):
            raise AssertionError("the answer stream ended without an Answer")
        return answer

    # --------------------------------------------------------------- catalog

    def documents(self) -> list[Document]:
        """All documents, by name."""
        return self._index.documents()

    def failures(self) -> list[Failure]:
        """Files whose last attempt failed and what to do about each."""
        return self._index.failures()

    def dismiss_failure(self, uri: str) -> None:
        """Forgets a failed attempt."""
        self._index.clear_failure(uri)

    def stats(self) -> IndexStats:
        """Counts of what is there now."""
        return self._index.stats()

    def change_counter(self) -> int:
        """Grows with every change of the library; equal values mean equal contents."""
        return self._index.change_counter()

    def find(self, id_or_name: str) -> list[Document]:
        """The document with this id, or else all with this name."""
        return self._catalog.find(id_or_name)

    def get(self, id_or_name: str) -> Document:
        """The one document with this id or name; NotFoundError when there is none, or the name is ambiguous."""
        return self._catalog.get(id_or_name)

    def delete(self, id_or_name: str) -> Deletion:
        """Removes all trace of the document; see Catalog.delete."""
        return self._catalog.delete(id_or_name)

    def pages(self, document_id: DocumentId) -> list[Page]:
        """The Markdown the index holds for this document, page by page."""
        return self._index.pages(document_id)

    def pages_numbered(self, document_id: DocumentId, number: int) -> list[Page]:
        """The pages with this number, or, where the format has no page numbers, the one at this position."""
        pages = self._index.pages(document_id)
        return [page for page in pages if page.number == number] or [
            page for page in pages if page.number is None and page.ordinal == number
        ]

    def page_picture(self, document_id: DocumentId, *, page: int, quote: str) -> PagePicture:
        """The PDF page as a picture with the quote marked.

        Raises:
            NotFoundError: no such document, or its file is gone or has changed since it was indexed.
            DocumentError: the page cannot be drawn.
        """
        document = self._catalog.get(document_id)
        return self._parser.render(self._catalog.source(document), name=document.name, page=page, quote=quote)

    # --------------------------------------------------------- conversations

    def save_conversation(self, conversation_id: str, turns_json: str) -> None:
        """Keeps a conversation across browser refreshes."""
        self._index.save_conversation(conversation_id, turns_json)

    def load_conversation(self, conversation_id: str) -> str | None:
        """The conversation as it was saved, or None."""
        return self._index.load_conversation(conversation_id)

    def delete_conversation(self, conversation_id: str) -> None:
        """Forgets the conversation."""
        self._index.delete_conversation(conversation_id)

    # --------------------------------------------------------------- private

    @cached_property
    def _ingestor(self) -> Ingestor:
        return Ingestor(
            index=self._index,
            parser=self._parser,
            chunker=wiring.chunker(self.settings, self._embedder),
            markdown=self._markdown,
            uploads=self._uploads,
            max_file_bytes=wiring.limits(self.settings).file_bytes,
            now=lambda: datetime.now(UTC),
        )
