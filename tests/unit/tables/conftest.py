from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import openpyxl
import pytest

from localrag.parsing import delimited, xlsx
from localrag.parsing.source import Source
from localrag.tables.workbook import Workbook
from localrag.types import Document, Page, ParsedDocument


def workbook(name: str, pages: Sequence[Page]) -> Workbook:
    document = Document(
        id="d", content_hash="h", name=name, uri="", media_type="", size_bytes=1, page_count=len(pages),
        indexed_at=datetime(2026, 3, 1, tzinfo=UTC),
    )  # fmt: skip
    return Workbook(document, pages)


@pytest.fixture
def csv_book(tmp_path: Path) -> Callable[..., Workbook]:
    """A workbook of the text as localrag reads and stores it."""

    def make(text: str, name: str = "orders.csv") -> Workbook:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return workbook(name, delimited.read(_source(path)).pages)

    return make


@pytest.fixture
def xlsx_book(tmp_path: Path) -> Callable[..., Workbook]:
    """A workbook of sheets of rows; names that begin with `_` are hidden sheets."""

    def make(sheets: Mapping[str, Sequence[Sequence[object]]], name: str = "book.xlsx", merge: str = "") -> Workbook:
        book = openpyxl.Workbook()
        book.remove(book.active)
        for title, rows in sheets.items():
            sheet = book.create_sheet(title.removeprefix("_"))
            for row in rows:
                sheet.append(list(row))
            sheet.sheet_state = "hidden" if title.startswith("_") else "visible"
            if merge:
                sheet.merge_cells(merge)
        book.save(tmp_path / name)
        return workbook(name, xlsx.read(_source(tmp_path / name)).pages)

    return make


def _source(path: Path) -> Source:
    return Source(path=path, name=path.name, read_child=_no_children)


def _no_children(data: bytes, name: str) -> ParsedDocument:
    raise AssertionError(f"nothing is embedded, yet {name} was read")


@pytest.fixture
def pages_book() -> Callable[..., Workbook]:
    """A workbook of pages."""
    return workbook
