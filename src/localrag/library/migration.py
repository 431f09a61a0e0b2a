"""A whole library from one index to another, without parsing or embedding again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from localrag.errors import SettingsError
from localrag.protocols import Library, Vectors
from localrag.types import Document, LegResults

_TEXTS_AT_ONCE = 500
_SEARCHES = 20
_DEPTH = 10
# Approximate neighbours and ties at the end of a list differ; a library that was copied badly differs by far more.
_LEAST_AGREEMENT = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class MigrationProgress:
    """How far it is: documents whose text is there, of how many."""

    done: int
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration:
    """What was copied and how it compares.

    copied: documents that were written now; the others were there from an earlier run.
    vectors: that were written now, one for each text of a document.
    conversations: those that are there, of the source.
    agreement: mean share in [0, 1] of the best ten of sample searches that both give.
    problems: what does not agree; empty when all does.
    """

    documents: int
    copied: int
    chunks: int
    vectors: int
    conversations: int
    searches: int
    agreement: float
    problems: tuple[str, ...]


def migrate(
    source: Library, target: Library, *, on_progress: Callable[[MigrationProgress], None] = lambda _: None
) -> Migration:
    """Copies documents, pages, chunks, tags, vectors, failures and conversations, then compares counts and searches.

    What is there already, from a run that was interrupted, is not copied again. The source is only read.

    Raises:
        SettingsError: the target holds documents that the source does not have.
    """
    documents = source.documents()
    present = {document.id: document for document in target.documents()}
    strangers = present.keys() - {document.id for document in documents}
    if strangers:
        raise SettingsError(
            f"The target holds {len(strangers)} documents that the source does not have, "
            f"such as {present[min(strangers)].name}.",
            hint="Migrate into an empty library: another LOCALRAG_INDEX_NAME or file.",
        )
    copied = vectors = 0
    for done, document in enumerate(documents, start=1):
        if not _same(document, present.get(document.id)):
            known = source.document_vectors(document.id)
            pages, chunks = source.pages(document.id), source.document_chunks(document.id)
            # One that was deleted meanwhile is no document of the target's: the next run would refuse it as a stranger.
            if source.get_document(document.id) is not None:
                target.replace_document(document, pages, chunks, known)
                copied, vectors = copied + 1, vectors + len(known)
        on_progress(MigrationProgress(done=done, total=len(documents)))
    for failure in source.failures():
        target.record_failure(failure)
    vectors += _copy_vectors(source, target)
    conversations = _copy_conversations(source, target)
    agreement, searches, problems = _compare(source, target)
    stats = target.stats()
    return Migration(
        documents=stats.documents,
        copied=copied,
        chunks=stats.chunks,
        vectors=vectors,
        conversations=len(conversations),
        searches=searches,
        agreement=agreement,
        problems=tuple(problems),
    )


def _same(document: Document, there: Document | None) -> bool:
    return there is not None and replace(there, embedded_count=document.embedded_count) == document


def _copy_vectors(source: Library, target: Library) -> int:
    """How many texts were given the vector that the source has for them."""
    copied = 0
    embedded = {document.id: document.embedded_count for document in source.documents()}
    lacking = [each.id for each in target.documents() if each.embedded_count < embedded.get(each.id, 0)]
    waiting: dict[str, Vectors] = {}
    for document_id in lacking:
        waiting.update(source.document_vectors(document_id))
        if len(waiting) >= _TEXTS_AT_ONCE:
            copied += target.add_vectors(waiting)
            waiting.clear()
    return copied + target.add_vectors(waiting)


def _copy_conversations(source: Library, target: Library) -> list[str]:
    """The ids of the source's conversations; the target has them all, with the source's turns."""
    found = source.conversation_ids()
    for conversation_id in found:
        turns = source.load_conversation(conversation_id)
        if turns is not None and turns != target.load_conversation(conversation_id):
            target.save_conversation(conversation_id, turns)
    return found


def _compare(source: Library, target: Library) -> tuple[float, int, list[str]]:
    """Mean agreement of sample searches, how many there were, and what does not agree."""
    problems = []
    ours, theirs = source.stats(), target.stats()
    for what in ("documents", "chunks", "embedded"):
        had, has = getattr(ours, what), getattr(theirs, what)
        if had != has:
            problems.append(f"{what}: the source has {had}, the target {has}")
    kept, there = source.load_conversation, target.load_conversation
    lost = [each for each in source.conversation_ids() if kept(each) != there(each)]
    if lost:
        problems.append(f"conversations: {len(lost)} are not as in the source, such as {lost[0]}")
    shares = [_agreement(_search(source, *asked), _search(target, *asked)) for asked in _samples(source)]
    agreement = sum(shares) / len(shares) if shares else 1.0
    if agreement < _LEAST_AGREEMENT:
        problems.append(f"the best {_DEPTH} of {len(shares)} searches agree by {agreement:.0%} only")
    return agreement, len(shares), problems


def _samples(source: Library) -> Iterator[tuple[str, Vectors | None]]:
    """Words and vectors of chunks spread over the library."""
    documents = [document for document in source.documents() if document.chunk_count]
    step = max(1, len(documents) // _SEARCHES)
    for document in documents[::step][:_SEARCHES]:
        chunks = source.document_chunks(document.id)
        if not chunks:
            continue  # deleted meanwhile
        chunk = chunks[len(chunks) // 2]
        vectors = source.document_vectors(document.id)
        yield " ".join(chunk.text.split()[:12]), vectors[min(vectors)] if vectors else None


def _search(library: Library, text: str, vector: Vectors | None) -> LegResults:
    return library.search_legs(text, vector, limit=_DEPTH)


def _agreement(ours: LegResults, theirs: LegResults) -> float:
    """The share of the source's chunks, of both legs together, that the target gives too."""
    wanted = {(leg, hit.chunk.id) for leg, hits in enumerate((ours.lexical, ours.vector)) for hit in hits or ()}
    given = {(leg, hit.chunk.id) for leg, hits in enumerate((theirs.lexical, theirs.vector)) for hit in hits or ()}
    return len(wanted & given) / len(wanted) if wanted else 1.0
