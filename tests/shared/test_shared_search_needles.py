"""Every real file of a type that is read: its needle is found by search, where the manifest says."""

from __future__ import annotations

import csv
import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest

from localrag import RAG, load_settings
from localrag.app import Scope
from localrag.library.ingest import Outcome
from localrag.types import Hit

FILES = Path(__file__).resolve().parents[2].parent / "shared" / "files"
TYPES = {
    "pdf",
    "scanned_pdf",
    "image",
    "docx",
    "pptx",
    "xlsx",
    "xls",
    "csv",
    "html",
    "htm",
    "json",
    "xml",
    "epub",
    "ipynb",
    "zip",
    "msg",
    "eml",
    "rtf",
    "odt",
    "txt",
    "md",
}
ERROR_KINDS = {"needs password": "encrypted", "error": "unreadable"}
INVISIBLE = re.compile("[\u200b-\u200f\u202a-\u202e\u2066-\u2069\u00ad\ufeff]")

with (FILES / "manifest.csv").open(encoding="utf-8") as stream:
    ROWS = [row for row in csv.DictReader(stream) if row["type"] in TYPES]
READABLE = [row for row in ROWS if row["expect"] in {"text", "ocr", "ocr (rotate)"} and row["needle"]]
REFUSED = [row for row in ROWS if row["expect"] in ERROR_KINDS]


def _normalised(text: str) -> str:
    """As the files' README says: no invisible characters, NFKC; white space is dropped for vertical text."""
    return "".join(INVISIBLE.sub("", unicodedata.normalize("NFKC", text)).split())


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RAG, dict[str, Outcome]]]:
    settings = load_settings(data_dir=tmp_path_factory.mktemp("needles"))
    with RAG.open(settings, jobs=2) as rag:
        report = rag.ingest(*(FILES / row["path"] for row in ROWS), embed=False, jobs=2)
        yield rag, {row["path"]: outcome for row, outcome in zip(ROWS, report.outcomes, strict=True)}


def _hit(rag: RAG, row: dict[str, str], outcome: Outcome) -> Hit:
    """The first hit on a page that holds the needle: in the whole library, or, where another file of the set holds
    the same words and comes first, in this document."""
    pages = {page.ordinal: _normalised(page.markdown) for page in rag.pages(outcome.document_id)}
    needle = _normalised(row["needle"])
    for scope in (None, Scope(documents=[outcome.document_id])):
        for hit in rag.search(row["needle"], scope=scope).hits:
            if hit.chunk.document_id == outcome.document_id and needle in pages[hit.chunk.page_ordinal]:
                return hit
    raise AssertionError(f"{row['path']}: {row['needle']!r} is not found")


@pytest.mark.parametrize("row", READABLE, ids=lambda row: row["path"])
def test_the_needle_is_found_at_its_place(library: tuple[RAG, dict[str, Outcome]], row: dict[str, str]) -> None:
    rag, outcomes = library
    outcome = outcomes[row["path"]]
    assert outcome.status == "indexed", outcome.error
    hit = _hit(rag, row, outcome)
    label = hit.chunk.label or ""
    kind, _, rest = row["locator"].partition(" ")
    if kind in {"page", "slide", "frame"}:
        assert hit.chunk.page == int(rest.split()[0])
    elif kind == "sheet":
        assert label.startswith(f"sheet {rest}")
    elif kind == "spine":
        assert re.match(rf"chapter {rest}\b", label)
    elif kind == "cell":
        assert label.startswith(row["locator"])
    elif row["type"] == "zip":
        assert row["locator"] in label
    elif row["type"] == "eml" and rest:  # `text/plain NAME`: the part of that name
        assert label.startswith(f"attachment {rest}")
    elif kind == "attachment":
        assert rest in label


@pytest.mark.parametrize("row", REFUSED, ids=lambda row: row["path"])
def test_a_file_that_cannot_be_read_gives_its_error_kind(
    library: tuple[RAG, dict[str, Outcome]], row: dict[str, str]
) -> None:
    outcome = library[1][row["path"]]
    assert outcome.error is not None
    assert outcome.error.kind == ERROR_KINDS[row["expect"]]
    assert outcome.error.hint


def test_attack_files_stay_without_effect(library: tuple[RAG, dict[str, Outcome]]) -> None:
    rag, outcomes = library
    assert outcomes["xml/xmlbomb.xml"].status == "failed"
    # It holds a picture of a cocoa tin, and itself: each of the ten levels that are opened gives the tin's words once.
    droste = outcomes["zip/droste.zip"]
    assert len(rag.pages(droste.document_id)) == 10
    assert not Path("/tmp/evil.txt").exists()
