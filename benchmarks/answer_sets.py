"""Questions for measuring answers and refusals, with what the default search finds for each.

An article of a set is one document and each of its paragraphs a page, so that a citation can be held against its page.
Embedding is remembered (vector_cache) and so are the rankings, in the folder that is given.
"""

from __future__ import annotations

import hashlib
import json
import pickle
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from retrieval import BENCH, open_index
from vector_cache import CachedEmbedder

from localrag.chunking.split import Chunker
from localrag.embedding.registry import create_embedder
from localrag.index.sqlite import SqliteIndex
from localrag.library.embedding_queue import EmbeddingQueue
from localrag.library.files import document_id
from localrag.protocols import Embedder, Vectors
from localrag.retrieval.hybrid import Retriever
from localrag.settings import Settings, load_settings
from localrag.types import Chunk, Document, DocumentId, Page, Query, Ranking

Place = tuple[DocumentId, int]
"""A document and the ordinal of its page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A question and its ranking.

    gold: the pages that hold the answer; empty for a question that no page answers.
    answers: gold answers, each as good as the others; empty where the set has none.
    """

    id: str
    question: str
    gold: frozenset[Place] = frozenset()
    answers: tuple[str, ...] = ()
    ranking: Ranking


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerSet:
    """A set's questions by kind, and its pages.

    answerable: with their pages in the library. unanswerable: written about a page that does not answer them.
    removed: the answerable ones again, each with its whole document out of the library.
    """

    answerable: tuple[Case, ...]
    unanswerable: tuple[Case, ...]
    removed: tuple[Case, ...]
    pages: Mapping[Place, Page]

    def page(self, document: DocumentId, ordinal: int) -> Page | None:
        """The page, as an Answerer looks it up."""
        return self.pages.get((document, ordinal))


@dataclass(frozen=True, slots=True)
class _Article:
    document: Document
    pages: tuple[Page, ...]
    chunks: tuple[Chunk, ...]


def load(
    name: str, *, scratch: Path, semantic: float = 0.5, top_k: int = 8, bench: Path = BENCH, limit: int = 10_000
) -> AnswerSet:
    """The set with the rankings of the default search; made once and then read from `scratch`.

    Args:
        limit: at most so many questions of each kind, drawn with a fixed seed.
    """
    kept = scratch / f"{name}-{semantic}-{top_k}-{limit}.pickle"
    if not kept.is_file():
        settings = load_settings()
        models = settings.data_dir / "models"
        embedder = CachedEmbedder(create_embedder(settings.embedding_model, models_dir=models), scratch / "vectors.db")
        made = _made(bench / name, settings, embedder, Query(text="", top_k=top_k, semantic=semantic), limit)
        embedder.close()
        kept.write_bytes(pickle.dumps(made))
    loaded: AnswerSet = pickle.loads(kept.read_bytes())  # noqa: S301  our own file
    return loaded


def _made(folder: Path, settings: Settings, embedder: Embedder, asked: Query, limit: int) -> AnswerSet:
    chunker = Chunker(embedder.tokenizer, settings.chunk_tokens, settings.chunk_overlap_tokens)
    articles, places = _articles(folder, chunker)
    gold: dict[str, set[Place]] = {}
    for line in (folder / "qrels" / "test.tsv").read_text("utf-8").splitlines()[1:]:
        query, entry, relevance = line.split("\t")
        if int(relevance) > 0:
            gold.setdefault(query, set()).add(places[entry])
    good = _drawn((line for line in _lines(folder / "queries.jsonl") if line["_id"] in gold), limit)
    bad = _drawn(_unanswerable(folder), limit)
    with open_index(embedder, settings) as index:
        for article in articles.values():
            index.replace_document(article.document, article.pages, article.chunks)
        EmbeddingQueue(index=index, embedder=embedder).drain()
        retriever = Retriever(index=index, embedder=embedder, fusion=settings.fusion)

        def case(line: dict) -> Case:  # type: ignore[type-arg]
            answers = (line.get("metadata") or {}).get("answers") or ()
            return Case(
                id=line["_id"],
                question=line["text"],
                gold=frozenset(gold.get(line["_id"], ())),
                answers=tuple(answers) if not isinstance(answers, str) else (answers,),
                ranking=retriever.search(replace(asked, text=line["text"])),
            )

        answerable = tuple(map(case, good))
        removed: list[Case] = []
        # By document, so that each is taken out once for all of its questions.
        by_documents: dict[frozenset[DocumentId], list[dict]] = {}  # type: ignore[type-arg]
        for line in good:
            by_documents.setdefault(frozenset(place[0] for place in gold[line["_id"]]), []).append(line)
        for documents, lines in by_documents.items():
            with _without(index, [articles[document] for document in documents]):
                removed.extend(replace(case(line), gold=frozenset()) for line in lines)
        order = {line["_id"]: place for place, line in enumerate(good)}
        return AnswerSet(
            answerable=answerable,
            unanswerable=tuple(map(case, bad)),
            removed=tuple(sorted(removed, key=lambda item: order[item.id])),
            pages={
                (article.document.id, page.ordinal): page for article in articles.values() for page in article.pages
            },
        )


