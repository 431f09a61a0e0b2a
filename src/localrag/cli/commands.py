"""Every command: read the arguments, open the library, make one call, print."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from localrag.cli.options import AsJson, Collection, Documents, Rerank, Semantic, Tags, TopK, tag_values
from localrag.errors import LocalRagError, NotFoundError, SettingsError

if TYPE_CHECKING:
    from localrag.app import RAG, Scope

app = typer.Typer(
    name="localrag",
    help="Ask your own documents, on your own machine. Every claim cites its page.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
models_app = typer.Typer(help="Models that embed or rerank: list those here, pull another.", no_args_is_help=True)
app.add_typer(models_app, name="models")


@contextmanager
def _library(*, semantic: float | None = 0.0, **options: Any) -> Iterator[RAG]:
    """An open library; errors that end the command are told and become exit code 2.

    Args:
        semantic: weight of meaning in the question to come (None: that of the settings). Its model then loads beside
            all the rest, which is a sixth of the time that a search takes.
    """
    # Deferred: --help needs none of them.
    from localrag.app import embedders
    from localrag.settings import load_settings

    with _exit_on_error():
        settings = load_settings()
        weight = settings.semantic if semantic is None else semantic
        embedder = embedders.embedder(settings, preload=weight > 0)
        from localrag.app import RAG  # only now, so that the model has begun to load

        with RAG.open(settings, embedder=embedder, **options) as rag:
            yield rag


@contextmanager
def _exit_on_error() -> Iterator[None]:
    try:
        yield
    except LocalRagError as error:
        from localrag.cli import output  # deferred: rich

        output.error(error)
        raise typer.Exit(2) from error
    except KeyboardInterrupt:
        from localrag.cli import output  # deferred, as above

        output.say("Stopped. What was done is kept; run the command again to go on.")
        raise typer.Exit(130) from None


def _scope(documents: list[str] | None, tags: list[str] | None, collection: str | None) -> Scope:
    from localrag.app import Scope  # deferred, as above

    return Scope(documents=documents or (), tags=tag_values(tags), collection=collection)


def _say_if_empty(rag: RAG) -> None:
    from localrag.cli import output

    if not rag.stats().documents:
        output.say("The library is empty. Add documents with `localrag ingest PATH`.")


@app.command()
def ingest(
    paths: Annotated[list[str], typer.Argument(metavar="PATH...", help="Files and folders.")],
    force: Annotated[bool, typer.Option("--force", help="Read files again even when unchanged.")] = False,
    reset: Annotated[bool, typer.Option("--reset", help="Drop all documents first (with --yes).")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Confirm --reset.")] = False,
    tag: Annotated[list[str] | None, typer.Option("--tag", metavar="K=V", help="Tag the documents.")] = None,
    collection: Annotated[str | None, typer.Option("--collection", metavar="A/B", help="Put them here.")] = None,
    jobs: Annotated[int, typer.Option("--jobs", min=1, max=64, help="Files parsed at once.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Take files and folders into the library."""
    from localrag import views
    from localrag.cli import output

    with _exit_on_error():
        tags = tag_values(tag) or None
        if "" in paths:  # an unset variable of a script; as a path it would be the working folder
            raise SettingsError("A path is empty.", hint="Name a file or folder; `.` is the folder you are in.")
        if reset and not yes:
            raise SettingsError("--reset drops every document of the library.", hint="Add --yes to confirm.")
    with _library(jobs=jobs, reset=reset) as rag, output.embed_bar() as bar:
        report = rag.ingest(
            *paths,
            force=force,
            tags=tags,
            collection=collection,
            jobs=jobs,
            on_file=output.outcome,
            on_embed=bar.show,
        )
    if as_json:
        output.emit_json(views.ingest_json(report))
    output.say(
        f"{report.count('indexed')} indexed, {report.count('skipped')} skipped, {report.count('failed')} failed"
        f" in {report.seconds:.1f} s"
    )
    if report.count("failed"):
        raise typer.Exit(1)


@app.command()
def embed(
    rebuild: Annotated[
        bool,
        typer.Option("--rebuild", help="Make the index anew for the model and chunk size of the settings."),
    ] = False,
) -> None:
    """Make the vectors that are still missing; with --rebuild, all of them, while the old ones answer."""
    from localrag.cli import output

    if rebuild:
        _rebuild()
        return
    with _library() as rag, output.embed_bar() as bar:
        final = rag.embed_pending(progress=bar.show)
    output.say(f"{final.done} texts embedded; nothing is pending.")


