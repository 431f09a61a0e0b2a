"""Jupyter notebooks (nbformat 3 and 4): one page per cell, with its text outputs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from localrag.errors import EmptyDocument, UnreadableDocument
from localrag.parsing.encoding import decode_text
from localrag.parsing.malformed import unreadable
from localrag.parsing.source import Source
from localrag.types import Page, ParsedDocument

MEDIA_TYPE = "application/x-ipynb+json"

_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07")
_FENCES = re.compile(r"`{3,}")
_TITLE = re.compile(r"^#\s+(.+?)\s*#*$", re.MULTILINE)
# Pictures inside the notebook: their data is no text. Remote ones stay as the author wrote them.
_EMBEDDED_PICTURE = re.compile(r"!\[([^\]]*)\]\((?:attachment|data):[^)]*\)")
# What stands for a picture where none can be shown: `<Figure size 640x480 with 1 Axes>`.
_PLACEHOLDER = re.compile(r"\s*<[^<>]*>\s*")
# Output that a person reads, best first; a table in HTML beats the columns of spaces of its plain form.
_PLAIN_FORMS = ("text/markdown", "text/plain", "text/latex")
_VERSION_3_FORMS = {"text": "text/plain", "html": "text/html", "latex": "text/latex"}


def read(source: Source) -> ParsedDocument:
    """Pages labelled `cell 4 code`; cells count from 1, empty ones are counted but give no page.

    Raises:
        UnreadableDocument: no JSON, or not a notebook's.
        EmptyDocument: no cell holds text.
    """
    with unreadable(source, "Jupyter notebook"):
        text, _ = decode_text(source.read_bytes())
        notebook = json.loads(text)
        cells = _cells(notebook)
        if cells is None:
            raise UnreadableDocument(
                f"{source.name} is JSON but not a Jupyter notebook: it has no cells.",
                path=source.name,
                hint="Give it the extension .json to index it as data.",
            )
        language = _language(notebook)
        pages: list[Page] = []
        for number, cell in enumerate(cells, start=1):
            if markdown := "\n\n".join(_blocks(cell, language)):
                kind = _kind(cell)
                pages.append(Page(ordinal=len(pages) + 1, label=f"cell {number} {kind}", markdown=markdown))
        title = _title(notebook, cells)
    if not pages:
        raise EmptyDocument(f"{source.name} has no cell with text.", path=source.name, hint="Nothing to index.")
    return ParsedDocument(media_type=MEDIA_TYPE, pages=tuple(pages), title=title)


def _cells(notebook: Any) -> list[Any] | None:
    if not isinstance(notebook, dict):
        return None
    if isinstance(notebook.get("cells"), list):
        return list(notebook["cells"])
    if isinstance(notebook.get("worksheets"), list):
        return [cell for sheet in notebook["worksheets"] for cell in sheet.get("cells", [])]
    return None


def _language(notebook: Mapping[str, Any]) -> str:
    metadata = notebook.get("metadata") or {}
    info, kernel = metadata.get("language_info") or {}, metadata.get("kernelspec") or {}
    return str(info.get("name") or kernel.get("language") or "")


def _title(notebook: Mapping[str, Any], cells: list[Any]) -> str | None:
    title = (notebook.get("metadata") or {}).get("title")
    if isinstance(title, str) and title.strip():
        return title.strip()
    for cell in cells:
        if _kind(cell) == "markdown":
            if cell.get("cell_type") == "heading" and cell.get("level") == 1:
                return _joined(cell.get("source")).strip() or None
            if match := _TITLE.search(_joined(cell.get("source"))):
                return match[1]
    return None


def _kind(cell: Mapping[str, Any]) -> str:
    """`code`, `markdown` or `raw`. Version 3 has headings of their own, which are Markdown by now."""
    kind = str(cell.get("cell_type", "raw"))
    return "markdown" if kind == "heading" else kind


def _blocks(cell: Mapping[str, Any], language: str) -> Iterator[str]:
    source = _joined(cell.get("source", cell.get("input"))).strip("\n")
    kind = _kind(cell)
    if kind == "code":
        if source.strip():
            yield _fenced(source, str(cell.get("language") or language))
        for output in cell.get("outputs") or []:
            if text := _output(output):
                yield text
    elif source.strip():
        text = _EMBEDDED_PICTURE.sub(lambda match: f"[Picture: {match[1]}]" if match[1] else "", source)
        level = cell.get("level") if cell.get("cell_type") == "heading" else None
        yield f"{'#' * min(int(level), 6)} {text.strip()}" if level else text.strip("\n")


def _output(output: Mapping[str, Any]) -> str:
    kind = output.get("output_type")
    if kind == "stream":
        return _fenced_text(_joined(output.get("text")))
    if kind in ("error", "pyerr"):
        trace = "\n".join(str(line) for line in output.get("traceback") or [])
        return _fenced_text(trace or f"{output.get('ename', '')}: {output.get('evalue', '')}")
    data = output.get("data")
    if not isinstance(data, dict):
        data = {form: output[key] for key, form in _VERSION_3_FORMS.items() if key in output}
    if _PLACEHOLDER.fullmatch(_joined(data.get("text/plain"))) and any(form.startswith("image/") for form in data):
        return ""
    html = _joined(data.get("text/html"))
    if "<table" in html.lower():
        return _from_html(html)
    for form in _PLAIN_FORMS:
        if (text := _joined(data.get(form))).strip():
            return text.strip() if form == "text/markdown" else _fenced_text(text)
    return _from_html(html) if html else ""


def _from_html(html: str) -> str:
    # Deferred: most notebooks have no HTML output.
    from localrag.parsing.html_fragment import html_to_markdown

    return html_to_markdown(html).strip()


def _joined(value: Any) -> str:
    """Notebook text: a string, or a list of lines that keep their ends."""
    if isinstance(value, list):
        return "".join(str(line) for line in value)
    return value if isinstance(value, str) else ""


def _fenced_text(text: str) -> str:
    """Program output as a terminal would leave it: no colours, and of an overwritten line only the last state."""
    lines = [line.rstrip("\r").rsplit("\r", 1)[-1] for line in _ANSI.sub("", text).split("\n")]
    shown = "\n".join(lines).strip("\n")
    return _fenced(shown, "") if shown.strip() else ""


def _fenced(text: str, language: str) -> str:
    """A code block whose fence is longer than any in the text."""
    longest = max((len(run) for run in _FENCES.findall(text)), default=2)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"
