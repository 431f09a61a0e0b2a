"""The real documents of the text-like types, through the real parser process: needle and place, or the right error."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from localrag.errors import DocumentError
from localrag.parsing.isolated import IsolatedParser
from localrag.types import ParsedDocument

FILES = Path(__file__).resolve().parents[2] / "../shared/files"
TYPES = frozenset({"txt", "md", "csv", "json", "xml", "zip"})
INVISIBLE = re.compile("[\u200b-\u200f\u202a-\u202e\u2066-\u2069\u00ad\ufeff]")

with (FILES / "manifest.csv").open(encoding="utf-8", newline="") as _manifest:
    ROWS = [row for row in csv.DictReader(_manifest) if row["type"] in TYPES]

# Rows without text to find, and what becomes of them.
READ = {"csv/null_byte.csv", "zip/droste.zip"}
ERRORS = {
    "json/n_structure_100000_opening_arrays.json": "unreadable",
    "json/n_object_trailing_comma.json": "unreadable",
    "xml/xmlbomb.xml": "empty",
    "zip/gbk.zip": "empty",
}


@pytest.fixture(scope="module")
def parser() -> Iterator[IsolatedParser]:
    with IsolatedParser() as parser:
        yield parser


def _comparable(text: str) -> str:
    return " ".join(INVISIBLE.sub("", text).split())


def _read(parser: IsolatedParser, relative: str) -> ParsedDocument:
    path = FILES / relative
    return parser.parse(path, name=path.name)


@pytest.mark.parametrize("row", [row for row in ROWS if row["expect"] == "text"], ids=lambda row: row["path"])
def test_the_needle_is_found_in_its_place(parser: IsolatedParser, row: dict[str, str]) -> None:
    document = _read(parser, row["path"])
    needle = _comparable(row["needle"])
    labels = [page.label for page in document.pages if needle in _comparable(page.markdown)]
    assert labels
    if row["type"] == "zip":
        assert [label for label in labels if label and label.startswith(row["locator"])] == labels
    assert [page.ordinal for page in document.pages] == list(range(1, len(document.pages) + 1))


@pytest.mark.parametrize("row", [row for row in ROWS if row["expect"] != "text"], ids=lambda row: row["path"])
def test_a_file_without_a_needle_ends_as_it_should(parser: IsolatedParser, row: dict[str, str]) -> None:
    if row["path"] == "csv/null_byte.csv":
        assert "| 2 | 3 |" in _read(parser, row["path"]).pages[0].markdown
        return
    if row["path"] == "zip/droste.zip":
        # A picture of a cocoa tin, and itself: the tin's words from each of the ten levels that are opened.
        assert len(_read(parser, row["path"]).pages) == 10
        return
    with pytest.raises(DocumentError) as caught:
        _read(parser, row["path"])
    assert caught.value.kind == ERRORS[row["path"]]
    assert caught.value.message
    assert caught.value.hint


def test_every_row_of_the_manifest_is_covered() -> None:
    assert len(ROWS) == 27
    assert set(ERRORS) | READ == {row["path"] for row in ROWS if row["expect"] != "text"}


def test_every_cell_of_the_wide_table_stands_by_its_header(parser: IsolatedParser) -> None:
    with (FILES / "csv/country-codes.csv").open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    assert (len(header), len(rows)) == (56, 249)
    document = _read(parser, "csv/country-codes.csv")
    lines = {line for page in document.pages for line in page.markdown.split("\n")}
    missing = [
        (name, cell)
        for row in rows
        for name, cell in zip(header, row, strict=True)
        if cell.strip() and f"- {name}: {' '.join(cell.split())}" not in lines
    ]
    assert missing == []


def test_the_line_labels_of_a_text_give_its_lines(parser: IsolatedParser) -> None:
    lines = re.split(r"\r\n|\r|\n", (FILES / "txt/norwich-city.txt").read_bytes().decode())
    for page in _read(parser, "txt/norwich-city.txt").pages:
        assert page.label is not None
        first, last = (int(number) for number in page.label.removeprefix("lines ").split("-"))
        assert page.markdown == "\n".join(lines[first - 1 : last])


def test_no_member_name_leaves_the_archive(parser: IsolatedParser) -> None:
    evil = Path("/tmp/evil.txt")
    existed = evil.exists()
    document = _read(parser, "zip/zip-slip.zip")
    assert [page.label for page in document.pages if "../tmp/evil.txt" in str(page.label)]
    assert evil.exists() is existed


@pytest.mark.parametrize(
    ("relative", "name", "media_type"),
    [("xml/factbook.xml", "a.txt", "application/xml"), ("zip/simple.zip", "a.docx", "application/zip")],
)
def test_a_renamed_file_is_read_by_its_content(
    parser: IsolatedParser, relative: str, name: str, media_type: str
) -> None:
    assert parser.parse(FILES / relative, name=name).media_type == media_type
