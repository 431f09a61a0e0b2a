"""How results look in a terminal: stdout for data, stderr for messages, control characters never."""

from __future__ import annotations

import json
import sys
import textwrap
import unicodedata
from collections.abc import Iterable, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

from rich.console import Console
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from localrag.errors import LocalRagError
from localrag.types import Answer, Check, Document, Hit, Ranking, cite

if TYPE_CHECKING:
    from collections.abc import Iterator

    from localrag.app.models import ModelInfo
    from localrag.library.catalog import Deletion
    from localrag.library.embedding_queue import EmbedProgress
    from localrag.library.ingest import Outcome
    from localrag.library.migration import Migration, MigrationProgress
    from localrag.library.rebuilding import Rebuild, RebuildProgress

_PREVIEW_CHARS = 240
_STAGES = {
    "waiting": "waiting for another rebuild",
    "cutting": "cutting documents",
    "embedding": "embedding texts",
    "switching": "switching to the new index",
}
_UNBOUNDED = 100_000
"""Columns of a terminal that nothing needs."""


def _reader_went_away() -> NoReturn:
    """Ends the command; a reader that has seen enough (`| head`) is no error."""
    sys.stdout = None  # so that Python does not complain at exit
    raise SystemExit(0)


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Rich would exit with 1."""
        _reader_went_away()


def stdout() -> Console:
    """Where data goes."""
    return _Console(highlight=False, markup=False, soft_wrap=True)


def _stderr() -> Console:
    return Console(stderr=True, highlight=False, markup=False, soft_wrap=True)


def clean(text: str) -> str:
    """The text without control characters, so that a document cannot drive the terminal."""
    return "".join(char for char in text if char in "\n\t" or unicodedata.category(char) not in {"Cc", "Cs"})


def emit_json(data: Any) -> None:
    """One JSON document on stdout, non-ASCII characters as they are."""
    write(json.dumps(data, ensure_ascii=False, indent=2).encode("utf-8", "replace").decode() + "\n")


def write(text: str) -> None:
    """The text on stdout, as it is."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        _reader_went_away()


def say(message: str) -> None:
    """A message for the user, on stderr."""
    _stderr().print(clean(message))


def error(problem: LocalRagError) -> None:
    """What failed and what to do next, on stderr."""
    console = _stderr()
    console.print(Text.assemble(("error: ", "bold red"), clean(problem.message)))
    if problem.hint:
        console.print(Text.assemble(("  try: ", "bold"), clean(problem.hint)))


def outcome(result: Outcome) -> None:
    """One line for a file that was ingested, and its warnings."""
    console = _stderr()
    marks = {"indexed": ("indexed", "green"), "skipped": ("skipped", "yellow"), "failed": ("failed ", "bold red")}
    line = Text.assemble(marks[result.status], "  ", (clean(result.name), "bold"))
    if result.status == "indexed":
        line.append(f"  {_count(result.pages, 'page')}, {_count(result.chunks, 'chunk')}")
    if result.note:
        line.append(f"  {clean(result.note)}")
    if result.error is not None:
        line.append(f"  [{result.error.kind}] {clean(result.error.message)} {clean(result.error.hint)}")
    console.print(line)
    notes(result.warnings, indent=9)


def notes(warnings: Iterable[str], *, indent: int = 0) -> None:
    """What was not read of a file, or was read another way than it is shown, one a line on stderr."""
    for warning in warnings:
        _stderr().print(f"{' ' * indent}note: {clean(warning)}")


def ranking(result: Ranking) -> None:
    """The hits with their markers, ranks in both legs, and a preview."""
    if result.vectors_ready < 1.0:
        say(
            f"Semantic search covers {result.vectors_ready:.0%} of the library so far; `localrag embed` makes the rest."
        )
    if result.notice:
        say(clean(result.notice))
    if not result.hits:
        say("Nothing found.")
    for hit in result.hits:
        _hit(hit)


