"""A cross-encoder whose score can be worked out by hand, written as its author would publish it.

The vocabulary gives each word an id, and the graph adds ids up: the one-value head gives the sum of the ids of the
second text with its closing mark (those of type 1), the two-value head also, before it, that of the first text (type
0); the graph without types gives the sum of all ids.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

VOCABULARY = {
    "[PAD]": 0,
    "[CLS]": 1,
    "[SEP]": 2,
    "[UNK]": 3,
    "who": 10,
    "signed": 20,
    "ann": 100,
    "bob": 200,
    "rain": 5,
}


@pytest.fixture
def write_model() -> Callable[..., Path]:
    """Writes the folder of such a model."""
    return _write_model


@pytest.fixture
def graph() -> Callable[..., bytes]:
    """Gives the bytes of such a graph."""
    return _graph


@pytest.fixture
def token_graph() -> Callable[..., bytes]:
    """Gives the bytes of a graph that looks up a row of a table for each token."""
    return _token_graph


def _write_model(folder: Path, *, head: int = 1, types: bool = True, max_tokens: int = 32) -> Path:
    """The folder of the model: config, tokenizer and graph."""
    folder.mkdir(parents=True)
    config = {"architectures": ["BertForSequenceClassification"], "max_position_embeddings": max_tokens}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "tokenizer.json").write_text(json.dumps(_tokenizer()))
    (folder / "model.onnx").write_bytes(_graph(head=head, types=types))
    return folder


def _tokenizer() -> dict[str, object]:
    special = [
        {"id": VOCABULARY[mark], "content": mark, "special": True}
        | dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
        for mark in ("[PAD]", "[CLS]", "[SEP]", "[UNK]")
    ]
    marks = {mark: {"id": mark, "ids": [VOCABULARY[mark]], "tokens": [mark]} for mark in ("[CLS]", "[SEP]")}
    first = [_mark("[CLS]", 0), {"Sequence": {"id": "A", "type_id": 0}}, _mark("[SEP]", 0)]
    second = [{"Sequence": {"id": "B", "type_id": 1}}, _mark("[SEP]", 1)]
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": special,
        "normalizer": {"type": "Lowercase"},
        "pre_tokenizer": {"type": "Whitespace"},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": first,
            "pair": [*first, *second],
            "special_tokens": marks,
        },
        "decoder": None,
        "model": {"type": "WordLevel", "vocab": VOCABULARY, "unk_token": "[UNK]"},
    }


def _mark(name: str, type_id: int) -> dict[str, object]:
    return {"SpecialToken": {"id": name, "type_id": type_id}}


# --------------------------------------------------------- an ONNX file, by hand: protocol buffers are tags and lengths


def _graph(*, head: int, types: bool, extra_input: str = "") -> bytes:
    """The bytes of the graph; `head` values a pair, with a third head of 3 zeros-and-sums for what cannot be used."""
    inputs = [
        "input_ids",
        "attention_mask",
        *(["token_type_ids"] if types else []),
        *([extra_input] * bool(extra_input)),
    ]
    nodes = [_node("Mul", ["input_ids", "attention_mask"], ["shown"])]
    if types:
        nodes += [_node("Mul", ["shown", "token_type_ids"], ["second"]), _node("Sub", ["shown", "second"], ["first"])]
    else:
        nodes += [_node("Identity", ["shown"], ["second"]), _node("Identity", ["shown"], ["first"])]
    nodes += [_sum("second", "yes"), _sum("first", "no")]
    parts = {1: ["yes"], 2: ["no", "yes"], 3: ["no", "yes", "no"]}[head]
    nodes += [_node("Concat", parts, ["values"], axis=1), _node("Cast", ["values"], ["logits"], to=1)]
    body = b"".join(_field(1, node) for node in nodes) + _field(2, b"tiny")
    body += b"".join(_field(11, _value(name, 7, ["batch", "tokens"])) for name in inputs)
    body += _field(12, _value("logits", 1, ["batch", "labels"]))
    return _number(1, 7) + _field(7, body) + _field(8, _field(1, b"") + _number(2, 11))


def _token_graph(rows: list[list[float]]) -> bytes:
    table = _number(1, len(rows)) + _number(1, len(rows[0])) + _number(2, 1) + _field(8, b"table")
    table += _field(9, struct.pack(f"<{len(rows) * len(rows[0])}f", *(value for row in rows for value in row)))
    body = _field(1, _node("Gather", ["table", "input_ids"], ["states"], axis=0)) + _field(2, b"tiny")
    body += _field(5, table) + _field(11, _value("input_ids", 7, ["batch", "tokens"]))
    body += _field(12, _value("states", 1, ["batch", "tokens", "dimension"]))
    return _number(1, 7) + _field(7, body) + _field(8, _field(1, b"") + _number(2, 11))


def _sum(source: str, target: str) -> bytes:
    axes = _field(1, b"axes") + _number(8, 1) + _number(20, 7)
    keep = _field(1, b"keepdims") + _number(3, 1) + _number(20, 2)
    return _node("ReduceSum", [source], [target]) + _field(5, axes) + _field(5, keep)


def _node(operator: str, inputs: list[str], outputs: list[str], **integers: int) -> bytes:
    made = b"".join(_field(1, name.encode()) for name in inputs) + b"".join(
        _field(2, name.encode()) for name in outputs
    )
    made += _field(4, operator.encode())
    for name, value in integers.items():
        made += _field(5, _field(1, name.encode()) + _number(3, value) + _number(20, 2))
    return made


def _value(name: str, kind: int, dimensions: list[str]) -> bytes:
    shape = b"".join(_field(1, _field(2, dimension.encode())) for dimension in dimensions)
    return _field(1, name.encode()) + _field(2, _field(1, _number(1, kind) + _field(2, shape)))


def _field(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _number(number: int, value: int) -> bytes:
    return _varint(number << 3) + _varint(value)


def _varint(value: int) -> bytes:
    made = bytearray()
    while value > 127:
        made.append(value & 127 | 128)
        value >>= 7
    made.append(value)
    return bytes(made)
