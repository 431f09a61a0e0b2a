"""Every real scan and picture: its needle is recognised on the page that the manifest names."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from PIL import Image

from localrag.parsing.dispatch import read_document
from localrag.parsing.render import render_page
from localrag.parsing.source import Limits, Tools

FILES = Path(__file__).resolve().parents[2].parent / "shared" / "files"
# What the picture shows is another sign than the manifest's, typed one.
TYPED = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"'})

with (FILES / "manifest.csv").open(encoding="utf-8", newline="") as manifest:
    ROWS = [row for row in csv.DictReader(manifest) if row["expect"].startswith("ocr")]


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Tools:
    return Tools(ocr_cache=str(tmp_path_factory.mktemp("cache")))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["path"])
def test_the_needle_is_recognised_on_its_page_and_marked_there(row: dict[str, str], tools: Tools) -> None:
    path = FILES / row["path"]
    parsed = read_document(path, path.name, Limits(), tools=tools)
    found = [page for page in parsed.pages if row["needle"] in " ".join(page.markdown.split()).translate(TYPED)]
    number = int(row["locator"].split()[1]) if row["locator"] else None
    assert [page.number for page in found] == [number]
    count = len(parsed.pages)
    assert parsed.warnings[0].startswith(f"{count} of {count} page")
    picture = render_page(path, number or 1, row["needle"], tools=tools)
    assert picture.found
    assert Image.open(io.BytesIO(picture.png)).width > 400


def test_two_columns_are_read_one_after_the_other(tools: Tools) -> None:
    path = FILES / "image" / "double-column-A.jpg"
    (page,) = read_document(path, path.name, Limits(), tools=tools).pages
    text = " ".join(page.markdown.split())
    # The last lines of the left column and the first of the right one, whose rows stand side by side on the page.
    left = text.index("The rules in this subchapter shall apply to all positions in the competitive service")
    right = text.index("(c) Competitive status shall mean basic eligibility to be noncompetitively selected")
    assert left < right
    assert "| --- |" not in page.markdown
