"""Three real nodes, one killed while documents are written and searched: nothing is lost, and health tells."""

from __future__ import annotations

import importlib.util
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


def _benchmark() -> ModuleType:
    """`benchmarks/opensearch_failover.py`, which prints the same for people."""
    path = ROOT / "benchmarks" / "opensearch_failover.py"
    spec = importlib.util.spec_from_file_location("opensearch_failover", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


failover = _benchmark()


def _free_ports() -> int:
    """The first of three free ports, with three free ones a hundred above."""
    for first in range(19_331, 29_331, 200):
        try:
            for port in (*range(first, first + 3), *range(first + 100, first + 103)):
                with socket.socket() as probe:
                    probe.bind(("127.0.0.1", port))
        except OSError:
            continue
        return first
    raise RuntimeError("no free ports")


@pytest.fixture
def trio(tmp_path: Path) -> Iterator[Any]:
    nodes = failover.Trio(tmp_path, _free_ports())
    try:
        nodes.start()
        yield nodes
    finally:
        nodes.stop()


@pytest.mark.opensearch
def test_a_killed_node_loses_nothing_and_is_noticed(trio: Any) -> None:
    found = failover.run(trio, documents=8)
    print(failover.table(found))
    assert found.problems == ()
    assert (found.lost_documents, found.lost_chunks, found.failed_writes, found.failed_searches) == (0, 0, 0, 0)
    # 8 before the kill, 8 without the node, 5 after it is back
    assert found.documents >= 21
    assert found.searches > 0
    assert found.states == ("green", "yellow", "green")
    before, without, after = found.told
    assert "3 data nodes" in before
    assert "2 data nodes" in without
    assert "no answer from http://127.0.0.1:" in without
    assert "start the missing nodes" in without
    assert "no answer" not in after