def _hit(hit: Hit) -> None:
    console = stdout()
    marker = cite(hit.document, hit.chunk.page, hit.chunk.label)
    legs = f"keyword {_rank(hit.lexical_rank)}, semantic {_rank(hit.vector_rank)}"
    console.print(Text.assemble((f"{hit.rank:>2}. ", "dim"), (clean(marker), "bold cyan")))
    console.print(Text(f"    score {hit.score:.4f}  {legs}", style="dim"))
    if hit.chunk.heading_path:
        console.print(Text("    " + clean(" > ".join(hit.chunk.heading_path)), style="italic"))
    preview = textwrap.shorten(clean(hit.chunk.text), _PREVIEW_CHARS, placeholder=" …")
    console.print(Text(textwrap.indent(preview, "    ")))


def _rank(rank: int | None) -> str:
    return "–" if rank is None else f"#{rank}"


class LiveAnswer:
    """An answer as it is written, at a terminal: its last lines, which the checked text then replaces."""

    def __init__(self, live: Live) -> None:
        self._live = live
        self._text = ""

    def feed(self, piece: str) -> None:
        """Adds a piece; nothing is shown where stdout is no terminal."""
        self._text += clean(piece)
        console = self._live.console
        if console.is_terminal:
            lines = Text(self._text).wrap(console, console.width)
            self._live.update(Text("\n").join(lines[-max(4, console.height - 2) :]))


@contextmanager
def live_answer() -> Iterator[LiveAnswer]:
    """Shows pieces while the block lasts, and takes them away at its end."""
    with Live(console=stdout(), transient=True, refresh_per_second=12) as live:
        yield LiveAnswer(live)


def answer(result: Answer) -> None:
    """The checked text, the quotes that prove it, what is not supported, and how it was made."""
    console = stdout()
    console.print(Text(clean(result.text)))
    if result.citations and result.mode == "llm":
        console.print()
        for citation in result.citations:
            quote = textwrap.shorten(clean(citation.quote), _PREVIEW_CHARS, placeholder=" …")
            mark = "" if citation.verified else " (not verified)"
            console.print(Text.assemble((clean(citation.marker), "bold cyan"), f"{mark} “{quote}”"))
    for sentence in result.unsupported:
        say(f"not supported by the documents: {sentence}")
    for query in result.queries:
        if query != result.question:
            say(f"also searched for: {query}")
    if result.left_out:
        say(f"{_count(len(result.left_out), 'passage')} did not fit into the prompt (LOCALRAG_CONTEXT_TOKENS).")
    if result.notice:
        say(result.notice)
    made = "computed, no model" if result.computed else "quoted, no model"
    by = f"confidence {result.confidence} · {result.model if result.mode == 'llm' else made}"
    kept = " · answered before; --fresh answers anew" if result.cached else ""
    say(f"{'not in your documents' if result.refused else by} · {result.timings.total / 1000:.1f} s{kept}")


def documents(items: Sequence[Document]) -> None:
    """The catalog as a table. Names come last and are not broken, however narrow the terminal: they get copied."""
    if not items:
        say("The library is empty. Add documents with `localrag ingest PATH`.")
        return
    table = Table("id", "pages", "chunks", "status", "indexed", "name", box=None, pad_edge=False)
    for item in items:
        status = item.status if item.status == "indexed" else f"embedding {item.embedded_count}/{item.chunk_count}"
        when = item.indexed_at.astimezone().strftime("%Y-%m-%d %H:%M")
        table.add_row(item.id, str(item.page_count), str(item.chunk_count), status, when, Text(clean(item.name)))
    console = stdout()
    unbroken = console.measure(table, options=console.options.update(width=_UNBOUNDED)).maximum
    console.width = max(console.width, unbroken)
    console.print(table)


def deletions(items: Iterable[Deletion]) -> None:
    """One line for each document removed."""
    for item in items:
        say(f"deleted {item.name} ({_count(item.chunks, 'chunk')})")


