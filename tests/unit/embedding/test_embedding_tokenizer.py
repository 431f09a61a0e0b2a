"""Token counts and offsets in Python characters, whatever the script."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from localrag.embedding.spec import SHIPPED
from localrag.embedding.tokenizer import FileTokenizer
from localrag.errors import ModelError


@pytest.fixture(scope="module")
def tokenizer() -> FileTokenizer:
    return FileTokenizer(SHIPPED.tokenizer_path, max_tokens=512)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Hello, world", ["Hello", ",", "world"]),
        ("unaffable", ["una", "ffa", "ble"]),
        ("東京 is", ["東", "京", "is"]),
        ("🍎 a 🍎", ["🍎", "a", "🍎"]),
        ("nai\u0308ve x", ["nai\u0308ve", "x"]),
        ("a\ud83d b", ["a", "b"]),
        ("", []),
        (" \n ", []),
    ],
)
def test_offsets_are_python_characters(tokenizer: FileTokenizer, text: str, tokens: list[str]) -> None:
    assert [text[start:end] for start, end in tokenizer.offsets(text)] == tokens
    assert tokenizer.count(text) == len(tokens)


def test_a_text_over_the_limit_is_cut_and_still_ends_as_the_model_expects(
    caplog: pytest.LogCaptureFixture,
) -> None:
    short = FileTokenizer(SHIPPED.tokenizer_path, max_tokens=5)
    with caplog.at_level(logging.DEBUG, "localrag.embedding.tokenizer"):
        ids = short.input_ids("one two three four five")
    # [CLS] one two three [SEP]: 101 and 102 are the special tokens' ids.
    assert (len(ids), ids[0], ids[-1]) == (5, 101, 102)
    assert "7 tokens is cut at the model's 5" in caplog.text
    assert short.input_ids("one two three") == ids


def test_the_document_prefix_is_taken_off_the_limit() -> None:
    plain = FileTokenizer(SHIPPED.tokenizer_path, max_tokens=512)
    prefixed = FileTokenizer(SHIPPED.tokenizer_path, max_tokens=512, document_prefix="passage: ")
    assert plain.max_tokens == 512
    assert prefixed.max_tokens == 510  # `passage` and `:`


@pytest.mark.parametrize("content", [None, "no json", "{}"])
def test_a_missing_or_damaged_tokenizer_is_a_model_error(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "tokenizer.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(ModelError, match="cannot be read"):
        FileTokenizer(path, max_tokens=512).count("x")
