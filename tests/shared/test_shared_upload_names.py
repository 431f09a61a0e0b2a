"""A file is read the same whatever it is called on disk: uploads are kept under their hash, without an extension."""

from __future__ import annotations

import csv
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from localrag.errors import DocumentError
from localrag.parsing.isolated import IsolatedParser
from localrag.types import ParsedDocument

FILES = Path(__file__).resolve().parents[2].parent / "shared" / "files"

with (FILES / "manifest.csv").open(encoding="utf-8") as stream:
    ROWS = list(csv.DictReader(stream))


@pytest.fixture(scope="module")
def parser() -> Iterator[IsolatedParser]:
    with IsolatedParser() as parser:
        yield parser


def _read(parser: IsolatedParser, path: Path, name: str) -> ParsedDocument | tuple[str, str, str]:
    try:
        return parser.parse(path, name=name)
    except DocumentError as error:
        return error.kind, error.message, error.hint


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["path"])
def test_the_name_on_disk_changes_nothing(parser: IsolatedParser, row: dict[str, str], tmp_path: Path) -> None:
    original = FILES / row["path"]
    stored = tmp_path / row["sha256"]
    shutil.copyfile(original, stored)
    named = _read(parser, original, original.name)
    assert _read(parser, stored, original.name) == named
    if isinstance(named, tuple):
        assert row["sha256"] not in named[1] + named[2]
        assert str(FILES) not in named[1] + named[2]
