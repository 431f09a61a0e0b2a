"""The sample documents that ship with localrag: all can be read, all are credited, together they are small."""

from pathlib import Path

import pytest

from localrag.parsing.dispatch import read_document
from localrag.parsing.source import Limits

SAMPLES = Path(__file__).resolve().parents[3] / "data/samples"
_FILES = sorted(path.name for path in SAMPLES.iterdir())


def test_there_is_one_of_each_main_kind_within_four_megabytes() -> None:
    assert {".pdf", ".pptx", ".xlsx", ".html", ".msg", ".epub", ".md"} <= {Path(name).suffix for name in _FILES}
    assert sum((SAMPLES / name).stat().st_size for name in _FILES) < 4 * 1024 * 1024


def test_each_is_credited() -> None:
    notice = (SAMPLES.parent / "SAMPLES-NOTICE.md").read_text(encoding="utf-8")

    assert [name for name in _FILES if f"| {name} |" not in notice] == []


@pytest.mark.parametrize("name", _FILES)
def test_each_can_be_read_whole(name: str) -> None:
    document = read_document(SAMPLES / name, name, Limits())

    assert sum(len(page.markdown) for page in document.pages) > 300
    assert document.warnings == ()
