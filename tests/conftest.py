"""Shared by all tests: every test has a data folder and an environment of its own."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[1].parent / "shared"
collect_ignore = [] if (SHARED / "files" / "manifest.csv").is_file() else ["shared"]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds --update-golden, which a run on a CI server refuses: nobody would read the diff."""
    parser.addoption("--update-golden", action="store_true", help="write tests/golden/expected anew")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--update-golden") and os.environ.get("CI"):
        raise pytest.UsageError("--update-golden is for people who read the diff, not for CI")


@pytest.fixture(autouse=True)
def _own_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No test sees the user's settings, and none writes outside its temporary folder."""
    for name in list(os.environ):
        if name.startswith("LOCALRAG_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("LOCALRAG_DATA_DIR", str(tmp_path / "data"))
