"""For tests of format readers.

Bytes read through detection and the checks of dispatch; a Source for one reader; files zipped from parts; damaged
copies of a good file.
"""

from __future__ import annotations

import random
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from localrag.errors import DocumentError
from localrag.parsing import pdf
from localrag.parsing.dispatch import read_document
from localrag.parsing.source import Limits, Source
from localrag.types import ParsedDocument

Reader = Callable[[Source], ParsedDocument]
ReadContent = Callable[[str | bytes, str], ParsedDocument]


@pytest.fixture
def read_content(tmp_path: Path) -> ReadContent:
    """Reads the content as if it were a file of that name."""

    def read(content: str | bytes, name: str) -> ParsedDocument:
        path = tmp_path / "content"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return read_document(path, name, Limits())

    return read


def _no_children(data: bytes, name: str) -> ParsedDocument:
    raise AssertionError(f"nothing is embedded, yet {name} was read")


@pytest.fixture
def source() -> Callable[..., Source]:
    """Makes the Source of a path; embedded files are refused unless `read_child` is given."""

    def make(path: Path, read_child: Callable[[bytes, str], ParsedDocument] = _no_children) -> Source:
        return Source(path=path, name=path.name, read_child=read_child)

    return make


@pytest.fixture
def read_pdf(source: Callable[..., Source], tmp_path: Path) -> Callable[[Any], list[str]]:
    """The Markdown of each page of a PyMuPDF document, which is saved and closed."""

    def read(document: Any) -> list[str]:
        path = tmp_path / "test.pdf"
        document.save(path)
        document.close()
        return [page.markdown for page in pdf.read(source(path)).pages]

    return read


@pytest.fixture
def zipped(tmp_path: Path) -> Callable[[str, Mapping[str, str | bytes]], Path]:
    """Writes a zip of the given parts."""

    def write(name: str, parts: Mapping[str, str | bytes]) -> Path:
        path = tmp_path / name
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for part, data in parts.items():
                archive.writestr(part, data)
        return path

    return write


@pytest.fixture
def failures_when_damaged(source: Callable[..., Source], tmp_path: Path) -> Callable[[Reader, Path], int]:
    """Reads 60 damaged copies of a file and returns how many were refused; any foreign exception fails the test.

    30 copies are cut off at even steps, in 30 some 1% of the bytes are overwritten, the same ones each run.
    """

    def count(read: Reader, path: Path) -> int:
        refusals = []
        for number, data in enumerate(_damaged(path.read_bytes())):
            copy = tmp_path / f"damaged-{number}{path.suffix}"
            copy.write_bytes(data)
            try:
                assert read(source(copy, lambda data, name: _refuse(name))).pages
            except DocumentError as error:
                refusals.append(error)
        assert all(refusal.path and refusal.message for refusal in refusals)
        return len(refusals)

    return count


def _refuse(name: str) -> ParsedDocument:
    raise DocumentError(f"{name} is not read here.", path=name)


def _damaged(data: bytes) -> Iterator[bytes]:
    for step in range(30):
        yield data[: len(data) * step // 30]
    for seed in range(30):
        chance = random.Random(seed)
        changed = bytearray(data)
        for _ in range(max(3, len(data) // 100)):
            changed[chance.randrange(len(data))] = chance.randrange(256)
        yield bytes(changed)
