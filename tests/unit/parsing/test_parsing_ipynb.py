import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from localrag.errors import EmptyDocument, UnreadableDocument
from localrag.parsing import ipynb
from localrag.parsing.source import Source
from localrag.types import ParsedDocument

Read = Callable[..., ParsedDocument]


@pytest.fixture
def read(source: Callable[..., Source], tmp_path: Path) -> Read:
    """Reads a notebook of the given cells."""

    def run(*cells: Any, **notebook: Any) -> ParsedDocument:
        path = tmp_path / "notebook.ipynb"
        content = notebook or {"nbformat": 4, "metadata": {"language_info": {"name": "python"}}, "cells": list(cells)}
        path.write_text(json.dumps(content))
        return ipynb.read(source(path))

    return run


def code(source: str, *outputs: Any) -> dict[str, Any]:
    return {"cell_type": "code", "source": source.splitlines(keepends=True), "outputs": list(outputs)}


def markdown(source: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "source": source}


def result(**data: Any) -> dict[str, Any]:
    return {"output_type": "execute_result", "data": {form.replace("_", "/"): value for form, value in data.items()}}


def test_cells_are_pages_and_empty_ones_count(read: Read) -> None:
    document = read(markdown("# Study\n\nText"), code(""), code("x = 1\nx"), {"cell_type": "raw", "source": "raw text"})

    assert [(page.ordinal, page.number, page.label) for page in document.pages] == [
        (1, None, "cell 1 markdown"),
        (2, None, "cell 3 code"),
        (3, None, "cell 4 raw"),
    ]
    assert [page.markdown for page in document.pages] == ["# Study\n\nText", "```python\nx = 1\nx\n```", "raw text"]
    assert document.title == "Study"


def test_text_outputs_are_kept_and_pictures_dropped(read: Read) -> None:
    stream = {"output_type": "stream", "text": ["10%\r", "100%\n", "\x1b[31mdone\x1b[0m\n"]}
    picture = {"output_type": "display_data", "data": {"image/png": "iVBORw0KGgo="}}

    cell = code("run()", stream, picture, result(text_plain="42"))

    assert read(cell).pages[0].markdown == "```python\nrun()\n```\n\n```\n100%\ndone\n```\n\n```\n42\n```"


def test_an_error_gives_its_traceback_without_colours(read: Read) -> None:
    error = {"output_type": "error", "ename": "E", "evalue": "v", "traceback": ["\x1b[0;31mTraceback\x1b[0m", "E: v"]}
    bare = {"output_type": "error", "ename": "ValueError", "evalue": "no", "traceback": []}

    page = read(code("f()", error, bare)).pages[0]

    assert page.markdown.endswith("```\nTraceback\nE: v\n```\n\n```\nValueError: no\n```")


def test_html_tables_become_markdown(read: Read) -> None:
    html = "<style>.x{}</style><table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>"

    page = read(code("df", result(text_html=html, text_plain="   a  b\n0  1  2"))).pages[0]

    assert page.markdown == "```python\ndf\n```\n\n| a | b |\n| --- | --- |\n| 1 | 2 |"


def test_plain_text_is_preferred_to_html_without_a_table(read: Read) -> None:
    page = read(code("w", result(text_html="<b>widget</b>", text_plain="widget(x=1)"))).pages[0]

    assert page.markdown.endswith("```\nwidget(x=1)\n```")


def test_code_with_fences_in_it_stays_one_block(read: Read) -> None:
    assert read(code('"""\n```\n# no heading\n```\n"""')).pages[0].markdown.startswith("````python\n")


def test_embedded_pictures_in_markdown_are_named(read: Read) -> None:
    cell = markdown(
        "See ![the moon](attachment:moon.png) and ![](data:image/png;base64,AAAA) and ![far](http://x/y.png)"
    )

    assert read(cell).pages[0].markdown == "See [Picture: the moon] and  and ![far](http://x/y.png)"


def test_version_3_is_read(read: Read) -> None:
    cells = [
        {"cell_type": "heading", "level": 1, "source": ["Old"]},
        {
            "cell_type": "code",
            "input": ["print(1)"],
            "language": "python",
            "outputs": [{"output_type": "pyout", "text": ["1"]}, {"output_type": "pyerr", "traceback": ["E"]}],
        },
    ]

    document = read(nbformat=3, metadata={}, worksheets=[{"cells": cells}])

    assert [page.markdown for page in document.pages] == [
        "# Old",
        "```python\nprint(1)\n```\n\n```\n1\n```\n\n```\nE\n```",
    ]
    assert document.title == "Old"


@pytest.mark.parametrize(
    "content",
    ["{", "", "[1]", '{"a": 1}', '{"cells": [1]}', '{"cells": [{"cell_type": "code", "outputs": [3]}]}', "[" * 100_000],
)
def test_what_is_no_notebook_is_unreadable(source: Callable[..., Source], tmp_path: Path, content: str) -> None:
    path = tmp_path / "bad.ipynb"
    path.write_text(content)

    with pytest.raises(UnreadableDocument):
        ipynb.read(source(path))


def test_a_notebook_without_text_is_empty(read: Read) -> None:
    with pytest.raises(EmptyDocument):
        read(code("  "), markdown("\n"))


def test_damaged_files_are_refused_in_our_words(
    failures_when_damaged: Callable[[object, Path], int], tmp_path: Path
) -> None:
    path = tmp_path / "good.ipynb"
    cells = [code(f"x = {n}", result(text_plain=str(n))) for n in range(20)]
    path.write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4}))

    assert failures_when_damaged(ipynb.read, path) >= 30  # at least the 30 copies cut off
