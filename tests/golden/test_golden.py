"""Files of every type beside what must be read of them.

`cases.json` names the files, the texts that must stand on a page, and those that must stand nowhere. `expected/` holds
the whole Markdown: `pytest tests/golden --update-golden` writes it anew, for a reviewer to read as a diff. A picture
has no expected Markdown: what is read of one may differ in a letter from one processor to the next.
"""

from __future__ import annotations

import difflib
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from localrag.parsing.dispatch import read_document
from localrag.parsing.formats import BY_EXTENSION, FORMATS
from localrag.parsing.source import Limits
from localrag.types import Page, ParsedDocument

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
# Read by LibreOffice, which is not everywhere; tests/unit/parsing/test_parsing_legacy.py has them.
ELSEWHERE = {"doc", "ppt"}
CASES: dict[str, dict[str, Any]] = json.loads((HERE / "cases.json").read_text(encoding="utf-8"))


EXACT = [
    name for name in CASES if not FORMATS[BY_EXTENSION[Path(name).suffix.lstrip(".")].name].module.endswith("pictures")
]


def place(page: Page) -> str:
    """`p.3`, `sheet Q3, rows 2-40`, `docs/a.pdf, p.3`: where a citation would say the page is."""
    parts = [page.label] if page.label else []
    return ", ".join(parts + ([f"p.{page.number}"] if page.number is not None else []))


def read(name: str) -> ParsedDocument:
    return read_document(ROOT / name, Path(name).name, Limits())


def shown(document: ParsedDocument) -> str:
    """The document as the files in expected/ have it."""
    head = [f"type: {document.media_type}", f"title: {document.title or ''}"]
    head += [f"warning: {warning}" for warning in document.warnings]
    pages = (f"{'=' * 20} {page.ordinal}: {place(page)}\n{page.markdown}" for page in document.pages)
    return "\n".join([*head, *pages]) + "\n"


@pytest.mark.parametrize("name", EXACT)
def test_the_markdown_is_the_expected_one(name: str, request: pytest.FixtureRequest) -> None:
    path = HERE / "expected" / f"{Path(name).name}.txt"
    found = shown(read(name))
    if request.config.getoption("--update-golden"):
        path.write_text(found, encoding="utf-8", newline="\n")
        return
    expected = path.read_text(encoding="utf-8")
    if found != expected:
        lines = difflib.unified_diff(expected.split("\n"), found.split("\n"), "expected", "found", lineterm="", n=2)
        pytest.fail(f"{name} reads otherwise; --update-golden if that is right\n" + "\n".join(lines), pytrace=False)


@pytest.mark.parametrize("name", CASES)
def test_what_must_be_there_is_on_its_page_and_the_rest_nowhere(name: str) -> None:
    pages = read(name).pages
    whole = "\n".join(page.markdown for page in pages)

    for where, text in CASES[name]["must"]:
        places = [place(page) for page in pages if text in page.markdown]
        assert where in places, f"{text!r} should stand at {where!r}; it stands at {places}"
    for text in CASES[name].get("must_not", []):
        assert text not in whole


def test_there_is_a_file_of_every_type_and_an_expected_text_for_every_file() -> None:
    with zipfile.ZipFile(HERE / "files" / "code.zip") as archive:
        names = [*CASES, *archive.namelist()]
    covered = {BY_EXTENSION[Path(name).suffix.lstrip(".")].name for name in names}

    assert set(FORMATS) - covered == ELSEWHERE
    assert {path.name for path in (HERE / "expected").iterdir()} == {f"{Path(name).name}.txt" for name in EXACT}
    assert {path.name for path in (HERE / "files").iterdir()} <= {Path(name).name for name in CASES}


def test_files_from_elsewhere_are_credited() -> None:
    notice = (HERE / "NOTICE.md").read_text(encoding="utf-8")
    made = (HERE / "make_files.py").read_text(encoding="utf-8") + (HERE / "make_office.py").read_text(encoding="utf-8")

    foreign = [
        path.name for path in (HERE / "files").iterdir() if f'"{path.name}"' not in made and path.stem != "notice"
    ]
    assert [name for name in foreign if f"| {name} |" not in notice] == []
