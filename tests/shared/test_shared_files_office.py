"""Every Office, notebook and mail file of the shared collection: its needle stands where the manifest says."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from localrag.errors import EncryptedDocument, UnreadableDocument
from localrag.parsing.dispatch import read_document
from localrag.parsing.source import Limits
from localrag.types import Page

FILES = Path(__file__).resolve().parents[2] / "../shared/files"
_TYPES = ("docx", "pptx", "xlsx", "xls", "ipynb", "msg")
# Characters that a parser may keep or drop (files/README.md).
_INVISIBLE = re.compile("[\u200b-\u200f\u202a-\u202e\u2066-\u2069\u00ad\ufeff]")

with (FILES / "manifest.csv").open(encoding="utf-8", newline="") as _file:
    _ROWS = [row for row in csv.DictReader(_file) if row["type"] in _TYPES]


def _expecting(expect: str) -> list[dict[str, str]]:
    return [row for row in _ROWS if row["expect"] == expect]


def _path_of(row: dict[str, str]) -> str:
    return row["path"]


def _plain(text: str) -> str:
    return " ".join(_INVISIBLE.sub("", text).split())


def _place(locator: str) -> Callable[[Page], bool]:
    """Whether a page is the place that the locator names."""
    if match := re.fullmatch(r"slide (\d+)( notes)?", locator):
        return lambda page: page.number == int(match[1])
    if locator.startswith("sheet "):
        return lambda page: bool(re.fullmatch(rf"{re.escape(locator)}, rows? [\d-]+", page.label or ""))
    if locator.startswith("word/"):
        return lambda page: True
    label = "message" if locator == "body" else locator
    return lambda page: page.label == label or (page.label or "").startswith(f"{label}, ")


def test_the_collection_covers_all_types() -> None:
    assert {row["type"] for row in _ROWS} == set(_TYPES)
    assert {row["expect"] for row in _ROWS} == {"text", "needs password", "error"}


@pytest.mark.parametrize("row", _expecting("text"), ids=_path_of)
def test_the_needle_is_found_at_its_place_only(row: dict[str, str]) -> None:
    path = FILES / row["path"]
    is_place = _place(row["locator"])

    pages = read_document(path, path.name, Limits()).pages

    found = [page for page in pages if _plain(row["needle"]) in _plain(page.markdown)]
    assert found, f"{row['needle']!r} is on none of {len(pages)} pages"
    # "The only place of the needle", says files/README.md of slides and sheets; it is so for the others too.
    assert all(is_place(page) for page in found), f"found on {[(page.number, page.label) for page in found]}"
    assert [page.ordinal for page in pages] == list(range(1, len(pages) + 1))


@pytest.mark.parametrize("row", _expecting("needs password"), ids=_path_of)
def test_a_password_is_asked_for(row: dict[str, str]) -> None:
    path = FILES / row["path"]

    with pytest.raises(EncryptedDocument, match="password"):
        read_document(path, path.name, Limits())


@pytest.mark.parametrize("row", _expecting("error"), ids=_path_of)
def test_a_damaged_file_is_unreadable(row: dict[str, str]) -> None:
    path = FILES / row["path"]

    with pytest.raises(UnreadableDocument):
        read_document(path, path.name, Limits())