def _rebuild() -> None:
    """Another model or chunk size, without parsing again and without a time in which nothing answers."""
    from localrag.app.rebuilding import rebuild_library
    from localrag.cli import output
    from localrag.settings import load_settings

    with _exit_on_error(), output.rebuild_bar() as bar:
        result = rebuild_library(load_settings(), on_progress=bar.show)
    output.rebuild(result)


@app.command()
def documents(as_json: AsJson = False) -> None:
    """List the documents of the library."""
    from localrag import views
    from localrag.cli import output

    with _library() as rag:
        items = rag.documents()
    if as_json:
        output.emit_json([views.document_json(item) for item in items])
    else:
        output.documents(items)


@app.command()
def delete(
    names: Annotated[list[str], typer.Argument(metavar="ID_OR_NAME...", help="Documents to remove.")],
    as_json: AsJson = False,
) -> None:
    """Remove documents from the library; your own files stay where they are."""
    from localrag import views
    from localrag.cli import output

    deleted, missing = [], []
    with _library() as rag:
        for name in names:
            try:
                deleted.append(rag.delete(name))
            except NotFoundError as error:
                output.error(error)
                missing.append(name)
    if as_json:
        output.emit_json(views.delete_json(deleted, missing))
    else:
        output.deletions(deleted)
    if missing:
        raise typer.Exit(1)


@app.command()
def search(
    query: Annotated[str, typer.Argument(help="Words, or a question.")],
    top_k: TopK = None,
    semantic: Semantic = None,
    document: Documents = None,
    tag: Tags = None,
    collection: Collection = None,
    rerank: Rerank = None,
    as_json: AsJson = False,
) -> None:
    """Find the passages that answer best."""
    with _library(semantic=semantic) as rag:
        from localrag import views  # deferred until the model has begun to load
        from localrag.cli import output

        scope = _scope(document, tag, collection)
        result = rag.search(query, top_k=top_k, semantic=semantic, scope=scope, rerank=rerank)
        if not result.hits:
            _say_if_empty(rag)
    if as_json:
        output.emit_json(views.search_json(result))
    else:
        output.ranking(result)


@app.command()
def ask(
    question: Annotated[str, typer.Argument(help="In plain words.")],
    top_k: TopK = None,
    semantic: Semantic = None,
    document: Documents = None,
    tag: Tags = None,
    collection: Collection = None,
    rerank: Rerank = None,
    no_llm: Annotated[bool, typer.Option("--no-llm", help="Quote the best sentences; call no model.")] = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="Answer anew what was answered before.")] = False,
    as_json: AsJson = False,
) -> None:
    """Answer a question from the documents, each claim with its page."""
    with _library(semantic=semantic) as rag:
        from localrag import views  # deferred, as above
        from localrag.cli import output
        from localrag.types import Answer

        scope = _scope(document, tag, collection)
        stream = rag.ask_stream(
            question,
            top_k=top_k,
            semantic=semantic,
            scope=scope,
            use_llm=not no_llm,
            rerank=rerank,
            fresh=fresh,
        )
        with output.live_answer() as live:
            for item in stream:
                if isinstance(item, Answer):
                    answer = item
                elif not as_json:
                    live.feed(item)
        if not answer.hits:
            _say_if_empty(rag)
    if as_json:
        output.emit_json(views.answer_json(answer))
    else:
        output.answer(answer)


@app.command()
def show(
    document: Annotated[str, typer.Argument(help="Name or id.")],
    page: Annotated[int | None, typer.Option("--page", min=1, help="Only this page, from 1.")] = None,
) -> None:
    """Print the Markdown the index holds for a document, and on stderr what was not read of it."""
    from localrag.cli import output
    from localrag.types import cite

    with _library() as rag:
        found = rag.get(document)
        pages = rag.pages(found.id) if page is None else rag.pages_numbered(found.id, page)
        if not pages:
            raise NotFoundError(f"{found.name} has no page {page}.", hint=f"It has {found.page_count}.")
    output.notes(found.warnings)
    for item in pages:
        output.write(f"{output.clean(cite(found.name, item.number, item.label))}\n\n")
        output.write(output.clean(item.markdown).rstrip() + "\n\n")


