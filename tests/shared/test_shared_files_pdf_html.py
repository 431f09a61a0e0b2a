"""Every real PDF, HTML page and e-book: its needle stands on the page or chapter that the manifest names."""

from __future__ import annotations

import csv
import re
import unicodedata
from pathlib import Path

import pytest

from localrag.errors import DocumentError, EncryptedDocument, UnreadableDocument, UnsupportedDocument
from localrag.parsing import epub, html, pdf
from localrag.parsing.source import Source
from localrag.types import Page, ParsedDocument

FILES = Path(__file__).resolve().parents[2].parent / "shared" / "files"
READERS = {
    "pdf": pdf.read,
    "html": html.read,
    "htm": html.read,
    "epub": epub.read,
}
ERRORS: dict[str, type[DocumentError]] = {
    "needs password": EncryptedDocument,
    "error": UnreadableDocument,
}
_INVISIBLE = re.compile("[\u200b-\u200f\u202a-\u202e\u2066-\u2069\u00ad\ufeff]")

with (FILES / "manifest.csv").open(encoding="utf-8", newline="") as manifest:
    ROWS = [row for row in csv.DictReader(manifest) if row["type"] in READERS]


def no_child(_: bytes, name: str) -> ParsedDocument:
    raise UnsupportedDocument(f"No reader for {name}.", path=name)


def read(row: dict[str, str]) -> ParsedDocument:
    path = FILES / row["path"]
    return READERS[row["type"]](Source(path=path, name=path.name, read_child=no_child))


def folded(text: str, kind: str) -> str:
    """The text as the manifest says to compare it: invisible characters out, white space single, NFKC for PDFs."""
    text = _INVISIBLE.sub("", text)
    if kind == "pdf":
        text = unicodedata.normalize("NFKC", text)
    return " ".join(text.split())


def is_at(page: Page, locator: str) -> bool:
    kind, _, number = locator.partition(" ")
    if kind == "page":
        return page.number == int(number)
    if kind == "spine":
        return re.match(rf"chapter {number}\b", page.label or "") is not None
    return True


@pytest.mark.parametrize("row", [row for row in ROWS if row["expect"] == "text"], ids=lambda row: row["path"])
def test_the_needle_is_at_its_place_only(row: dict[str, str]) -> None:
    needle = folded(row["needle"], row["type"])
    pages = read(row).pages
    found = [page for page in pages if needle in folded(page.markdown, row["type"])]
    assert found
    assert all(is_at(page, row["locator"]) for page in found)


@pytest.mark.parametrize("row", [row for row in ROWS if row["expect"] != "text"], ids=lambda row: row["path"])
def test_what_cannot_be_read_says_why(row: dict[str, str]) -> None:
    with pytest.raises(ERRORS[row["expect"]]) as caught:
        read(row)
    assert caught.value.path == Path(row["path"]).name
    assert caught.value.hint
