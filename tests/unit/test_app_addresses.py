"""Addresses in messages: a password that stands in one is not shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from localrag.app import migrating, rebuilding, wiring
from localrag.errors import LocalRagError, NotFoundError, SettingsError
from localrag.settings import Settings
from localrag.testing import HashEmbedder

SERVED = "https://ann:se@cret@box:9200"


def nothing_there(*_: object) -> None:
    """In place of asking a server: it has no library."""


def assert_hidden(error: LocalRagError) -> None:
    assert "https://ann:…@box:9200" in error.message
    assert "cret" not in error.message + error.hint


def test_of_an_index_that_is_not_opened() -> None:
    with pytest.raises(SettingsError) as caught:
        wiring.stored_header("htps://ann:secret@box:9200", Settings())
    assert "LOCALRAG_INDEX_URL=htps://ann:…@box:9200 is not" in caught.value.message


def test_of_a_move(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SettingsError) as same:
        migrating.migrate_library(SERVED, SERVED, Settings())
    assert_hidden(same.value)
    monkeypatch.setattr(wiring, "stored_header", nothing_there)
    with pytest.raises(NotFoundError) as none:
        migrating.migrate_library(SERVED, "sqlite:///library.db", Settings())
    assert_hidden(none.value)


def test_of_a_rebuild(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(wiring, "stored_header", nothing_there)
    with pytest.raises(NotFoundError) as caught:
        rebuilding.rebuild_library(Settings(index_url=SERVED, data_dir=tmp_path), embedder=HashEmbedder())
    assert_hidden(caught.value)