@app.command()
def health(
    repair: Annotated[bool, typer.Option("--repair", help="Rebuild the keyword index from the text first.")] = False,
    as_json: AsJson = False,
) -> None:
    """Check the index, the models and Ollama, and say what to do."""
    from localrag import views
    from localrag.cli import output

    with _library() as rag:
        if repair:
            rag.repair()
        checks = rag.health()
    if as_json:
        output.emit_json(views.health_json(checks))
    else:
        output.checks(checks)
    if not all(check.ok for check in checks):
        raise typer.Exit(1)


@app.command()
def evaluate(
    dataset: Annotated[Path, typer.Argument(metavar="DATASET_DIR", help="A folder in the BEIR layout.")],
    answers: Annotated[bool, typer.Option("--answers", help="Ask the questions too, and judge the answers.")] = False,
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="Ask at most so many of each kind.")] = None,
    no_llm: Annotated[bool, typer.Option("--no-llm", help="Judge quotes; call no model.")] = False,
    sweep: Annotated[bool, typer.Option("--sweep", help="Measure every tenth of the slider.")] = False,
    baseline: Annotated[Path | None, typer.Option(metavar="RUN.json", help="Compare with this run.")] = None,
    save: Annotated[Path | None, typer.Option(metavar="DIR|FILE", help="Keep the run here.")] = None,
    plot: Annotated[Path | None, typer.Option(metavar="FILE.png", help="Draw the measures.")] = None,
    as_json: AsJson = False,
) -> None:
    """Measure search and answers on judged queries, in an index of its own; the run is kept as a file."""
    from localrag.app.evaluating import Measured
    from localrag.cli import evaluating

    measured = Measured(answers=answers, use_llm=not no_llm, limit=limit, sweep=sweep)
    with _exit_on_error():
        evaluating.evaluate(dataset, measured, baseline=baseline, save=save, plot=plot, as_json=as_json)


@app.command()
def migrate(
    source: Annotated[str, typer.Option("--from", metavar="URL", help="sqlite:///PATH or http(s)://HOST:PORT.")],
    target: Annotated[str, typer.Option("--to", metavar="URL", help="The same; made when there is none.")],
    as_json: AsJson = False,
) -> None:
    """Copy the library to another index, without parsing or embedding again; run it again to go on."""
    from localrag import views
    from localrag.app.migrating import migrate_library
    from localrag.cli import output
    from localrag.settings import load_settings

    with _exit_on_error(), output.migration_bar() as bar:
        result = migrate_library(source, target, load_settings(), on_progress=bar.show)
    if as_json:
        output.emit_json(views.migration_json(result))
    else:
        output.migration(result)
    if result.problems:
        raise typer.Exit(1)


@models_app.command("list")
def models_list(as_json: AsJson = False) -> None:
    """List the embedding models and rerankers that can be used now."""
    from localrag import views
    from localrag.app.models import models
    from localrag.cli import output
    from localrag.settings import load_settings

    with _exit_on_error():
        found = models(load_settings())
    if as_json:
        output.emit_json(views.models_json(found))
    else:
        output.models(found)


@models_app.command("pull")
def models_pull(
    name: Annotated[str, typer.Argument(help="OWNER/MODEL on the hub, or a folder on this machine.")],
) -> None:
    """Bring another embedding model or reranker; the only command that goes out to the internet."""
    from localrag.app.models import pull
    from localrag.cli import output
    from localrag.settings import load_settings

    with _exit_on_error():
        pulled, kind = pull(load_settings(), name)
    output.pulled(pulled, kind)


@app.command()
def ui(
    port: Annotated[int, typer.Option("--port", min=1, max=65535, help="On 127.0.0.1.")] = 8501,
) -> None:
    """Serve the app in the browser (127.0.0.1 only)."""
    import subprocess  # deferred: only this command starts a process

    with _exit_on_error():
        page = _welcome_page()

    arguments = ["-m", "streamlit", "run", str(page), "--server.address", "127.0.0.1", "--server.port", str(port)]
    raise typer.Exit(subprocess.call([sys.executable, *arguments]))


def _welcome_page() -> Path:
    """The app's entry page: at the top of a checkout, or inside the installed package."""
    package = Path(__file__).resolve().parents[1]
    for page in (package.parents[1] / "Welcome.py", package.parent / "localrag_app" / "Welcome.py"):
        if page.is_file():
            return page
    raise SettingsError("The app's pages are not installed.", hint="Run it from a checkout: `make run`.")
