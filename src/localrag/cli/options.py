"""Options that several commands take."""

from __future__ import annotations

from typing import Annotated

import typer

from localrag.errors import SettingsError

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
TopK = Annotated[int | None, typer.Option("--top-k", min=1, max=100, help="How many passages.")]
Semantic = Annotated[
    float | None, typer.Option("--semantic", min=0.0, max=1.0, help="0 keyword only ... 1 meaning only.")
]
Rerank = Annotated[
    bool | None, typer.Option("--rerank/--no-rerank", help="Have LOCALRAG_RERANKER read the best passages again.")
]
Documents = Annotated[list[str] | None, typer.Option("--document", help="Only this document (name or id).")]
Tags = Annotated[list[str] | None, typer.Option("--tag", metavar="K=V", help="Only documents with this tag.")]
Collection = Annotated[str | None, typer.Option("--collection", metavar="A/B", help="Only this collection.")]


def tag_values(values: list[str] | None) -> dict[str, str]:
    """What was given as --tag K=V."""
    pairs = {}
    for value in values or []:
        key, equals, content = value.partition("=")
        if not equals:
            raise SettingsError(f"--tag {value} is not of the form K=V.", hint="Write it as --tag year=2026.")
        pairs[key] = content
    return pairs