def checks(items: Sequence[Check]) -> None:
    """OK and FAIL lines with what to do; what works may have something to be done too."""
    console = stdout()
    for item in items:
        mark = ("OK   ", "green") if item.ok else ("FAIL ", "bold red")
        console.print(Text.assemble(mark, (f"{clean(item.name)}: ", "bold"), clean(item.detail)))
        if item.hint:
            console.print(f"       {clean(item.hint)}")


def models(items: Sequence[ModelInfo]) -> None:
    """The embedding models and rerankers, the active ones marked."""
    table = Table("", "name", "kind", "dimensions", "tokens", "revision", box=None, pad_edge=False)
    for item in items:
        mark = "*" if item.active else ""
        table.add_row(mark, item.name, item.kind, str(item.dimension or ""), str(item.max_tokens), item.revision)
    stdout().print(table)


def pulled(name: str, kind: str) -> None:
    """That the model is here, and how to use it."""
    if kind == "reranker":
        say(f"{name} is here. Set LOCALRAG_RERANKER={name}, then search and ask with --rerank.")
        return
    say(f"{name} is here. Set LOCALRAG_EMBEDDING_MODEL={name}; a library that is there then needs:")
    say("  localrag embed --rebuild")


def migration(result: Migration) -> None:
    """What was copied, how the two libraries compare, and what does not agree."""
    stdout().print(
        f"{result.documents:,} documents and {result.chunks:,} chunks are there: {result.copied:,} documents and "
        f"{result.vectors:,} vectors copied now, and {_count(result.conversations, 'conversation')}."
    )
    stdout().print(f"{result.searches} sample searches give the same by {result.agreement:.0%}.")
    for problem in result.problems:
        say(f"Not the same: {problem}. Run it again; if it stays, `localrag health` of either tells more.")


class MigrationBar:
    """A bar on stderr that follows the documents."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._task = progress.add_task("copying", total=None)

    def show(self, state: MigrationProgress) -> None:
        """Draws this state."""
        self._progress.update(self._task, completed=state.done, total=state.total)


@contextmanager
def migration_bar() -> Iterator[MigrationBar]:
    """A progress bar that lives as long as the block."""
    with counting_bar() as progress:
        yield MigrationBar(progress)


def rebuild(result: Rebuild) -> None:
    """What was made, and which index answers now."""
    if not result.documents and not result.embedded:
        say("The index is of these settings; nothing was left to do.")
        return
    made = f"{_count(result.documents, 'document')} cut and {_count(result.embedded, 'text')} embedded"
    say(f"{made}; the index is of these settings now.")


class RebuildBar:
    """A bar on stderr that follows a rebuild through its stages; each starts anew."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._stage = ""
        self._task = progress.add_task("opening", total=None)

    def show(self, state: RebuildProgress) -> None:
        """Draws this state."""
        if state.stage != self._stage:
            self._stage = state.stage
            self._progress.remove_task(self._task)
            self._task = self._progress.add_task(_STAGES[state.stage], total=None)
        self._progress.update(self._task, completed=state.done, total=state.total or None)


@contextmanager
def rebuild_bar() -> Iterator[RebuildBar]:
    """A progress bar that lives as long as the block."""
    with counting_bar() as progress:
        yield RebuildBar(progress)


class EmbedBar:
    """A bar on stderr for the embedding queue; silent where stderr is not a terminal."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._task = progress.add_task("embedding", total=None, visible=False)

    def show(self, state: EmbedProgress) -> None:
        """Draws this state."""
        label = "embedding (in another process)" if state.elsewhere else "embedding"
        self._progress.update(
            self._task, completed=state.done, total=state.total, description=label, visible=state.total > 0
        )


@contextmanager
def embed_bar() -> Iterator[EmbedBar]:
    """A progress bar that lives as long as the block."""
    with counting_bar() as progress:
        yield EmbedBar(progress)


def counting_bar() -> Progress:
    """A bar on stderr that counts, and is gone when it ends."""
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    return Progress(*columns, console=_stderr(), transient=True)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