@contextmanager
def _without(index: SqliteIndex, articles: Sequence[_Article]) -> Iterator[None]:
    """The index without these articles inside the block, and with them after it."""
    vectors: dict[str, Vectors] = {}
    for article in articles:
        vectors |= index.document_vectors(article.document.id)
        index.delete_document(article.document.id)
    try:
        yield
    finally:
        for article in articles:
            index.replace_document(article.document, article.pages, article.chunks, vectors)


def _articles(folder: Path, chunker: Chunker) -> tuple[dict[DocumentId, _Article], dict[str, Place]]:
    """The documents of the set, and where each corpus entry stands; entries without a title stand alone."""
    by_title: dict[str, list[dict]] = {}  # type: ignore[type-arg]
    for line in _lines(folder / "corpus.jsonl"):
        by_title.setdefault(line.get("title") or line["_id"], []).append(line)
    articles: dict[DocumentId, _Article] = {}
    places: dict[str, Place] = {}
    for title, lines in by_title.items():
        identifier = document_id(f"beir:{folder.name}/{title}")
        pages = tuple(
            Page(
                ordinal=number,
                number=number,
                markdown=f"# {' '.join(title.split())}\n\n{line['text']}" if line.get("title") else line["text"],
            )
            for number, line in enumerate(lines, start=1)
        )
        chunks = tuple(chunker.chunk(identifier, pages))
        for number, line in enumerate(lines, start=1):
            places[line["_id"]] = (identifier, number)
        if not chunks:
            continue
        text = "".join(page.markdown for page in pages)
        document = Document(
            id=identifier,
            content_hash=hashlib.sha256(text.encode()).hexdigest(),
            name=f"{' '.join(title.split())[:60].replace('/', ' ')}.md",
            uri=f"beir:{folder.name}/{title}",
            media_type="text/markdown",
            size_bytes=len(text),
            page_count=len(pages),
            chunk_count=len(chunks),
            indexed_at=datetime(2026, 1, 1, tzinfo=UTC),
        )
        articles[identifier] = _Article(document, pages, chunks)
    return articles, places


def _unanswerable(folder: Path) -> Iterator[dict]:  # type: ignore[type-arg]
    for name in ("queries_unanswerable.jsonl", "queries_other.jsonl"):
        if (folder / name).is_file():
            for line in _lines(folder / name):
                kind = line["metadata"].get("answerability")
                if kind is None or "UNANSWERABLE" in kind:
                    yield line


def _drawn(lines: Iterable[dict], limit: int) -> list[dict]:  # type: ignore[type-arg]
    every = sorted(lines, key=lambda line: line["_id"])
    random.Random(11).shuffle(every)
    return every[:limit]


def _lines(path: Path) -> Iterator[dict]:  # type: ignore[type-arg]
    with path.open(encoding="utf-8") as file:
        for line in file:
            if line.strip():
                yield json.loads(line)
