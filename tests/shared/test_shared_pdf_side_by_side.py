"""Real PDFs cut into parts for several processes: the text is that of one process, to the byte."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pymupdf
import pytest

from localrag.errors import DocumentError
from localrag.parsing import pdf
from localrag.parsing.crew import CrewFailed
from localrag.parsing.pdf_crew import read_side_by_side
from localrag.parsing.source import Limits, Source, Tools
from localrag.types import ParsedDocument

SHARED = Path(__file__).resolve().parents[2] / "../shared"
FILES = sorted((SHARED / "files").rglob("*.pdf"))
FILINGS = [SHARED / "bench/financebench-pages/pdfs" / f"{name}.pdf" for name in ("AMCOR_2023Q2_10Q", "ADOBE_2022_10K")]


def _none(data: bytes, name: str) -> ParsedDocument:
    raise DocumentError(f"{name} is not read here.", path=name)


def _source(path: Path, processors: int) -> Source:
    return Source(
        path=path, name=path.name, limits=Limits(processors=processors), tools=Tools(ocr="off"), read_child=_none
    )


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_file_reads_the_same_in_parts(path: Path) -> None:
    """Cut as finely as can be: a part of a page or two each, so that most tables and headings cross a seam."""
    compared = 0
    with suppress(CrewFailed, DocumentError, pymupdf.FileDataError), pdf._open(_source(path, 8)) as document:
        read = read_side_by_side(document, lambda: pdf._outline(document), _source(path, 8), lambda: None, least=1)
        if read is not None:
            with pdf._open(_source(path, 1)) as again:
                assert read == pdf._read_alone(again, _source(path, 1), lambda: None)
            compared = 1
    with suppress(pymupdf.FileDataError), pymupdf.open(path) as document:
        # Nothing was left out but what is damaged, locked, or of one page.
        assert compared or document.is_repaired or document.needs_pass or document.page_count < 2


@pytest.mark.parametrize("path", FILINGS, ids=lambda path: path.name)
def test_a_filing_reads_the_same(path: Path) -> None:
    assert pdf.read(_source(path, 2)) == pdf.read(_source(path, 1))
